/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interpreter's state: a walk per kernel, a frame per function being called.
 *
 * A function's blocks are interpreted in order until no loop head changes, then once more to
 * collect claims.  At a head, the values that enter the loop and those that come back are joined: a
 * register that grows by a constant in each round becomes entry + amount * rounds; others become a
 * symbol with a range, which becomes unbounded if it keeps growing.
 */
#ifndef CUFENCE_PTX_WALK_H
#define CUFENCE_PTX_WALK_H

#include "ptx_value.h"

#define PTX_NO_SYMBOL UINT32_MAX

/* The first symbols are those of enum ptx_special, up to SPECIAL_NCTAID_Z. */
#define PTX_FIXED_SYMBOLS 12

/* The origin of a symbol: an instruction, a block or a parameter, and a number. */
struct ptx_symbol {
	uint32_t path, place, which;
};
enum ptx_which {
	WHICH_RESULT = 0,     /* and the following: results of an instruction */
	WHICH_OLD = 100,      /* result of a guarded instruction, or the previous value */
	WHICH_ROUNDS,         /* rounds of a loop, by block */
	WHICH_PARAMETER,      /* + bytes */
	WHICH_SELECTED = 150, /* one of two values, selected by a condition */
	WHICH_SPARSE,         /* a result that may not have every number of its range */
	WHICH_QUOTIENT,       /* of a struct ptx_split */
	WHICH_REMAINDER,
	WHICH_JOIN = 200, /* + slot, by block */
};

/* A power of 2, a few times PTX_SYMBOLS. */
#define PTX_SYMBOL_SLOTS 1024

#define PTX_SET_WORDS 512
struct ptx_set {
	uint32_t count, word[PTX_SET_WORDS];
};

/* 8 bytes of local memory, for all threads and times together. */
struct ptx_cell {
	uint32_t variable, changes;
	int64_t offset; /* INT64_MIN: unknown */
	struct ptx_value value;
};

struct ptx_path {
	uint32_t from, instruction;
};

/* The part of a launch that is interpreted; zeros: all of it. */
struct ptx_part {
	int is_block, is_thread; /* one block; its first thread only */
	uint32_t block[3];
};

struct ptx_walk {
	struct ptx_module *module;
	const struct ptx_launch *launch;
	struct ptx_part part;
	struct ptx_function *kernel;
	struct ptx_access *access;
	uint32_t claim_room;
	struct ptx_symbol symbol[PTX_SYMBOLS];
	uint32_t symbol_count;
	/* hash table of symbols; 0: empty, since it is a fixed symbol */
	uint16_t symbol_slot[PTX_SYMBOL_SLOTS];
	struct ptx_set *set;
	uint32_t set_count, set_room;
	struct ptx_cell *cell;
	uint32_t cell_count, cell_room;
	struct ptx_path *path;
	uint32_t path_count, path_room;
	unsigned long steps; /* left */
	int cells_changed, collects;
	int doubts;          /* ptx_doubt() was called */
	int ends_threads;    /* a called function let threads exit */
	const char *failure; /* the walk failed: claims are invalid */
	/* By symbol: a value equal modulo 2^32; count 0: unknown. */
	struct ptx_value congruent[PTX_SYMBOLS];
};

enum ptx_condition_kind {
	CONDITION_UNKNOWN,
	CONDITION_KNOWN, /* compare: the value */
	CONDITION_COMPARE,
	CONDITION_AND,
	CONDITION_OR,
	CONDITION_XOR,
	CONDITION_NOT,
	CONDITION_CARRY /* of the addends raw[0] to raw[2] */
};
struct ptx_condition {
	uint8_t kind, compare, is_unsigned;
	uint8_t bytes;          /* size of the compared values */
	uint8_t is_comparison;  /* of the registers in raw */
	uint8_t subtracted;     /* for a carry: as in the instruction */
	uint32_t first, second; /* registers, for AND, OR, NOT */
	struct ptx_value a, b, difference;
	struct ptx_value
		/* for a carry, the addends; for a comparison, both operands, halves unchanged */
		raw[3];
};

/* The last pass's result for an edge. */
enum ptx_way {
	WAY_POSSIBLE = 1, /* threads may take it */
	WAY_PART = 2,     /* its condition is stricter than the state after it */
	WAY_ONLY = 4,     /* no other edge out of its block is possible */
};

/* A register at a loop's head. */
struct ptx_loop_register {
	uint8_t failed; /* it does not grow by a constant */
	uint8_t grown, shrunk, resets, has_entry, bounded;
	int64_t step;           /* 0: none found yet */
	struct ptx_value entry; /* the entry value in use */
	struct ptx_range range;
};

