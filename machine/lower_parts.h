/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files lower*.c share.
 *
 *	lower          a cubin as a module
 *	lower_blocks   which code a kernel runs, in blocks; calls are taken apart by who makes them
 *	lower_names    registers renamed: a name for all that may reach the same uses
 *	lower_when     conditions of guards; what is written and read under one only
 *	lower_emit     operands and instructions of the interpreter
 *	lower_code     an instruction: moves, predicates, control
 *	lower_integer  arithmetic
 *	lower_swap     registers exchanged by XOR
 *	lower_constant constant banks
 *	lower_memory   loads, stores, copies
 */
#ifndef CUFENCE_LOWER_PARTS_H
#define CUFENCE_LOWER_PARTS_H

#include "kernel_code.h"
#include "ptx_parts.h"
#include "sass.h"

/* Registers of all files in one count: R, UR, P, UP. */
enum {
	MACHINE_GENERAL = 0,
	MACHINE_UNIFORM = 256,
	MACHINE_PREDICATE = 512,
	MACHINE_UNIFORM_PREDICATE = 520,
	MACHINE_REGISTERS = 528,
	MACHINE_WORDS = (MACHINE_REGISTERS + 63) / 64,
	MACHINE_WRITES = 136,
	MACHINE_SWAPS = 16,
	MACHINE_BITS = 4,
	MACHINE_COMPARISONS = 32,
};

struct machine_set {
	uint64_t bits[MACHINE_WORDS];
};
static inline void machine_set_add(struct machine_set *set, unsigned reg)
{
	set->bits[reg / 64] |= UINT64_C(1) << reg % 64;
}
static inline int machine_set_has(const struct machine_set *set, unsigned reg)
{
	return set->bits[reg / 64] >> reg % 64 & 1;
}

/* Who called the code: calls are followed as if the function stood where it is called. */
struct machine_context {
	uint32_t parent, depth;
	uint32_t section; /* of the call */
	uint64_t back;    /* where it goes on */
	uint64_t target;  /* and the function's section: no recursion */
	uint32_t target_section;
};

struct machine_block {
	uint32_t context, section;
	uint64_t start, end;       /* bytes of the section */
	uint32_t next, next_count; /* lower.next: blocks */
	uint32_t phi;              /* names of what is alive at its start, in order */
	struct machine_set live;   /* at its start */
	struct machine_set used, written;
};

enum { NAME_IS_WRITTEN = 1, NAME_IS_READ = 2, NAME_IS_WRITTEN_TWICE = 4 };

/* That a predicate has a value. */
struct machine_when {
	uint32_t name; /* the predicate's, or what it is a copy of; 0: it is not known */
	uint8_t negated;
	uint8_t is_local; /* to the block */
	uint8_t bit;      /* 1 + the bit of a register that it is; 0: all of it */
};

/* How control leaves an instruction. */
enum machine_leave {
	LEAVE_NOT,
	LEAVE_BRANCH, /* to next[0] */
	LEAVE_TABLE,  /* to one of next */
	LEAVE_CALL,   /* to next[0], a function's first block */
	LEAVE_RETURN, /* to next[0], after the call */
	LEAVE_END,    /* the thread ends */
};

struct lower {
	struct ptx_module *module;
	struct ptx_function *function;
	const struct machine_code *code;
	const struct machine_section *kernel; /* constant banks are its */
	uint8_t **leader;                     /* by section, then instruction: 1: a block begins */
	struct sass_instruction **decoded;    /* the same; name NULL: not here */
	uint32_t decoded_count;
	struct machine_context *context;
	uint32_t context_count, context_room;
	struct machine_block *block;
	uint32_t block_count, block_room;
	uint32_t *slot, slot_size; /* blocks by place: + 1 */
	uint32_t *next, next_count, next_room;
	uint32_t instruction_count;

	/* Names: sets of definitions that reach a use in common. */
	uint32_t *parent, name_count, name_room;
	uint8_t *uses; /* by name: of a set's first: NAME_IS_* */
	uint32_t *reg; /* by name: the interpreter's register + 1 */
	/* By name, of a set's first: of a predicate what it is a copy of; when it is alive. */
	struct machine_when *alias, *only;
	struct machine_copied {
		uint32_t to, from; /* names */
		int negated;
	} * copied;
	uint32_t copied_count, copied_room;
	/* Of each write under a guard the name that it writes, and that of what it leaves. */
	struct machine_kept {
		uint32_t to, from;
		struct machine_when when;
	} * kept;
	uint32_t kept_count, kept_room;
	uint32_t current[MACHINE_REGISTERS];

