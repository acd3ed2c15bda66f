/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions as data: the table says which bits are what. */
#include <stddef.h>
#include <string.h>

#include "sass_table.h"

struct coded {
	uint64_t low, high;
	uint64_t at;
	unsigned arch;
	const struct sass_row *row;
};

static uint64_t bits(const struct coded *code, unsigned first, unsigned count)
{
	uint64_t value = first >= 64 ? code->high >> (first - 64) : code->low >> first;

	if (first < 64 && first + count > 64)
		value |= code->high << (64 - first);
	return count < 64 ? value & ((UINT64_C(1) << count) - 1) : value;
}

static int bit(const struct coded *code, unsigned number)
{
	return (int)bits(code, number, 1);
}

static int64_t signed_bits(const struct coded *code, unsigned first, unsigned count)
{
	uint64_t sign = UINT64_C(1) << (count - 1);

	return (int64_t)((bits(code, first, count) ^ sign) - sign);
}

static unsigned form(const struct coded *code)
{
	return (unsigned)bits(code, 9, 3);
}

/* --- numbers of registers ---------------------------------------------------------------------- */

static uint16_t general_number(const struct coded *code, unsigned first)
{
	unsigned number = (unsigned)bits(code, first, 8);

	return number == 0xff ? SASS_NONE : (uint16_t)number;
}

/* 63 uniform registers; more from sm_100 on. */
static uint16_t uniform_number(const struct coded *code, unsigned first)
{
	unsigned width = code->arch < 100 ? 6 : 8, number = (unsigned)bits(code, first, width);

	return number == (1u << width) - 1 ? SASS_NONE : (uint16_t)number;
}

static uint16_t predicate_number(const struct coded *code, unsigned first)
{
	unsigned number = (unsigned)bits(code, first, 3);

	return number == 7 ? SASS_NONE : (uint16_t)number;
}

/* --- fields ------------------------------------------------------------------------------------- */

/* Fields that are some bits as they are. */
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
	if (fields & F_RELATIVE)
		in->is_relative = 1;
	if (fields & F_PTABLE)
		in->table = (uint8_t)(bits(code, 72, 5) << 3 | bits(code, 64, 3));
}

static void read_size(const struct coded *code, struct sass_instruction *in)
{
	static const uint8_t size[] = { 1, 1, 2, 2, 4, 8, 16, 16 };
	unsigned type = (unsigned)bits(code, 73, 3);

	if (in->opcode == SASS_LDGSTS && code->arch >= 100)
		type = 4 + (unsigned)bits(code, 74, 2);
	in->bytes = size[type];
	in->is_signed = type == 1 || type == 3;
}

/* sm_75 has a scope in bits 77, 78 and an order in 79, 80, later ones have a list. */
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
		in->is_float = 1;
		return;
	}
	in->is_float = type == 3 || type == 4 || type >= 6;
	in->is_signed = type == 1 || type == 5;
	in->bytes = integers[type];
}

/* Compare and swap, and other atomics of shared memory. */
static void read_swap(const struct coded *code, struct sass_instruction *in)
{
	if (code->row->number == 0x18b || code->row->number == 0x1a9 || code->row->number == 0x18d)
		in->operation = SASS_OPERATION_CAS;
	if (code->row->number == 0x18d) {
		in->bytes = bits(code, 73, 3) == 2 ? 8 : 4;
		in->is_float = 0;
	}
	if (code->row->number == 0x18c && form(code) == 7)
		in->operation = SASS_OPERATION_OTHER;
}

static uint8_t tensor_registers(const struct coded *code)
{
	unsigned columns = 8 * ((unsigned)bits(code, 53, 5) + 1);

	switch (code->row->number) {
	case 0x03b: /* LDSM */
		return (uint8_t)(1 << (bits(code, 72, 2) % 3));
	case 0x036:
		return 2;
	case 0x03c: /* HMMA */
	case 0x07a:
		return bit(code, 76) || bit(code, 77) ? 4 : 2;
	case 0x1f0:
	case 0x1f3:
		return (uint8_t)(bit(code, 75) ? columns / 2 : columns / 4);
	case 0x1f1: /* 16, 28, 40, 52 are 64, 128, 192, 256 columns */
		columns = (unsigned)bits(code, 53, 6);
		columns = columns > 4 ? ((columns - 4) * 16 + 2) / 3 : 8;
		return (uint8_t)(columns > 256 ? 128 : columns / 2);
	default:
		return 4;
	}
}