struct ptx_head {
	struct ptx_state *back, *next; /* what came back in the last pass, and in this one */
	struct ptx_state *last;        /* the previous state at the head */
	int knows_less;                /* it has rounds that no thread runs */
	struct ptx_loop_register rounds;
	struct ptx_loop_register *reg; /* by slot */
};

/*
 * The two halves of a value are joined, or selected, one after the other: the high half must become
 * the half of the same result as the low one.  Zeros: empty.
 */
#define PTX_TWINS 128
struct ptx_twins {
	uint32_t count;
	struct ptx_twin {
		uint32_t key;
		struct ptx_value a, b, joined; /* low halves */
	} twin[PTX_TWINS];
};

struct ptx_frame {
	const struct ptx_frame *caller;
	struct ptx_walk *walk;
	struct ptx_function *function;
	uint32_t path;
	unsigned depth;
	int changed;
	int passes;               /* passes over the function so far */
	struct ptx_value *single; /* by register */
	uint32_t *condition_of;   /* by register: 1 + condition */
	struct ptx_condition *condition;
	uint32_t condition_count, condition_room;
	struct ptx_state **entry;   /* by block */
	struct ptx_head **head;     /* by block */
	struct ptx_state *spare;    /* scratch, for a guarded instruction or an edge */
	struct ptx_state *leave;    /* the state at return; NULL: it does not return */
	uint32_t block;             /* the current block */
	uint8_t *way;               /* by edge: enum ptx_way */
	uint8_t *some;              /* by block: 1 + whether only some threads run it */
	int is_part;                /* Only some of the state's threads get here: */
	int is_guard_part;          /* into the function; past the instruction's guard */
	uint32_t instruction;       /* the current memory access or call */
	int may_have_waited;        /* by griddepcontrol.wait, before the function was called */
	int waits;                  /* the function waits, or one that it calls may wait */
	uint8_t *after_wait;        /* by block, 1: a path to it passes such a wait */
	uint8_t fresh[PTX_SYMBOLS]; /* symbols made by the current join */
	struct ptx_twins *twins;    /* of selections; after them those of the current join */
};

/* Makes the interpreter fail.  Returns -1. */
int ptx_fail(struct ptx_walk *walk, const char *why);
/* Marks the result as incomplete: what is done with some parameter is not known. */
void ptx_doubt(struct ptx_walk *walk, const char *why);
/*
 * Marks it as incomplete by an access to memory of no parameter: PTX_REACH_POINTER, _VARIABLE or
 * _CONSTANT.  A doubt comes before this as the reason.
 */
void ptx_reach(struct ptx_walk *walk, unsigned memory, int direction, const char *why);

/* ptx_symbol() returns PTX_NO_SYMBOL if none is left, ptx_known_symbol() if there is none. */
uint32_t ptx_symbol(struct ptx_walk *walk, uint32_t path, uint32_t place, uint32_t which);
uint32_t ptx_known_symbol(const struct ptx_walk *walk, uint32_t path, uint32_t place,
	uint32_t which);
/* Makes a set of words; base BASE_UNKNOWN if there are too many. */
void ptx_make_set(struct ptx_walk *walk, struct ptx_value *value, const uint32_t *word,
	uint32_t count);

size_t ptx_state_size(const struct ptx_function *function);
void ptx_copy_state(const struct ptx_function *function, struct ptx_state *to,
	const struct ptx_state *from);
/* Copies a state without registers, of which a kernel may have thousands. */
void ptx_copy_knowledge(struct ptx_state *to, const struct ptx_state *from);

/* Returns either of two values, each with its state; wanted: may use a new symbol; narrows into. */
struct ptx_value ptx_join(struct ptx_frame *frame, const struct ptx_value *a,
	const struct ptx_state *a_state, const struct ptx_value *b, const struct ptx_state *b_state,
	uint32_t symbol, struct ptx_range *range);
/* Joins the bases of two values, and the words of these. */
void ptx_join_base(struct ptx_walk *walk, struct ptx_value *into, const struct ptx_value *other);

struct ptx_value ptx_read_register(struct ptx_frame *frame, const struct ptx_state *state,
	uint32_t reg);
void ptx_write_register(struct ptx_frame *frame, struct ptx_state *state, uint32_t reg,
	const struct ptx_value *value);

/*
 * Assumes that the predicate has that value.  Returns 1 if the state then has everything that
 * follows, so that each of its threads has that value.
 */
int ptx_assume(struct ptx_frame *frame, struct ptx_state *state, uint32_t predicate, int value,
	unsigned depth);
/* The same for an operand that has that number. */
int ptx_assume_number(struct ptx_frame *frame, struct ptx_state *state,
	const struct ptx_operand *operand, int64_t number);
