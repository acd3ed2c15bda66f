/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of 64 bits in two registers of 32.  A register holds the low or the high half of a value;
 * both halves together are the value again.  An operation on both halves (an addition with carry, a
 * shift across both, a selection) is one on the value; for low halves alone, sums and products with
 * numbers are correct modulo 2^32.
 *
 * Machine code has no other registers.  If the halves of an address could not be shown to belong to
 * one value, the address may be anywhere in the memory of the halves' parameter word: of either
 * word if there are two, of the low half's if the high half is a number.
 */
#include "ptx_walk.h"

#define WRAP (INT64_C(1) << 32)
/* Limit of bits that an alignment sets or clears in the low half alone. */
#define NEAR 4096

/* An address in a parameter's memory, or in the parameter buffer. */
static int is_address(const struct ptx_value *value)
{
	return value->base == BASE_WORD || value->base == BASE_WORDS ||
		value->base == BASE_PARAMETER;
}

/* Returns an unknown address in the memory of the words. */
static struct ptx_value somewhere(const struct ptx_value *address, int half)
{
	struct ptx_value value = *address;

	value.half = (uint8_t)half;
	value.loaded = 1;
	value.count = 0;
	value.low = INT64_MIN;
	value.high = INT64_MAX;
	return value;
}

/* Returns an unknown number for numbers, else an unknown value. */
static struct ptx_value no_value(const struct ptx_value *a, const struct ptx_value *b)
{
	struct ptx_value value = ptx_interval(INT64_MIN, INT64_MAX);

	if (a->base == BASE_NUMBER && b->base == BASE_NUMBER) {
		value.loaded = 1;
		return value;
	}
	value.base = BASE_UNKNOWN;
	value.loaded = a->base == BASE_UNKNOWN && b->base == BASE_UNKNOWN && a->loaded && b->loaded;
	return value;
}

struct ptx_value ptx_take_half(const struct ptx_state *state, const struct ptx_value *whole,
	enum ptx_half half)
{
	struct ptx_value value = *whole;
	struct ptx_range range;

	value.half = (uint8_t)half;
	if (value.base != BASE_NUMBER)
		return value;
	if (ptx_is_constant(whole))
		return ptx_constant(half == HALF_LOW ? (int32_t)(uint32_t)whole->low
						     : (int32_t)(whole->low >> 32));
	range = ptx_bounds(whole, state);
	/* Unknown bounds are left to comparisons, as for results of 32 bits. */
	if (half == HALF_LOW && (range.low == INT64_MIN || range.low >= INT32_MIN) &&
		(range.high == INT64_MAX || range.high <= UINT32_MAX))
		return *whole;
	if (half == HALF_HIGH && range.low >= 0 && range.high <= UINT32_MAX)
		return ptx_constant(0);
	if (half == HALF_HIGH && range.low >= -WRAP && range.high < 0)
		return ptx_constant(-1);
	return value;
}

/* Computes a - b for values with the same base.  Returns 0, or -1. */
static int subtract(const struct ptx_value *a, const struct ptx_value *b,
	struct ptx_value *difference)
{
	*difference = ptx_whole(a);
	if (a->base != b->base || a->id != b->id)
		return -1;
	difference->base = BASE_NUMBER;
	difference->id = 0;
	return ptx_add_terms(difference, b, -1);
}

static int is_multiple(const struct ptx_value *value)
{
	if (value->low != value->high || value->low % WRAP)
		return 0;
	for (unsigned i = 0; i < value->count; i++)
		if (value->term[i].factor % WRAP)
			return 0;
	return 1;
}

/* Replaces the first symbol with a known equal sum modulo 2^32. */
static int replace(const struct ptx_walk *walk, struct ptx_value *value)
{
	for (unsigned i = 0; i < value->count; i++) {
		struct ptx_term term = value->term[i];
		struct ptx_value symbol = ptx_symbol_value(term.symbol);

		if (!walk->congruent[term.symbol].count || term.factor % WRAP == 0)
			continue;
		return !ptx_add_terms(value, &walk->congruent[term.symbol], term.factor) &&
			!ptx_add_terms(value, &symbol, -term.factor);
	}
	return 0;
}

