/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by lower*.c.
 *
 * 	lower          a cubin as a module
 * 	lower_blocks   code that a kernel runs, in blocks; each call has its own blocks
 * 	lower_names    registers renamed: one name for all writes that may reach the same uses
 * 	lower_when     conditions of guards; values written and read under one only
 * 	lower_emit     operands and instructions of the interpreter
 * 	lower_code     single instructions: moves, predicates, control
 * 	lower_integer  arithmetic
 * 	lower_swap     registers exchanged by XOR
 * 	lower_constant constant banks
 * 	lower_memory   loads, stores, copies
 */
#ifndef CUFENCE_LOWER_INTERNAL_H
#define CUFENCE_LOWER_INTERNAL_H

#include "kernel_code.h"
#include "ptx_internal.h"
#include "sass.h"

/* Register files in one numbering: R, UR, P, UP. */
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

/* The caller of code: functions are processed as if inlined. */
struct machine_context {
	uint32_t parent, depth;
	uint32_t section; /* section of the call */
	uint64_t back;    /* return address */
	uint64_t target;  /* with the function's section: to detect recursion */
	uint32_t target_section;
};

struct machine_block {
	uint32_t context, section;
	uint64_t start, end;       /* offsets in the section, bytes */
	uint32_t next, next_count; /* blocks, in lower.next */
	uint32_t phi;              /* names of live registers at its start, in order */
	struct machine_set live;   /* registers alive at its start */
	struct machine_set used, written;
};

enum { NAME_IS_WRITTEN = 1, NAME_IS_READ = 2, NAME_IS_WRITTEN_TWICE = 4 };

/* A predicate has a certain value. */
struct machine_when {
	uint32_t name; /* name of the predicate, or of what it copies; 0: unknown */
	uint8_t negated;
	uint8_t is_local; /* valid in the block only */
	uint8_t bit;      /* 1 + bit of the register with that name; 0: all of it */
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
	const struct machine_section *kernel; /* its constant banks are used */
	uint8_t **leader;                     /* by section, then instruction, 1: a block begins */
	struct sass_instruction **decoded;    /* likewise; name NULL: not decoded */
	uint32_t decoded_count;
	struct machine_context *context;
	uint32_t context_count, context_room;
	struct machine_block *block;
	uint32_t block_count, block_room;
	uint32_t *slot, slot_size; /* hash table by place: 1 + block */
	uint32_t *next, next_count, next_room;
	uint32_t instruction_count;

	/* Names: sets of definitions that reach a common use. */
	uint32_t *parent, name_count, name_room;
	uint8_t *uses; /* by name, for the first of a set: NAME_IS_* */
	uint32_t *reg; /* by name: 1 + the interpreter's register */
	/*
	 * By name, for the first of a set: what a predicate copies; the condition of all its uses.
	 */
	struct machine_when *alias, *only;
	struct machine_copied {
		uint32_t to, from; /* names */
		int negated;
	} * copied;
	uint32_t copied_count, copied_room;
	/* For each write under a guard: the name written, and the name of the previous value. */
	struct machine_kept {
		uint32_t to, from;
		struct machine_when when;
	} * kept;
	uint32_t kept_count, kept_room;
	uint32_t current[MACHINE_REGISTERS];

