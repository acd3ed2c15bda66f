/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interpreter's own state: a walk per kernel, a frame per function that is being called.
 *
 * A function is passed over in its blocks' order until no loop's head changes; then once more,
 * to collect claims.  At a head, what enters the loop and what comes back are made one: a register
 * that grows by the same amount each time round is entry + amount * rounds, others become a symbol
 * with a range, which is widened to any number when it keeps growing.
 */
#ifndef CUFENCE_PTX_WALK_H
#define CUFENCE_PTX_WALK_H

#include "ptx_value.h"

#define PTX_NO_SYMBOL UINT32_MAX

/* The first symbols: as enum ptx_special has them, up to SPECIAL_NCTAID_Z. */
#define PTX_FIXED_SYMBOLS 12

/* What gave a symbol its name: an instruction, a block or a parameter, and a number. */
struct ptx_symbol {
	uint32_t path, place, which;
};
enum ptx_which {
	WHICH_RESULT = 0,     /* and the next ones: of an instruction */
	WHICH_OLD = 100,      /* a guarded instruction's result or what was there before */
	WHICH_ROUNDS,         /* of a loop, by block */
	WHICH_PARAMETER,      /* + bytes */
	WHICH_SELECTED = 150, /* one of two values, by a condition */
	WHICH_SPARSE,         /* a result that need not be each number of its range */
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

/* Local memory, 8 bytes; of all threads and times together. */
struct ptx_cell {
	uint32_t variable, changes;
	int64_t offset; /* INT64_MIN: somewhere in it */
	struct ptx_value value;
};

struct ptx_path {
	uint32_t from, instruction;
};

/* What of a launch is followed; zeros: all of it. */
struct ptx_part {
	int is_block, is_thread; /* one block, and of its threads the first */
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
	uint16_t symbol_slot[PTX_SYMBOL_SLOTS]; /* symbols by hash; 0: empty, it is a fixed one */
	struct ptx_set *set;
	uint32_t set_count, set_room;
	struct ptx_cell *cell;
	uint32_t cell_count, cell_room;
	struct ptx_path *path;
	uint32_t path_count, path_room;
	unsigned long steps; /* left */
	int cells_changed, collects;
	int ends_threads;    /* a function that was called has let threads exit */
	const char *failure; /* the walk is over: claims are worth nothing */
	/* By symbol: what it differs from by a multiple of 2^32; count 0: nothing that is known. */
	struct ptx_value congruent[PTX_SYMBOLS];
};

enum ptx_condition_kind {
	CONDITION_UNKNOWN,
	CONDITION_KNOWN, /* compare: its value */
	CONDITION_COMPARE,
	CONDITION_AND,
	CONDITION_OR,
	CONDITION_XOR,
	CONDITION_NOT,
	CONDITION_CARRY /* of the addends raw[0] to raw[2] */
};
struct ptx_condition {
	uint8_t kind, compare, is_unsigned;
	uint8_t bytes;          /* of what is compared */
	uint8_t is_comparison;  /* of registers: raw */
	uint8_t subtracted;     /* of a carry: bits, as of the instruction */
	uint32_t first, second; /* registers, of AND, OR, NOT */
	struct ptx_value a, b, difference;
	struct ptx_value
		raw[3]; /* of a carry the addends; of a comparison both, halves as they are */
};

/* What the last pass found of an edge. */
enum ptx_way {
	WAY_POSSIBLE = 1, /* threads may go it */
	WAY_PART = 2,     /* its condition is more than the state behind it says */
	WAY_ONLY = 4,     /* no other way out of its block is possible */
};

/* A register at a loop's head. */
struct ptx_loop_register {
	uint8_t failed; /* it does not grow evenly */
	uint8_t grown, shrunk, resets, has_entry, bounded;
	int64_t step;           /* 0: none found yet */
	struct ptx_value entry; /* as it was used */
	struct ptx_range range;
};

struct ptx_head {
	struct ptx_state *back, *next; /* what came back in the last pass, in this one */
	struct ptx_state *last;        /* the state found last time */
	int knows_less;                /* it has rounds that no thread makes */
	struct ptx_loop_register rounds;
	struct ptx_loop_register *reg; /* by slot */
};

/*
 * The two halves of a value are joined, or chosen from, one after the other: the high one is to
 * become the half of what the low one became.  Zeros: none was seen yet.
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
	struct ptx_walk *walk;
	struct ptx_function *function;
	uint32_t path;
	unsigned depth;
	int changed;
	int passes;               /* over the function, until now */
	struct ptx_value *single; /* by register */
	uint32_t *condition_of;   /* by register: condition + 1 */
	struct ptx_condition *condition;
	uint32_t condition_count, condition_room;
	struct ptx_state **entry; /* by block */
	struct ptx_head **head;   /* by block */
	struct ptx_state *spare;  /* for an instruction under a guard, an edge */
	struct ptx_state *leave;  /* what returns; NULL: nothing does */
	uint32_t block;           /* that is being passed */
	uint8_t *way;             /* by edge: enum ptx_way */
	uint8_t *some;            /* by block: 1 + whether only some threads run it */
	int is_part;              /* only some of the threads that the state speaks of get here: */
	int is_guard_part;        /* into the function; past the guard of the instruction */
	uint32_t instruction;     /* that accesses memory now, or calls */
	int may_have_waited;      /* griddepcontrol.wait, before the function was called */
	int waits;                /* so does the function, or one that it calls may */
	uint8_t *after_wait;      /* by block: 1: a way to it leads past such a wait */
	uint8_t fresh[PTX_SYMBOLS]; /* symbols that a join has just made */
	struct ptx_twins *twins;    /* of selections; behind it those of the join that is made */
};

