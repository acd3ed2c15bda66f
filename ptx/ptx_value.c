/* SPDX-License-Identifier: Apache-2.0 */
#include "ptx_value.h"

int64_t ptx_add_bound(int64_t a, int64_t b)
{
	int64_t sum;

	if (a == INT64_MIN || a == INT64_MAX)
		return a;
	if (b == INT64_MIN || b == INT64_MAX)
		return b;
	if (__builtin_add_overflow(a, b, &sum))
		return a < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}

int64_t ptx_minus_bound(int64_t bound)
{
	return bound == INT64_MIN ? INT64_MAX : bound == INT64_MAX ? INT64_MIN : -bound;
}

int64_t ptx_multiply_bound(int64_t a, int64_t b)
{
	int64_t product;

	if (!a || !b)
		return 0;
	if (a == INT64_MIN || a == INT64_MAX || b == INT64_MIN || b == INT64_MAX ||
		__builtin_mul_overflow(a, b, &product))
		return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
	return product;
}

struct ptx_range ptx_add_range(struct ptx_range a, struct ptx_range b)
{
	/* An open end stays open in a sum, even with the opposite open end. */
	struct ptx_range sum = { ptx_add_bound(a.low, b.low), ptx_add_bound(a.high, b.high) };

	if (a.low == INT64_MIN || b.low == INT64_MIN)
		sum.low = INT64_MIN;
	if (a.high == INT64_MAX || b.high == INT64_MAX)
		sum.high = INT64_MAX;
	return sum;
}

struct ptx_range ptx_scale_range(struct ptx_range a, int64_t factor)
{
	struct ptx_range scaled = {
		ptx_multiply_bound(a.low, factor),
		ptx_multiply_bound(a.high, factor),
	};

	if (factor >= 0)
		return scaled;
	return (struct ptx_range){ scaled.high, scaled.low };
}

struct ptx_range ptx_hull(struct ptx_range a, struct ptx_range b)
{
	if (a.low > a.high)
		return b;
	if (b.low > b.high)
		return a;
	return (struct ptx_range){ a.low < b.low ? a.low : b.low,
		a.high > b.high ? a.high : b.high };
}

struct ptx_range ptx_intersection(struct ptx_range a, struct ptx_range b)
{
	return (struct ptx_range){ a.low > b.low ? a.low : b.low,
		a.high < b.high ? a.high : b.high };
}

struct ptx_value ptx_interval(int64_t low, int64_t high)
{
	return (struct ptx_value){ .base = BASE_NUMBER, .low = low, .high = high };
}

struct ptx_value ptx_symbol_value(uint32_t symbol)
{
	return (struct ptx_value){ .count = 1, .term = { { symbol, 1 } } };
}

int ptx_is_constant(const struct ptx_value *value)
{
	return value->base == BASE_NUMBER && !value->half && !value->count &&
		value->low == value->high;
}

struct ptx_value ptx_whole(const struct ptx_value *half)
{
	struct ptx_value whole = *half;

	whole.half = HALF_NONE;
	return whole;
}

int ptx_same_terms(const struct ptx_term *a, uint32_t a_count, const struct ptx_term *b,
	uint32_t b_count)
{
	if (a_count != b_count)
		return 0;
	for (uint32_t i = 0; i < a_count; i++)
		if (a[i].symbol != b[i].symbol || a[i].factor != b[i].factor)
			return 0;
	return 1;
}

int ptx_same(const struct ptx_value *a, const struct ptx_value *b)
{
	return a->base == b->base && a->id == b->id && a->low == b->low && a->high == b->high &&
		a->pointer == b->pointer && a->loaded == b->loaded && a->half == b->half &&
		ptx_same_terms(a->term, a->count, b->term, b->count);
}

int64_t ptx_factor(const struct ptx_value *value, uint32_t symbol)
{
	for (unsigned i = 0; i < value->count; i++)
		if (value->term[i].symbol == symbol)
			return value->term[i].factor;
	return 0;
}

/*
 * Returns -1 if the factor does not fit; INT64_MIN is excluded, so that every factor can be
 * negated.
 */
