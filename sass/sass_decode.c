/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes instructions; the table describes their bits. */
#include <string.h>

#include "sass_bits.h"

/* --- operands --------------------------------------------------------------------- */

enum spot_kind {
	SPOT_NONE,
	SPOT_REGISTER, /* uniform if the row says so */
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
	SPOT_HANDLE,
};
enum { COUNT_64 = 0xf0, COUNT_FROM, COUNT_BYTES, COUNT_TENSOR, COUNT_TEXELS, COUNT_MORE_TEXELS };

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
	[TV] = { SPOT_LONG, 32, COUNT_FROM },
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
	[U24] = { SPOT_UNIFORM, 24, 1 },
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
	[UP81] = { SPOT_UNIFORM_PREDICATE, 81, 0 },
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
	[HANDLE40] = { SPOT_HANDLE, 40, 0 },
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
	case COUNT_FROM:
		return bits(code, 84, 2) == 3 ? 2 : 1;
	case COUNT_BYTES:
		return in->bytes > 4 ? in->bytes / 4 : 1;
	case COUNT_TENSOR:
		return sass_tensor_registers(code);
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

/* -1 or |1| of a source: the place of the bits depends on the source's place. */
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
	/* The upper words of a sum are negated without adding one. */
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

/* Sets the second or third source: from the 32 bits, or from the register at 64. */
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
	/* Without a register, the offset is unsigned. */
	if (operand->number == SASS_NONE && operand->value < 0)
		operand->value += place == C37_U ? 1 << 17 : 1 << 16;
}

/* Constants are in words, of bank 0, since handles of textures are parameters. */
static void set_handle(const struct coded *code, struct sass_operand *operand)
{
	if (form(code) == 7) {
		operand->kind = SASS_OPERAND_UNIFORM;
		operand->number = uniform_number(code, 40);
		operand->count = 1;
		return;
	}
	operand->kind = SASS_OPERAND_CONSTANT;
	operand->number = operand->bank_register = SASS_NONE;
	operand->value = 4 * (int64_t)bits(code, 40, 14);
	operand->bank = (uint8_t)bits(code, 54, 5);
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
	case SPOT_HANDLE:
		set_handle(code, operand);
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

/* Operands that the instruction does not use are left out. */
static int is_unused(const struct coded *code, const struct sass_instruction *in, uint8_t place)
{
	uint32_t fields = code->row->fields;

	if (place == U40_2)
		return !bit(code, 76);
	if (in->opcode == SASS_BAR && place == P87)
		return !bit(code, 78); /* BAR.RED combines predicates */
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

/* --- the instruction --------------------------------------------------------------------- */

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
	sass_read_fields(&code, in);
	sass_read_addresses(&code, in);
	const uint8_t *place = code.row->place, *end = place + SASS_PLACES;
	int is_source = 0;

	for (; place < end && *place != PLACE_END; place++) {
		if (*place == PLACE_FROM) {
			is_source = 1;
		} else if (*place == ALL_PREDICATES) {
			/* R2P: adds each predicate whose bit in the mask is set. */
			for (unsigned i = 0; i < 7; i++)
				if (bit(&code, 32 + i) && in->to_count < SASS_TO)
					in->to[in->to_count++] = (struct sass_operand){
						.kind = SASS_OPERAND_PREDICATE,
						.number = (uint16_t)i,
					};
		} else if (!is_source && in->to_count < SASS_TO) {
			set_operand(&code, in, *place, 0, &in->to[in->to_count++]);
		} else if (is_source && in->from_count < SASS_FROM &&
			!is_unused(&code, in, *place)) {
			set_operand(&code, in, *place, 1, &in->from[in->from_count++]);
		}
	}
	return 0;
}