void ptx_set_condition(struct ptx_frame *frame, const struct ptx_instruction *in,
	struct ptx_state *state);

/* Interprets one instruction.  Returns 0, or -1 after ptx_fail(). */
int ptx_step(struct ptx_frame *frame, struct ptx_state *state, uint32_t instruction);
struct ptx_value ptx_operand(struct ptx_frame *frame, const struct ptx_state *state,
	const struct ptx_operand *operand);
/* Returns a value with known bounds only. */
struct ptx_value ptx_opaque(struct ptx_frame *frame, struct ptx_state *state, uint32_t instruction,
	uint32_t which, struct ptx_range range, int loaded);
struct ptx_value ptx_number_of(struct ptx_frame *frame, struct ptx_state *state,
	struct ptx_value value);
struct ptx_value ptx_calculate(struct ptx_frame *frame, struct ptx_state *state,
	uint32_t instruction);

/*
 * For (x + y) % 2, an address with different strides for x and y makes a claim for each of two
 * classes: x even or odd, with the y that remain.  Returns the number of classes, 1: none; and the
 * split.
 */
#define PTX_CLASSES 4
int64_t ptx_classes(const struct ptx_state *state, const struct ptx_value *address,
	uint32_t *split);
/* Narrows the state to one class; returns 0 if there is no room: the state is then invalid. */
int ptx_narrow_to_class(struct ptx_frame *frame, struct ptx_state *state,
	const struct ptx_value *address, uint32_t split, int64_t class);

/*
 * For (x + y) % 1000 with sums from 900 to 1400, an address makes a claim for each round: from 900
 * to 999, and from 0 to 400.  Returns 1, the split and the rounds; 0: the sum stays within one
 * round.
 */
int ptx_wraps(const struct ptx_state *state, const struct ptx_value *address, uint32_t *split,
	struct ptx_range *rounds);
/* Narrows state and address to one round; returns 0 if there is no room: both are then invalid. */
int ptx_narrow_to_round(struct ptx_state *state, struct ptx_value *address, uint32_t split,
	int64_t round);

/* Returns the split of a value, made if missing; NULL: none is possible. */
const struct ptx_split *ptx_make_split(struct ptx_frame *frame, struct ptx_state *state,
	uint32_t instruction, const struct ptx_value *a, int64_t modulus);
/*
 * Compilers divide by a constant as follows: the high half of a product with 2^k / divisor, rounded
 * up, is shifted by the rest of k.  Returns the divisor and the dividend of a value to be shifted;
 * 0: it is no such product.
 */
int64_t ptx_divisor(struct ptx_frame *frame, const struct ptx_state *state,
	const struct ptx_value *value, int64_t shift, struct ptx_value *divided);

/* Marks an instruction's results as unknown. */
void ptx_clobber_results(struct ptx_frame *frame, struct ptx_state *state, uint32_t instruction);

/* Returns 1 and the whole values if joining the halves should join these. */
int ptx_halves_of_one(const struct ptx_value *a, const struct ptx_value *b,
	struct ptx_value whole[2]);
/* Returns half of a 64-bit value; for a number that fits, the number. */
struct ptx_value ptx_take_half(const struct ptx_state *state, const struct ptx_value *whole,
	enum ptx_half half);
/* Returns the value of two registers. */
struct ptx_value ptx_pack(struct ptx_frame *frame, struct ptx_state *state, uint32_t instruction,
	const struct ptx_value *low, const struct ptx_value *high);
/* Returns 1 if the lower 32 bits are equal, as far as known. */
int ptx_is_congruent(const struct ptx_walk *walk, const struct ptx_value *a,
	const struct ptx_value *b);
/* Stores the sum for the symbol of a result that wraps. */
void ptx_note_congruent(struct ptx_walk *walk, const struct ptx_value *symbol,
	const struct ptx_value *sum);
/* OP_SUM */
void ptx_sum_registers(struct ptx_frame *frame, struct ptx_state *state, uint32_t instruction);
/* Returns a + b, which the instruction computes. */
struct ptx_value ptx_sum(struct ptx_frame *frame, struct ptx_state *state, uint32_t instruction,
	const struct ptx_value *a, const struct ptx_value *b);
struct ptx_condition *ptx_condition_of(struct ptx_frame *frame, uint32_t reg);

/*
 * Returns 1 and *joined if a and b are high halves of two values whose low halves were joined
 * before.
 */
int ptx_find_twin(const struct ptx_twins *twins, uint32_t key, const struct ptx_value *a,
	const struct ptx_state *a_state, const struct ptx_value *b, const struct ptx_state *b_state,
	struct ptx_value *joined);
void ptx_note_twin(struct ptx_twins *twins, uint32_t key, const struct ptx_value *a,
	const struct ptx_value *b, const struct ptx_value *joined);

