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
#define PTX_SPLITS 6
#define PTX_SYMBOLS 256

enum ptx_base {
	BASE_NUMBER,
	BASE_WORD,      /* id: of the parameter buffer; a number too, unless pointer.  Or the
			 * address of a variable: ptx_variable_word() */
	BASE_WORDS,     /* id: of a set of words: points where one of them does */
	BASE_LOCAL,     /* id: module-wide number of the variable */
	BASE_PARAMETER, /* an address of the parameter buffer itself */
	BASE_MODULE,    /* memory that the function declares */
	BASE_HARMLESS,  /* shared memory, and tables that are never written */
	BASE_UNKNOWN,
};

/* Variables of a module are words behind all parameters: a launch passes their addresses, too. */
static inline uint32_t ptx_variable_word(uint32_t number)
{
	return PTX_PARAMETER_LIMIT + 8 * number;
}

struct ptx_term {
	uint32_t symbol;
	int64_t factor; /* neither 0 nor INT64_MIN */
};

/*
 * A register of 32 bits may hold half of a value of 64: an address is made of two such registers.
 * A value that is no half is a number of 32 bits or less, as an instruction's type says.
 */
enum ptx_half { HALF_NONE, HALF_LOW, HALF_HIGH };

struct ptx_value {
	uint8_t base, count;
	uint8_t half;    /* enum ptx_half: of what the rest says */
	uint8_t pointer; /* of BASE_WORD: it was used as an address */
	uint8_t loaded;  /* it depends on what lies in memory, or wraps */
	uint32_t id;
	int64_t low, high;
	struct ptx_term term[PTX_TERMS]; /* by symbol */
};

struct ptx_range {
	int64_t low, high;
}; /* low > high: nothing */

struct ptx_fact {
	struct ptx_term term[PTX_TERMS];
	uint32_t count;
	struct ptx_range range;
};

/*
 * A sum that is no negative number, divided: terms + constant = modulus * quotient + remainder.
 * What is known of the two symbols, such as a parity, is known of the sum in this way.
 */
struct ptx_split {
	struct ptx_term term[PTX_TERMS];
	uint32_t count, quotient, remainder;
	int64_t constant, modulus;
};

struct ptx_state {
	uint32_t fact_count, split_count;
	int possible; /* 0: no thread comes here */
	struct ptx_fact fact[PTX_FACTS];
	struct ptx_split split[PTX_SPLITS];
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
/* The value of 64 bits that it is a half of. */
struct ptx_value ptx_whole(const struct ptx_value *half);
int64_t ptx_factor(const struct ptx_value *value, uint32_t symbol);

/* 0, or -1 when the result has no such form.  Bases are the caller's business. */
int ptx_add_terms(struct ptx_value *into, const struct ptx_value *other, int64_t factor);
int ptx_scale(struct ptx_value *value, int64_t factor);
/* Symbols of which the state knows the one value become constants. */
void ptx_settle(struct ptx_value *value, const struct ptx_state *state);

/* Bounds of the terms by their ranges alone. */
struct ptx_range ptx_sum_range(const struct ptx_term *term, unsigned count,
	const struct ptx_state *state);
/* Bounds of the constant and the terms together. */
struct ptx_range ptx_bounds(const struct ptx_value *value, const struct ptx_state *state);

/* The terms lie in that range from here on; 0: there was no room to note that of all of them. */
int ptx_constrain(struct ptx_state *state, const struct ptx_term *term, uint32_t count,
	struct ptx_range range);
/* The split of that sum; NULL: there is none. */
const struct ptx_split *ptx_find_split(const struct ptx_state *state, const struct ptx_value *sum,
	int64_t modulus);
/* The split that a symbol is of; NULL: of none. */
const struct ptx_split *ptx_split_of(const struct ptx_state *state, uint32_t symbol);
/* How often the split's sum is in the value; 0: not, or not as a whole. */
int64_t ptx_split_ratio(const struct ptx_split *split, const struct ptx_value *value);
/* Those of which drop is not 0 are gone, the others stay in order. */
void ptx_drop_splits(struct ptx_state *state,
	int (*drop)(const void *arg, const struct ptx_split *split), const void *arg);
/* A sum less its quotient's part is its remainder. */
void ptx_fold_splits(struct ptx_value *value, const struct ptx_state *state);

/* The symbol is another number from here on. */
void ptx_redefine(struct ptx_state *state, uint32_t symbol, struct ptx_range range);
/* No fact speaks of it any more. */
void ptx_forget(struct ptx_state *state, uint32_t symbol);

#endif
