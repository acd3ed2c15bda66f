/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes types, sizes, modifiers and addresses. */
#include <stddef.h>

#include "sass_bits.h"

/* --- fields --------------------------------------------------------------------- */

/* Fields that are copied from bits unchanged. */
static const struct {
	uint32_t field;
	uint8_t first, count;
	size_t member;
} plain[] = {
#define MEMBER(name) offsetof(struct sass_instruction, name)
	{ F_X, 74, 1, MEMBER(is_extended) },
	{ F_X72, 72, 1, MEMBER(is_extended) },
	{ F_SIGNED73, 73, 1, MEMBER(is_signed) },
	{ F_SIGNED72, 72, 1, MEMBER(is_signed) },
	{ F_64_80, 80, 1, MEMBER(is_64) },
	{ F_64_73, 73, 1, MEMBER(is_64) },
	{ F_64_74, 74, 1, MEMBER(is_64) },
	{ F_HIGH80, 80, 1, MEMBER(is_high) },
	{ F_TABLE72, 72, 8, MEMBER(table) },
	{ F_SHIFT75, 75, 5, MEMBER(shift) },
	{ F_MODE72, 72, 3, MEMBER(variant) },
	{ F_PTABLE, 16, 8, MEMBER(table2) },
	{ F_COMPARE76, 76, 3, MEMBER(compare) },
	{ F_COMPARE76, 74, 2, MEMBER(combine) },
	{ F_SHF, 80, 1, MEMBER(shift_high) },
	{ F_SHF, 76, 1, MEMBER(shift_right) },
	{ F_SHF, 75, 1, MEMBER(shift_wraps) },
	{ F_SHF, 73, 2, MEMBER(shift_type) },
	{ F_DISTANCE74, 74, 1, MEMBER(is_distance) },
#undef MEMBER
};

static void read_plain(const struct coded *code, struct sass_instruction *in)
{
	uint32_t fields = code->row->fields;

	for (size_t i = 0; i < sizeof(plain) / sizeof(*plain); i++)
		if (fields & plain[i].field)
			*((uint8_t *)in + plain[i].member) =
				(uint8_t)bits(code, plain[i].first, plain[i].count);
	in->is_wide = (fields & F_WIDE) != 0;
	in->is_high |= (fields & F_HIGH) != 0;
	in->is_64 |= (fields & F_64) != 0;
	if (fields & F_WIDTH75)
		in->is_64 = bits(code, 75, 2) == 3;
	if (in->opcode == SASS_P2R || in->opcode == SASS_R2P)
		in->variant = (uint8_t)bits(code, 76, 2);
	if (fields & F_RELATIVE)
		in->is_relative = 1;
	if (fields & F_PTABLE)
		in->table = (uint8_t)(bits(code, 72, 5) << 3 | bits(code, 64, 3));
}

/* sm_75 has a scope in bits 77, 78 and an order in 79, 80; later architectures have a list. */
static void read_order(const struct coded *code, struct sass_instruction *in)
{
	unsigned order = (unsigned)bits(code, 77, 4);

	if (code->arch < 80) {
		static const uint8_t strength[] = { SASS_CONSTANT_DATA, SASS_WEAK, SASS_STRONG,
			SASS_MMIO };

		in->strength = order == 0 && code->row->direction != SASS_READS
			? SASS_WEAK
			: strength[order >> 2];
		return;
	}
	in->strength = order < 4 ? SASS_WEAK : order == 4 ? SASS_CONSTANT_DATA : SASS_STRONG;
}

static void read_atomic(const struct coded *code, struct sass_instruction *in)
{
	/* U32 S32 U64 F32 F16x2 S64 F64 */
	static const uint8_t integers[] = { 4, 4, 8, 4, 4, 8, 8, 8 };
	/* F16x2 x4 x8 BF16x2 x4 x8, F32.FTZ x2 x4, F32 x2 x4 F64 */
	static const uint8_t floats[] = { 4, 8, 16, 4, 8, 16, 4, 8, 16, 4, 8, 16, 4, 8, 16, 8 };
	unsigned type = (unsigned)bits(code, 73, 3), operation = (unsigned)bits(code, 87, 4);

	if (in->opcode == SASS_RED || in->opcode == SASS_LD ||
		(code->row->fields & F_FLOATS && code->arch >= 100))
		operation &= 7;
	in->operation = operation > 8 ? SASS_OPERATION_OTHER : (uint8_t)operation;
	if (code->row->fields & F_FLOATS) {
		in->bytes = floats[bits(code, 73, 4)];
		/* LDGMC of 8-bit numbers: x4 x8 x16 for each of two kinds. */
		if (in->opcode == SASS_LD && operation == 7 && code->arch >= 100)
			in->bytes = (uint8_t)(4 << (bits(code, 73, 4) + 2) % 3);
		in->is_float = 1;
		return;
	}
	if (code->arch >= 90) { /* floating-point types have opcodes of their own; 4 is 128 bits */
		in->bytes = type == 4 ? 16 : integers[type];
		in->is_signed = type == 1 || type == 5;
		return;
	}
	in->is_float = type == 3 || type == 4 || type >= 6;
	in->is_signed = type == 1 || type == 5;
	in->bytes = integers[type];
}