	/* The instruction being lowered. */
	struct sass_instruction in;
	uint32_t first; /* first interpreter instruction made of it */
	uint32_t at_section;
	uint64_t at;
	uint32_t own[MACHINE_REGISTERS]; /* names of the registers it writes */
	/* A matrix instruction writes up to 128 registers. */
	struct machine_write {
		uint32_t machine, reg;
	} write[MACHINE_WRITES];
	uint32_t write_count;
	uint8_t write_of[MACHINE_REGISTERS]; /* by register: 1 + its index in write */
	int32_t guard;                       /* the interpreter's register, -1: no guard */
	int guard_negated;
	struct machine_when when;
	/* Copies of conditions in this block, by register. */
	struct machine_copy {
		/* name of the copy; if the register's name differs, it is outdated */
		uint32_t name;
		struct machine_when of;
	} copy[MACHINE_REGISTERS];
	/*
	 * Values written in this block under a guard, which may be read under the same guard, and
	 * predicates with other writes elsewhere; reg: + 1.
	 */
	struct machine_under {
		uint32_t reg;
		struct machine_when when;
		int always;
	} under[MACHINE_REGISTERS];
	/* XOR sums of two registers in this block, and parts recovered from them. */
	struct machine_swap {
		uint32_t name, value[2]; /* names of the sum and of its parts */
		struct ptx_operand part[2];
		int is_part; /* name is the part value[0] */
	} swap[MACHINE_SWAPS];
	uint32_t swap_count;
	/* Registers of this block whose bits are conditions. */
	struct machine_bits {
		uint32_t name; /* + 1 */
		struct machine_when when[32];
	} bits[MACHINE_BITS];
	uint32_t bits_next;
	/* Comparisons made in this block. */
	struct machine_comparison {
		uint8_t compare, is_signed;
		struct machine_side {
			uint8_t kind, bank; /* enum sass_operand_kind */
			uint32_t name;      /* for a register */
			int64_t value;
		} side[2];
		struct machine_when when; /* the result */
	} comparison[MACHINE_COMPARISONS];
	uint32_t comparisons;
	struct ptx_operand met; /* the predicate of the last barrier that combines predicates */
	uint32_t last_temp;
	struct ptx_instruction *last; /* the instruction to which operands are added */
	struct ptx_instruction nothing;
	uint32_t table_room, target_room;
	int failed;
};

/* --- lower_blocks --- */
int lower_find_blocks(struct lower *lower, uint32_t section, uint64_t offset);
/* Returns how the last instruction of a block leaves it; *falls: it may also continue. */
enum machine_leave lower_leaves(const struct lower *lower, const struct sass_instruction *in,
	uint32_t section, uint64_t at, uint32_t context, int *falls);
/* Finds a call's function.  Returns 0, or -1: unknown. */
int lower_call_target(const struct lower *lower, const struct sass_instruction *in,
	uint32_t section, uint64_t at, uint32_t *to_section, uint64_t *to);
/* Returns the name of a function called by relocation, or NULL. */
const char *lower_call_name(const struct lower *lower, const struct sass_instruction *in,
	uint32_t section, uint64_t at);
int lower_decode(const struct lower *lower, uint32_t section, uint64_t at,
	struct sass_instruction *in);

/* --- lower_names --- */
typedef void lower_visit(void *arg, unsigned reg);
void lower_visit_read(const struct sass_instruction *in, lower_visit *visit, void *arg);
void lower_visit_written(const struct sass_instruction *in, lower_visit *visit, void *arg);
/* For a call of unknown code, the registers that it may change. */
int lower_is_unknown_call(const struct lower *lower, const struct sass_instruction *in,
	uint32_t section, uint64_t at, uint32_t context);
void lower_visit_clobbered(lower_visit *visit, void *arg);
int lower_find_names(struct lower *lower);
/* Sets the names before the block's first instruction; later, of what each instruction writes. */
void lower_begin_block(struct lower *lower, const struct machine_block *block);
uint32_t lower_find(struct lower *lower, uint32_t name);
void lower_begin_names(struct lower *lower);
/* Assigns names to what `in` writes: lower.own. */
void lower_take_names(struct lower *lower, uint32_t context);
void lower_end_names(struct lower *lower, uint32_t context);

/* --- lower_when --- */
/* Returns the condition of a machine predicate at the current instruction. */
struct machine_when lower_when(struct lower *lower, unsigned machine, int negated);
/* Returns the guard's condition. */
struct machine_when lower_guard(struct lower *lower);
int lower_is_when(const struct machine_when *a, const struct machine_when *b);
/*
 * Note the predicates that the current instruction copies, after its names are assigned; first:
 * first instruction of the block.
 */
void lower_note_copies(struct lower *lower);
int lower_keep_copies(struct lower *lower, uint32_t first);
/* Called when all names are assigned. */
int lower_find_conditions(struct lower *lower);