static int add_term(struct ptx_value *value, uint32_t symbol, int64_t factor)
{
	unsigned at = 0;

	while (at < value->count && value->term[at].symbol < symbol)
		at++;
	if (factor == INT64_MIN)
		return -1;
	if (at < value->count && value->term[at].symbol == symbol) {
		if (__builtin_add_overflow(value->term[at].factor, factor,
			    &value->term[at].factor) ||
			value->term[at].factor == INT64_MIN)
			return -1;
		if (!value->term[at].factor) {
			value->count--;
			memmove(&value->term[at], &value->term[at + 1],
				(value->count - at) * sizeof(*value->term));
		}
		return 0;
	}
	if (value->count == PTX_TERMS)
		return -1;
	memmove(&value->term[at + 1], &value->term[at], (value->count - at) * sizeof(*value->term));
	value->term[at] = (struct ptx_term){ symbol, factor };
	value->count++;
	return 0;
}

int ptx_add_terms(struct ptx_value *into, const struct ptx_value *other, int64_t factor)
{
	struct ptx_range sum = ptx_add_range((struct ptx_range){ into->low, into->high },
		ptx_scale_range((struct ptx_range){ other->low, other->high }, factor));

	for (unsigned i = 0; i < other->count; i++) {
		int64_t scaled;

		if (__builtin_mul_overflow(other->term[i].factor, factor, &scaled) ||
			add_term(into, other->term[i].symbol, scaled))
			return -1;
	}
	into->low = sum.low;
	into->high = sum.high;
	into->loaded |= other->loaded;
	return 0;
}

int ptx_scale(struct ptx_value *value, int64_t factor)
{
	struct ptx_value scaled = ptx_constant(0);

	scaled.base = value->base;
	scaled.id = value->id;
	if (factor && ptx_add_terms(&scaled, value, factor))
		return -1;
	*value = scaled;
	return 0;
}

void ptx_settle(struct ptx_value *value, const struct ptx_state *state)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < value->count; i++) {
		const struct ptx_range *range = &state->range[value->term[i].symbol];
		int64_t part;

		if (range->low == range->high) {
			part = ptx_multiply_bound(range->low, value->term[i].factor);
			value->low = ptx_add_bound(value->low, part);
			value->high = ptx_add_bound(value->high, part);
		} else {
			value->term[kept++] = value->term[i];
		}
	}
	value->count = (uint8_t)kept;
}

struct ptx_range ptx_sum_range(const struct ptx_term *term, unsigned count,
	const struct ptx_state *state)
{
	struct ptx_range sum = { 0, 0 };

	for (unsigned i = 0; i < count; i++)
		sum = ptx_add_range(sum,
			ptx_scale_range(state->range[term[i].symbol], term[i].factor));
	return sum;
}

/* Returns the bounds of all terms, given a fact about some of them. */
static struct ptx_range with_fact(const struct ptx_value *value, const struct ptx_state *state,
	const struct ptx_fact *fact)
{
	static const struct ptx_range all = { INT64_MIN, INT64_MAX };
	int64_t factor = ptx_factor(value, fact->term[0].symbol), ratio;
	struct ptx_value rest = *value;

	if (!factor || factor % fact->term[0].factor)
		return all;
	ratio = factor / fact->term[0].factor;
	for (unsigned i = 0; i < fact->count; i++) {
		int64_t part;

		if (__builtin_mul_overflow(fact->term[i].factor, -ratio, &part) ||
			add_term(&rest, fact->term[i].symbol, part))
			return all;
	}
	if (rest.count + fact->count != value->count)
		return all; /* not all of its terms are among them, with that ratio */
	return ptx_add_range(ptx_scale_range(fact->range, ratio),
		ptx_sum_range(rest.term, rest.count, state));
}

struct ptx_range ptx_bounds(const struct ptx_value *value, const struct ptx_state *state)
{
	struct ptx_range sum = ptx_sum_range(value->term, value->count, state);

	for (unsigned i = 0; i < state->fact_count; i++)
		if (state->fact[i].count <= value->count)
			sum = ptx_intersection(sum, with_fact(value, state, &state->fact[i]));
	return ptx_add_range(sum, (struct ptx_range){ value->low, value->high });
}

static int64_t floor_divide(int64_t a, int64_t b)
{
	return a / b - (a % b && (a < 0) != (b < 0));
}

/* Returns the range of x for factor * x in range. */
static struct ptx_range divide_range(struct ptx_range range, int64_t factor)
{
	struct ptx_range x = range;

