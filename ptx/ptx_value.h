/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets of values.  A value is a base, an interval of constants, and multiples of symbols:
 *
 * 	word 8  +  0  +  1024 * ctaid.x  +  4 * tid.x
 *
 * A symbol is a single number at a time in one thread: an index in the grid, an unknown scalar
 * parameter, the number of a loop's rounds, or the result of an instruction with a known range
 * only. A state is what is known of symbols at a place in the program: their ranges, and facts
 * about sums of them.  Branches narrow states.
 *
 * Bounds are inclusive; INT64_MIN and INT64_MAX mean unbounded.
 */
#ifndef CUFENCE_PTX_VALUE_H
#define CUFENCE_PTX_VALUE_H

#include "ptx_internal.h"

#define PTX_TERMS 6
#define PTX_FACTS 12
#define PTX_SPLITS 6
#define PTX_SYMBOLS 256

enum ptx_base {
	BASE_NUMBER,
	/*
	 * id: offset in the parameter buffer; may be a number unless pointer is set.  Or the
	 * address of a variable: ptx_variable_word()
	 */
	BASE_WORD,
	BASE_WORDS,     /* id: of a set of words; the value is the address in one of them */
	BASE_LOCAL,     /* id: number of the variable in the module */
	BASE_PARAMETER, /* an address in the parameter buffer itself */
	BASE_MODULE,    /* memory declared in the function */
	BASE_HARMLESS,  /* shared memory, and tables that are never written */
	BASE_UNKNOWN,
};

/*
 * Variables of a module are words after all parameters, since a launch passes their addresses, too.
 */
static inline uint32_t ptx_variable_word(uint32_t number)
{
	return PTX_PARAMETER_LIMIT + 8 * number;
}

struct ptx_term {
	uint32_t symbol;
	int64_t factor; /* neither 0 nor INT64_MIN */
};

/*
 * A 32-bit register may hold half of a 64-bit value: an address needs two such registers.  A value
 * that is no half is a number of 32 bits or less, as the instruction's type says.
 */
enum ptx_half { HALF_NONE, HALF_LOW, HALF_HIGH };

struct ptx_value {
	uint8_t base, count;
	uint8_t half;    /* enum ptx_half: which half of the value below */
	uint8_t pointer; /* for BASE_WORD: it was used as an address */
	uint8_t loaded;  /* it depends on values in memory, or wraps */
	uint32_t id;
	int64_t low, high;
	struct ptx_term term[PTX_TERMS]; /* sorted by symbol */
};

struct ptx_range {
	int64_t low, high;
}; /* low > high: empty */

struct ptx_fact {
	struct ptx_term term[PTX_TERMS];
	uint32_t count;
	struct ptx_range range;
};

/*
 * A division of a sum that is not negative: terms + constant = modulus * quotient + remainder. It
 * carries facts about the two symbols, such as a parity, over to the sum.
 */
struct ptx_split {
	struct ptx_term term[PTX_TERMS];
	uint32_t count, quotient, remainder;
	int64_t constant, modulus;
};

struct ptx_state {
	uint32_t fact_count, split_count;
	int possible; /* 0: no thread reaches this place */
	struct ptx_fact fact[PTX_FACTS];
	struct ptx_split split[PTX_SPLITS];
	struct ptx_range range[PTX_SYMBOLS];
	struct ptx_value many[]; /* by slot */
};

/* For bounds: INT64_MIN and INT64_MAX are open, and results that do not fit become open. */
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
/* Terms have padding, so they are compared by member. */
int ptx_same_terms(const struct ptx_term *a, uint32_t a_count, const struct ptx_term *b,
	uint32_t b_count);
int ptx_same(const struct ptx_value *a, const struct ptx_value *b);
/* Returns the 64-bit value of a half. */
struct ptx_value ptx_whole(const struct ptx_value *half);
int64_t ptx_factor(const struct ptx_value *value, uint32_t symbol);

/* Return 0, or -1 if the result cannot be represented.  The caller handles bases. */
int ptx_add_terms(struct ptx_value *into, const struct ptx_value *other, int64_t factor);
int ptx_scale(struct ptx_value *value, int64_t factor);
/* Replaces symbols with a single value by constants. */
void ptx_settle(struct ptx_value *value, const struct ptx_state *state);

/* Returns the bounds of the terms, from their ranges only. */
struct ptx_range ptx_sum_range(const struct ptx_term *term, unsigned count,
	const struct ptx_state *state);
/* Returns the bounds of constant and terms together. */
struct ptx_range ptx_bounds(const struct ptx_value *value, const struct ptx_state *state);

/* Assumes that the terms are in that range; returns 0 if there was no room to store all of it. */
int ptx_constrain(struct ptx_state *state, const struct ptx_term *term, uint32_t count,
	struct ptx_range range);
/* Returns the split of that sum; NULL: none. */
const struct ptx_split *ptx_find_split(const struct ptx_state *state, const struct ptx_value *sum,
	int64_t modulus);
/* Returns the split that the symbol is a part of; NULL: none. */
const struct ptx_split *ptx_split_of(const struct ptx_state *state, uint32_t symbol);
/* Returns the factor of the split's sum in the value; 0: not in it, or only in part. */
int64_t ptx_split_ratio(const struct ptx_split *split, const struct ptx_value *value);
/* Removes splits for which drop returns nonzero; the others keep their order. */
void ptx_drop_splits(struct ptx_state *state,
	int (*drop)(const void *arg, const struct ptx_split *split), const void *arg);
/* Replaces a sum less its quotient's part by its remainder. */
void ptx_fold_splits(struct ptx_value *value, const struct ptx_state *state);

/* Gives the symbol a new range and removes what was known of it. */
void ptx_redefine(struct ptx_state *state, uint32_t symbol, struct ptx_range range);
/* Removes all facts about the symbol. */
void ptx_forget(struct ptx_state *state, uint32_t symbol);

#endif