static void read_fields(const struct coded *code, struct sass_instruction *in)
{
	uint32_t fields = code->row->fields;

	read_plain(code, in);
	if (fields & F_SIZE73)
		read_size(code, in);
	if (fields & F_ATOM) {
		read_atomic(code, in);
		read_swap(code, in);
	}
	if (fields & F_ORDER)
		read_order(code, in);
	if (in->opcode == SASS_LDSM)
		in->bytes = (uint8_t)(4 * tensor_registers(code));
	if (in->opcode == SASS_STSM)
		in->bytes = (uint8_t)(4 << (bits(code, 72, 2) % 3));
	if (in->opcode == SASS_RET)
		in->is_relative = !bit(code, 85);
	if (code->row->layout == LAYOUT_WIDE)
		in->bytes = 32;
}

/* --- addresses ---------------------------------------------------------------------------------- */

static void no_address(struct sass_address *address)
{
	*address = (struct sass_address){
		.base = SASS_NONE,
		.uniform = SASS_NONE,
		.descriptor = SASS_NONE,
		.scale = 1,
	};
}

/* A uniform register is a part of the address or its descriptor. */
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

/* Of atomics other bits say what registers are. */
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
	if (form(code) == 6) /* the uniform register is in shared memory's address */
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

static void read_addresses(const struct coded *code, struct sass_instruction *in)
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

/* --- operands ----------------------------------------------------------------------------------- */

enum spot_kind {
	SPOT_NONE,
	SPOT_REGISTER, /* uniform, if the row says so */
	SPOT_GENERAL,
	SPOT_UNIFORM,
	SPOT_SECOND,
	SPOT_THIRD,
	SPOT_LONG, /* the 32 bits from 32 on */
	SPOT_PREDICATE,
	SPOT_GENERAL_PREDICATE,
	SPOT_UNIFORM_PREDICATE,
	SPOT_MASKED, /* all predicates of a mask */
	SPOT_BARRIER,
	SPOT_IMMEDIATE, /* count: bits */
	SPOT_CONSTANT,
	SPOT_SPECIAL,
	SPOT_TARGET,
};
enum { COUNT_64 = 0xf0, COUNT_BYTES, COUNT_TENSOR, COUNT_TEXELS, COUNT_MORE_TEXELS };

