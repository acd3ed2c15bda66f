/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the files ptx_*.c only.
 *
 * 	ptx_lex        characters to words
 * 	ptx_parse      a module: its declarations; functions are parsed when first used
 * 	ptx_code       the instructions of a function
 * 	ptx_flow       its blocks and loops
 * 	ptx_depend     which branches decide whether a block runs
 * 	ptx_spin       loops that wait for others
 * 	ptx_register   which registers contribute to addresses
 * 	ptx_value      sets of values
 * 	ptx_divide     quotients and remainders
 * 	ptx_half       values of 64 bits in two registers
 * 	ptx_step       one instruction
 * 	ptx_walk       blocks and loops, until nothing changes
 * 	ptx_launch     a kernel and a launch, and parts of it
 * 	ptx_memory     loads and stores
 * 	ptx_parameter  the parameter buffer
 * 	ptx_shape      the bytes of one access
 * 	ptx_claim      the accesses found
 */
#ifndef CUFENCE_PTX_INTERNAL_H
#define CUFENCE_PTX_INTERNAL_H

#include <string.h>

#include "image.h"
#include "ptx.h"
#include "ptx_lex.h"

/* clang-format off */
#define PTX_OPCODES(X) \
	X(ABS, "abs") X(ADD, "add") X(ADDC, "addc") X(AND, "and") X(ATOM, "atom") X(BFE, "bfe") \
	X(BFI, "bfi") X(BFIND, "bfind") X(BRA, "bra") X(BRX, "brx") X(CALL, "call") \
	X(CLZ, "clz") X(CNOT, "cnot") X(CP, "cp") X(CVT, "cvt") X(CVTA, "cvta") \
	X(DISCARD, "discard") X(DIV, "div") X(EXIT, "exit") X(FMA, "fma") \
	X(GRIDDEPCONTROL, "griddepcontrol") \
	X(ISSPACEP, "isspacep") X(LD, "ld") X(LDU, "ldu") X(LOP3, "lop3") X(MAD, "mad") \
	X(MAPA, "mapa") X(MAX, "max") X(MIN, "min") X(MOV, "mov") X(MUL, "mul") \
	X(MULTIMEM, "multimem") X(NEG, "neg") X(NOT, "not") X(OR, "or") X(POPC, "popc") \
	X(PREFETCH, "prefetch") X(RED, "red") X(REM, "rem") X(RET, "ret") X(SELP, "selp") \
	X(SETP, "setp") X(SHL, "shl") X(SHR, "shr") X(ST, "st") X(SUB, "sub") X(SULD, "suld") \
	X(SURED, "sured") X(SUST, "sust") X(TEX, "tex") X(TLD4, "tld4") X(TRAP, "trap") \
	X(WMMA, "wmma") X(XOR, "xor") \
	/* In machine code only: {sum, carry} = a + b + c + carry. */ \
	X(SUM, NULL) \
	/* For all others only the results matter. */ \
	X(OTHER, NULL)
/* clang-format on */

enum ptx_opcode {
#define X(opcode, name) OP_##opcode,
	PTX_OPCODES(X)
#undef X
};

enum ptx_space {
	SPACE_GENERIC,
	SPACE_GLOBAL,
	SPACE_SHARED,
	SPACE_LOCAL,
	SPACE_CONST,
	SPACE_PARAM,
};

/* How an instruction interprets its operands. */
enum ptx_class { CLASS_BITS, CLASS_SIGNED, CLASS_UNSIGNED, CLASS_FLOAT, CLASS_PREDICATE };

struct ptx_type {
	uint8_t class; /* enum ptx_class */
	uint8_t bytes; /* 0: no type */
};

enum ptx_compare {
	COMPARE_NONE,
	COMPARE_EQ,
	COMPARE_NE,
	COMPARE_LT,
	COMPARE_LE,
	COMPARE_GT,
	COMPARE_GE,
};

enum ptx_modifier {
	MODIFIER_WIDE = 1 << 0,
	MODIFIER_HIGH = 1 << 1,
	MODIFIER_TO = 1 << 2, /* cvta.to */
	MODIFIER_ASYNC = 1 << 3,
	MODIFIER_BULK = 1 << 4,
	MODIFIER_TENSOR = 1 << 5,
	MODIFIER_REDUCE = 1 << 6,
	MODIFIER_STORE = 1 << 7, /* wmma.store */
	MODIFIER_LOAD = 1 << 8,
	MODIFIER_PREFETCH = 1 << 9,
	MODIFIER_COMBINED = 1 << 10, /* setp.lt.and */
	MODIFIER_WAIT = 1 << 11,     /* commit and wait groups, mbarrier; griddepcontrol.wait */
	MODIFIER_HALF = 1 << 12,     /* ld.param of 32 bits: possibly half of a pointer */
	MODIFIER_EXTENDED =
		/* setp of high halves; its last operand is the comparison of the low halves */
	1 << 13,
	MODIFIER_LAUNCH = 1 << 14, /* griddepcontrol.launch_dependents */
	MODIFIER_STRONG = 1 << 15, /* ld.volatile, relaxed, acquire: bypasses the first cache */
};