int ptx_is_congruent(const struct ptx_walk *walk, const struct ptx_value *a,
	const struct ptx_value *b)
{
	struct ptx_value difference, x = ptx_whole(a), y = ptx_whole(b);

	x.pointer = y.pointer = 0;
	x.loaded = y.loaded = 0;
	if (ptx_same(&x, &y))
		return 1;
	if (subtract(a, b, &difference))
		return 0;
	for (int i = 0; i < 8; i++) {
		if (is_multiple(&difference))
			return 1;
		if (!replace(walk, &difference))
			return 0;
	}
	return 0;
}

void ptx_note_congruent(struct ptx_walk *walk, const struct ptx_value *symbol,
	const struct ptx_value *sum)
{
	if (symbol->count != 1 || symbol->low || symbol->high || symbol->term[0].factor != 1)
		return;
	walk->congruent[symbol->term[0].symbol] = ptx_whole(sum);
	/* A sum of itself, or an interval, says nothing. */
	if (sum->base != BASE_NUMBER || sum->low != sum->high || sum->half ||
		ptx_factor(sum, symbol->term[0].symbol))
		walk->congruent[symbol->term[0].symbol].count = 0;
}

/* Finds the value with these halves; returns 0 if unknown. */
static int pack_halves(struct ptx_frame *frame, struct ptx_state *state,
	const struct ptx_value *low, const struct ptx_value *high, struct ptx_value *packed)
{
	struct ptx_value a = ptx_whole(low), b = ptx_whole(high), difference;
	struct ptx_range range;

	if (high->half != HALF_HIGH || low->half == HALF_HIGH)
		return 0;
	if (a.base == BASE_UNKNOWN && b.base == BASE_UNKNOWN) {
		*packed = no_value(&a, &b);
		return 1;
	}
	if (ptx_is_congruent(frame->walk, &a, &b)) {
		*packed = b;
		packed->pointer |= a.pointer;
		return 1;
	}
	if (a.base != b.base || a.id != b.id)
		return 0;
	if (!subtract(&a, &b, &difference)) {
		range = ptx_bounds(&difference, state);
		if (range.low >= -NEAR && range.high <= NEAR) {
			*packed = a;
			return 1;
		}
	}
	if (b.base == BASE_NUMBER)
		return 0;
	/* Halves of one object's addresses: the offset is unknown. */
	*packed = somewhere(&b, HALF_NONE);
	packed->pointer |= a.pointer;
	return 1;
}

/*
 * Packs halves that may belong to different values.  Addresses are only combined with numbers: if
 * one half is an address's, so is the whole.
 */
static struct ptx_value pack_unequal(struct ptx_walk *walk, const struct ptx_value *low,
	const struct ptx_value *high)
{
	struct ptx_value packed;

	if (low->half != HALF_HIGH && high->half == HALF_HIGH && is_address(low) &&
		is_address(high)) {
		packed = somewhere(low, HALF_NONE);
		ptx_join_base(walk, &packed, high);
		return packed;
	}
	if (low->half == HALF_LOW && is_address(low) && high->base == BASE_NUMBER &&
		!ptx_is_constant(high))
		return somewhere(low, HALF_NONE);
	return no_value(low, high);
}

/* Packs a low and a high half that are plain numbers. */
static struct ptx_value pack_numbers(struct ptx_frame *frame, struct ptx_state *state,
	uint32_t instruction, const struct ptx_value *low, const struct ptx_value *high)
{
	struct ptx_range range = ptx_bounds(low, state);
	struct ptx_value value = *low;
	int64_t top = high->low * WRAP;

	if (ptx_is_constant(low))
		return ptx_constant(top + (uint32_t)low->low);
	if (range.high < 0 && range.low >= -WRAP)
		top = ptx_add_bound(top, WRAP);
	else if (range.low < 0 && range.low != INT64_MIN) {
		/* For -x and -1: x is positive, else the high half would not be -1. */
		if (high->low == -1 && range.high <= 0)
			return value;
		value = ptx_opaque(frame, state, instruction, WHICH_RESULT + 1,
			(struct ptx_range){ 0, UINT32_MAX }, low->loaded);
		ptx_note_congruent(frame->walk, &value, low);
	}
	value.low = ptx_add_bound(value.low, top);
	value.high = ptx_add_bound(value.high, top);
	return value;
}

