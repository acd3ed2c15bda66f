/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of an access: its address is a sum, and each term of it, or terms that a fact holds
 * together, goes through its numbers at a stride.  That is all of the address's numbers at least;
 * it is no more where the parts have nothing to do with each other.
 */
#include "ptx_walk.h"

#include <stdlib.h>

/* An access may be so many claims, by what indices leave when they are divided. */
#define SHAPE_TURNS 8

/* Terms of an address: low, low + bytes, ... high. */
struct part {
	uint32_t terms; /* bits */
	int64_t low, high, bytes;
};

struct parts {
	const struct ptx_value *address;
	const struct ptx_state *state;
	struct part part[PTX_TERMS];
	unsigned count;
	int is_clipped; /* beyond its bounds there is nothing, wherever strides lead */
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
 * Strides at which runs overlap or touch make a longer run.  What remains is at most PTX_STRIDES,
 * longest first; more make the claim one run that is not exact.
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
 * Whether some thread has each number of the symbol's range with each of the others'.  What a
 * condition chose goes with what the condition is about: of i + (i + 1 < n) none is n.
 */
static int is_free(const struct ptx_symbol *symbol)
{
	return symbol->which != WHICH_OLD && symbol->which < WHICH_SELECTED;
}

static int are_free(const struct ptx_walk *walk, const struct ptx_value *address)
{
	for (unsigned i = 0; i < address->count; i++)
		if (address->term[i].symbol >= PTX_FIXED_SYMBOLS &&
			!is_free(&walk->symbol[address->term[i].symbol]))
			return 0;
	return 1;
}

/* The address's terms that the fact is about, as bits. */
static uint32_t terms_of(const struct parts *parts, const struct ptx_fact *fact)
{
	uint32_t terms = 0;

	for (unsigned i = 0; i < parts->address->count; i++)
		for (unsigned j = 0; j < fact->count; j++)
			if (parts->address->term[i].symbol == fact->term[j].symbol)
				terms |= 1u << i;
	return terms;
}

/* How often what the fact is about is in those terms of the address; 0: not as a whole. */
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

/* What the fact leaves to the terms that the address has, whatever the others are. */
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

/* The parts of these terms as one, which goes at the shortest of their strides; 0: it does not. */
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

static void clip(struct part *part, struct ptx_range range)
{
	if (range.low != INT64_MIN && range.low > part->low)
		part->low += (range.low - part->low + part->bytes - 1) / part->bytes * part->bytes;
	if (range.high != INT64_MAX && range.high < part->high)
		part->high -=
			(part->high - range.high + part->bytes - 1) / part->bytes * part->bytes;
}

static void replace(struct parts *parts, const struct part *whole)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < parts->count; i++)
		if (!(parts->part[i].terms & whole->terms))
			parts->part[kept++] = parts->part[i];
	parts->part[kept++] = *whole;
	parts->count = kept;
}

/*
 * With an equation such as k = 2 * i not each k has its i; what is asked is whether the fact leaves
 * room for each step that the other terms make.
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

/* 0: the fact leaves less than the parts have. */
static int hold_together(struct parts *parts, const struct ptx_fact *fact, uint32_t terms)
{
	int64_t ratio = ratio_of(parts, fact, terms);
	struct ptx_range range = ptx_scale_range(left_to(parts, fact), ratio);
	struct part whole;

	if (is_inside(ptx_sum_range(fact->term, fact->count, parts->state), fact->range))
		return 1;
	if (leaves_gaps(parts, fact))
		return 0;
	if (!(terms & (terms - 1)))
		return 1; /* the range of its symbol says it */
	if (!ratio)
		return 0;
	if (!merge(parts, terms, &whole)) {
		parts->is_clipped = 1;
		return terms == (1u << parts->address->count) - 1;
	}
	clip(&whole, range);
	if (whole.low > whole.high)
		return 0;
	replace(parts, &whole);
	return 1;
}

/* 0: some term is any number. */
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

