/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call frame information as the System V ABI's .eh_frame and DWARF describe it: where, at an
 * address of a function, what its caller had in its registers is.
 */
#ifndef CUFENCE_FRAME_RULES_H
#define CUFENCE_FRAME_RULES_H

#include <stdint.h>
#include <string.h>

#define RULES_RETURN_ADDRESS 16 /* its column; those before it are x86-64's registers */
#define RULES_COLUMNS 17

/* Where a register of the caller is. */
struct rule {
	enum rule_kind { SAME, UNDEFINED, AT, IS, IN, AT_EXPRESSION, IS_EXPRESSION } how;
	unsigned number; /* IN: the register; of the frame: the one it is counted from */
	union {
		int64_t offset;            /* from the frame's address */
		const uint8_t *expression; /* _EXPRESSION: its length, then that many bytes */
	};
};

struct frame_rules {
	struct rule frame; /* the frame's address (CFA): IN or IS_EXPRESSION */
	struct rule of[RULES_COLUMNS];
	int is_signal; /* the function is the one below a signal's handler */
};

/* What is found, and what finding it takes: too large for the stacks of some programs. */
struct frame_rules_space {
	struct frame_rules rules, initial, remembered;
};

/*
 * Fills space->rules from a frame description entry for where its function is, in bytes from its
 * start.  0, or -1 where it is not understood: the rules are undefined then.
 */
int frame_rules_find(struct frame_rules_space *space, const void *entry, uint64_t where);

/* Reading of such data; past the end there are zeros. */
struct cursor {
	const uint8_t *at, *end;
};

static inline uint64_t read_bytes(struct cursor *cursor, unsigned bytes)
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

static inline uint64_t read_unsigned(struct cursor *cursor)
{
	uint64_t value = 0, byte = 0x80;

	for (unsigned shift = 0; byte & 0x80 && shift < 64; shift += 7) {
		byte = read_bytes(cursor, 1);
		value |= (byte & 0x7f) << shift;
	}
	return value;
}

static inline int64_t read_signed(struct cursor *cursor)
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

static inline struct cursor read_block(struct cursor *cursor)
{
	uint64_t bytes = read_unsigned(cursor);
	struct cursor block = { cursor->at, cursor->at };

	if (bytes > (uint64_t)(cursor->end - cursor->at))
		bytes = (uint64_t)(cursor->end - cursor->at);
	cursor->at = block.end = block.at + bytes;
	return block;
}

#endif
