/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of an access.  Its address is a sum; each term, or group of terms in a fact, has values
 * at a stride.  This contains all values of the address, and no others if the parts are
 * independent.
 */
#include "ptx_walk.h"

#include <stdlib.h>

/* Terms of an address: low, low + bytes, ... high. */
struct part {
	uint32_t terms; /* as bits */
	int64_t low, high, bytes;
};

struct parts {
	const struct ptx_value *address;
	const struct ptx_state *state;
	struct part part[PTX_TERMS];
	unsigned count;
	int is_clipped; /* bytes outside of the bounds are excluded */
};

static int compare_strides(const void *a, const void *b)
{
	const struct ptx_stride *x = a, *y = b;

	return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

int64_t ptx_stride_length(const struct ptx_stride *stride)
{
	return ptx_multiply_bound(stride->bytes, ptx_add_bound(stride->count, -1));
}

/*
 * Strides at which runs overlap or touch make a longer run.  At most PTX_STRIDES remain, longest
 * first; with more, the claim becomes one run that is not exact.
 */
static void set_strides(struct ptx_claim *claim, struct ptx_stride *stride, uint32_t count)
{
	uint32_t kept = 0;

	qsort(stride, count, sizeof(*stride), compare_strides);
	for (uint32_t i = 0; i < count; i++) {
		if (!kept && stride[i].bytes <= claim->run) {
			claim->run = ptx_add_bound(ptx_stride_length(&stride[i]), claim->run);
		} else if (kept && stride[kept - 1].count != INT64_MAX &&
			stride[i].bytes ==
				ptx_multiply_bound(stride[kept - 1].bytes,
					stride[kept - 1].count)) {
			stride[kept - 1].count =
				ptx_multiply_bound(stride[kept - 1].count, stride[i].count);
		} else if (kept < PTX_STRIDES) {
			stride[kept++] = stride[i];
		} else {
			kept = PTX_STRIDES + 1;
			break;
		}
	}
	if (kept > PTX_STRIDES) {
		claim->exact = 0;
		kept = 0;
	}
	for (uint32_t i = 0; i < kept; i++)
		claim->stride[i] = stride[kept - 1 - i];
	claim->stride_count = (uint8_t)kept;
}

void ptx_set_run(struct ptx_claim *claim)
{
	if (claim->stride_count)
		return;
	if (claim->low == INT64_MIN || claim->high == INT64_MAX ||
		__builtin_sub_overflow(claim->high, claim->low, &claim->run))
		claim->run = INT64_MAX;
}

/*
 * Returns 1 if each combination of the symbols' numbers occurs in some thread: for indices, rounds
 * and parts of splits.  Computed symbols depend on their operands: i + (i + 1 < n) is never n.
 */
static int are_free(const struct ptx_walk *walk, const struct ptx_state *state,
	const struct ptx_value *address)
{
	for (unsigned i = 0; i < address->count; i++) {
		uint32_t symbol = address->term[i].symbol;

		if (symbol >= PTX_FIXED_SYMBOLS && walk->symbol[symbol].which != WHICH_ROUNDS &&
			!ptx_split_of(state, symbol))
			return 0;
	}
	return 1;
}

/* Returns the address's terms that the fact contains, as bits. */
static uint32_t terms_of(const struct parts *parts, const struct ptx_fact *fact)
{
	uint32_t terms = 0;

	for (unsigned i = 0; i < parts->address->count; i++)
		for (unsigned j = 0; j < fact->count; j++)
			if (parts->address->term[i].symbol == fact->term[j].symbol)
				terms |= 1u << i;
	return terms;
}

/* Returns the factor of the fact's sum in these terms; 0: no common factor. */
static int64_t ratio_of(const struct parts *parts, const struct ptx_fact *fact, uint32_t terms)
{
	int64_t ratio = 0;

	for (unsigned j = 0; j < fact->count; j++) {
		int64_t factor = ptx_factor(parts->address, fact->term[j].symbol);

		if (!factor)
			continue;
		if (factor % fact->term[j].factor ||
			(ratio && ratio != factor / fact->term[j].factor))
			return 0;
		ratio = factor / fact->term[j].factor;
	}
	return terms ? ratio : 0;
}

/* Returns the range that the fact leaves for the address's terms, for any values of the others. */
static struct ptx_range left_to(const struct parts *parts, const struct ptx_fact *fact)
{
	struct ptx_term others[PTX_TERMS];
	unsigned count = 0;

	for (unsigned j = 0; j < fact->count; j++)
		if (!ptx_factor(parts->address, fact->term[j].symbol)) {
			others[count] = fact->term[j];
			others[count++].factor *= -1;
		}
	return ptx_add_range(fact->range, ptx_sum_range(others, count, parts->state));
}

/* Merges the parts of these terms into one, with the shortest stride; returns 0 if impossible. */
static int merge(struct parts *parts, uint32_t terms, struct part *whole)
{
	uint32_t taken = 0;
	int64_t span = 0;

	*whole = (struct part){ 0 };
	while (taken != terms) {
		const struct part *next = NULL;

		for (unsigned i = 0; i < parts->count; i++) {
			const struct part *part = &parts->part[i];

			if (!(part->terms & terms & ~taken))
				continue;
			if (part->terms & ~terms)
				return 0;
			if (!next || part->bytes < next->bytes)
				next = part;
		}
		if (!whole->bytes)
			whole->bytes = next->bytes;
		else if (next->bytes % whole->bytes || next->bytes > span + whole->bytes)
			return 0;
		taken |= next->terms;
		whole->low = ptx_add_bound(whole->low, next->low);
		whole->high = ptx_add_bound(whole->high, next->high);
		if (__builtin_sub_overflow(whole->high, whole->low, &span) ||
			span > INT64_MAX - whole->bytes)
			return 0;
	}
	whole->terms = taken;
	return 1;
}

/*
 * With an equation such as k = 2 * i, not every k has an i: checks whether the fact leaves room for
 * each step of the other terms.
 */
static int leaves_gaps(const struct parts *parts, const struct ptx_fact *fact)
{
	int64_t least = INT64_MAX, width;

	for (unsigned j = 0; j < fact->count; j++) {
		int64_t factor = fact->term[j].factor;

		if (ptx_factor(parts->address, fact->term[j].symbol))
			continue;
		factor = factor < 0 ? -factor : factor;
		least = factor < least ? factor : least;
	}
	return least != INT64_MAX &&
		!__builtin_sub_overflow(fact->range.high, fact->range.low, &width) &&
		width < least - 1;
}

static int is_inside(struct ptx_range inner, struct ptx_range outer)
{
	return inner.low >= outer.low && inner.high <= outer.high;
}

static int is_binding(const struct ptx_state *state, const struct ptx_fact *fact)
{
	return !is_inside(ptx_sum_range(fact->term, fact->count, state), fact->range);
}

/* Applies the fact to these terms; returns 0 if it leaves less than the parts have. */
static int hold_together(struct parts *parts, const struct ptx_fact *fact, uint32_t terms)
{
	int64_t ratio = ratio_of(parts, fact, terms);
	struct ptx_range range = ptx_scale_range(left_to(parts, fact), ratio);
	struct part whole;

	if (!is_binding(parts->state, fact))
		return 1;
	if (leaves_gaps(parts, fact))
		return 0;
	if (!(terms & (terms - 1)))
		return 1; /* the symbol's range contains it already */
	if (!ratio)
		return 0;
	if (!merge(parts, terms, &whole)) {
		parts->is_clipped = 1;
		return terms == (1u << parts->address->count) - 1;
	}
	if (range.low != INT64_MIN && range.low > whole.low)
		whole.low += (range.low - whole.low + whole.bytes - 1) / whole.bytes * whole.bytes;
	if (range.high != INT64_MAX && range.high < whole.high)
		whole.high -=
			(whole.high - range.high + whole.bytes - 1) / whole.bytes * whole.bytes;
	if (whole.low > whole.high)
		return 0;
	unsigned kept = 0;

	for (unsigned i = 0; i < parts->count; i++)
		if (!(parts->part[i].terms & whole.terms))
			parts->part[kept++] = parts->part[i];
	parts->part[kept++] = whole;
	parts->count = kept;
	return 1;
}

/* Returns 0 if a term is unbounded. */
static int make_parts(struct parts *parts)
{
	const struct ptx_value *address = parts->address;

	for (unsigned i = 0; i < address->count; i++) {
		struct ptx_range range = parts->state->range[address->term[i].symbol], bytes;
		int64_t factor = address->term[i].factor;

		bytes = ptx_scale_range(range, factor);
		if (bytes.low == INT64_MIN || bytes.high == INT64_MAX || bytes.low > bytes.high)
			return 0;
		parts->part[parts->count++] = (struct part){ 1u << i, bytes.low, bytes.high,
			factor < 0 ? -factor : factor };
	}
	return 1;
}

/* Applies facts about few terms first.  Returns 0 as hold_together(). */
static int apply_facts(struct parts *parts)
{
	int fits = 1;

	for (int wanted = 1; wanted <= PTX_TERMS; wanted++)
		for (unsigned i = 0; i < parts->state->fact_count; i++) {
			const struct ptx_fact *fact = &parts->state->fact[i];
			uint32_t terms = terms_of(parts, fact);

			if (__builtin_popcount(terms) == wanted)
				fits &= hold_together(parts, fact, terms);
		}
	return fits;
}

/* Sets the claim for an address that is a sum of parts. */
static void shape_parts(struct ptx_claim *claim, const struct parts *parts, uint32_t bytes)
{
	struct ptx_stride stride[PTX_TERMS];
	int64_t low = parts->address->low, high = ptx_add_bound(parts->address->low, bytes);
	uint32_t count = 0;

	for (unsigned i = 0; i < parts->count; i++) {
		const struct part *part = &parts->part[i];

		low = ptx_add_bound(low, part->low);
		high = ptx_add_bound(high, part->high);
		if (part->low < part->high)
			stride[count++] = (struct ptx_stride){ part->bytes,
				(part->high - part->low) / part->bytes + 1 };
	}
	if (claim->low > low) {
		/* Runs are counted from low, and the first one is unknown. */
		if (parts->count)
			claim->exact = 0;
		return;
	}
	claim->low = low;
	if (high < claim->high)
		claim->high = high;
	set_strides(claim, stride, count);
}

/* --- addresses in terms of quotients and remainders --- */

struct dividing {
	struct ptx_value *address;
	struct ptx_state *state;  /* a copy without registers */
	uint32_t wanted, applied; /* by split, as bits */
};

static struct ptx_value sum_of(const struct ptx_split *split)
{
	struct ptx_value sum = ptx_constant(split->constant);

	sum.count = (uint8_t)split->count;
	memcpy(sum.term, split->term, sizeof(sum.term));
	return sum;
}

/* Finds the range of the sum that the split divides; returns 0 if not every number in it occurs. */
static int find_dense(const struct dividing *dividing, const struct ptx_split *split,
	struct ptx_range *range)
{
	struct ptx_value sum = sum_of(split);
	struct parts parts = { .address = &sum, .state = dividing->state };
	struct part whole;

	if (!make_parts(&parts) || !apply_facts(&parts) ||
		!merge(&parts, (1u << sum.count) - 1, &whole) || whole.bytes != 1)
		return 0;
	range->low = ptx_add_bound(whole.low, split->constant);
	range->high = ptx_add_bound(whole.high, split->constant);
	return 1;
}

static int uses(const struct ptx_value *value, const struct ptx_term *term, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (ptx_factor(value, term[i].symbol))
			return 1;
	return 0;
}

static struct ptx_value about(const struct ptx_fact *fact)
{
	struct ptx_value sum = { .count = (uint8_t)fact->count };

	memcpy(sum.term, fact->term, sizeof(sum.term));
	return sum;
}

/* A fact relates the sum's terms to others of the address, or to the parts. */
static int is_tied(const struct dividing *dividing, const struct ptx_split *split,
	const struct ptx_value *others)
{
	for (uint32_t i = 0; i < dividing->state->fact_count; i++) {
		const struct ptx_fact *fact = &dividing->state->fact[i];
		struct ptx_value sum = about(fact);

		if (uses(&sum, split->term, split->count) && is_binding(dividing->state, fact) &&
			(uses(others, fact->term, fact->count) ||
				ptx_factor(&sum, split->quotient) ||
				ptx_factor(&sum, split->remainder)))
			return 1;
	}
	return 0;
}

static int has_fact(const struct ptx_state *state, const struct ptx_split *split)
{
	for (uint32_t i = 0; i < state->fact_count; i++) {
		struct ptx_value sum = about(&state->fact[i]);

		if ((ptx_factor(&sum, split->quotient) || ptx_factor(&sum, split->remainder)) &&
			is_binding(state, &state->fact[i]))
			return 1;
	}
	return 0;
}

/* The other split's sum contains a part of this one, and the address depends on it. */
static int is_divided(const struct dividing *dividing, const struct ptx_split *split)
{
	const struct ptx_state *state = dividing->state;

	for (uint32_t i = 0; i < state->split_count; i++)
		for (uint32_t j = 0; j < state->split[i].count; j++)
			if ((dividing->wanted & 1u << i) &&
				(state->split[i].term[j].symbol == split->quotient ||
					state->split[i].term[j].symbol == split->remainder))
				return 1;
	return 0;
}

/*
 * Finds the numbers from low to high with a quotient and a remainder in their ranges, and narrows
 * these.  Returns 1 if all combinations occur, or if only the quotient matters.
 */
static int divide(const struct ptx_split *split, struct ptx_range all, struct ptx_range *quotient,
	struct ptx_range *remainder, int quotient_only)
{
	int64_t modulus = split->modulus;

	*remainder = ptx_intersection(*remainder, (struct ptx_range){ 0, modulus - 1 });
	*quotient = ptx_intersection(*quotient,
		(struct ptx_range){ all.low / modulus, all.high / modulus });
	if (quotient->low * modulus + remainder->high < all.low)
		quotient->low++;
	if (quotient->high * modulus + remainder->low > all.high)
		quotient->high--;
	if (quotient->low == quotient->high)
		*remainder = ptx_intersection(*remainder,
			(struct ptx_range){ all.low - quotient->low * modulus,
				all.high - quotient->low * modulus });
	return quotient_only ||
		(quotient->low * modulus + remainder->low >= all.low &&
			quotient->high * modulus + remainder->high <= all.high);
}

/* A part of it is in the address, or more is known of a part than the sum implies. */
static int matters(const struct dividing *dividing, const struct ptx_split *split)
{
	struct ptx_range quotient = dividing->state->range[split->quotient];
	struct ptx_range remainder = dividing->state->range[split->remainder];
	struct ptx_value sum = sum_of(split);
	struct ptx_range all = ptx_bounds(&sum, dividing->state);

	return ptx_factor(dividing->address, split->quotient) ||
		ptx_factor(dividing->address, split->remainder) || is_divided(dividing, split) ||
		has_fact(dividing->state, split) || remainder.low > 0 ||
		remainder.high < split->modulus - 1 || quotient.low > all.low / split->modulus ||
		quotient.high < all.high / split->modulus;
}

/* A split applied before divides some of the same terms: their relation is unknown. */
static int is_rivalled(const struct dividing *dividing, const struct ptx_split *split)
{
	const struct ptx_state *state = dividing->state;

	for (uint32_t i = 0; i < state->split_count; i++) {
		struct ptx_value sum = sum_of(&state->split[i]);

		if (dividing->applied & 1u << i && uses(&sum, split->term, split->count))
			return 1;
	}
	return 0;
}

/* Replaces the sum by the parts; returns 0 if the address does not have all their combinations. */
static int apply_split(struct dividing *dividing, const struct ptx_split *split)
{
	struct ptx_range *ranges = dividing->state->range, all;
	int64_t ratio = ptx_split_ratio(split, dividing->address);
	struct ptx_value sum = sum_of(split), others = *dividing->address;
	struct ptx_value part = ptx_symbol_value(split->quotient);
	struct ptx_value rest = ptx_symbol_value(split->remainder);

	if (!find_dense(dividing, split, &all) || all.low < 0 || all.high > INT32_MAX ||
		split->modulus > INT32_MAX ||
		(!ratio && uses(&others, split->term, split->count)) ||
		(ratio && (ratio == INT64_MIN || ptx_add_terms(&others, &sum, -ratio))) ||
		is_tied(dividing, split, &others) || is_rivalled(dividing, split))
		return 0;
	if (ratio &&
		(ptx_scale(&part, split->modulus) || ptx_scale(&part, ratio) ||
			ptx_add_terms(&others, &part, 1) || ptx_scale(&rest, ratio) ||
			ptx_add_terms(&others, &rest, 1)))
		return 0;
	*dividing->address = others;
	return divide(split, all, &ranges[split->quotient], &ranges[split->remainder],
		!ptx_factor(&others, split->remainder) && !is_divided(dividing, split));
}

/* Splits may divide parts of previous ones.  Returns 0 as apply_split(). */
static int apply_splits(struct ptx_value *address, struct ptx_state *state)
{
	struct dividing dividing = { address, state, 0, 0 };
	int fits = 1;

	/* Applies what was learned about a sum since it was divided. */
	for (uint32_t i = 0; i < state->split_count; i++) {
		const struct ptx_split *split = &state->split[i];
		struct ptx_range *quotient = &state->range[split->quotient];
		struct ptx_value sum = sum_of(split);
		struct ptx_range all = ptx_bounds(&sum, state);

		if (all.low >= 0 && all.high != INT64_MAX)
			*quotient = ptx_intersection(*quotient,
				(struct ptx_range){ all.low / split->modulus,
					all.high / split->modulus });
	}
	for (uint32_t i = state->split_count; i-- > 0;)
		dividing.wanted |= (uint32_t)matters(&dividing, &state->split[i]) << i;
	for (uint32_t i = 0; i < state->split_count && fits; i++) {
		if (!(dividing.wanted & 1u << i))
			continue;
		fits = apply_split(&dividing, &state->split[i]);
		dividing.applied |= 1u << i;
	}
	for (unsigned i = 0; i < address->count; i++)
		if (state->range[address->term[i].symbol].low >
			state->range[address->term[i].symbol].high)
			return 0;
	return fits;
}

void ptx_shape(const struct ptx_walk *walk, struct ptx_claim *claim,
	const struct ptx_value *address, const struct ptx_state *state, uint32_t bytes)
{
	struct ptx_range range = ptx_bounds(address, state);
	struct ptx_value divided = *address;
	struct ptx_state copy;
	struct parts parts = { .address = &divided, .state = &copy };

	claim->low = range.low;
	claim->high = bytes ? ptx_add_bound(range.high, bytes) : INT64_MAX;
	claim->loaded = address->loaded;
	claim->run = bytes;
	/* Its registers are not used. */
	memcpy(&copy, state, sizeof(copy));
	if (!address->loaded && address->low == address->high && bytes && claim->low != INT64_MIN &&
		claim->high != INT64_MAX) {
		claim->exact = apply_splits(&divided, &copy) != 0;
		if (!claim->exact) {
			divided = *address;
			memcpy(&copy, state, sizeof(copy));
		}
		if (make_parts(&parts)) {
			claim->exact &= apply_facts(&parts) && are_free(walk, state, &divided);
			shape_parts(claim, &parts, bytes);
		} else {
			claim->exact = 0;
		}
	}
	ptx_set_run(claim);
}