uint8_t sass_tensor_registers(const struct coded *code)
{
	unsigned columns = 8 * ((unsigned)bits(code, 53, 5) + 1);

	switch (code->row->number) {
	case 0x03b: /* LDSM */
		return (uint8_t)(1 << (bits(code, 72, 2) % 3));
	case 0x036:
		return 2;
	case 0x037: /* IMMA: 16 or 8 rows */
		return bit(code, 86) ? 4 : 2;
	case 0x03c: /* HMMA: of 32 or 16 bits */
	case 0x03d: /* BMMA: 16 or 8 rows */
		return bit(code, 76) ? 4 : 2;
	case 0x03f: /* DMMA: 16 or 8 rows */
		return bits(code, 76, 2) ? 8 : 4;
	case 0x07a: /* QMMA */
		return bit(code, 77) ? 4 : 2;
	case 0x1ee: /* LDTM: by shape and number */
		columns = 1u << bits(code, 83, 3);
		columns <<= bit(code, 87)        ? 0
			: bits(code, 81, 2) == 0 ? 1
			: bits(code, 81, 2) == 1 ? 2
						 : 0;
		return (uint8_t)(columns > 128 ? 128 : columns);
	case 0x1f0:
	case 0x1f3:
		return (uint8_t)(bit(code, 75) ? columns / 2 : columns / 4);
	case 0x1f1: /* 15 or 16, 27 or 28, 39 or 40, 51 or 52: 64, 128, 192, 256 columns */
		columns = (unsigned)bits(code, 53, 6);
		columns = columns >= 6 ? (columns - 3) / 3 * 16 : 16;
		return (uint8_t)(columns > 256 ? 128 : columns / 2);
	default:
		return 4;
	}
}

/* Bits 73, 74: 1 global to shared, 2 shared to global, 3 within shared memory. */
static void read_bulk(const struct coded *code, struct sass_instruction *in)
{
	unsigned way = (unsigned)bits(code, 73, 2);

	if (way == 3) {
		in->space = SASS_SPACE_SHARED;
		in->direction = SASS_NO_DIRECTION;
	} else if (in->opcode == SASS_UBLKCP) {
		in->direction = way == 1 ? SASS_READS : way == 2 ? SASS_WRITES : SASS_UPDATES;
	}
}

void sass_read_fields(const struct coded *code, struct sass_instruction *in)
{
	uint32_t fields = code->row->fields;

	read_plain(code, in);
	if (fields & F_SIZE73) {
		static const uint8_t size[] = { 1, 1, 2, 2, 4, 8, 16, 16 };
		unsigned type = (unsigned)bits(code, 73, 3);

		if (in->opcode == SASS_LDGSTS && code->arch >= 100)
			type = 4 + (unsigned)bits(code, 74, 2);
		in->bytes = size[type];
		in->is_signed = type == 1 || type == 3;
	}
	if (fields & F_ATOM) {
		read_atomic(code, in);
		/* Compare-and-swap, and other atomics in shared memory. */
		if (code->row->number == 0x18b || code->row->number == 0x1a9 ||
			code->row->number == 0x18d)
			in->operation = SASS_OPERATION_CAS;
		if (code->row->number == 0x18d) {
			in->bytes = bits(code, 73, 3) == 2 ? 8 : 4;
			in->is_float = 0;
		}
		if (code->row->number == 0x18c && form(code) == 7)
			in->operation = SASS_OPERATION_OTHER;
	}
	if (fields & F_ORDER)
		read_order(code, in);
	if (in->opcode == SASS_LDSM)
		in->bytes = (uint8_t)(4 * sass_tensor_registers(code));
	if (in->opcode == SASS_STSM)
		in->bytes = (uint8_t)(4 << (bits(code, 72, 2) % 3));
	if (in->opcode == SASS_RET)
		in->is_relative = !bit(code, 85);
	if (in->opcode == SASS_UBLKCP || in->opcode == SASS_UBLKRED)
		read_bulk(code, in);
	if (code->row->layout == LAYOUT_WIDE)
		in->bytes = 32;
}

/* --- addresses --------------------------------------------------------------------- */

static void no_address(struct sass_address *address)
{
	*address = (struct sass_address){
		.base = SASS_NONE,
		.uniform = SASS_NONE,
		.descriptor = SASS_NONE,
		.scale = 1,
	};
}