	if (factor < 0) {
		factor = -factor;
		x.low = ptx_minus_bound(range.high);
		x.high = ptx_minus_bound(range.low);
	}
	if (x.low != INT64_MIN && x.low != INT64_MAX)
		x.low = -floor_divide(-x.low, factor);
	if (x.high != INT64_MIN && x.high != INT64_MAX)
		x.high = floor_divide(x.high, factor);
	return x;
}

/* Returns 1 if the range became smaller. */
static int narrow(struct ptx_state *state, uint32_t symbol, struct ptx_range range)
{
	struct ptx_range before = state->range[symbol];
	struct ptx_range *now = &state->range[symbol];

	*now = ptx_intersection(before, range);
	if (now->low > now->high)
		state->possible = 0;
	return now->low != before.low || now->high != before.high;
}

static int add_fact(struct ptx_state *state, const struct ptx_term *term, uint32_t count,
	struct ptx_range range)
{
	struct ptx_fact *fact = state->fact;

	while (fact < state->fact + state->fact_count &&
		!ptx_same_terms(term, count, fact->term, fact->count))
		fact++;
	if (fact == state->fact + PTX_FACTS)
		return 0;
	if (fact == state->fact + state->fact_count) {
		state->fact_count++;
		memset(fact, 0, sizeof(*fact));
		memcpy(fact->term, term, count * sizeof(*term));
		fact->count = count;
		fact->range = range;
	}
	fact->range = ptx_intersection(fact->range, range);
	if (fact->range.low > fact->range.high)
		state->possible = 0;
	return 1;
}

/* Computes bound - others, for the least or largest sum of the others. */
static int64_t without(int64_t bound, int64_t others)
{
	if (bound == INT64_MIN || bound == INT64_MAX)
		return bound;
	return ptx_add_bound(bound, ptx_minus_bound(others));
}

/* Narrows each term by the range of the sum; returns 1 if a range became smaller. */
static int narrow_terms(struct ptx_state *state, const struct ptx_term *term, uint32_t count,
	struct ptx_range range)
{
	int less = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct ptx_term others[PTX_TERMS];
		struct ptx_range rest, own;
		uint32_t left = 0;

		for (uint32_t j = 0; j < count; j++)
			if (j != i)
				others[left++] = term[j];
		rest = ptx_sum_range(others, left, state);
		own.low = without(range.low, rest.high);
		own.high = without(range.high, rest.low);
		if (term[i].factor)
			less |= narrow(state, term[i].symbol, divide_range(own, term[i].factor));
	}
	return less;
}

/* terms + constant = modulus * quotient + remainder. */
static int narrow_split(struct ptx_state *state, const struct ptx_split *split)
{
	struct ptx_term term[PTX_TERMS];
	uint32_t count = split->count;

	if (count + 2 > PTX_TERMS || split->constant == INT64_MIN)
		return 0;
	memcpy(term, split->term, count * sizeof(*term));
	term[count++] = (struct ptx_term){ split->quotient, -split->modulus };
	term[count++] = (struct ptx_term){ split->remainder, -1 };
	return narrow_terms(state, term, count,
		(struct ptx_range){ -split->constant, -split->constant });
}

/* Returns the greatest common divisor of the factors, with the sign of the first one. */
static int64_t divisor_of(const struct ptx_term *term, uint32_t count)
{
	int64_t divisor = term[0].factor;

	for (uint32_t i = 1; i < count; i++)
		for (int64_t rest, other = term[i].factor; other; other = rest) {
			rest = divisor % other;
			divisor = other;
		}
	return (divisor < 0) == (term[0].factor < 0) ? divisor : -divisor;
}

int ptx_constrain(struct ptx_state *state, const struct ptx_term *term, uint32_t count,
	struct ptx_range range)
{
	struct ptx_term reduced[PTX_TERMS];
	int noted = 1;

