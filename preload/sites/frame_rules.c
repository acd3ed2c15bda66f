/* SPDX-License-Identifier: Apache-2.0 */
#include "frame_rules.h"

/* The contents of a frame description (FDE) and of its common information (CIE). */
struct description {
	struct cfi_cursor common, own; /* instructions */
	uint64_t code_unit;
	int64_t data_unit;
	uint8_t encoding; /* of addresses */
	int sized, is_signal;
};

static void skip_address(struct cfi_cursor *cursor, uint8_t encoding)
{
	static const uint8_t bytes[8] = { 8, 0, 2, 4, 8 };

	if ((encoding & 7) == 1)
		read_unsigned(cursor);
	else
		read_bytes(cursor, bytes[encoding & 7]);
}

/* Reads the augmentation data, in the order of its letters. */
static int read_augmentation(struct description *description, const char *letters,
	struct cfi_cursor *cursor)
{
	struct cfi_cursor data;

	description->sized = *letters == 'z';
	if (!*letters)
		return 0;
	if (*letters++ != 'z')
		return -1;
	data = read_block(cursor);
	for (; *letters; letters++) {
		if (*letters == 'R')
			description->encoding = (uint8_t)read_bytes(&data, 1);
		else if (*letters == 'L')
			read_bytes(&data, 1);
		else if (*letters == 'P')
			skip_address(&data, (uint8_t)read_bytes(&data, 1));
		else if (*letters == 'S')
			description->is_signal = 1;
		else if (*letters == 'B') /* which key return addresses are signed with */
			continue;
		else
			return -1;
	}
	return 0;
}

/* Returns the contents of an entry without its length; empty for one in the 64-bit format. */
static struct cfi_cursor entry_at(const uint8_t *at)
{
	uint32_t bytes;

	memcpy(&bytes, at, sizeof(bytes));
	if (bytes == UINT32_MAX)
		bytes = 0;
	return (struct cfi_cursor){ at + sizeof(bytes), at + sizeof(bytes) + bytes };
}

static int read_common(struct description *description, struct cfi_cursor cursor)
{
	const char *letters;
	uint64_t version, column;

	if (read_bytes(&cursor, 4))
		return -1;
	version = read_bytes(&cursor, 1);
	letters = (const char *)cursor.at;
	while (read_bytes(&cursor, 1))
		;
	description->code_unit = read_unsigned(&cursor);
	description->data_unit = read_signed(&cursor);
	column = version == 1 ? read_bytes(&cursor, 1) : read_unsigned(&cursor);
	if (column != RULES_RETURN_ADDRESS || read_augmentation(description, letters, &cursor))
		return -1;
	description->common = cursor;
	return 0;
}

static int read_description(struct description *description, const void *entry)
{
	struct cfi_cursor cursor = entry_at(entry);
	const uint8_t *from = cursor.at;
	uint64_t back = read_bytes(&cursor, 4);

	*description = (struct description){ .encoding = 0 };
	if (!back || read_common(description, entry_at(from - back)))
		return -1;
	skip_address(&cursor, description->encoding);
	skip_address(&cursor, description->encoding);
	if (description->sized)
		read_block(&cursor);
	description->own = cursor;
	return 0;
}

/* State while the instructions of a description are run up to an address. */
struct run {
	const struct description *description;
	struct cfi_cursor code;
	uint64_t at, until; /* in the function */
	struct frame_rules_space *space;
};

static void set_rule(struct run *run, uint64_t column, struct rule rule)
{
	if (column < RULES_COLUMNS)
		run->space->rules.of[column] = rule;
}

static void set_offset(struct run *run, uint64_t column, int64_t units, int how)
{
	set_rule(run, column,
		(struct rule){ .how = how, .offset = units * run->description->data_unit });
}

static void set_expression(struct run *run, uint64_t column, int how)
{
	set_rule(run, column, (struct rule){ .how = how, .expression = run->code.at });
	read_block(&run->code);
}

static void restore(struct run *run, uint64_t column)
{
	if (column < RULES_COLUMNS)
		run->space->rules.of[column] = run->space->initial.of[column];
}

/* Sets the CFA rule: register and offset. */
static void set_frame(struct run *run, uint64_t number, int64_t offset)
{
	run->space->rules.frame =
		(struct rule){ .how = IN, .number = (unsigned)number, .offset = offset };
}

static void advance(struct run *run, uint64_t units)
{
	run->at += units * run->description->code_unit;
}

