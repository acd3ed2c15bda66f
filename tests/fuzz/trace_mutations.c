/* SPDX-License-Identifier: Apache-2.0 */
#include "trace_mutations.h"

#include <string.h>

#include "record.h"

static const char mark[8] = "DAMAGED";

/* A trace in memory; chunks that end behind it are as long as it is. */
struct trace {
	uint8_t *data;
	size_t size, room;
	size_t first, chunk_size;
	uint64_t (*random)(void);
};

/* A record by its place; bytes 0: none. */
struct place {
	size_t chunk, offset, bytes;
};

static size_t below(const struct trace *trace, size_t limit)
{
	return limit ? (size_t)(trace->random() % limit) : 0;
}

static int trace_init(struct trace *trace, uint8_t *data, size_t size, size_t room,
	uint64_t (*random)(void))
{
	struct file_header header;

	if (size < sizeof(header))
		return 0;
	memcpy(&header, data, sizeof(header));
	*trace = (struct trace){ data, size, room, header.header_size, header.chunk_size, random };
	return trace->first >= sizeof(header) && trace->first <= size && trace->first % 8 == 0 &&
		trace->chunk_size >= TRACE_CHUNK_LEAST && trace->chunk_size % 8 == 0;
}

static size_t chunk_count(const struct trace *trace)
{
	return (trace->size - trace->first + trace->chunk_size - sizeof(struct chunk_header)) /
		trace->chunk_size;
}

static struct chunk_header *chunk_at(const struct trace *trace, size_t number)
{
	return (struct chunk_header *)(trace->data + trace->first + number * trace->chunk_size);
}

static size_t bytes_of(const struct trace *trace, size_t offset)
{
	return trace->data[offset] * 8u + trace->data[offset + 1] * 2048u;
}

/* End of the records of a chunk, which is within the trace. */
static size_t records_end(const struct trace *trace, size_t number)
{
	size_t start = trace->first + number * trace->chunk_size + sizeof(struct chunk_header);
	size_t room = trace->size - start;
	uint64_t committed = chunk_at(trace, number)->committed;

	if (room > trace->chunk_size - sizeof(struct chunk_header))
		room = trace->chunk_size - sizeof(struct chunk_header);
	return start + (committed < room ? (size_t)committed & ~(size_t)7 : room & ~(size_t)7);
}

/* Any of a chunk's records; records after the call table more often. */
static struct place pick(const struct trace *trace)
{
	size_t count = chunk_count(trace), number, offset, end, records = 0, wanted;
	struct place place = { 0 };

	if (!count)
		return place;
	number = below(trace, 8) && count > 1 ? 1 + below(trace, count - 1) : below(trace, count);
	for (int round = 0; round < 2; round++) {
		wanted = round ? below(trace, records) + 1 : SIZE_MAX;
		offset = trace->first + number * trace->chunk_size + sizeof(struct chunk_header);
		end = records_end(trace, number);
		for (size_t n = 0; offset + 8 <= end && n < wanted; n++) {
			size_t bytes = bytes_of(trace, offset);

			if (!bytes || bytes > end - offset)
				break;
			place = (struct place){ number, offset, bytes };
			offset += bytes;
			records += !round;
		}
		if (!records)
			return (struct place){ 0 };
	}
	return place;
}

static uint64_t extreme(const struct trace *trace)
{
	uint64_t value = (uint64_t)1 << below(trace, 64);

	switch (below(trace, 6)) {
	case 0:
		return 0;
	case 1:
		return value - 1;
	case 2:
		return ~value;
	case 3:
		return value + below(trace, 16);
	case 4:
		return UINT64_MAX - below(trace, 16);
	default:
		return value;
	}
}