	if (range.low > range.high) {
		state->possible = 0;
		return 1;
	}
	if (!count)
		return 1;
	/* Normal form: 4x + 8y becomes x + 2y. */
	if (count > 1) {
		int64_t divisor = divisor_of(term, count);

		range = divide_range(range, divisor);
		for (uint32_t i = 0; i < count; i++)
			reduced[i] = (struct ptx_term){ term[i].symbol, term[i].factor / divisor };
		term = reduced;
		if (range.low > range.high) {
			state->possible = 0;
			return 1;
		}
	}
	if (count > 1)
		noted = add_fact(state, term, count, range);
	if (narrow_terms(state, term, count, range)) {
		/* A smaller range may narrow others: limited to a few rounds. */
		int less = 1;

		for (int round = 0; less && state->possible && round < PTX_FACTS; round++) {
			less = 0;
			for (uint32_t i = 0; i < state->fact_count; i++)
				less |= narrow_terms(state, state->fact[i].term,
					state->fact[i].count, state->fact[i].range);
			for (uint32_t i = 0; i < state->split_count; i++)
				less |= narrow_split(state, &state->split[i]);
		}
	}
	return noted;
}

const struct ptx_split *ptx_find_split(const struct ptx_state *state, const struct ptx_value *sum,
	int64_t modulus)
{
	for (uint32_t i = 0; i < state->split_count; i++) {
		const struct ptx_split *split = &state->split[i];

		if (split->modulus == modulus && split->constant == sum->low &&
			ptx_same_terms(split->term, split->count, sum->term, sum->count))
			return split;
	}
	return NULL;
}

const struct ptx_split *ptx_split_of(const struct ptx_state *state, uint32_t symbol)
{
	for (uint32_t i = 0; i < state->split_count; i++)
		if (state->split[i].quotient == symbol || state->split[i].remainder == symbol)
			return &state->split[i];
	return NULL;
}

int64_t ptx_split_ratio(const struct ptx_split *split, const struct ptx_value *value)
{
	int64_t ratio = 0;

	for (uint32_t i = 0; i < split->count; i++) {
		int64_t factor = ptx_factor(value, split->term[i].symbol);

		if (!factor || factor % split->term[i].factor ||
			(ratio && factor / split->term[i].factor != ratio))
			return 0;
		ratio = factor / split->term[i].factor;
	}
	return ratio;
}

void ptx_fold_splits(struct ptx_value *value, const struct ptx_state *state)
{
	for (uint32_t i = 0; i < state->split_count; i++) {
		const struct ptx_split *split = &state->split[i];
		int64_t ratio = ptx_split_ratio(split, value);
		struct ptx_value folded = *value, sum = ptx_constant(split->constant);
		struct ptx_value part = ptx_symbol_value(split->quotient);
		struct ptx_value rest = ptx_symbol_value(split->remainder);

		if (!ratio || ratio == INT64_MIN || ptx_scale(&part, split->modulus) ||
			ptx_scale(&part, -ratio) || !part.count ||
			ptx_factor(value, split->quotient) != part.term[0].factor)
			continue;
		sum.count = (uint8_t)split->count;
		memcpy(sum.term, split->term, sizeof(sum.term));
		if (!ptx_add_terms(&folded, &sum, -ratio) && !ptx_add_terms(&folded, &part, -1) &&
			!ptx_add_terms(&folded, &rest, ratio))
			*value = folded;
	}
}

void ptx_drop_splits(struct ptx_state *state,
	int (*drop)(const void *arg, const struct ptx_split *split), const void *arg)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < state->split_count; i++)
		if (!drop(arg, &state->split[i]))
			state->split[kept++] = state->split[i];
	state->split_count = kept;
}

static int speaks_of(const void *arg, const struct ptx_split *split)
{
	uint32_t symbol = *(const uint32_t *)arg;

	for (uint32_t i = 0; i < split->count; i++)
		if (split->term[i].symbol == symbol)
			return 1;
	return split->quotient == symbol || split->remainder == symbol;
}

void ptx_forget(struct ptx_state *state, uint32_t symbol)
{
	for (uint32_t i = 0; i < state->fact_count;) {
		struct ptx_fact *fact = &state->fact[i];
		uint32_t at = 0;

		while (at < fact->count && fact->term[at].symbol != symbol)
			at++;
		if (at < fact->count)
			*fact = state->fact[--state->fact_count];
		else
			i++;
	}
	ptx_drop_splits(state, speaks_of, &symbol);
}

void ptx_redefine(struct ptx_state *state, uint32_t symbol, struct ptx_range range)
{
	ptx_forget(state, symbol);
	state->range[symbol] = range;
}