/* A uniform register is part of the address, or its descriptor. */
static void set_uniform(struct sass_address *address, uint16_t number, int is_descriptor, int is_64)
{
	if (is_descriptor) {
		address->descriptor = number;
		return;
	}
	address->uniform = number;
	address->uniform_is_64 = number != SASS_NONE && is_64;
}

static int is_global(const struct sass_instruction *in)
{
	return in->space == SASS_SPACE_GENERIC || in->space == SASS_SPACE_GLOBAL;
}

/* Loads and stores. */
static void read_address(const struct coded *code, struct sass_instruction *in)
{
	unsigned uniform = code->row->layout == LAYOUT_LOAD ? 32 : 64;
	struct sass_address *address = &in->address;
	int is_64 = is_global(in) && bit(code, 72);

	address->base = general_number(code, 24);
	address->base_is_64 = is_64;
	address->offset = (int32_t)signed_bits(code, 40, 24);
	if (in->space == SASS_SPACE_GENERIC && !bit(code, 91))
		address->offset = (int32_t)signed_bits(code, 32, 32);
	if (in->space == SASS_SPACE_SHARED &&
		(in->opcode == SASS_LD || in->opcode == SASS_ST || in->opcode == SASS_ATOM)) {
		unsigned scale = (unsigned)bits(code, 78, 2);

		address->scale = (uint8_t)(scale ? 2 << scale : 1);
	}
	if (!bit(code, 91))
		return;
	address->base_is_64 = code->row->number == 0x1bd || (is_64 && bit(code, 90)); /* STAS */
	set_uniform(address, uniform_number(code, uniform), is_global(in) && bit(code, 76), is_64);
}

/* In atomics other bits give the registers' sizes. */
static void read_atomic_address(const struct coded *code, struct sass_instruction *in)
{
	struct sass_address *address = &in->address;
	int is_64 = bit(code, 72), is_red = in->opcode == SASS_RED, is_descriptor;

	address->base = general_number(code, 24);
	address->base_is_64 = (uint8_t)is_64;
	address->offset = (int32_t)signed_bits(code, 40, 24);
	if (!bit(code, 91) || in->operation == SASS_OPERATION_CAS)
		return;
	if (code->arch < 100) {
		is_descriptor = bit(code, 71);
		address->base_is_64 = is_64 && bit(code, is_red ? 90 : 70);
	} else if (is_red) {
		is_descriptor = bit(code, 81);
		address->base_is_64 = is_64 && bit(code, 90);
	} else if (in->opcode == SASS_LD) {
		is_descriptor = 0;
	} else {
		is_descriptor = bit(code, code->row->fields & F_FLOATS ? 90 : 76);
		address->base_is_64 = is_64 && bit(code, 63);
		address->offset = (int32_t)signed_bits(code, 40, 23);
	}
	set_uniform(address, uniform_number(code, 64), is_descriptor, is_64);
}

/* LDGSTS: global memory at 24 to shared memory at 16. */
static void read_copy(const struct coded *code, struct sass_instruction *in)
{
	struct sass_address *from = &in->address, *to = &in->address2;
	uint16_t uniform = uniform_number(code, 64);

	from->base = general_number(code, 24);
	from->base_is_64 = 1;
	from->offset = (int32_t)signed_bits(code, 32, 12);
	to->base = general_number(code, 16);
	to->offset = (int32_t)bits(code, 44, 20);
	in->has_address = 2;
	if (form(code) == 6) /* the uniform register is part of shared memory's address */
		to->uniform = uniform;
	else
		set_uniform(from, uniform, bit(code, 76), 1);
}

/* 256 bits. */
static void read_wide_address(const struct coded *code, struct sass_instruction *in)
{
	struct sass_address *address = &in->address;

	address->base = general_number(code, 24);
	address->base_is_64 = (uint8_t)bit(code, 63);
	address->offset = 32 * (int32_t)signed_bits(code, 40, 17);
	if (!bit(code, 91))
		return;
	set_uniform(address, uniform_number(code, in->opcode == SASS_LD ? 32 : 64), bit(code, 76),
		1);
}

void sass_read_addresses(const struct coded *code, struct sass_instruction *in)
{
	no_address(&in->address);
	no_address(&in->address2);
	if (code->row->layout == NO_ADDRESS)
		return;
	in->has_address = 1;
	switch (code->row->layout) {
	case LAYOUT_LOAD:
	case LAYOUT_STORE:
		read_address(code, in);
		break;
	case LAYOUT_ATOMIC:
		read_atomic_address(code, in);
		break;
	case LAYOUT_COPY:
		read_copy(code, in);
		break;
	case LAYOUT_WIDE:
		read_wide_address(code, in);
		break;
	case LAYOUT_UNIFORM24:
		in->address.uniform = uniform_number(code, 24);
		in->address.offset = (int32_t)signed_bits(code, 40, 24);
		break;
	default:
		break;
	}
}
