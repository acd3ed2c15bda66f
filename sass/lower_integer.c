/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arithmetic on 32 bits.  A register does not determine whether its number is signed: the
 * interpreter allows both (CLASS_BITS).
 */
#include "lower_internal.h"

static struct ptx_operand source(struct lower *lower, unsigned number)
{
	if (number >= lower->in.from_count)
		return lower_number(0);
	return lower_source(lower, &lower->in.from[number], 0);
}

static struct ptx_operand target(struct lower *lower, unsigned number)
{
	return number < lower->in.to_count ? lower_target(lower, &lower->in.to[number], 0)
					   : lower_sink;
}

static int is_zero(struct ptx_operand operand)
{
	return operand.kind == OPERAND_NUMBER && !operand.value;
}

/* d = a opcode b */
static void calculate(struct lower *lower, enum ptx_opcode opcode, enum ptx_class class,
	struct ptx_operand to, struct ptx_operand a, struct ptx_operand b)
{
	if (to.kind == OPERAND_SINK)
		return;
	lower_begin(lower, opcode, class, 4);
	lower_add(lower, to);
	lower_add(lower, a);
	if (b.kind != OPERAND_SINK)
		lower_add(lower, b);
}

/* {d, p} = a + b + c + carry.  A carry is a predicate or a number; subtracted: a bit per addend. */
static void sum(struct lower *lower, struct ptx_operand to, struct ptx_operand carry_out,
	const struct ptx_operand addend[3], unsigned subtracted, struct ptx_operand carry)
{
	if (to.kind == OPERAND_SINK && carry_out.kind == OPERAND_SINK)
		return;
	lower_begin(lower, OP_SUM, CLASS_BITS, 4)->subtracted = (uint8_t)subtracted;
	lower_add_vector(lower, 2);
	lower_add(lower, to);
	lower_add(lower, carry_out);
	for (int i = 0; i < 3; i++)
		lower_add(lower, addend[i]);
	lower_add(lower, carry);
}

static int is_predicate(const struct sass_operand *operand)
{
	return operand->kind == SASS_OPERAND_PREDICATE ||
		operand->kind == SASS_OPERAND_UNIFORM_PREDICATE;
}

static struct ptx_operand carry_of(struct lower *lower)
{
	struct ptx_operand carry = lower_number(0);

	if (!lower->in.is_extended)
		return carry;
	for (unsigned i = 0; i < lower->in.from_count; i++) {
		struct ptx_operand found;

		if (!is_predicate(&lower->in.from[i]))
			continue;
		found = lower_predicate(lower, &lower->in.from[i]);
		if (is_zero(found))
			continue;
		/* Two carries belong to the same sum of three. */
		if (carry.kind == OPERAND_NUMBER && found.kind == OPERAND_NUMBER)
			carry.value += found.value;
		else if (carry.kind == OPERAND_NUMBER)
			carry = found;
	}
	return carry;
}

static void add(struct lower *lower)
{
	struct ptx_operand addend[3], total;
	unsigned values = 0, subtracted = 0;
	int has_carry;

	while (values < 3 && values < lower->in.from_count &&
		!is_predicate(&lower->in.from[values]))
		values++;
	if (lower->in.is_64) {
		total = lower_number(0);
		for (unsigned i = 0; i < values; i++)
			total = lower_make(lower, OP_ADD, CLASS_SIGNED, 8, total,
				lower_source64(lower, &lower->in.from[i]), lower_sink);
		lower_unpack(lower, target(lower, 0), lower_target(lower, &lower->in.to[0], 1),
			total);
		return;
	}
	for (unsigned i = 0; i < 3; i++)
		addend[i] = i < values ? source(lower, i) : lower_number(0);
	for (unsigned i = 0; i < values; i++)
		subtracted |= (unsigned)(lower->in.from[i].negated != 0) << i;
	has_carry = lower->in.to_count > 1 && lower->in.to[1].number != SASS_NONE;
	sum(lower, target(lower, 0), has_carry ? target(lower, 1) : lower_sink, addend, subtracted,
		carry_of(lower));
	/* The second carry of a sum of three belongs to the same sum as the first. */
	if (lower->in.to_count > 2 && lower->in.to[2].number != SASS_NONE)
		sum(lower, lower_sink, target(lower, 2), addend, subtracted, carry_of(lower));
}