struct ptx_value ptx_pack(struct ptx_frame *frame, struct ptx_state *state, uint32_t instruction,
	const struct ptx_value *low, const struct ptx_value *high)
{
	struct ptx_value packed;

	if (pack_halves(frame, state, low, high, &packed))
		return packed;
	if (ptx_is_constant(high) && high->low >= INT32_MIN && high->low <= UINT32_MAX) {
		/* Local and shared windows, whose high half does not matter. */
		if (!low->half && low->base != BASE_NUMBER)
			return *low;
		if (!low->half)
			return pack_numbers(frame, state, instruction, low, high);
		if (!high->low && low->base == BASE_NUMBER)
			return ptx_opaque(frame, state, instruction, WHICH_RESULT + 1,
				(struct ptx_range){ 0, UINT32_MAX }, 1);
	}
	if (high->half == HALF_HIGH && high->base == BASE_HARMLESS)
		return ptx_whole(high);
	return pack_unequal(frame->walk, low, high);
}

/* --- sums with a carry --- */

struct addends {
	struct ptx_value low[3], high[3];
	int low_count, high_count;
};

static void add_addend(struct ptx_value *list, int *count, const struct ptx_value *value)
{
	if (*count < 3 && !(ptx_is_constant(value) && !value->low))
		list[(*count)++] = *value;
}

static void drop(struct ptx_value *list, int *count, int at)
{
	--*count;
	memmove(&list[at], &list[at + 1], (size_t)(*count - at) * sizeof(*list));
}

/* Returns the index of the low half that belongs to a high half; -1: none. */
static int find_low(struct ptx_frame *frame, struct ptx_state *state, const struct addends *all,
	const struct ptx_value *high, struct ptx_value *packed)
{
	int plain = -1;

	for (int i = 0; i < all->low_count; i++)
		if (pack_halves(frame, state, &all->low[i], high, packed))
			return i;
	/* The half of a number: for -1, of a subtracted one. */
	for (int i = 0; i < all->low_count && ptx_is_constant(high); i++) {
		struct ptx_range range = ptx_bounds(&all->low[i], state);

		if (!all->low[i].half && (plain < 0 || (high->low == -1 && range.high <= 0)))
			plain = i;
	}
	return plain;
}

/* Adds 64-bit values: from the addends' low and high halves. */
static struct ptx_value add_all(struct ptx_frame *frame, struct ptx_state *state,
	uint32_t instruction, struct addends *all)
{
	struct ptx_value total = ptx_constant(0), zero = ptx_constant(0), packed;

	for (int pass = 0; pass < 2; pass++)
		for (int i = 0; i < all->high_count;) {
			struct ptx_value high = all->high[i];
			int low;

			if (!pass && high.half != HALF_HIGH) {
				i++;
				continue;
			}
			low = find_low(frame, state, all, &high, &packed);
			packed = ptx_pack(frame, state, instruction,
				low < 0 ? &zero : &all->low[low], &high);
			if (low < 0 && !high.half && !ptx_is_constant(&high) &&
				ptx_scale(&high, WRAP) == 0)
				packed = high;
			total = ptx_sum(frame, state, instruction, &total, &packed);
			if (low >= 0)
				drop(all->low, &all->low_count, low);
			drop(all->high, &all->high_count, i);
		}
	for (int i = 0; i < all->low_count; i++) {
		packed = ptx_pack(frame, state, instruction, &all->low[i], &zero);
		total = ptx_sum(frame, state, instruction, &total, &packed);
	}
	return total;
}