/* Facts about few terms first.  0 as hold_together(). */
static int apply_facts(struct parts *parts)
{
	int fits = 1;

	for (int wanted = 1; wanted <= PTX_TERMS; wanted++)
		for (unsigned i = 0; i < parts->state->fact_count; i++) {
			const struct ptx_fact *fact = &parts->state->fact[i];
			uint32_t terms = fact->modulus ? 0 : terms_of(parts, fact);

			if (__builtin_popcount(terms) == wanted)
				fits &= hold_together(parts, fact, terms);
		}
	return fits;
}

static int64_t modulo(int64_t value, int64_t modulus)
{
	return (value % modulus + modulus) % modulus;
}

/* How often a fact's sum has the symbol; 0: not. */
static int64_t factor_in(const struct ptx_fact *fact, uint32_t symbol)
{
	for (unsigned i = 0; i < fact->count; i++)
		if (fact->term[i].symbol == symbol)
			return fact->term[i].factor;
	return 0;
}

/* Bytes of the part for each 1 in the fact's sum, but for multiples of the modulus; 0: not. */
static int64_t ratio_of_part(const struct parts *parts, const struct part *part,
	const struct ptx_fact *fact)
{
	int64_t ratio = 0;

	for (unsigned i = 0; i < parts->address->count && !ratio; i++)
		if (part->terms & 1u << i &&
			factor_in(fact, parts->address->term[i].symbol) % fact->modulus)
			ratio = parts->address->term[i].factor /
				factor_in(fact, parts->address->term[i].symbol);
	if (!ratio || part->bytes != (ratio < 0 ? -ratio : ratio) || ratio > INT32_MAX ||
		ratio < INT32_MIN)
		return 0;
	for (unsigned i = 0; i < parts->address->count; i++) {
		int64_t of_fact, difference;

		if (!(part->terms & 1u << i))
			continue;
		of_fact = factor_in(fact, parts->address->term[i].symbol);
		if (__builtin_mul_overflow(of_fact, ratio, &difference) ||
			__builtin_sub_overflow(parts->address->term[i].factor, difference,
				&difference) ||
			difference % (ratio * fact->modulus))
			return 0;
	}
	return ratio;
}

/* Of the part those numbers of which the fact's sum leaves so much; 0: there are none. */
static int take_class(struct part *part, int64_t ratio, int64_t residue, int64_t modulus)
{
	int64_t bytes = part->bytes * modulus;

	for (int64_t i = 0; i < modulus && part->low <= part->high; i++) {
		if (modulo(part->low / ratio, modulus) == residue) {
			part->high = part->low + (part->high - part->low) / bytes * bytes;
			part->bytes = bytes;
			return 1;
		}
		part->low += part->bytes;
	}
	return 0;
}

/* The parts that a fact with a modulus is about; -1: it is about more, or not about them alone. */
static int find_parts(const struct parts *parts, const struct ptx_fact *fact,
	unsigned found[PTX_TERMS])
{
	int count = 0;

	for (unsigned j = 0; j < fact->count; j++)
		if (fact->term[j].symbol != fact->residue && fact->term[j].factor % fact->modulus &&
			!ptx_factor(parts->address, fact->term[j].symbol))
			return -1;
	for (unsigned i = 0; i < parts->count; i++) {
		int is_about = 0;

		for (unsigned k = 0; k < parts->address->count; k++)
			is_about |= parts->part[i].terms & 1u << k &&
				factor_in(fact, parts->address->term[k].symbol) % fact->modulus;
		if (is_about && !ratio_of_part(parts, &parts->part[i], fact))
			return -1;
		if (is_about)
			found[count++] = i;
	}
	return count;
}

/* The address's terms that the fact is about, besides the residue. */
static uint32_t terms_of_others(const struct parts *parts, const struct ptx_fact *fact)
{
	struct ptx_fact others = *fact;

	for (unsigned i = 0; i < others.count; i++)
		if (others.term[i].symbol == fact->residue)
			others.term[i--] = others.term[--others.count];
	return terms_of(parts, &others);
}