/* The interpreter gives up: always -1. */
int ptx_fail(struct ptx_walk *walk, const char *why);
/* The answer is not complete. */
void ptx_doubt(struct ptx_walk *walk, const char *why);
/* Memory besides that of parameters is accessed: PTX_REACH_POINTER or _VARIABLE. */
void ptx_reach(struct ptx_walk *walk, unsigned memory, int direction);

/* PTX_NO_SYMBOL: all are taken; of the other one: there is none. */
uint32_t ptx_symbol(struct ptx_walk *walk, uint32_t path, uint32_t place, uint32_t which);
uint32_t ptx_known_symbol(const struct ptx_walk *walk, uint32_t path, uint32_t place,
	uint32_t which);
/* A set of words; base BASE_UNKNOWN if they are too many. */
void ptx_make_set(struct ptx_walk *walk, struct ptx_value *value, const uint32_t *word,
	uint32_t count);

size_t ptx_state_size(const struct ptx_function *function);
void ptx_copy_state(const struct ptx_function *function, struct ptx_state *to,
	const struct ptx_state *from);
/* What is known of symbols, without the registers, of which a kernel may have thousands. */
void ptx_copy_knowledge(struct ptx_state *to, const struct ptx_state *from);

/* Either of two values, each with its state; wanted: a symbol may be spent; into is narrowed. */
struct ptx_value ptx_join(struct ptx_frame *frame, const struct ptx_value *a,
	const struct ptx_state *a_state, const struct ptx_value *b, const struct ptx_state *b_state,
	uint32_t symbol, struct ptx_range *range);
/* The base that two values have in common, and the numbers of it if they are words. */
void ptx_join_base(struct ptx_walk *walk, struct ptx_value *into, const struct ptx_value *other);

struct ptx_value ptx_read_register(struct ptx_frame *frame, const struct ptx_state *state,
	uint32_t reg);
void ptx_write_register(struct ptx_frame *frame, struct ptx_state *state, uint32_t reg,
	const struct ptx_value *value);

/*
 * What holds where the predicate has that value; 1 if all that then holds is in the state, so that
 * each thread of which it speaks has that value.
 */
int ptx_assume(struct ptx_frame *frame, struct ptx_state *state, uint32_t predicate, int value,
	unsigned depth);
/* The same of an operand that is that number. */
int ptx_assume_number(struct ptx_frame *frame, struct ptx_state *state,
	const struct ptx_operand *operand, int64_t number);
void ptx_set_condition(struct ptx_frame *frame, const struct ptx_instruction *in,
	struct ptx_state *state);

/* One instruction; 0, or -1 after ptx_fail. */
int ptx_step(struct ptx_frame *frame, struct ptx_state *state, uint32_t instruction);
struct ptx_value ptx_operand(struct ptx_frame *frame, const struct ptx_state *state,
	const struct ptx_operand *operand);