/* Returns the high half of a sum, from the sum that its carry belongs to. */
static struct ptx_value extended_sum(struct ptx_frame *frame, struct ptx_state *state,
	uint32_t instruction, const struct ptx_condition *carry, const struct ptx_value high[3])
{
	struct addends all = { .low_count = 0 };
	struct ptx_value total;

	for (int i = 0; i < 3; i++) {
		add_addend(all.low, &all.low_count, &carry->raw[i]);
		add_addend(all.high, &all.high_count, &high[i]);
	}
	total = add_all(frame, state, instruction, &all);
	/* Subtracting 0 gives a carry: the machine adds the inverted number and 1. */
	for (int i = 0; i < 3; i++)
		if (carry->subtracted >> i & 1 && ptx_is_constant(&carry->raw[i]) &&
			!carry->raw[i].low) {
			total.low = ptx_add_bound(total.low, WRAP);
			total.high = ptx_add_bound(total.high, WRAP);
		}
	return ptx_take_half(state, &total, HALF_HIGH);
}

/* Adds a high half and numbers, which count 2^32 each. */
static int sum_of_high(const struct ptx_value value[3], struct ptx_value *sum)
{
	int found = -1;

	for (int i = 0; i < 3; i++) {
		if (value[i].half == HALF_HIGH && found >= 0)
			return 0;
		if (value[i].half == HALF_HIGH)
			found = i;
		else if (value[i].half || value[i].base != BASE_NUMBER)
			return 0;
	}
	if (found < 0)
		return 0;
	*sum = value[found];
	for (int i = 0; i < 3; i++)
		if (i != found && ptx_add_terms(sum, &value[i], WRAP))
			return 0;
	return 1;
}

/* Adds the high half of an address and numbers, for an unknown sum. */
static struct ptx_value sum_unequal(struct ptx_frame *frame, struct ptx_state *state,
	uint32_t instruction, const struct ptx_value value[3])
{
	int found = -1;

	for (int i = 0; i < 3; i++)
		if (value[i].base != BASE_NUMBER)
			found = found < 0 && is_address(&value[i]) && value[i].half == HALF_HIGH
				? i
				: 3;
	if (found >= 0 && found < 3)
		return somewhere(&value[found], HALF_HIGH);
	return ptx_opaque(frame, state, instruction, WHICH_RESULT,
		(struct ptx_range){ INT32_MIN, UINT32_MAX }, 1);
}

static struct ptx_value plain_sum(struct ptx_frame *frame, struct ptx_state *state,
	uint32_t instruction, struct ptx_value value[3])
{
	struct ptx_value sum, total;
	struct ptx_range range;
	int is_low = 0, is_high = 0, has_address = 0;

	if (sum_of_high(value, &sum))
		return ptx_take_half(state, &sum, HALF_HIGH);
	for (int i = 0; i < 3; i++)
		has_address |= value[i].half == HALF_LOW && is_address(&value[i]);
	for (int i = 0; i < 3; i++) {
		int is_parameter = value[i].base == BASE_WORD && !value[i].pointer;

		/*
		 * A number found as the high half of another one, or a parameter of four bytes
		 * added to an address.
		 */
		if (value[i].half == HALF_HIGH &&
			(value[i].base == BASE_NUMBER || (has_address && is_parameter)))
			value[i] = ptx_number_of(frame, state, value[i]);
		is_low |= value[i].half == HALF_LOW;
		is_high |= value[i].half == HALF_HIGH;
	}
	if (is_high)
		return sum_unequal(frame, state, instruction, value);
	sum = ptx_whole(&value[0]);
	for (int i = 1; i < 3; i++) {
		struct ptx_value other = ptx_whole(&value[i]);

		sum = ptx_sum(frame, state, instruction, &sum, &other);
	}
	if (is_low)
		return ptx_take_half(state, &sum, HALF_LOW);
	range = ptx_bounds(&sum, state);
	if (sum.base != BASE_NUMBER ||
		((range.low == INT64_MIN || range.low >= INT32_MIN) &&
			(range.high == INT64_MAX || range.high <= UINT32_MAX)))
		return sum;
	total = ptx_opaque(frame, state, instruction, WHICH_RESULT,
		(struct ptx_range){ INT32_MIN, UINT32_MAX }, 1);
	ptx_note_congruent(frame->walk, &total, &sum);
	return total;
}