/* d = a * b + c, all with 32 bits. */
static void multiply_add(struct lower *lower)
{
	struct ptx_operand a = source(lower, 0), b = source(lower, 1), c = source(lower, 2);
	struct ptx_operand addend[3] = { lower_number(0), lower_number(0), c };
	struct ptx_operand carry = carry_of(lower), to = target(lower, 0);

	if (a.kind == OPERAND_NUMBER && b.kind == OPERAND_NUMBER)
		addend[0] = lower_number((int32_t)(uint32_t)(a.value * b.value));
	else if (b.kind == OPERAND_NUMBER && b.value == 1)
		addend[0] = a;
	else if (a.kind == OPERAND_NUMBER && a.value == 1)
		addend[0] = b;
	else if (!is_zero(a) && !is_zero(b))
		addend[0] = lower_make(lower, OP_MUL, CLASS_BITS, 4, a, b, lower_sink);
	if (is_zero(addend[0]) && is_zero(carry))
		lower_move(lower, to, c);
	else if (is_zero(c) && is_zero(carry))
		lower_move(lower, to, addend[0]);
	else
		sum(lower, to, lower_sink, addend, 0, carry);
}

/* {d, d + 1} = a * b + {c, c + 1} */
static void multiply_wide(struct lower *lower)
{
	enum ptx_class class = lower->in.is_signed ? CLASS_SIGNED : CLASS_UNSIGNED;
	struct ptx_operand a = source(lower, 0), b = source(lower, 1), total;
	struct ptx_operand c = lower_source64(lower, &lower->in.from[2]);
	struct ptx_operand product = lower_reg(lower_temp(lower));
	struct ptx_instruction *made = lower_begin(lower, OP_MUL, class, 4);

	made->modifiers = MODIFIER_WIDE;
	lower_add(lower, product);
	lower_add(lower, a);
	lower_add(lower, b);
	total = is_zero(c) ? product
			   : lower_make(lower, OP_ADD, CLASS_SIGNED, 8, product, c, lower_sink);
	lower_unpack(lower, target(lower, 0), lower_target(lower, &lower->in.to[0], 1), total);
}

static void multiply_high(struct lower *lower)
{
	enum ptx_class class = lower->in.is_signed ? CLASS_SIGNED : CLASS_UNSIGNED;
	const struct sass_operand *third = &lower->in.from[2];
	struct ptx_operand a, b, to = target(lower, 0), half;
	struct ptx_instruction *made;

	/* With an addend of 64 bits it is not part of a division. */
	if (to.kind == OPERAND_SINK || lower->in.is_extended)
		return;
	a = source(lower, 0);
	b = source(lower, 1);
	if (third->number != SASS_NONE && third->kind != SASS_OPERAND_IMMEDIATE) {
		struct ptx_operand c = lower_source64(lower, third), total;
		struct ptx_operand product = lower_reg(lower_temp(lower));

		made = lower_begin(lower, OP_MUL, class, 4);
		made->modifiers = MODIFIER_WIDE;
		lower_add(lower, product);
		lower_add(lower, a);
		lower_add(lower, b);
		total = lower_make(lower, OP_ADD, CLASS_SIGNED, 8, product, c, lower_sink);
		lower_unpack(lower, lower_sink, to, total);
		return;
	}
	half = b.kind == OPERAND_NUMBER ? b : a;
	if (a.kind == OPERAND_NUMBER && b.kind != OPERAND_NUMBER) {
		half = a;
		a = b;
		b = half;
	}
	made = lower_begin(lower, OP_MUL, class, 4);
	made->modifiers = MODIFIER_HIGH;
	lower_add(lower, to);
	lower_add(lower, a);
	lower_add(lower, b);
}

