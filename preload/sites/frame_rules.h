/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call frame information as described by the System V ABI (.eh_frame) and DWARF: where the caller's
 * register values are, at an address of a function.
 */
#ifndef CUFENCE_FRAME_RULES_H
#define CUFENCE_FRAME_RULES_H

#include <stdint.h>
#include <string.h>

#include "machine.h"

#define RULES_RETURN_ADDRESS MACHINE_RETURN_ADDRESS
#define RULES_COLUMNS MACHINE_COLUMNS

/* Location of a register of the caller. */
struct rule {
	enum rule_kind { SAME, UNDEFINED, AT, IS, IN, AT_EXPRESSION, IS_EXPRESSION } how;
	unsigned number; /* IN: the register; for the CFA: its base register */
	union {
		int64_t offset;            /* from the CFA, bytes */
		const uint8_t *expression; /* _EXPRESSION: its length, then as many bytes */
	};
};

struct frame_rules {
	struct rule frame; /* of the CFA: IN or IS_EXPRESSION */
	struct rule of[RULES_COLUMNS];
	int is_signal; /* the function is the signal trampoline */
};

/* Result and working space; too large for the stacks of some programs. */
struct frame_rules_space {
	struct frame_rules rules, initial, remembered;
};

/*
 * Fills space->rules from a frame description entry for the code at `where`, bytes from the start
 * of the function.  Returns 0, or -1 if unsupported: the rules are undefined then.
 */
int frame_rules_find(struct frame_rules_space *space, const void *entry, uint64_t where);

/* Reads such data; returns zeros past the end. */
struct cfi_cursor {
	const uint8_t *at, *end;
};

static inline uint64_t read_bytes(struct cfi_cursor *cursor, unsigned bytes)
{
	uint64_t value = 0;

	if ((size_t)(cursor->end - cursor->at) < bytes) {
		cursor->at = cursor->end;
		return 0;
	}
	memcpy(&value, cursor->at, bytes);
	cursor->at += bytes;
	return value;
}

static inline uint64_t read_unsigned(struct cfi_cursor *cursor)
{
	uint64_t value = 0, byte = 0x80;

	for (unsigned shift = 0; byte & 0x80 && shift < 64; shift += 7) {
		byte = read_bytes(cursor, 1);
		value |= (byte & 0x7f) << shift;
	}
	return value;
}

static inline int64_t read_signed(struct cfi_cursor *cursor)
{
	uint64_t value = 0, byte = 0x80;
	unsigned shift = 0;

	for (; byte & 0x80 && shift < 64; shift += 7) {
		byte = read_bytes(cursor, 1);
		value |= (byte & 0x7f) << shift;
	}
	if (byte & 0x40 && shift < 64)
		value |= ~(uint64_t)0 << shift;
	return (int64_t)value;
}

static inline struct cfi_cursor read_block(struct cfi_cursor *cursor)
{
	uint64_t bytes = read_unsigned(cursor);
	struct cfi_cursor block = { cursor->at, cursor->at };

	if (bytes > (uint64_t)(cursor->end - cursor->at))
		bytes = (uint64_t)(cursor->end - cursor->at);
	cursor->at = block.end = block.at + bytes;
	return block;
}

#endif