enum ptx_operand_kind {
	OPERAND_REGISTER, /* number: of the register */
	OPERAND_NUMBER,   /* value: the number */
	OPERAND_VARIABLE, /* number: the module's, or PTX_OWN + the function's; value: offset */
	OPERAND_FUNCTION, /* number: of the function */
	OPERAND_LABEL,    /* number: of the label */
	OPERAND_SPECIAL,  /* number: enum ptx_special */
	OPERAND_VECTOR,   /* number: how many of the next operands are in it */
	OPERAND_ADDRESS,  /* the next operand, plus value */
	OPERAND_SINK,     /* _ */
	OPERAND_UNKNOWN,
};

#define PTX_OWN (1u << 31)

struct ptx_operand {
	uint32_t kind, number;
	int64_t value;
};

enum ptx_special {
	SPECIAL_TID_X,
	SPECIAL_TID_Y,
	SPECIAL_TID_Z,
	SPECIAL_NTID_X,
	SPECIAL_NTID_Y,
	SPECIAL_NTID_Z,
	SPECIAL_CTAID_X,
	SPECIAL_CTAID_Y,
	SPECIAL_CTAID_Z,
	SPECIAL_NCTAID_X,
	SPECIAL_NCTAID_Y,
	SPECIAL_NCTAID_Z,
	SPECIAL_LANEID,
	SPECIAL_WARPID,
	SPECIAL_NWARPID,
	SPECIAL_OTHER,
};

/* The value that an atomic operation stores when it is repeated with the same operands. */
enum ptx_update { PTX_CHANGES, PTX_REPEATS /* the same value */ };

struct ptx_instruction {
	uint8_t opcode, space;
	uint8_t source_space; /* cp: space of the second address */
	uint8_t spaces;       /* number of spaces named */
	uint8_t vector;       /* number of elements; 1: no vector */
	uint8_t compare;
	uint8_t update;               /* atom: enum ptx_update */
	uint8_t negated;              /* the guard is negated */
	uint8_t spins;                /* a loop waits by it: ptx_find_spins() */
	uint8_t subtracted;           /* sum: a bit for each addend that is a negated number */
	struct ptx_type type, source; /* source: second type of cvt */
	uint16_t modifiers;
	uint16_t count;   /* of operands, including nested ones */
	int32_t guard;    /* predicate register, -1: no guard */
	uint32_t operand; /* index of the first */
};

/* A variable of the module or of a function. */
enum ptx_variable_kind {
	VARIABLE_MODULE, /* .global */
	VARIABLE_CONSTANT,
	VARIABLE_TABLE,  /* .global in CUDA's own library: never written */
	VARIABLE_SHARED, /* or other memory that is not global */
	VARIABLE_LOCAL,
	VARIABLE_PARAMETER, /* of a kernel; offset: its place in the buffer */
	VARIABLE_FORMAL,    /* a parameter or result of a .func */
	VARIABLE_ARGUMENT,  /* .param inside a body: for a call */
};

struct ptx_variable {
	uint8_t kind;
	uint32_t offset, bytes;
};

struct ptx_edge {
	uint32_t from, block;
	int8_t taken; /* value of the last instruction's guard on this edge: 1, 0; -1: either */
};

struct ptx_block {
	uint32_t first, end;       /* instructions */
	uint32_t edge, edge_count; /* edges to other blocks */
	uint32_t order;            /* index in function.order; UINT32_MAX: unreachable */
	uint32_t dominator;        /* for the entry, itself */
	/* head of the innermost loop around it: of a head, around its loop; UINT32_MAX: none */
	uint32_t loop;
	/* in function.decide: edges that decide whether the block runs */
	uint32_t decide, decide_count;
	uint8_t is_head; /* head of a loop */
	uint8_t leaves;  /* the function may end here */
	uint8_t ends;    /* a path leads to the end of the function */
};

/*
 * Nearly all registers are written once, before any read (SSA): they have one value per function.
 * The others have a slot in the state at a place.
 */
#define PTX_NO_SLOT UINT32_MAX
struct ptx_register {
	uint32_t slot;    /* index in ptx_state.many, else PTX_NO_SLOT */
	uint8_t relevant; /* enum ptx_relevance */
};

/* The things that a value may affect. */
enum ptx_relevance {
	RELEVANT_NOT,
	RELEVANT_BRANCH,  /* a branch may depend on it */
	RELEVANT_ADDRESS, /* an address may depend on it */
};

struct ptx_function {
	const char *name;
	size_t length;
	const char *text, *body, *end; /* after .entry or .func; after "{"; after "}" or ";" */
	uint8_t is_kernel, has_body;
	uint32_t parameter_base; /* their offset in the constant bank */
	int8_t parsed;           /* 1: yes, -1: not understood */
	const char *why;
	uint32_t parameter_bytes; /* of a kernel */
	uint32_t variable_base;   /* number of variable[0] in the module */

