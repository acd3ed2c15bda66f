/* SPDX-License-Identifier: Apache-2.0 */
#include "python_lines.h"

#define MAX_LINE 100000000 /* beyond it a line is not known, as in a damaged trace */

/* 3.9, co_lnotab: how far to the next instruction that has another line, and how far that is. */
static int64_t line_of_deltas(int64_t line, const uint8_t *table, size_t length, uint32_t offset)
{
	uint64_t at = 0;

	for (size_t i = 0; i + 1 < length; i += 2) {
		at += table[i];
		if (at > offset)
			break;
		line += (int8_t)table[i + 1];
	}
	return line;
}

/* 3.10, co_linetable: how long a range is and how far its line is from the last one's. */
#define NO_LINE -128
static int64_t line_of_ranges(int64_t line, const uint8_t *table, size_t length, uint32_t offset)
{
	uint64_t end = 0;

	for (size_t i = 0; i + 1 < length; i += 2) {
		int8_t delta = (int8_t)table[i + 1];

		end += table[i];
		if (delta != NO_LINE)
			line += delta;
		if (offset < end)
			return line;
	}
	return 0;
}

/* From 3.11: entries start with a byte whose top bit is set. */
enum location_kind {
	LOCATION_ONE_LINE_0 = 10,
	LOCATION_NO_COLUMNS = 13,
	LOCATION_LONG = 14,
	LOCATION_NONE = 15
};
#define INSTRUCTION_BYTES 2

/* Six bits a byte, the lowest first; the lowest of all is the sign. */
static int64_t read_signed(const uint8_t *table, size_t length, size_t at)
{
	uint64_t value = 0;

	for (unsigned shift = 0; at < length && shift < 36; shift += 6) {
		value |= (uint64_t)(table[at] & 63) << shift;
		if (!(table[at++] & 64))
			break;
	}
	return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

static int64_t line_delta(const uint8_t *table, size_t length, size_t at)
{
	unsigned kind = table[at] >> 3 & 15;

	if (kind == LOCATION_LONG || kind == LOCATION_NO_COLUMNS)
		return read_signed(table, length, at + 1);
	if (kind >= LOCATION_ONE_LINE_0 && kind < LOCATION_NO_COLUMNS)
		return kind - LOCATION_ONE_LINE_0;
	return 0;
}

static int64_t line_of_locations(int64_t line, const uint8_t *table, size_t length, uint32_t offset)
{
	uint64_t end = 0;

	for (size_t i = 0; i < length;) {
		end += ((table[i] & 7u) + 1) * INSTRUCTION_BYTES;
		line += line_delta(table, length, i);
		if (offset < end)
			return line;
		for (i++; i < length && !(table[i] & 0x80); i++)
			;
	}
	return 0;
}

int python_line(unsigned version, uint32_t first_line, const uint8_t *table, size_t length,
	uint32_t offset)
{
	int64_t line;

	if (version >= 0x030b)
		line = line_of_locations(first_line, table, length, offset);
	else if (version == 0x030a)
		line = line_of_ranges(first_line, table, length, offset);
	else
		line = line_of_deltas(first_line, table, length, offset);
	return line > 0 && line < MAX_LINE ? (int)line : 0;
}