static const struct spot {
	uint8_t kind, first, count;
} spots[PLACES] = {
	[D] = { SPOT_REGISTER, 16, 1 },
	[D2] = { SPOT_REGISTER, 16, 2 },
	[D4] = { SPOT_REGISTER, 16, 4 },
	[DS] = { SPOT_REGISTER, 16, COUNT_BYTES },
	[DL] = { SPOT_REGISTER, 16, COUNT_64 },
	[D_TEXELS] = { SPOT_GENERAL, 16, COUNT_TEXELS },
	[R64_TEXELS] = { SPOT_GENERAL, 64, COUNT_MORE_TEXELS },
	[DT] = { SPOT_REGISTER, 16, COUNT_TENSOR },
	[A] = { SPOT_REGISTER, 24, 1 },
	[A2] = { SPOT_REGISTER, 24, 2 },
	[AL] = { SPOT_REGISTER, 24, COUNT_64 },
	[B] = { SPOT_SECOND, 0, 1 },
	[B2] = { SPOT_SECOND, 0, 2 },
	[BL] = { SPOT_SECOND, 0, COUNT_64 },
	[C] = { SPOT_THIRD, 0, 1 },
	[C2] = { SPOT_THIRD, 0, 2 },
	[CL] = { SPOT_THIRD, 0, COUNT_64 },
	[T] = { SPOT_LONG, 32, 1 },
	[T2] = { SPOT_LONG, 32, 2 },
	[TL] = { SPOT_LONG, 32, COUNT_64 },
	[R32] = { SPOT_GENERAL, 32, 1 },
	[R32S] = { SPOT_GENERAL, 32, COUNT_BYTES },
	[R32L] = { SPOT_GENERAL, 32, COUNT_64 },
	[R32_4] = { SPOT_GENERAL, 32, 4 },
	[R64] = { SPOT_GENERAL, 64, 1 },
	[R64_2] = { SPOT_GENERAL, 64, 2 },
	[R64_4] = { SPOT_GENERAL, 64, 4 },
	[R64S] = { SPOT_GENERAL, 64, COUNT_BYTES },
	[R16_4] = { SPOT_GENERAL, 16, 4 },
	[UD] = { SPOT_UNIFORM, 16, 1 },
	[U24_DIVERGENT] = { SPOT_UNIFORM, 24, 1 },
	[U24_2] = { SPOT_UNIFORM, 24, 2 },
	[U32] = { SPOT_UNIFORM, 32, 1 },
	[U32_2] = { SPOT_UNIFORM, 32, 2 },
	[U40_2] = { SPOT_UNIFORM, 40, 2 },
	[U64] = { SPOT_UNIFORM, 64, 1 },
	[P81] = { SPOT_PREDICATE, 81, 0 },
	[P84] = { SPOT_PREDICATE, 84, 0 },
	[P87] = { SPOT_PREDICATE, 87, 0 },
	[P77] = { SPOT_PREDICATE, 77, 0 },
	[P68] = { SPOT_PREDICATE, 68, 0 },
	[PX68] = { SPOT_PREDICATE, 68, 0 },
	[P64_INVERTED] = { SPOT_GENERAL_PREDICATE, 64, 0 },
	[GP81] = { SPOT_GENERAL_PREDICATE, 81, 0 },
	[GP87] = { SPOT_GENERAL_PREDICATE, 87, 0 },
	[UP24] = { SPOT_UNIFORM_PREDICATE, 24, 0 },
	[ALL_PREDICATES] = { SPOT_MASKED, 32, 0 },
	[B16] = { SPOT_BARRIER, 16, 0 },
	[B24] = { SPOT_BARRIER, 24, 0 },
	[I32] = { SPOT_IMMEDIATE, 32, 32 },
	[I24_64] = { SPOT_IMMEDIATE, 24, 64 },
	[I40_12] = { SPOT_IMMEDIATE, 40, 13 },
	[I53_5] = { SPOT_IMMEDIATE, 53, 5 },
	[I42_12] = { SPOT_IMMEDIATE, 42, 12 },
	[I54_4] = { SPOT_IMMEDIATE, 54, 4 },
	[C38] = { SPOT_CONSTANT, 38, COUNT_BYTES },
	[C38_PLAIN] = { SPOT_CONSTANT, 38, COUNT_BYTES },
	[C38_U] = { SPOT_CONSTANT, 38, COUNT_BYTES },
	[C37_U] = { SPOT_CONSTANT, 37, COUNT_BYTES },
	[SPECIAL72] = { SPOT_SPECIAL, 72, 0 },
	[TARGET] = { SPOT_TARGET, 34, 0 },
	[TARGET_32] = { SPOT_TARGET, 34, 0 },
	[TARGET_ABSOLUTE] = { SPOT_TARGET, 34, 0 },
	[TARGET_COLLECTIVE] = { SPOT_TARGET, 34, 0 },
};

static uint8_t texels(const struct coded *code)
{
	return (uint8_t)(bit(code, 72) + bit(code, 73) + bit(code, 74) + bit(code, 75));
}

static uint8_t count_of(const struct coded *code, const struct sass_instruction *in, uint8_t count)
{
	switch (count) {
	case COUNT_64:
		return in->is_64 ? 2 : 1;
	case COUNT_BYTES:
		return in->bytes > 4 ? in->bytes / 4 : 1;
	case COUNT_TENSOR:
		return tensor_registers(code);
	case COUNT_TEXELS:
		return texels(code) > 2 ? 2 : texels(code);
	case COUNT_MORE_TEXELS:
		return texels(code) > 2 ? texels(code) - 2 : 0;
	default:
		return count;
	}
}

static void set_register(const struct coded *code, struct sass_operand *operand, int is_uniform,
	unsigned first)
{
	operand->kind = is_uniform ? SASS_OPERAND_UNIFORM : SASS_OPERAND_GENERAL;
	operand->number = is_uniform ? uniform_number(code, first) : general_number(code, first);
}

/* -1 or |1| of a source: where its bits are depends on where it lies. */
static void set_sign(const struct coded *code, struct sass_operand *operand, unsigned first)
{
	uint32_t fields = code->row->fields;
	unsigned negate = first == 24 ? 72 : first == 64 ? 75 : 63;
	unsigned absolute = first == 24 ? 73 : first == 64 ? 74 : 62;
	uint32_t field = first == 24 ? F_NEGATE_A : first == 64 ? F_NEGATE_C : F_NEGATE_B;

	if (fields & field && bit(code, negate))
		operand->negated = 1;
	if (fields & F_ABSOLUTE && bit(code, absolute))
		operand->absolute = 1;
	if (fields & F_INVERT_B && first == 32 && bit(code, 63))
		operand->inverted = 1;
	/* A sum's upper words are negated without adding one. */
	if (operand->negated && fields & F_X && bit(code, 74)) {
		operand->negated = 0;
		operand->inverted = 1;
	}
}