	struct ptx_variable *variable;
	uint32_t variable_count, variable_room;
	uint32_t *formal, *result; /* variables, in order */
	uint32_t formal_count, result_count;
	struct ptx_names variables, registers, labels;
	uint32_t *label; /* by label: its instruction */
	uint32_t label_room;
	struct ptx_table {
		uint32_t label, first, count;
	} * table; /* .branchtargets */
	uint32_t table_count;
	uint32_t *target;
	uint32_t target_count;
	/* Registers for (argument variable, offset). */
	struct ptx_argument {
		uint32_t variable, reg;
		int32_t offset;
	} * argument;
	uint32_t argument_count;

	struct ptx_instruction *instruction;
	uint32_t instruction_count, instruction_room;
	struct ptx_operand *operand;
	uint32_t operand_count, operand_room;

	struct ptx_block *block;
	uint32_t block_count;
	struct ptx_edge *edges;
	uint32_t edge_count;
	uint32_t *decide; /* edges, by block */
	uint32_t *order;  /* blocks, each after its dominators */
	uint32_t order_count;
	struct ptx_register *reg; /* by number */
	uint32_t *slot_reg;       /* by slot */
	uint32_t slot_count;
};

struct ptx_module {
	struct ptx_function *function;
	uint32_t function_count, function_room;
	uint32_t *kernel; /* indices of functions */
	uint32_t kernel_count;
	struct ptx_names functions, variables;
	struct ptx_variable *variable;
	uint32_t variable_room;
	uint32_t variable_total; /* numbers assigned so far */
	unsigned arch;           /* of the device; 0: unknown */
	/* For machine code: the source of functions, and its functions; NULL: text. */
	void *source;
	int (*read)(struct ptx_module *module, struct ptx_function *function);
	void (*close)(struct ptx_module *module);
};

/* Makes room for one more than count elements, by doubling.  Returns 0 or -1. */
int ptx_grow(void *array, uint32_t *room, uint32_t count, size_t size);
#define PTX_ROOM(array, room, count) ptx_grow(&(array), &(room), count, sizeof(*(array)))

/*
 * Parses the declaration and code, and finds blocks and loops.  Returns 0, or -1 with
 * function->why.
 */
int ptx_parse_function(struct ptx_module *module, struct ptx_function *function);
void ptx_function_release(struct ptx_function *function);
int ptx_refuse(struct ptx_function *function, const char *why);

/* Parses a type suffix without its dot; returns zeros if it is none. */
struct ptx_type ptx_type(const char *text, size_t length);
/* Returns the state space with that name, without its dot, or -1. */
int ptx_space(const char *text, size_t length);

/* Parses a declaration after its state space, up to ',' or ';' or ')'.  Returns 0 or -1. */
int ptx_parse_variable(struct ptx_lexer *lexer, struct ptx_token *name,
	struct ptx_variable *variable, uint32_t *align);
/*
 * Returns the variable's number in the function, PTX_NO_NAME when out of memory.  A repeated
 * declaration gives the same number.
 */
uint32_t ptx_add_variable(struct ptx_function *function, const struct ptx_token *name,
	struct ptx_variable variable);

int ptx_parse_code(struct ptx_module *module, struct ptx_function *function);
int ptx_make_flow(struct ptx_function *function);

/*
 * Makes a head for the loop with several entries that the edge closes.  Returns 0, or -1 with
 * function->why.
 */
int ptx_give_head(struct ptx_function *function, uint32_t edge);

/* Finds what decides whether each block runs: decide of blocks and of the function. */
int ptx_make_dependences(struct ptx_function *function);

/*
 * Sets spins of instructions that wait; called before ptx_drop_idle().  Returns 0, or -1 with
 * function->why.
 */
int ptx_find_spins(struct ptx_function *function);

/* Returns 1 if every path to b passes a. */
int ptx_dominates(const struct ptx_function *function, uint32_t a, uint32_t b);
/* Returns 1 for a block of the head's loop: a path leads from there back to the head. */
int ptx_is_in_loop(const struct ptx_function *function, uint32_t head, uint32_t block);
int ptx_make_registers(struct ptx_function *function);
/*
 * Removes instructions that affect neither addresses nor branches; labels are invalid afterwards.
 */
void ptx_drop_idle(struct ptx_function *function);

/* Returns 1 if the instruction may access memory, or is unknown. */
int ptx_touches(const struct ptx_instruction *in);

/* Returns how many of an instruction's first operands it writes. */
uint32_t ptx_written(const struct ptx_function *function, const struct ptx_instruction *in);

/* Returns the index after an operand and its nested operands. */
static inline uint32_t ptx_operand_end(const struct ptx_operand *operand, uint32_t index)
{
	if (operand[index].kind == OPERAND_VECTOR)
		return index + 1 + operand[index].number;
	return index + (operand[index].kind == OPERAND_ADDRESS ? 2 : 1);
}

#endif