/*
 * What indices leave when they are divided: of (x + y) % 2 == 0 every second x, another one for
 * each y.  Of several parts all but the last go through their classes, a turn for each.  0: the
 * bytes are more than what is accessed; *empty: nothing is in this turn.
 */
static int apply_residue(struct parts *parts, const struct ptx_fact *fact, unsigned *turns,
	unsigned *turn, int *empty)
{
	struct ptx_range left = parts->state->range[fact->residue];
	unsigned found[PTX_TERMS];
	int64_t residue = modulo(fact->range.low + left.low, fact->modulus);
	int count;

	if (ptx_factor(parts->address, fact->residue))
		return !terms_of_others(parts, fact);
	if (left.low <= 0 && left.high >= fact->modulus - 1)
		return 1;
	count = find_parts(parts, fact, found);
	if (count <= 0 || left.low != left.high || fact->modulus > SHAPE_TURNS)
		return 0;
	for (int i = 0; i < count; i++) {
		struct part *part = &parts->part[found[i]];
		int64_t of_part = residue;

		if (i + 1 < count) {
			if (*turns * fact->modulus > SHAPE_TURNS)
				return 0;
			*turns *= (unsigned)fact->modulus;
			of_part = *turn % fact->modulus;
			*turn /= (unsigned)fact->modulus;
			residue = modulo(residue - of_part, fact->modulus);
		}
		*empty |=
			!take_class(part, ratio_of_part(parts, part, fact), of_part, fact->modulus);
	}
	return 1;
}

/* As apply_residue(), of all facts; where one does not fit the parts stay whole. */
static int apply_residues(struct parts *parts, unsigned *turns, unsigned turn, int *empty)
{
	struct parts whole = *parts;

	for (unsigned i = 0; i < parts->state->fact_count; i++)
		if (parts->state->fact[i].modulus &&
			!apply_residue(parts, &parts->state->fact[i], turns, &turn, empty)) {
			*parts = whole;
			*turns = 1;
			*empty = 0;
			return 0;
		}
	return 1;
}

/* Of an address that is a sum of parts. */
static void shape_parts(struct ptx_claim *claim, const struct parts *parts, uint32_t bytes)
{
	struct ptx_stride stride[PTX_TERMS];
	int64_t low = parts->address->low, high = ptx_add_bound(parts->address->low, bytes);

	for (unsigned i = 0; i < parts->count; i++) {
		const struct part *part = &parts->part[i];

		low = ptx_add_bound(low, part->low);
		high = ptx_add_bound(high, part->high);
		stride[i].bytes = part->bytes;
		stride[i].count = (part->high - part->low) / part->bytes + 1;
	}
	if (claim->low > low) {
		/* Runs are counted from low on: the first one of them is not known. */
		if (parts->count)
			claim->exact = 0;
		return;
	}
	claim->low = low;
	if (high < claim->high)
		claim->high = high;
	set_strides(claim, stride, parts->count);
}

unsigned ptx_shape(const struct ptx_walk *walk, struct ptx_claim *claim,
	const struct ptx_value *address, const struct ptx_state *state, uint32_t bytes,
	unsigned turn)
{
	struct ptx_range range = ptx_bounds(address, state);
	struct parts parts = { .address = address, .state = state };
	unsigned turns = 1;
	int empty = 0;

	claim->low = range.low;
	claim->high = bytes ? ptx_add_bound(range.high, bytes) : INT64_MAX;
	claim->loaded = address->loaded;
	claim->run = bytes;
	if (!address->loaded && address->low == address->high && bytes && claim->low != INT64_MIN &&
		claim->high != INT64_MAX && make_parts(&parts)) {
		claim->exact = apply_facts(&parts) && are_free(walk, address);
		claim->exact &= apply_residues(&parts, &turns, turn, &empty);
		shape_parts(claim, &parts, bytes);
		if (empty)
			claim->high = claim->low;
	}
	ptx_set_run(claim);
	return turns;
}