/* Any member or field: the record stays one by its size and, most often, its type. */
static void set_extreme(struct trace *trace)
{
	struct place place = pick(trace);
	size_t width = (size_t)1 << below(trace, 4), at = below(trace, place.bytes / width) * width;
	uint64_t value = extreme(trace), old = 0;

	if (!place.bytes || at < 4)
		return;
	memcpy(&old, trace->data + place.offset + at, width);
	if (!below(trace, 4))
		value = old + (below(trace, 2) ? value : (uint64_t)0 - value);
	memcpy(trace->data + place.offset + at, &value, width);
}

/* Makes room of bytes at offset in the chunk, or takes it away: later records move. */
static int move(struct trace *trace, size_t number, size_t offset, size_t from, size_t to)
{
	size_t end = records_end(trace, number);
	size_t limit = trace->first + (number + 1) * trace->chunk_size;

	if (offset + from > end || end - from + to > limit || end - from + to > trace->room)
		return 0;
	if (end - from + to > trace->size)
		trace->size = end - from + to;
	memmove(trace->data + offset + to, trace->data + offset + from, end - offset - from);
	chunk_at(trace, number)->committed += to - from;
	return 1;
}

static void insert(struct trace *trace, const uint8_t *record, size_t bytes)
{
	uint8_t copy[2048];
	struct place place = pick(trace);

	if (!place.bytes || bytes > sizeof(copy))
		return;
	memcpy(copy, record, bytes);
	if (move(trace, place.chunk, place.offset, 0, bytes))
		memcpy(trace->data + place.offset, copy, bytes);
}

static void splice(struct trace *trace, const struct fuzz_input *other)
{
	struct trace from;
	struct place place;

	if (!trace_init(&from, other->data, other->size, other->size, trace->random))
		return;
	place = pick(&from);
	insert(trace, from.data + place.offset, place.bytes);
}

static void repeat(struct trace *trace)
{
	struct place place = pick(trace);

	insert(trace, trace->data + place.offset, place.bytes);
}

static void remove_record(struct trace *trace)
{
	struct place place = pick(trace);

	if (place.bytes)
		move(trace, place.chunk, place.offset, place.bytes, 0);
}

static void exchange(struct trace *trace)
{
	struct place place = pick(trace);
	size_t next = place.offset + place.bytes, bytes;
	uint8_t copy[2048];

	if (!place.bytes || next + 8 > records_end(trace, place.chunk))
		return;
	bytes = bytes_of(trace, next);
	if (!bytes || bytes > records_end(trace, place.chunk) - next || place.bytes > sizeof(copy))
		return;
	memcpy(copy, trace->data + place.offset, place.bytes);
	memmove(trace->data + place.offset, trace->data + next, bytes);
	memcpy(trace->data + place.offset + bytes, copy, place.bytes);
}

static void change_chunk(struct trace *trace)
{
	size_t count = chunk_count(trace), a = below(trace, count), b = below(trace, count);
	struct chunk_header *chunk = chunk_at(trace, a), spare;

	if (!count)
		return;
	switch (below(trace, 5)) {
	case 0:
		chunk->committed = below(trace, 2) ? extreme(trace) : below(trace, 65536);
		break;
	case 1:
		chunk->home = (uint32_t)below(trace, count + 2);
		break;
	case 2:
		chunk->round = below(trace, 2) ? extreme(trace) : below(trace, 4);
		break;
	case 3:
		chunk->thread = (uint32_t)below(trace, 4);
		break;
	default: /* whole ones change places, but for the last */
		if (a + 1 >= count || b + 1 >= count)
			break;
		spare = *chunk;
		for (size_t i = 0; i < trace->chunk_size; i++) {
			uint8_t *x = (uint8_t *)chunk_at(trace, a) + i;
			uint8_t *y = (uint8_t *)chunk_at(trace, b) + i, byte = *x;

			*x = *y;
			*y = byte;
		}
		if (below(trace, 2))
			chunk_at(trace, b)->home = spare.home;
	}
}