/* A value of which only bounds are known. */
struct ptx_value ptx_opaque(struct ptx_frame *frame, struct ptx_state *state, uint32_t instruction,
	uint32_t which, struct ptx_range range, int loaded);
struct ptx_value ptx_number_of(struct ptx_frame *frame, struct ptx_state *state,
	struct ptx_value value);
struct ptx_value ptx_calculate(struct ptx_frame *frame, struct ptx_state *state,
	uint32_t instruction);

/*
 * Of (x + y) % 2 an address that has x and y at different strides makes a claim for each of two
 * classes: x even or odd, and y what that leaves.  How many classes, 1: none; and the split.
 */
#define PTX_CLASSES 4
int64_t ptx_classes(const struct ptx_state *state, const struct ptx_value *address,
	uint32_t *split);
/* The state in one of them; 0: there is no room for it, the state is then worth nothing. */
int ptx_take_class(struct ptx_frame *frame, struct ptx_state *state,
	const struct ptx_value *address, uint32_t split, int64_t class);

/*
 * Of (x + y) % 1000 with sums from 900 to 1400 an address makes a claim for each round, from 900 to
 * 999 and from 0 to 400.  1 and the split, and the rounds; 0: its sum stays within one of them.
 */
int ptx_wraps(const struct ptx_state *state, const struct ptx_value *address, uint32_t *split,
	struct ptx_range *rounds);
/* The state and the address in one of them; 0: there is no room for it, both are worth nothing. */
int ptx_take_round(struct ptx_state *state, struct ptx_value *address, uint32_t split,
	int64_t round);

/* The split of a value, made where there is none; NULL: it has none. */
const struct ptx_split *ptx_make_split(struct ptx_frame *frame, struct ptx_state *state,
	uint32_t instruction, const struct ptx_value *a, int64_t modulus);
/*
 * Compilers divide by a constant so: the high half of a product with 2^k / divisor, rounded up,
 * shifted by what is left of k.  The divisor and what is divided, of a value that is to be shifted;
 * 0: it is no such product.
 */
int64_t ptx_divisor(struct ptx_frame *frame, const struct ptx_state *state,
	const struct ptx_value *value, int64_t shift, struct ptx_value *divided);

/* What an instruction writes is not known. */
void ptx_forget_written(struct ptx_frame *frame, struct ptx_state *state, uint32_t instruction);

/* 1: joins of halves are to be joins of values, and whole has them. */
int ptx_halves_of_one(const struct ptx_value *a, const struct ptx_value *b,
	struct ptx_value whole[2]);
/* Half of a value of 64 bits; a number that fits is not a half any more. */
struct ptx_value ptx_take_half(const struct ptx_state *state, const struct ptx_value *whole,
	enum ptx_half half);
/* The value of two registers. */
struct ptx_value ptx_pack(struct ptx_frame *frame, struct ptx_state *state, uint32_t instruction,
	const struct ptx_value *low, const struct ptx_value *high);
/* The same 32 bits, for all that is known: 1. */
int ptx_is_congruent(const struct ptx_walk *walk, const struct ptx_value *a,
	const struct ptx_value *b);
/* A result that wraps: of the symbol that stands for it the sum is remembered. */
void ptx_note_congruent(struct ptx_walk *walk, const struct ptx_value *symbol,
	const struct ptx_value *sum);
/* OP_SUM */
void ptx_sum_registers(struct ptx_frame *frame, struct ptx_state *state, uint32_t instruction);
/* a + b, which instruction calculates. */
struct ptx_value ptx_sum(struct ptx_frame *frame, struct ptx_state *state, uint32_t instruction,
	const struct ptx_value *a, const struct ptx_value *b);
struct ptx_condition *ptx_condition_of(struct ptx_frame *frame, uint32_t reg);

/* 1 and *joined: a and b are high halves of two values of which the low ones were joined before. */
int ptx_find_twin(const struct ptx_twins *twins, uint32_t key, const struct ptx_value *a,
	const struct ptx_state *a_state, const struct ptx_value *b, const struct ptx_state *b_state,
	struct ptx_value *joined);
void ptx_note_twin(struct ptx_twins *twins, uint32_t key, const struct ptx_value *a,
	const struct ptx_value *b, const struct ptx_value *joined);