	/* The instruction that is being lowered. */
	struct sass_instruction in;
	uint32_t first; /* of what was made of it */
	uint32_t at_section;
	uint64_t at;
	uint32_t own[MACHINE_REGISTERS]; /* names of what it writes */
	/* A matrix instruction writes up to 128 registers. */
	struct machine_write {
		uint32_t machine, reg;
	} write[MACHINE_WRITES];
	uint32_t write_count;
	uint8_t write_of[MACHINE_REGISTERS]; /* by register: its place in write, + 1 */
	int32_t guard;                       /* the interpreter's register, -1: always */
	int guard_negated;
	struct machine_when when;
	/* Conditions that this block has copied, by register. */
	struct machine_copy {
		uint32_t name; /* of the copy; another name: it is none any more */
		struct machine_when of;
	} copy[MACHINE_REGISTERS];
	/*
	 * What was written in this block under a guard and may be read under the same, or a
	 * predicate that has other writes elsewhere; reg: + 1.
	 */
	struct machine_under {
		uint32_t reg;
		struct machine_when when;
		int always;
	} under[MACHINE_REGISTERS];
	/* Sums of two registers by XOR, and parts that were found in them; of this block. */
	struct machine_swap {
		uint32_t name, value[2]; /* of the sum, of its parts */
		struct ptx_operand part[2];
		int is_part; /* name is a part: value[0] */
	} swap[MACHINE_SWAPS];
	uint32_t swap_count;
	/* Registers whose bits are conditions; of this block. */
	struct machine_bits {
		uint32_t name; /* + 1 */
		struct machine_when when[32];
	} bits[MACHINE_BITS];
	uint32_t bits_next;
	/* What this block has compared. */
	struct machine_comparison {
		uint8_t compare, is_signed;
		struct machine_side {
			uint8_t kind, bank; /* enum sass_operand_kind */
			uint32_t name;      /* of a register */
			int64_t value;
		} side[2];
		struct machine_when when; /* the result's */
	} comparison[MACHINE_COMPARISONS];
	uint32_t comparisons;
	struct ptx_operand met; /* the predicate of the last barrier that combines them */
	uint32_t last_temp;
	struct ptx_instruction *last; /* to which operands are added */
	struct ptx_instruction nothing;
	uint32_t table_room, target_room;
	int failed;
};

/* --- lower_blocks --- */
int lower_find_blocks(struct lower *lower, uint32_t section, uint64_t offset);
/* How the instruction that ends a block leaves it; falls: it may also go on. */
enum machine_leave lower_leaves(const struct lower *lower, const struct sass_instruction *in,
	uint32_t section, uint64_t at, uint32_t context, int *falls);
/* A call's function; 0, or -1: it is not known. */
int lower_call_target(const struct lower *lower, const struct sass_instruction *in,
	uint32_t section, uint64_t at, uint32_t *to_section, uint64_t *to);
/* The name of a function that is called by relocation, or NULL. */
const char *lower_call_name(const struct lower *lower, const struct sass_instruction *in,
	uint32_t section, uint64_t at);
int lower_decode(const struct lower *lower, uint32_t section, uint64_t at,
	struct sass_instruction *in);

/* --- lower_names --- */
typedef void lower_visit(void *arg, unsigned reg);
void lower_visit_read(const struct sass_instruction *in, lower_visit *visit, void *arg);
void lower_visit_written(const struct sass_instruction *in, lower_visit *visit, void *arg);
/* A call of what is not known: written is what it may leave behind. */
int lower_is_unknown_call(const struct lower *lower, const struct sass_instruction *in,
	uint32_t section, uint64_t at, uint32_t context);
void lower_visit_clobbered(lower_visit *visit, void *arg);
int lower_find_names(struct lower *lower);
/* Names before the block's first instruction; then of each instruction what it writes. */
void lower_begin_block(struct lower *lower, const struct machine_block *block);
uint32_t lower_find(struct lower *lower, uint32_t name);
void lower_begin_names(struct lower *lower);
/* Gives names to what in writes: lower.own. */
void lower_take_names(struct lower *lower, uint32_t context);
void lower_end_names(struct lower *lower, uint32_t context);