static void change_header(struct trace *trace)
{
	struct file_header *header = (struct file_header *)trace->data;

	switch (below(trace, 4)) {
	case 0:
		header->start_ns = extreme(trace);
		break;
	case 1:
		header->clock = (uint32_t)below(trace, 5);
		break;
	case 2:
		header->written = below(trace, 2) ? 0 : header->written - 8 * below(trace, 4096);
		break;
	default:
		header->closed = !header->closed;
	}
}

void trace_mutate(uint8_t *data, size_t *size, size_t room, const struct fuzz_input *other,
	uint64_t (*random)(void))
{
	struct trace trace;

	if (!trace_init(&trace, data, *size, room, random) || !chunk_count(&trace))
		return;
	switch (below(&trace, 16)) {
	case 0:
		change_chunk(&trace);
		break;
	case 1:
		change_header(&trace);
		break;
	case 2:
	case 3:
		splice(&trace, other);
		break;
	case 4:
		repeat(&trace);
		break;
	case 5:
		remove_record(&trace);
		break;
	case 6:
		exchange(&trace);
		break;
	default:
		set_extreme(&trace);
	}
	*size = trace.size;
}

/* The time at a record's start is none: 1 if it has one that is looked at. */
static int spoil_time(uint8_t *record)
{
	const uint64_t never = UINT64_MAX - 7;

	switch (record[2]) {
	case RECORD_CALL:
		memcpy(record + offsetof(struct call_record, enter), &never, sizeof(never));
		return 1;
	case RECORD_DEVICE:
		memcpy(record + offsetof(struct device_record, start), &never, sizeof(never));
		return !(record[3] & DEVICE_INVALID);
	case RECORD_USAGE:
		memcpy(record + offsetof(struct usage_record, ticks), &never, sizeof(never));
		return 1;
	case RECORD_WINDOW:
		memcpy(record + offsetof(struct window_record, ticks), &never, sizeof(never));
		return 1;
	default:
		return 0;
	}
}

static int damage(struct trace *trace)
{
	size_t count = chunk_count(trace), number = below(trace, count), start, end;
	struct chunk_header *chunk = chunk_at(trace, number);
	struct place place = pick(trace);

	if (!count || !place.bytes)
		return 0;
	start = trace->first + number * trace->chunk_size;
	end = records_end(trace, number);
	switch (below(trace, 6)) {
	case 0: /* cut anywhere behind the header */
		trace->size = trace->first + below(trace, trace->size - trace->first);
		return 1;
	case 1: /* a chunk, or its header, is zeros */
		memset(chunk, 0, below(trace, 2) ? end - start : sizeof(*chunk));
		return 1;
	case 2: /* a record's head is, and all behind it */
		memset(trace->data + place.offset, 0,
			records_end(trace, place.chunk) - place.offset);
		return 1;
	case 3: /* records at the end no longer count */
		if (!chunk->committed || end == start + sizeof(*chunk))
			return 0;
		chunk->committed -= 8 * (1 + below(trace, chunk->committed / 8));
		return 1;
	case 4: /* sizes that do not fit */
		trace->data[place.offset] = trace->data[place.offset + 1] = 0xff;
		return records_end(trace, place.chunk) - place.offset < RECORD_MAX_BYTES;
	default:
		return spoil_time(trace->data + place.offset);
	}
}

int trace_damage(uint8_t *data, size_t *size, size_t room, uint64_t (*random)(void))
{
	const struct file_header *header = (const struct file_header *)data;
	struct trace trace;

	if (!trace_init(&trace, data, *size, room, random) || !header->closed || !header->written ||
		!damage(&trace) || trace.size + sizeof(mark) > room)
		return 0;
	memcpy(data + trace.size, mark, sizeof(mark));
	*size = trace.size + sizeof(mark);
	return 1;
}

int trace_is_damaged(const uint8_t *data, size_t *size)
{
	if (*size < sizeof(mark) || memcmp(data + *size - sizeof(mark), mark, sizeof(mark)))
		return 0;
	*size -= sizeof(mark);
	return 1;
}