/* d = (a << shift) + b; is_high: the high half of {c, a}. */
static void load_address(struct lower *lower)
{
	const struct sass_instruction *in = &lower->in;
	struct ptx_operand addend[3] = { source(lower, 0), source(lower, 1), lower_number(0) };
	struct ptx_operand shift = lower_number(in->shift), high;
	int has_carry = in->to_count > 1 && in->to[1].number != SASS_NONE;

	if (in->is_high && !in->is_extended && in->shift &&
		(in->is_signed || is_zero(source(lower, 2)))) {
		/* A number of 32 bits is shifted right instead. */
		addend[0] = lower_make(lower, OP_SHR, in->is_signed ? CLASS_SIGNED : CLASS_UNSIGNED,
			4, addend[0], lower_number(32 - in->shift), lower_sink);
	} else if (in->is_high) {
		struct ptx_operand whole;

		if (in->is_signed) {
			whole = lower_make(lower, OP_CVT, CLASS_SIGNED, 8, addend[0], lower_sink,
				lower_sink);
			if (lower->last)
				lower->last->source = (struct ptx_type){ CLASS_SIGNED, 4 };
		} else {
			whole = lower_pack(lower, addend[0], source(lower, 2));
		}
		/* Shifted by one, the low word contributes only its sign: a sum with a number. */
		if (!in->is_signed || in->shift != 1)
			whole = lower_make(lower, OP_SHL, CLASS_BITS, 8, whole, shift, lower_sink);
		high = lower_reg(lower_temp(lower));
		lower_unpack(lower, lower_sink, high, whole);
		addend[0] = high;
	} else if (in->shift) {
		addend[0] = lower_make(lower, OP_SHL, CLASS_BITS, 4, addend[0], shift, lower_sink);
	}
	sum(lower, target(lower, 0), has_carry ? target(lower, 1) : lower_sink, addend,
		in->from[0].negated != 0, carry_of(lower));
}

static void shift(struct lower *lower)
{
	const struct sass_instruction *in = &lower->in;
	int is_64 = in->shift_type == SASS_SHIFT_U64 || in->shift_type == SASS_SHIFT_S64;
	int is_signed = in->shift_type == SASS_SHIFT_S32 || in->shift_type == SASS_SHIFT_S64;
	struct ptx_operand low = source(lower, 0), amount = source(lower, 1);
	struct ptx_operand high = source(lower, 2), to = target(lower, 0), whole;

	if (to.kind == OPERAND_SINK)
		return;
	if (amount.kind == OPERAND_NUMBER)
		amount.value &= is_64 ? 63 : 31;
	else if (!in->shift_right && !in->shift_high && is_zero(high)) {
		calculate(lower, OP_SHL, CLASS_BITS, to, low, amount);
		return;
	}
	if (!is_64 && !in->shift_right && !in->shift_high && is_zero(high)) {
		calculate(lower, OP_SHL, CLASS_BITS, to, low, amount);
		return;
	}
	if (in->shift_right && in->shift_high) {
		/* The sign alone is the high half of the sign-extended number. */
		if (is_signed && amount.kind == OPERAND_NUMBER && amount.value == 31) {
			whole = lower_make(lower, OP_CVT, CLASS_SIGNED, 8, high, lower_sink,
				lower_sink);
			if (lower->last)
				lower->last->source = (struct ptx_type){ CLASS_SIGNED, 4 };
			lower_unpack(lower, lower_sink, to, whole);
			return;
		}
		/* Only the high word matters. */
		calculate(lower, OP_SHR, is_signed ? CLASS_SIGNED : CLASS_UNSIGNED, to, high,
			amount);
		return;
	}
	whole = lower_pack(lower, low, high);
	whole = lower_make(lower, in->shift_right ? OP_SHR : OP_SHL,
		is_signed ? CLASS_SIGNED : CLASS_UNSIGNED, 8, whole, amount, lower_sink);
	if (in->shift_high)
		lower_unpack(lower, lower_sink, to, whole);
	else
		lower_unpack(lower, to, lower_sink, whole);
}