static void set_long(const struct coded *code, struct sass_operand *operand)
{
	int is_uniform = (code->row->fields & F_UNIFORM) != 0;

	switch (form(code)) {
	case 1:
		set_register(code, operand, is_uniform, 32);
		break;
	case 2:
	case 4:
		operand->kind = SASS_OPERAND_IMMEDIATE;
		operand->value = signed_bits(code, 32, 32);
		return;
	case 6:
	case 7:
		set_register(code, operand, 1, 32);
		break;
	default: /* 3, 5 */
		if (is_uniform || form(code) == 0) {
			set_register(code, operand, 1, 32);
			break;
		}
		operand->kind = SASS_OPERAND_CONSTANT;
		operand->number = operand->bank_register = SASS_NONE;
		operand->value = (int64_t)bits(code, 38, 16);
		operand->bank = (uint8_t)bits(code, 54, 5);
		if (bit(code, 91))
			operand->bank_register = uniform_number(code, 32);
	}
	set_sign(code, operand, 32);
}

/* The second or third source: the 32 bits or the register at 64. */
static void set_source(const struct coded *code, struct sass_operand *operand, int is_third)
{
	int long_is_third = form(code) == 2 || form(code) == 3 || form(code) == 7;

	if (is_third == long_is_third) {
		set_long(code, operand);
		return;
	}
	set_register(code, operand, (code->row->fields & F_UNIFORM) != 0, 64);
	set_sign(code, operand, 64);
}

static void set_predicate(const struct coded *code, struct sass_operand *operand, unsigned kind,
	unsigned first, int is_source)
{
	int is_uniform = kind == SPOT_UNIFORM_PREDICATE ||
		(kind == SPOT_PREDICATE && code->row->fields & F_UNIFORM);

	operand->kind = is_uniform ? SASS_OPERAND_UNIFORM_PREDICATE : SASS_OPERAND_PREDICATE;
	operand->number = predicate_number(code, first);
	operand->negated = is_source && bit(code, first + 3);
}

static void set_constant(const struct coded *code, struct sass_operand *operand, uint8_t place)
{
	operand->kind = SASS_OPERAND_CONSTANT;
	operand->number = operand->bank_register = SASS_NONE;
	operand->bank = (uint8_t)bits(code, 54, 5);
	operand->value = place == C37_U ? signed_bits(code, 37, 17) : signed_bits(code, 38, 16);
	if (place == C38)
		operand->number = general_number(code, 24);
	if (place == C38_U || place == C37_U) {
		operand->number = uniform_number(code, 24);
		operand->is_uniform = 1;
	}
	/* Alone, the offset has no sign. */
	if (operand->number == SASS_NONE && operand->value < 0)
		operand->value += place == C37_U ? 1 << 17 : 1 << 16;
}

/* In units of 4 bytes from the next instruction on; from sm_90 on the low 8 bits are elsewhere. */
static void set_target(const struct coded *code, struct sass_operand *operand, uint8_t place)
{
	int64_t distance = signed_bits(code, 34, place == TARGET_32 ? 30 : 48);

	operand->kind = SASS_OPERAND_LABEL;
	if ((place == TARGET || place == TARGET_COLLECTIVE) && code->arch >= 90)
		distance = distance * 256 + (int64_t)bits(code, 16, 8);
	operand->value = distance * 4;
	if (place != TARGET_ABSOLUTE && !(code->row->opcode == SASS_RET && bit(code, 85)))
		operand->value = (int64_t)((uint64_t)operand->value + code->at + SASS_BYTES);
}