void ptx_sum_registers(struct ptx_frame *frame, struct ptx_state *state, uint32_t instruction)
{
	const struct ptx_function *function = frame->function;
	const struct ptx_instruction *in = &function->instruction[instruction];
	const struct ptx_operand *operand = &function->operand[in->operand];
	struct ptx_value value[3], sum;
	int is_extended = operand[6].kind == OPERAND_REGISTER;
	const struct ptx_condition *carry;
	struct ptx_condition *made;

	for (int i = 0; i < 3; i++)
		value[i] = ptx_operand(frame, state, &operand[3 + i]);
	if (is_extended) {
		uint32_t known = frame->condition_of[operand[6].number];

		carry = known ? &frame->condition[known - 1] : NULL;
		if (carry && carry->kind == CONDITION_CARRY)
			sum = extended_sum(frame, state, instruction, carry, value);
		else
			sum = sum_unequal(frame, state, instruction, value);
	} else {
		if (operand[6].value) {
			value[0].low = ptx_add_bound(value[0].low, operand[6].value);
			value[0].high = ptx_add_bound(value[0].high, operand[6].value);
		}
		sum = plain_sum(frame, state, instruction, value);
	}
	if (operand[2].kind == OPERAND_REGISTER) {
		made = ptx_condition_of(frame, operand[2].number);
		if (made) {
			made->kind = is_extended ? CONDITION_UNKNOWN : CONDITION_CARRY;
			made->subtracted = in->subtracted;
			memcpy(made->raw, value, sizeof(value));
		}
	}
	if (operand[1].kind == OPERAND_REGISTER)
		ptx_write_register(frame, state, operand[1].number, &sum);
}

/* --- halves of a value, one after the other --- */

static int are_same(const struct ptx_value *a, const struct ptx_value *b)
{
	struct ptx_value x = ptx_whole(a), y = ptx_whole(b);

	x.loaded = y.loaded = 0;
	return ptx_same(&x, &y);
}

/* The two are halves of one value: for a number of 32 bits the high half is 0. */
static int are_halves(const struct ptx_value *low, const struct ptx_value *high,
	const struct ptx_state *state)
{
	if (high->half == HALF_HIGH)
		return low->half != HALF_HIGH && are_same(low, high);
	return ptx_is_constant(high) && !high->low && !low->half && low->base == BASE_NUMBER &&
		ptx_bounds(low, state).low >= 0;
}

int ptx_find_twin(const struct ptx_twins *twins, uint32_t key, const struct ptx_value *a,
	const struct ptx_state *a_state, const struct ptx_value *b, const struct ptx_state *b_state,
	struct ptx_value *joined)
{
	struct ptx_value found;

	if (a->half != HALF_HIGH && b->half != HALF_HIGH)
		return 0;
	for (uint32_t i = twins->count; i-- > 0;) {
		const struct ptx_twin *twin = &twins->twin[i];

		if (twin->key != key || !are_halves(&twin->a, a, a_state) ||
			!are_halves(&twin->b, b, b_state))
			continue;
		found = ptx_whole(&twin->joined);
		*joined = ptx_take_half(a_state, &found, HALF_HIGH);
		return 1;
	}
	return 0;
}

void ptx_note_twin(struct ptx_twins *twins, uint32_t key, const struct ptx_value *a,
	const struct ptx_value *b, const struct ptx_value *joined)
{
	if (a->half == HALF_HIGH || b->half == HALF_HIGH)
		return;
	if (twins->count == PTX_TWINS)
		twins->count = 0;
	twins->twin[twins->count++] = (struct ptx_twin){ key, *a, *b, *joined };
}