/* Reduces a table of 8 for a constant operand, as for two or one operands. */
static unsigned without(unsigned table, int which, unsigned value)
{
	/* Index 4 * a + 2 * b + c: the constant operand becomes irrelevant. */
	unsigned made = 0, bit = 4u >> which;

	for (unsigned i = 0; i < 8; i++)
		if (table >> ((i & ~bit) | (value ? bit : 0)) & 1)
			made |= 1u << i;
	return made;
}

/* d = a & b, for operands that may be inverted. */
static struct ptx_operand logic(struct lower *lower, enum ptx_opcode opcode, struct ptx_operand a,
	struct ptx_operand b)
{
	return lower_make(lower, opcode, CLASS_BITS, 4, a, b, lower_sink);
}

static struct ptx_operand inverted(struct lower *lower, struct ptx_operand a)
{
	if (a.kind == OPERAND_NUMBER)
		return lower_number((int32_t) ~(uint32_t)a.value);
	return lower_make(lower, OP_NOT, CLASS_BITS, 4, a, lower_sink, lower_sink);
}

/* Handles common tables; kind OPERAND_UNKNOWN: another one. */
static struct ptx_operand by_table(struct lower *lower, unsigned table,
	const struct ptx_operand value[3])
{
	static const uint8_t is[3] = { 0xf0, 0xcc, 0xaa };

	if (table == 0 || table == 0xff)
		return lower_number(table ? -1 : 0);
	for (int i = 0; i < 3; i++) {
		if (table == is[i])
			return value[i];
		if (table == (0xff & ~is[i]))
			return inverted(lower, value[i]);
	}
	for (int i = 0; i < 3; i++)
		for (int j = 0; j < 3; j++) {
			if (i == j)
				continue;
			if (i < j && table == (is[i] & is[j]))
				return logic(lower, OP_AND, value[i], value[j]);
			if (i < j && table == (is[i] | is[j]))
				return logic(lower, OP_OR, value[i], value[j]);
			if (i < j && table == (is[i] ^ is[j]))
				return logic(lower, OP_XOR, value[i], value[j]);
			if (table == (is[i] & ~is[j] & 0xff))
				return logic(lower, OP_AND, value[i], inverted(lower, value[j]));
			if (table == ((is[i] | ~is[j]) & 0xff))
				return logic(lower, OP_OR, value[i], inverted(lower, value[j]));
		}
	for (int k = 0; k < 3; k++) {
		int i = (k + 1) % 3, j = (k + 2) % 3;

		if (table == ((is[i] & is[j]) | is[k]))
			return logic(lower, OP_OR, logic(lower, OP_AND, value[i], value[j]),
				value[k]);
		if (table == ((is[i] | is[j]) & is[k]))
			return logic(lower, OP_AND, logic(lower, OP_OR, value[i], value[j]),
				value[k]);
	}
	if (table == (is[0] | is[1] | is[2]))
		return logic(lower, OP_OR, logic(lower, OP_OR, value[0], value[1]), value[2]);
	if (table == (is[0] & is[1] & is[2]))
		return logic(lower, OP_AND, logic(lower, OP_AND, value[0], value[1]), value[2]);
	return lower_unknown;
}

/*
 * Bits set in the first operand select one function of the others, bits not set another.
 */
static struct ptx_operand by_parts(struct lower *lower, unsigned table,
	const struct ptx_operand value[3])
{
	struct ptx_operand part[2];

	for (int i = 0; i < 2; i++) {
		unsigned of_others = (i ? table : table >> 4) & 15;

		part[i] = by_table(lower, of_others * 0x11, value);
		if (part[i].kind == OPERAND_UNKNOWN)
			part[i] = inverted(lower, by_table(lower, (15 ^ of_others) * 0x11, value));
		part[i] = logic(lower, OP_AND, part[i], i ? inverted(lower, value[0]) : value[0]);
	}
	return logic(lower, OP_OR, part[0], part[1]);
}

