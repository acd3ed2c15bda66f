/* SPDX-License-Identifier: Apache-2.0 */
/* Call frame information as the System V ABI's .eh_frame and DWARF describe it. */
#include "unwind.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "resolve.h"
#include "shim.h"

#if !defined(__x86_64__)
#error "the registers and what calls keep are x86-64's: add those of this machine here"
#endif

#define FRAME_POINTER 6
#define STACK_POINTER 7
#define RETURN_ADDRESS 16
#define COLUMNS 17
#define BIT(number) (1u << (number))
/* rbx, rbp, rsp, r12 to r15: the others are lost in a call. */
#define KEPT (BIT(3) | BIT(FRAME_POINTER) | BIT(STACK_POINTER) | 0xf000u)
#define PAGE 4096u

/* Where a register of the caller is. */
struct rule {
	enum { SAME, UNDEFINED, AT, IS, IN, AT_EXPRESSION, IS_EXPRESSION } how;
	unsigned number;           /* IN: the register; of the frame: the one it is counted from */
	int64_t offset;            /* from the frame's address */
	const uint8_t *expression;
};

struct rules {
	struct rule frame;         /* IN or IS_EXPRESSION */
	struct rule of[COLUMNS];
};

struct cursor { const uint8_t *at, *end; };

/* What a frame description and the information it shares with others say. */
struct description {
	struct cursor common, own; /* instructions */
	uint64_t code_unit;
	int64_t data_unit;
	uint8_t encoding;          /* of addresses */
	int sized, is_signal;
};

/* As libgcc declares it for its own use. */
struct bases { void *text, *data, *function; };
static const void *(*find_rules)(void *, struct bases *);

void unwind_init(void)
{
	void *library = find_rules ? NULL : dlopen("libgcc_s.so.1", RTLD_LAZY);

	if (library)
		*(void **)&find_rules = resolve_real_dlsym()(library, "_Unwind_Find_FDE");
}

static uint64_t read_bytes(struct cursor *cursor, unsigned bytes)
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

static uint64_t read_unsigned(struct cursor *cursor)
{
	uint64_t value = 0, byte = 0x80;

	for (unsigned shift = 0; byte & 0x80 && shift < 64; shift += 7) {
		byte = read_bytes(cursor, 1);
		value |= (byte & 0x7f) << shift;
	}
	return value;
}

static int64_t read_signed(struct cursor *cursor)
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

static struct cursor read_block(struct cursor *cursor)
{
	uint64_t bytes = read_unsigned(cursor);
	struct cursor block = { cursor->at, cursor->at };

	if (bytes > (uint64_t)(cursor->end - cursor->at))
		bytes = (uint64_t)(cursor->end - cursor->at);
	cursor->at = block.end = block.at + bytes;
	return block;
}

static void skip_address(struct cursor *cursor, uint8_t encoding)
{
	static const uint8_t bytes[8] = { 8, 0, 2, 4, 8 };

	if ((encoding & 7) == 1)
		read_unsigned(cursor);
	else
		read_bytes(cursor, bytes[encoding & 7]);
}

/* The letters of an augmentation: what else there is, in their order. */
static int read_augmentation(struct description *description, const char *letters,
	struct cursor *cursor)
{
	struct cursor data;

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
		else
			return -1;
	}
	return 0;
}

/* The contents of an entry, without its length; none of one in the 64-bit form. */
static struct cursor entry_at(const uint8_t *at)
{
	uint32_t bytes;

	memcpy(&bytes, at, sizeof(bytes));
	if (bytes == UINT32_MAX)
		bytes = 0;
	return (struct cursor){ at + sizeof(bytes), at + sizeof(bytes) + bytes };
}

static int read_common(struct description *description, struct cursor cursor)
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
	if (column != RETURN_ADDRESS || read_augmentation(description, letters, &cursor))
		return -1;
	description->common = cursor;
	return 0;
}