/* Loads, stores and the like: the claims they are; what they read. */
int ptx_touch(struct ptx_frame *frame, struct ptx_state *state, uint32_t instruction);
int ptx_read_memory(struct ptx_frame *frame, struct ptx_state *state, uint32_t instruction);

/* --- the parameter buffer --- */

/* Its bytes at an offset as a value, by what the launch says of them. */
struct ptx_value ptx_parameter(struct ptx_walk *walk, struct ptx_state *state, int64_t offset,
	struct ptx_type type);
/* Four bytes: a number, if that is known, or half of what may be a pointer. */
struct ptx_value ptx_half_parameter(struct ptx_walk *walk, struct ptx_state *state, int64_t offset,
	struct ptx_type type);
/* One of several words, or a scalar out of an array. */
struct ptx_value ptx_some_parameter(struct ptx_frame *frame, struct ptx_state *state,
	const struct ptx_value *address, uint32_t instruction, const struct ptx_instruction *in);
/* The word, or words, with the address of the tensor whose map lies at that value. */
#define PTX_TENSOR_MAP_BYTES 64
struct ptx_value ptx_map_parameter(struct ptx_walk *walk, struct ptx_state *state,
	const struct ptx_value *map);

int ptx_call(struct ptx_frame *frame, struct ptx_state *state, uint32_t instruction);

/* The pass comes to a block. */
void ptx_enter_block(struct ptx_frame *frame, uint32_t block);

/*
 * 1: of the threads and loops' rounds of which the state at an access speaks, only some make it.
 * Asked in the last pass.
 */
int ptx_is_some(const struct ptx_frame *frame, const struct ptx_value *address);

/* 1: the symbol may become another number while the loop goes round. */
int ptx_may_change(const struct ptx_frame *frame, uint32_t head, uint32_t number);

/* The bytes from the claim's word on of an access to so many; 0: not known how many. */
void ptx_shape(const struct ptx_walk *walk, struct ptx_claim *claim,
	const struct ptx_value *address, const struct ptx_state *state, uint32_t bytes);
/* Without strides the run is all of it. */
void ptx_set_run(struct ptx_claim *claim);
/* From where its first run begins to where its last does. */
int64_t ptx_stride_length(const struct ptx_stride *stride);

/* The instruction accesses bytes at a value. */
int ptx_claim(struct ptx_frame *frame, const struct ptx_value *address,
	const struct ptx_state *state, uint32_t bytes, int direction);
/* Adds it to those of the access, as one of those or by itself; 0, or -1: there is no memory. */
int ptx_add_claim(struct ptx_access *access, uint32_t *room, const struct ptx_claim *claim);
/* The same, by itself in any case. */
int ptx_put_claim(struct ptx_access *access, uint32_t *room, const struct ptx_claim *claim);
/* 1: of a parameter that is null in this launch, and an index: no thread follows it. */
int ptx_is_nowhere(const struct ptx_walk *walk, const struct ptx_value *address,
	const struct ptx_state *state);
/* 1: no way leads from the beginning of the kernel to the present access by griddepcontrol.wait. */
int ptx_is_early(const struct ptx_frame *frame);
/* Fills frame->after_wait; 0, or -1 after ptx_fail. */
int ptx_find_waits(struct ptx_frame *frame);
/* It accesses what a texture or a surface (enum ptx_object) stands for. */
int ptx_claim_object(struct ptx_frame *frame, const struct ptx_value *object, int kind,
	int direction);
/* Bytes of the tensor whose address is in that word of its map; PTX_NO_HIGH: not known. */
int64_t ptx_tensor_bytes(struct ptx_walk *walk, uint32_t word);

/* It accesses the tensor of a map, of which these words hold the address: from there on. */
int ptx_claim_tensor(struct ptx_frame *frame, const struct ptx_value *map, int direction);
/* Claims in order, those that touch made one. */
void ptx_claims_finish(struct ptx_access *access);

/* state: what enters the block, a loop's head; from then on what is true there. */
void ptx_enter_loop(struct ptx_frame *frame, uint32_t block, struct ptx_state *state);

/* Interprets a function from a state on; leave is what returns. */
int ptx_walk_function(struct ptx_frame *frame, const struct ptx_state *start);
int ptx_frame_init(struct ptx_frame *frame, struct ptx_walk *walk, struct ptx_function *function,
	uint32_t path, unsigned depth);
void ptx_frame_release(struct ptx_frame *frame);

#endif