/* Instructions about the CFA and code addresses.  Returns 0, or -1 for other instructions. */
static int run_frame(struct run *run, unsigned instruction)
{
	struct cfi_cursor *code = &run->code;
	struct rule *frame = &run->space->rules.frame;
	uint64_t number;

	switch (instruction) {
	case 0x02:
	case 0x03: /* advance_loc1, 2 */
		advance(run, read_bytes(code, instruction - 1));
		return 0;
	case 0x04: /* advance_loc4 */
		advance(run, read_bytes(code, 4));
		return 0;
	case 0x0c: /* def_cfa */
		number = read_unsigned(code);
		set_frame(run, number, (int64_t)read_unsigned(code));
		return 0;
	case 0x12: /* def_cfa_sf */
		number = read_unsigned(code);
		set_frame(run, number, read_signed(code) * run->description->data_unit);
		return 0;
	case 0x0d: /* def_cfa_register */
		set_frame(run, read_unsigned(code), frame->offset);
		return 0;
	case 0x0e: /* def_cfa_offset */
		set_frame(run, frame->number, (int64_t)read_unsigned(code));
		return 0;
	case 0x13: /* def_cfa_offset_sf */
		set_frame(run, frame->number, read_signed(code) * run->description->data_unit);
		return 0;
	case 0x0f: /* def_cfa_expression */
		*frame = (struct rule){ .how = IS_EXPRESSION, .expression = code->at };
		read_block(code);
		return 0;
	default:
		return -1;
	}
}

/* Instructions about one register. */
static int run_register(struct run *run, unsigned instruction)
{
	struct cfi_cursor *code = &run->code;
	uint64_t column = read_unsigned(code);

	switch (instruction) {
	case 0x05:
		set_offset(run, column, (int64_t)read_unsigned(code), AT);
		return 0;
	case 0x11:
		set_offset(run, column, read_signed(code), AT);
		return 0;
	case 0x2f:
		set_offset(run, column, -(int64_t)read_unsigned(code), AT);
		return 0;
	case 0x14:
		set_offset(run, column, (int64_t)read_unsigned(code), IS);
		return 0;
	case 0x15:
		set_offset(run, column, read_signed(code), IS);
		return 0;
	case 0x06:
		restore(run, column);
		return 0;
	case 0x07:
		set_rule(run, column, (struct rule){ .how = UNDEFINED });
		return 0;
	case 0x08:
		set_rule(run, column, (struct rule){ .how = SAME });
		return 0;
	case 0x09:
		set_rule(run, column,
			(struct rule){ .how = IN, .number = (unsigned)read_unsigned(code) });
		return 0;
	case 0x10:
		set_expression(run, column, AT_EXPRESSION);
		return 0;
	case 0x16:
		set_expression(run, column, IS_EXPRESSION);
		return 0;
	case 0x2e:
		return 0; /* GNU_args_size: only for exceptions */
	default:
		return -1;
	}
}

/* Returns 0, or -1 at an unknown instruction. */
static int run_one(struct run *run)
{
	unsigned instruction = (unsigned)read_bytes(&run->code, 1), low = instruction & 0x3f;

	switch (instruction >> 6) {
	case 1:
		advance(run, low);
		return 0;
	case 2:
		set_offset(run, low, (int64_t)read_unsigned(&run->code), AT);
		return 0;
	case 3:
		restore(run, low);
		return 0;
	}
	if (!low || low == 0x2d)
		return 0; /* nop; negate_ra_state: machine_address() takes signatures off */
	if (low == 0x0a) {
		run->space->remembered = run->space->rules;
		return 0;
	}
	if (low == 0x0b) {
		run->space->rules = run->space->remembered;
		return 0;
	}
	return run_frame(run, low) ? run_register(run, low) : 0;
}

static int run_until(struct run *run, struct cfi_cursor code)
{
	run->code = code;
	while (run->code.at < run->code.end && run->at <= run->until)
		if (run_one(run))
			return -1;
	return 0;
}

int frame_rules_find(struct frame_rules_space *space, const void *entry, uint64_t where)
{
	struct description description;
	struct run run = { .description = &description, .space = space, .until = where };

	if (read_description(&description, entry))
		return -1;
	memset(space, 0, sizeof(*space));
	space->rules.is_signal = description.is_signal;
	if (run_until(&run, description.common))
		return -1;
	run.at = 0;
	space->initial = space->rules;
	return run_until(&run, description.own);
}