/* Two of three operands, chosen by bits: returns what is known, else lower_unknown. */
static struct ptx_operand exchanged(struct lower *lower, unsigned table)
{
	static const struct {
		uint8_t table, a, b;
	} sums[] = { { 0xf0 ^ 0xcc, 0, 1 }, { 0xf0 ^ 0xaa, 0, 2 }, { 0xcc ^ 0xaa, 1, 2 } };
	const struct sass_instruction *in = &lower->in;

	for (size_t i = 0; i < sizeof(sums) / sizeof(*sums); i++)
		if (table == sums[i].table && in->from_count > sums[i].b && in->to_count)
			return lower_swapped(lower, &in->to[in->to_count - 1], &in->from[sums[i].a],
				&in->from[sums[i].b]);
	return lower_unknown;
}

/*
 * Returns the predicate result of LOP3: a bit of the result is set, or its predicate operand holds.
 */
static struct ptx_operand is_any(struct lower *lower, struct ptx_operand result)
{
	const struct sass_instruction *in = &lower->in;
	struct ptx_operand other =
		in->from_count > 3 ? lower_predicate(lower, &in->from[3]) : lower_number(0);
	struct ptx_operand is;

	if (result.kind == OPERAND_NUMBER)
		return result.value ? lower_number(1) : other;
	is = lower_reg(lower_temp(lower));
	lower_begin(lower, OP_SETP, CLASS_SIGNED, 4)->compare = COMPARE_NE;
	lower_add(lower, is);
	lower_add(lower, result);
	lower_add(lower, lower_number(0));
	return lower_and(lower, OP_OR, is, other);
}

static void logic_of_three(struct lower *lower)
{
	const struct sass_instruction *in = &lower->in;
	struct ptx_operand value[3], result, p = lower_sink, d = lower_sink;
	unsigned table = in->table;

	for (unsigned i = 0; i < 3; i++) {
		value[i] = source(lower, i);
		if (value[i].kind == OPERAND_NUMBER &&
			(value[i].value == 0 || value[i].value == -1))
			table = without(table, (int)i, value[i].value != 0);
	}
	for (unsigned i = 0; i < in->to_count; i++) {
		if (in->to[i].kind == SASS_OPERAND_GENERAL ||
			in->to[i].kind == SASS_OPERAND_UNIFORM)
			d = target(lower, i);
		else if (in->to[i].number != SASS_NONE)
			p = target(lower, i);
	}
	result = exchanged(lower, table);
	if (result.kind == OPERAND_UNKNOWN)
		result = by_table(lower, table, value);
	if (result.kind == OPERAND_UNKNOWN)
		result = by_parts(lower, table, value);
	if (p.kind != OPERAND_SINK)
		lower_move_predicate(lower, p, is_any(lower, result));
	lower_move(lower, d, result);
}

/* d = the lowest bits of a, sign-extended. */
static void extend_lowest(struct lower *lower, struct ptx_operand to, struct ptx_operand a,
	int64_t bits)
{
	a = lower_make(lower, OP_SHL, CLASS_BITS, 4, a, lower_number(32 - bits), lower_sink);
	calculate(lower, OP_SHR, CLASS_SIGNED, to, a, lower_number(32 - bits));
}

/* Returns 1 if all bytes from that one on are the sign of a byte. */
static int repeats_sign(unsigned selector, unsigned from, unsigned byte)
{
	for (unsigned i = from; i < 4; i++)
		if ((selector >> 4 * i & 15) != (8 | byte))
			return 0;
	return 1;
}

/*
 * For a constant selector: moves, and bytes of one register with zeros or a sign above. A nibble
 * selects a byte of the two registers, or, with 8, its sign.
 */
