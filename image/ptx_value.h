/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets of values.  A value is a base, a constant out of an interval, and multiples of symbols:
 *
 *	word 8  +  0  +  1024 * ctaid.x  +  4 * tid.x
 *
 * A symbol is something that is one number at a time in one thread: an index of the grid, a
 * scalar parameter that is not known, how often a loop went round, or the result of an instruction
 * about which no more is known than a range.  What a place in the program knows of symbols is its
 * state: their ranges, and facts about sums of them.  Branches make states narrower.
 *
 * Bounds are inclusive; INT64_MIN and INT64_MAX stand for none.
 */
#ifndef CUFENCE_PTX_VALUE_H
#define CUFENCE_PTX_VALUE_H

#include "ptx_parts.h"

#define PTX_TERMS 6
#define PTX_FACTS 12
#define PTX_SYMBOLS 256

enum ptx_base {
	BASE_NUMBER,
	BASE_WORD,      /* id: of the parameter buffer; a number too, unless pointer */
	BASE_WORDS,     /* id: of a set of words: points where one of them does */
	BASE_LOCAL,     /* id: module-wide number of the variable */
	BASE_PARAMETER, /* an address of the parameter buffer itself */
	BASE_MODULE,    /* memory that the module declares */
	BASE_HARMLESS,  /* shared memory, and tables that are never written */
	BASE_UNKNOWN,
};

struct ptx_term {
	uint32_t symbol;
	int64_t factor; /* neither 0 nor INT64_MIN */
};

struct ptx_value {
	uint8_t base, count;
	uint8_t pointer; /* of BASE_WORD: it was used as an address */
	uint8_t loaded;  /* it depends on what lies in memory, or wraps */
	uint32_t id;
	int64_t low, high;
	struct ptx_term term[PTX_TERMS]; /* by symbol */
};

struct ptx_range {
	int64_t low, high;
}; /* low > high: nothing */

/* Of a sum: it lies in the range; or with a modulus, it is range.low and a multiple of that. */
struct ptx_fact {
	struct ptx_term term[PTX_TERMS];
	uint32_t count;
	uint32_t residue; /* with a modulus: the symbol, one of the terms, that the others leave */
	int64_t modulus;  /* 0: none */
	struct ptx_range range;
};

struct ptx_state {
	uint32_t fact_count;
	int possible; /* 0: no thread comes here */
	struct ptx_fact fact[PTX_FACTS];
	struct ptx_range range[PTX_SYMBOLS];
	struct ptx_value many[]; /* by slot */
};

/* Of ends of ranges: INT64_MIN and INT64_MAX are open, and what does not fit becomes one. */
int64_t ptx_add_bound(int64_t a, int64_t b);
int64_t ptx_minus_bound(int64_t bound);
int64_t ptx_multiply_bound(int64_t a, int64_t b);
struct ptx_range ptx_add_range(struct ptx_range a, struct ptx_range b);
struct ptx_range ptx_scale_range(struct ptx_range a, int64_t factor);
struct ptx_range ptx_hull(struct ptx_range a, struct ptx_range b);
struct ptx_range ptx_intersection(struct ptx_range a, struct ptx_range b);

struct ptx_value ptx_interval(int64_t low, int64_t high);
static inline struct ptx_value ptx_constant(int64_t value)
{
	return ptx_interval(value, value);
}
struct ptx_value ptx_symbol_value(uint32_t symbol);

int ptx_is_constant(const struct ptx_value *value);
int ptx_same_terms(const struct ptx_value *a, const struct ptx_value *b);
int ptx_same(const struct ptx_value *a, const struct ptx_value *b);
int64_t ptx_factor(const struct ptx_value *value, uint32_t symbol);

/* 0, or -1 when the result has no such form.  Bases are the caller's business. */
int ptx_add_terms(struct ptx_value *into, const struct ptx_value *other, int64_t factor);
int ptx_scale(struct ptx_value *value, int64_t factor);
/* Symbols of which the state knows the one value become constants. */
void ptx_settle(struct ptx_value *value, const struct ptx_state *state);

/* Each of its numbers is a multiple. */
int ptx_is_multiple(const struct ptx_value *value, int64_t of);
/* x goes from its lowest number to its highest by steps of so much at most: 1, through each. */
int ptx_goes_by(const struct ptx_value *x, int64_t step, const struct ptx_state *state);
/* It goes through as many in a row, so that each remainder comes up. */
int ptx_comes_around(const struct ptx_value *x, int64_t modulus, const struct ptx_state *state);

/* Bounds of the terms by their ranges alone. */
struct ptx_range ptx_sum_range(const struct ptx_term *term, unsigned count,
	const struct ptx_state *state);
/* Bounds of the constant and the terms together. */
struct ptx_range ptx_bounds(const struct ptx_value *value, const struct ptx_state *state);

/* The terms lie in that range from here on; 0: there was no room to note that of all of them. */
int ptx_constrain(struct ptx_state *state, const struct ptx_term *term, uint32_t count,
	struct ptx_range range);
/* The symbol, 0 to modulus - 1, is what x leaves when it is divided; 0: there was no room. */
int ptx_note_residue(struct ptx_state *state, const struct ptx_value *x, uint32_t symbol,
	int64_t modulus);
/* The fact that says so of a symbol, NULL without one. */
const struct ptx_fact *ptx_residue(const struct ptx_state *state, uint32_t symbol);
/* The symbol is another number from here on. */
void ptx_redefine(struct ptx_state *state, uint32_t symbol, struct ptx_range range);
/* No fact speaks of it any more. */
void ptx_forget(struct ptx_state *state, uint32_t symbol);

#endif