/* --- lower_bits --- */
/* Returns the bit that LOP3 p, d & 1 << bit tests; -1: another instruction. */
int lower_tested_bit(const struct sass_instruction *in);
/* Returns the condition in a bit of a general register. */
struct machine_when lower_bit(struct lower *lower, unsigned machine, unsigned bit);
/* Notes the bits that the current instruction sets or clears, after its names are assigned. */
void lower_note_bits(struct lower *lower);

/* --- lower_compare --- */
/*
 * Returns 1 and the condition if the instruction repeats a previous comparison for that predicate.
 */
int lower_compared_before(struct lower *lower, unsigned machine, struct machine_when *when);

/* --- lower_emit --- */
struct ptx_operand lower_number(int64_t value);
struct ptx_operand lower_reg(uint32_t reg);
extern const struct ptx_operand lower_unknown, lower_sink;
uint32_t lower_temp(struct lower *lower);
/*
 * Returns the interpreter's register for a machine register; lower_number(0) if nothing wrote it.
 */
struct ptx_operand lower_read(struct lower *lower, unsigned machine);
/* Returns the interpreter's register for the instruction's result in a machine register. */
struct ptx_operand lower_own(struct lower *lower, unsigned machine);
/* Begins an instruction, to which operands are added. */
struct ptx_instruction *lower_begin(struct lower *lower, enum ptx_opcode opcode,
	enum ptx_class class, unsigned bytes);
void lower_add(struct lower *lower, struct ptx_operand operand);
void lower_add_vector(struct lower *lower, unsigned count);
void lower_add_address(struct lower *lower, struct ptx_operand base, int64_t offset);
/* Makes temp = a opcode b opcode c; missing operands have kind OPERAND_SINK. */
struct ptx_operand lower_make(struct lower *lower, enum ptx_opcode opcode, enum ptx_class class,
	unsigned bytes, struct ptx_operand a, struct ptx_operand b, struct ptx_operand c);
struct ptx_operand lower_pack(struct lower *lower, struct ptx_operand low, struct ptx_operand high);
void lower_unpack(struct lower *lower, struct ptx_operand low, struct ptx_operand high,
	struct ptx_operand whole);

/* Return a 32-bit word of an operand, with its sign and complement; or 64 bits from two words. */
struct ptx_operand lower_source(struct lower *lower, const struct sass_operand *from,
	unsigned word);
struct ptx_operand lower_source64(struct lower *lower, const struct sass_operand *from);
/* Returns a predicate: a register, or the number 0 or 1. */
struct ptx_operand lower_predicate(struct lower *lower, const struct sass_operand *from);
struct ptx_operand lower_and(struct lower *lower, enum ptx_opcode opcode, struct ptx_operand a,
	struct ptx_operand b);
struct ptx_operand lower_not(struct lower *lower, struct ptx_operand predicate);
/* Returns the target for an operand's word: the sink for RZ. */
struct ptx_operand lower_target(struct lower *lower, const struct sass_operand *to, unsigned word);
void lower_move(struct lower *lower, struct ptx_operand to, struct ptx_operand from);
void lower_move_predicate(struct lower *lower, struct ptx_operand to, struct ptx_operand from);
/* Marks results that were not written yet as unknown. */
void lower_forget(struct lower *lower);
void lower_finish(struct lower *lower);
void lower_drop_writes(struct lower *lower);

/* --- lower_swap --- */
/* Returns the known value of a ^ b, written to `to`; else lower_unknown. */
struct ptx_operand lower_swapped(struct lower *lower, const struct sass_operand *to,
	const struct sass_operand *a, const struct sass_operand *b);

/* --- one instruction --- */
int lower_integer(struct lower *lower);
int lower_predicates(struct lower *lower);
int lower_memory(struct lower *lower);
struct ptx_operand lower_constant(struct lower *lower, const struct sass_operand *from,
	unsigned word);
int lower_load_constant(struct lower *lower);
/* Reads the constants that an instruction without lowering reads. */
void lower_read_constants(struct lower *lower);
/* Returns the upper half of generic addresses in shared memory. */
struct ptx_operand lower_shared_window(struct lower *lower);
/* Lowers all blocks. */
int lower_code(struct lower *lower);
int lower_refuse(struct lower *lower, const char *why);

#endif