/* Claim the bytes of loads, stores and similar; return what they read. */
int ptx_claim_access(struct ptx_frame *frame, struct ptx_state *state, uint32_t instruction);
int ptx_read_memory(struct ptx_frame *frame, struct ptx_state *state, uint32_t instruction);

/* --- the parameter buffer --- */

/* Returns the value at an offset, as far as the launch determines it. */
struct ptx_value ptx_parameter(struct ptx_walk *walk, struct ptx_state *state, int64_t offset,
	struct ptx_type type);
/* Returns four bytes: a number if known, or half of a possible pointer. */
struct ptx_value ptx_half_parameter(struct ptx_walk *walk, struct ptx_state *state, int64_t offset,
	struct ptx_type type);
/* Returns one of several words, or a scalar in an array. */
struct ptx_value ptx_some_parameter(struct ptx_frame *frame, struct ptx_state *state,
	const struct ptx_value *address, uint32_t instruction, const struct ptx_instruction *in);
/* Returns the word, or words, with the address of the tensor whose map is at that value. */
#define PTX_TENSOR_MAP_BYTES 64
struct ptx_value ptx_map_parameter(struct ptx_walk *walk, struct ptx_state *state,
	const struct ptx_value *map);

int ptx_call(struct ptx_frame *frame, struct ptx_state *state, uint32_t instruction);

/* Called when a pass comes to a block. */
void ptx_enter_block(struct ptx_frame *frame, uint32_t block);

/*
 * Returns 1 if only some of the state's threads make the access, or run the loops whose rounds the
 * address depends on as often as the state says.  Called in the last pass.
 */
int ptx_is_some(const struct ptx_frame *frame, const struct ptx_value *address,
	const struct ptx_state *state);
/* Returns 1 if not all threads have run a loop as often as the state says: data decided. */
int ptx_has_left_some(const struct ptx_frame *frame, uint32_t rounds);

/* Sets the bytes of an access of that size, relative to the claim's word; 0: unknown size. */
void ptx_shape(const struct ptx_walk *walk, struct ptx_claim *claim,
	const struct ptx_value *address, const struct ptx_state *state, uint32_t bytes);
/* Without strides, the run is the whole interval. */
void ptx_set_run(struct ptx_claim *claim);
/* Returns the distance from the start of the first run to that of the last. */
int64_t ptx_stride_length(const struct ptx_stride *stride);

/* Claims an access of bytes at a value. */
int ptx_claim(struct ptx_frame *frame, const struct ptx_value *address,
	const struct ptx_state *state, uint32_t bytes, int direction);
/* Adds a claim, merged with others where possible.  Returns 0, or -1 when out of memory. */
int ptx_add_claim(struct ptx_access *access, uint32_t *room, const struct ptx_claim *claim);
/* Adds a claim without merging. */
int ptx_put_claim(struct ptx_access *access, uint32_t *room, const struct ptx_claim *claim);
/* Returns 1 for an index relative to a parameter that is null in this launch: no thread uses it. */
int ptx_is_nowhere(const struct ptx_walk *walk, const struct ptx_value *address,
	const struct ptx_state *state);
/*
 * Returns 1 if no path from the start of the kernel to the current access passes
 * griddepcontrol.wait.
 */
int ptx_is_early(const struct ptx_frame *frame);
/* Fills frame->after_wait.  Returns 0, or -1 after ptx_fail(). */
int ptx_find_waits(struct ptx_frame *frame);
/* Claims an access to the memory of a texture or a surface (enum ptx_object). */
int ptx_claim_object(struct ptx_frame *frame, const struct ptx_value *object, int kind,
	int direction);
/* Returns the size of the tensor whose address is in that word of its map; PTX_NO_HIGH: unknown. */
int64_t ptx_tensor_bytes(struct ptx_walk *walk, uint32_t word);

/* Claims an access to the tensor of a map whose address is in these words. */
int ptx_claim_tensor(struct ptx_frame *frame, const struct ptx_value *map, int direction);
/* Sorts the claims and merges those that touch. */
void ptx_claims_finish(struct ptx_access *access);

/* state: the state that enters a loop's head; replaced by the state at the head. */
void ptx_enter_loop(struct ptx_frame *frame, uint32_t block, struct ptx_state *state);

/* Interprets a function from a state; frame->leave is the state at return. */
int ptx_walk_function(struct ptx_frame *frame, const struct ptx_state *start);
int ptx_frame_init(struct ptx_frame *frame, struct ptx_walk *walk, struct ptx_function *function,
	uint32_t path, unsigned depth);
void ptx_frame_release(struct ptx_frame *frame);

#endif