static int read_description(struct description *description, const void *entry)
{
	struct cursor cursor = entry_at(entry);
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

/* Running the instructions of a description up to an address. */
struct run {
	const struct description *description;
	struct cursor code;
	uint64_t at, until;        /* in the function */
	struct rules *rules;
	struct rules initial, remembered;
};

static void set_rule(struct run *run, uint64_t column, struct rule rule)
{
	if (column < COLUMNS)
		run->rules->of[column] = rule;
}

static void set_offset(struct run *run, uint64_t column, int64_t units, int how)
{
	set_rule(run, column, (struct rule){ .how = how,
		.offset = units * run->description->data_unit });
}

static void set_expression(struct run *run, uint64_t column, int how)
{
	set_rule(run, column, (struct rule){ .how = how, .expression = run->code.at });
	read_block(&run->code);
}

static void restore(struct run *run, uint64_t column)
{
	if (column < COLUMNS)
		run->rules->of[column] = run->initial.of[column];
}

/* The frame's address: the register it is counted from, how far. */
static void set_frame(struct run *run, uint64_t number, int64_t offset)
{
	run->rules->frame = (struct rule){ .how = IN, .number = (unsigned)number,
		.offset = offset };
}

static void advance(struct run *run, uint64_t units)
{
	run->at += units * run->description->code_unit;
}

/* Instructions about the frame's address and places in the code: 0, or -1 if it is none of them. */
static int run_frame(struct run *run, unsigned instruction)
{
	struct cursor *code = &run->code;
	struct rule *frame = &run->rules->frame;
	uint64_t number;

	switch (instruction) {
	case 0x02: case 0x03: /* advance_loc1, 2 */
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
	struct cursor *code = &run->code;
	uint64_t column = read_unsigned(code);

	switch (instruction) {
	case 0x05: set_offset(run, column, (int64_t)read_unsigned(code), AT); return 0;
	case 0x11: set_offset(run, column, read_signed(code), AT); return 0;
	case 0x2f: set_offset(run, column, -(int64_t)read_unsigned(code), AT); return 0;
	case 0x14: set_offset(run, column, (int64_t)read_unsigned(code), IS); return 0;
	case 0x15: set_offset(run, column, read_signed(code), IS); return 0;
	case 0x06: restore(run, column); return 0;
	case 0x07: set_rule(run, column, (struct rule){ .how = UNDEFINED }); return 0;
	case 0x08: set_rule(run, column, (struct rule){ .how = SAME }); return 0;
	case 0x09: set_rule(run, column, (struct rule){ .how = IN,
		.number = (unsigned)read_unsigned(code) }); return 0;
	case 0x10: set_expression(run, column, AT_EXPRESSION); return 0;
	case 0x16: set_expression(run, column, IS_EXPRESSION); return 0;
	case 0x2e: return 0; /* GNU_args_size: of code that throws */
	default: return -1;
	}
}

/* 0, or -1 at an instruction that is not known. */
static int run_one(struct run *run)
{
	unsigned instruction = (unsigned)read_bytes(&run->code, 1), low = instruction & 0x3f;

	switch (instruction >> 6) {
	case 1: advance(run, low); return 0;
	case 2: set_offset(run, low, (int64_t)read_unsigned(&run->code), AT); return 0;
	case 3: restore(run, low); return 0;
	}
	if (!low)
		return 0; /* nop */
	if (low == 0x0a) {
		run->remembered = *run->rules;
		return 0;
	}
	if (low == 0x0b) {
		*run->rules = run->remembered;
		return 0;
	}
	return run_frame(run, low) ? run_register(run, low) : 0;
}

static int run_until(struct run *run, struct cursor code)
{
	run->code = code;
	while (run->code.at < run->code.end && run->at <= run->until)
		if (run_one(run))
			return -1;
	return 0;
}

static int find_row(const struct unwinder *unwinder, const struct description *description,
	struct rules *rules)
{
	struct run run = { .description = description, .rules = rules,
		.until = unwinder->address - !unwinder->exact - unwinder->start };

	memset(rules, 0, sizeof(*rules));
	if (run_until(&run, description->common))
		return -1;
	run.at = 0;
	run.initial = *rules;
	return run_until(&run, description->own);
}

/* The kernel copies the set before it looks at a first argument that is none: EFAULT or EINVAL. */
static int is_readable(struct unwinder *unwinder, uintptr_t address)
{
	if (address / PAGE == unwinder->page)
		return 1;
	if (address % sizeof(uint64_t) || !syscall(SYS_rt_sigprocmask, -1, address, NULL, 8) ||
		errno != EINVAL)
		return 0;
	unwinder->page = address / PAGE;
	return 1;
}

static int read_word(struct unwinder *unwinder, uintptr_t address, uint64_t *word)
{
	if (address % sizeof(*word) || !is_readable(unwinder, address))
		return -1;
	*word = *(const volatile uint64_t *)address;
	return 0;
}

static int read_register(const struct unwinder *unwinder, uint64_t number, uint64_t *word)
{
	if (number >= UNWIND_REGISTERS || !(unwinder->known & BIT(number)))
		return -1;
	*word = unwinder->value[number];
	return 0;
}

/* What compilers write for frames that they align, and the C library for a signal's. */
static int evaluate(struct unwinder *unwinder, const uint8_t *expression, uint64_t *value)
{
	struct cursor cursor = { expression, expression + 16 };

	for (cursor = read_block(&cursor); cursor.at < cursor.end;) {
		unsigned operation = (unsigned)read_bytes(&cursor, 1);

		if (operation >= 0x70 && operation <= 0x7f) { /* breg */
			if (read_register(unwinder, operation - 0x70, value))
				return -1;
			*value += (uint64_t)read_signed(&cursor);
		} else if (operation == 0x06) { /* deref */
			if (read_word(unwinder, *value, value))
				return -1;
		} else if (operation == 0x23) { /* plus_uconst */
			*value += read_unsigned(&cursor);
		} else {
			return -1;
		}
	}
	return 0;
}

static int find_frame(struct unwinder *unwinder, const struct rule *rule, uint64_t *frame)
{
	if (rule->how == IS_EXPRESSION)
		return evaluate(unwinder, rule->expression, frame);
	if (rule->how != IN || read_register(unwinder, rule->number, frame))
		return -1;
	*frame += (uint64_t)rule->offset;
	return 0;
}

/* The caller's value of a column: 0, -1 if it is not known.  *slot: where it lies, or 0. */
static int find_value(struct unwinder *unwinder, const struct rule *rule, uint64_t frame,
	uint64_t *value, uintptr_t *slot)
{
	*slot = 0;
	switch (rule->how) {
	case AT:
		*slot = frame + (uint64_t)rule->offset;
		return read_word(unwinder, *slot, value);
	case IS:
		*value = frame + (uint64_t)rule->offset;
		return 0;
	case IN:
		return read_register(unwinder, rule->number, value);
	case AT_EXPRESSION:
		if (evaluate(unwinder, rule->expression, slot))
			return -1;
		return read_word(unwinder, *slot, value);
	case IS_EXPRESSION:
		return evaluate(unwinder, rule->expression, value);
	default:
		return -1;
	}
}

/* At an address; 0 if it is none of code: what lies at the end of a stack may be anything. */
static int arrive(struct unwinder *unwinder, uint64_t address, uintptr_t slot)
{
	struct bases bases = { NULL, NULL, NULL };

	unwinder->address = address;
	unwinder->slot = slot;
	unwinder->rules = address ? find_rules((void *)(address - !unwinder->exact), &bases) : NULL;
	unwinder->start = (uintptr_t)bases.function;
	return address && (unwinder->rules || is_readable(unwinder, address & ~(uintptr_t)7));
}

int unwind_begin(struct unwinder *unwinder, uintptr_t frame)
{
	const uint64_t *word = (const uint64_t *)frame;

	*unwinder = (struct unwinder){ .page = frame / PAGE,
		.known = BIT(FRAME_POINTER) | BIT(STACK_POINTER) };
	unwinder->value[FRAME_POINTER] = word[0];
	unwinder->value[STACK_POINTER] = frame + 2 * sizeof(*word);
	return find_rules && arrive(unwinder, word[1], frame + sizeof(*word));
}

/* Registers as the caller has them. */
static void leave(struct unwinder *unwinder, const struct rules *rules, uint64_t frame, int whole)
{
	struct unwinder inner = *unwinder;
	uintptr_t slot;

	if (!whole)
		unwinder->known &= KEPT;
	unwinder->value[STACK_POINTER] = frame;
	for (unsigned i = 0; i < UNWIND_REGISTERS; i++) {
		if (rules->of[i].how == SAME)
			continue;
		unwinder->known &= ~BIT(i);
		if (!find_value(&inner, &rules->of[i], frame, &unwinder->value[i], &slot))
			unwinder->known |= BIT(i);
	}
}

int unwind_step(struct unwinder *unwinder)
{
	struct description description;
	struct rules rules;
	uint64_t frame, address;
	uintptr_t slot;

	if (!unwinder->rules || read_description(&description, unwinder->rules) ||
		find_row(unwinder, &description, &rules) ||
		find_frame(unwinder, &rules.frame, &frame) ||
		find_value(unwinder, &rules.of[RETURN_ADDRESS], frame, &address, &slot))
		return 0;
	/* Stacks grow downwards; only a signal's handler may have one of its own. */
	if (!description.is_signal && frame <= unwinder->value[STACK_POINTER])
		return 0;
	leave(unwinder, &rules, frame, description.is_signal);
	unwinder->exact = description.is_signal;
	return arrive(unwinder, address, slot);
}