/* --- lower_when --- */
/* A machine's predicate, as it is at the present instruction. */
struct machine_when lower_when(struct lower *lower, unsigned machine, int negated);
/* The guard's condition. */
struct machine_when lower_guard(struct lower *lower);
int lower_is_when(const struct machine_when *a, const struct machine_when *b);
/* Of the instruction, whose names are taken: predicates that it copies; first: in the block. */
void lower_note_copies(struct lower *lower);
int lower_keep_copies(struct lower *lower, uint32_t first);
/* When all names are given. */
int lower_find_conditions(struct lower *lower);

/* --- lower_bits --- */
/* LOP3 p, d & 1 << bit: which one; -1: it is no such test. */
int lower_tested_bit(const struct sass_instruction *in);
/* The condition that a bit of a general register is. */
struct machine_when lower_bit(struct lower *lower, unsigned machine, unsigned bit);
/* Of the instruction, whose names are taken: bits that it sets or clears. */
void lower_note_bits(struct lower *lower);

/* --- lower_compare --- */
/* The instruction compares into that predicate what was compared before: 1 and the condition. */
int lower_compared_before(struct lower *lower, unsigned machine, struct machine_when *when);

/* --- lower_emit --- */
struct ptx_operand lower_number(int64_t value);
struct ptx_operand lower_reg(uint32_t reg);
extern const struct ptx_operand lower_unknown, lower_sink;
uint32_t lower_temp(struct lower *lower);
/* The interpreter's register that holds the machine's; lower_number(0) if nothing wrote it. */
struct ptx_operand lower_read(struct lower *lower, unsigned machine);
/* The register for what the instruction leaves in the machine's. */
struct ptx_operand lower_own(struct lower *lower, unsigned machine);
/* Begins an instruction: operands are added. */
struct ptx_instruction *lower_begin(struct lower *lower, enum ptx_opcode opcode,
	enum ptx_class class, unsigned bytes);
void lower_add(struct lower *lower, struct ptx_operand operand);
void lower_add_vector(struct lower *lower, unsigned count);
void lower_add_address(struct lower *lower, struct ptx_operand base, int64_t offset);
/* temp = a opcode b opcode c; those that are not there are of kind OPERAND_SINK. */
struct ptx_operand lower_make(struct lower *lower, enum ptx_opcode opcode, enum ptx_class class,
	unsigned bytes, struct ptx_operand a, struct ptx_operand b, struct ptx_operand c);
struct ptx_operand lower_pack(struct lower *lower, struct ptx_operand low, struct ptx_operand high);
void lower_unpack(struct lower *lower, struct ptx_operand low, struct ptx_operand high,
	struct ptx_operand whole);

/* An operand's word of 32 bits, with its sign and complement; of two words: 64 bits. */
struct ptx_operand lower_source(struct lower *lower, const struct sass_operand *from,
	unsigned word);
struct ptx_operand lower_source64(struct lower *lower, const struct sass_operand *from);
/* A predicate: a register, or number 0 or 1. */
struct ptx_operand lower_predicate(struct lower *lower, const struct sass_operand *from);
struct ptx_operand lower_and(struct lower *lower, enum ptx_opcode opcode, struct ptx_operand a,
	struct ptx_operand b);
struct ptx_operand lower_not(struct lower *lower, struct ptx_operand predicate);
/* Where an instruction writes an operand's word: the sink for RZ. */
struct ptx_operand lower_target(struct lower *lower, const struct sass_operand *to, unsigned word);
void lower_move(struct lower *lower, struct ptx_operand to, struct ptx_operand from);
void lower_move_predicate(struct lower *lower, struct ptx_operand to, struct ptx_operand from);
/* All that it writes and that was not written yet is unknown. */
void lower_forget(struct lower *lower);
void lower_finish(struct lower *lower);
void lower_drop_writes(struct lower *lower);

/* --- lower_swap --- */
/* to = a ^ b: what that is known to be, else lower_unknown. */
struct ptx_operand lower_swapped(struct lower *lower, const struct sass_operand *to,
	const struct sass_operand *a, const struct sass_operand *b);

/* --- one instruction --- */
int lower_integer(struct lower *lower);
int lower_predicates(struct lower *lower);
int lower_memory(struct lower *lower);
struct ptx_operand lower_constant(struct lower *lower, const struct sass_operand *from,
	unsigned word);
int lower_load_constant(struct lower *lower);
/* Of an instruction that is not lowered: what it reads of the program's constants. */
void lower_read_constants(struct lower *lower);
/* The upper half of generic addresses of shared memory. */
struct ptx_operand lower_shared_window(struct lower *lower);
/* All blocks. */
int lower_code(struct lower *lower);
int lower_refuse(struct lower *lower, const char *why);

#endif