static void set_operand(const struct coded *code, const struct sass_instruction *in, uint8_t place,
	int is_source, struct sass_operand *operand)
{
	const struct spot *spot = &spots[place];
	int is_uniform = (code->row->fields & F_UNIFORM) != 0;

	operand->count = count_of(code, in, spot->count);
	switch (spot->kind) {
	case SPOT_REGISTER:
	case SPOT_GENERAL:
	case SPOT_UNIFORM:
		set_register(code, operand,
			spot->kind == SPOT_UNIFORM || (spot->kind == SPOT_REGISTER && is_uniform),
			spot->first);
		if (is_source && spot->first == 24)
			set_sign(code, operand, 24);
		break;
	case SPOT_SECOND:
	case SPOT_THIRD:
		set_source(code, operand, spot->kind == SPOT_THIRD);
		break;
	case SPOT_LONG:
		set_long(code, operand);
		break;
	case SPOT_PREDICATE:
	case SPOT_GENERAL_PREDICATE:
	case SPOT_UNIFORM_PREDICATE:
		set_predicate(code, operand, spot->kind, spot->first, is_source);
		break;
	case SPOT_BARRIER:
		operand->kind = SASS_OPERAND_BARRIER;
		operand->number = (uint16_t)bits(code, spot->first, 4);
		break;
	case SPOT_IMMEDIATE:
		operand->kind = SASS_OPERAND_IMMEDIATE;
		operand->value = (int64_t)bits(code, spot->first, spot->count);
		operand->count = spot->count > 32 ? 2 : 1;
		break;
	case SPOT_CONSTANT:
		set_constant(code, operand, place);
		break;
	case SPOT_SPECIAL:
		operand->kind = SASS_OPERAND_SPECIAL;
		operand->number = (uint16_t)bits(code, 72, 8);
		break;
	case SPOT_TARGET:
		set_target(code, operand, place);
		break;
	default:
		break;
	}
	if (place == P64_INVERTED)
		operand->number = bits(code, 64, 3) ? (uint16_t)(7 - bits(code, 64, 3)) : SASS_NONE;
	if (place == U24_DIVERGENT && code->arch < 100)
		operand->inverted = (uint8_t)bit(code, 30);
	if (place == PX68 && bit(code, 67))
		operand->kind = SASS_OPERAND_UNIFORM_PREDICATE;
}

/* R2P: each predicate whose bit in the mask is set. */
static void add_masked(const struct coded *code, struct sass_instruction *in)
{
	for (unsigned i = 0; i < 7; i++)
		if (bit(code, 32 + i) && in->to_count < SASS_TO)
			in->to[in->to_count++] = (struct sass_operand){
				.kind = SASS_OPERAND_PREDICATE,
				.number = (uint16_t)i,
			};
}

/* What the instruction does not use is no operand. */
static int is_unused(const struct coded *code, const struct sass_instruction *in, uint8_t place)
{
	uint32_t fields = code->row->fields;

	if (place == U40_2)
		return !bit(code, 76);
	if (place == U24_DIVERGENT)
		return bits(code, 32, 2) < 2 || !bit(code, 91);
	if (place == TARGET_COLLECTIVE)
		return !bit(code, 86);
	if (in->opcode == SASS_LEA && place == C)
		return !in->is_high;
	if (in->is_extended)
		return 0;
	return (fields & F_X && (place == P87 || place == P77)) || (fields & F_X72 && place == P68);
}

static void read_operands(const struct coded *code, struct sass_instruction *in)
{
	const uint8_t *place = code->row->place, *end = place + SASS_PLACES;
	int is_source = 0;

	for (; place < end && *place != PLACE_END; place++) {
		if (*place == PLACE_FROM) {
			is_source = 1;
		} else if (*place == ALL_PREDICATES) {
			add_masked(code, in);
		} else if (!is_source && in->to_count < SASS_TO) {
			set_operand(code, in, *place, 0, &in->to[in->to_count++]);
		} else if (is_source && in->from_count < SASS_FROM &&
			!is_unused(code, in, *place)) {
			set_operand(code, in, *place, 1, &in->from[in->from_count++]);
		}
	}
}

/* --- the instruction ---------------------------------------------------------------------------- */

static const struct sass_row *find_row(unsigned arch, unsigned number, unsigned the_form)
{
	size_t low = 0, high = sass_row_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (sass_rows[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < sass_row_count && sass_rows[low].number == number; low++) {
		const struct sass_row *row = &sass_rows[low];

		if (row->forms >> the_form & 1 && arch >= row->first &&
			(row->last == 0 || arch <= row->last))
			return row;
	}
	return NULL;
}

static uint64_t load(const uint8_t *bytes)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < 8; i++)
		value |= (uint64_t)bytes[i] << 8 * i;
	return value;
}

int sass_decode(unsigned arch, const uint8_t bytes[SASS_BYTES], uint64_t at,
	struct sass_instruction *in)
{
	struct coded code = { load(bytes), load(bytes + 8), at, arch, NULL };

	memset(in, 0, sizeof(*in));
	in->number = (uint16_t)bits(&code, 0, 12);
	code.row = find_row(arch, (unsigned)bits(&code, 0, 9), form(&code));
	if (!code.row || arch < 75)
		return -1;
	in->opcode = code.row->opcode;
	in->name = code.row->name;
	in->space = code.row->space;
	in->direction = code.row->direction;
	in->guard = predicate_number(&code, 12);
	in->guard_negated = (uint8_t)bit(&code, 15);
	in->guard_is_uniform = (code.row->fields & F_UNIFORM) != 0;
	read_fields(&code, in);
	read_addresses(&code, in);
	read_operands(&code, in);
	return 0;
}