static void permute(struct lower *lower)
{
	struct ptx_operand a = source(lower, 0), selector = source(lower, 1), b = source(lower, 2);
	struct ptx_operand to = target(lower, 0), from;
	unsigned bytes = 0, which;

	if (to.kind == OPERAND_SINK || selector.kind != OPERAND_NUMBER || lower->in.variant)
		return;
	selector.value &= 0xffff;
	if (selector.value == 0x3210 || selector.value == 0x7654) {
		lower_move(lower, to, selector.value == 0x3210 ? a : b);
		return;
	}
	/* Finds the operand whose lowest bytes come first, in order. */
	which = selector.value >> 2 & 1;
	from = which ? b : a;
	while (bytes < 4 && (selector.value >> 4 * bytes & 15) == 4 * which + bytes)
		bytes++;
	if (bytes && repeats_sign((unsigned)selector.value, bytes, 4 * which + bytes - 1)) {
		extend_lowest(lower, to, from, 8 * bytes);
		return;
	}
	for (unsigned i = bytes; i < 4; i++) {
		unsigned nibble = selector.value >> 4 * i & 15;

		if (nibble & 8 || !is_zero(nibble & 4 ? b : a))
			return;
	}
	if (bytes)
		calculate(lower, OP_AND, CLASS_BITS, to, from,
			lower_number((INT64_C(1) << 8 * bytes) - 1));
}

static void smaller_or_larger(struct lower *lower)
{
	const struct sass_instruction *in = &lower->in;
	enum ptx_class class = in->is_signed ? CLASS_SIGNED : CLASS_UNSIGNED;
	struct ptx_operand p = lower_number(1), d = lower_sink;

	for (unsigned i = 0; i < in->to_count; i++)
		if (in->to[i].kind == SASS_OPERAND_GENERAL ||
			in->to[i].kind == SASS_OPERAND_UNIFORM)
			d = target(lower, i);
	if (in->from_count > 2)
		p = lower_predicate(lower, &in->from[2]);
	if (in->is_64 || p.kind != OPERAND_NUMBER || d.kind == OPERAND_SINK)
		return;
	calculate(lower, p.value ? OP_MIN : OP_MAX, class, d, source(lower, 0), source(lower, 1));
}

/* The result is not negative and has an upper limit. */
static void count_up_to(struct lower *lower, enum ptx_opcode opcode)
{
	struct ptx_operand to = target(lower, 0);

	if (to.kind != OPERAND_SINK)
		calculate(lower, opcode, CLASS_UNSIGNED, to, source(lower, 0), lower_sink);
}

/* Sign-extends a register's lowest bits, for a constant width. */
static void extend_sign(struct lower *lower)
{
	struct ptx_operand a = source(lower, 0), bits = source(lower, 1), to = target(lower, 0);

	if (to.kind == OPERAND_SINK || bits.kind != OPERAND_NUMBER || bits.value <= 0 ||
		bits.value >= 32)
		return;
	if (!lower->in.is_signed) {
		calculate(lower, OP_AND, CLASS_BITS, to, a,
			lower_number((INT64_C(1) << bits.value) - 1));
		return;
	}
	extend_lowest(lower, to, a, bits.value);
}

int lower_integer(struct lower *lower)
{
	switch (lower->in.opcode) {
	case SASS_IADD:
		add(lower);
		return 1;
	case SASS_IMAD:
		if (lower->in.is_wide)
			multiply_wide(lower);
		else if (lower->in.is_high)
			multiply_high(lower);
		else
			multiply_add(lower);
		return 1;
	case SASS_LEA:
		load_address(lower);
		return 1;
	case SASS_SHF:
		shift(lower);
		return 1;
	case SASS_LOP3:
		logic_of_three(lower);
		return 1;
	case SASS_PRMT:
		permute(lower);
		return 1;
	case SASS_IMNMX:
		smaller_or_larger(lower);
		return 1;
	case SASS_POPC:
		count_up_to(lower, OP_POPC);
		return 1;
	case SASS_IABS:
		count_up_to(lower, OP_ABS);
		return 1;
	case SASS_SGXT:
		extend_sign(lower);
		return 1;
	default:
		return 0;
	}
}
