/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine code of a cubin: its functions with all that the code refers to.
 *
 * Memory: a machine_code owns its lists; names and bytes point into the cubin, which must outlive
 * it.  The cubin is hostile: every size is checked, and what is damaged is left out or refused.
 * Offsets are within the section of code, as sass_decode() wants them ("at").
 */
#ifndef CUFENCE_KERNEL_CODE_H
#define CUFENCE_KERNEL_CODE_H

#include <stddef.h>
#include <stdint.h>

#include "image.h"

/* Which bits a relocation fills in. */
enum machine_field {
	MACHINE_FIELD_UNKNOWN,
	MACHINE_FIELD_64,             /* the whole 64 bits at the offset: data, constant bank 4 */
	MACHINE_FIELD_32,             /* 32 bits of data */
	MACHINE_FIELD_IMMEDIATE_LOW,  /* 32 bits of an instruction: low half */
	MACHINE_FIELD_IMMEDIATE_HIGH, /* the high half */
	MACHINE_FIELD_BRANCH,         /* a branch's or call's target */
	MACHINE_FIELD_DESCRIPTOR,     /* a function's descriptor, as a table of functions has it */
	MACHINE_FIELD_CONSTANT,       /* an offset in a constant bank */
};

struct machine_relocation {
	uint64_t offset;     /* in the section or bank; of the instruction's first byte */
	uint32_t type;       /* R_CUDA_* */
	uint8_t field;       /* enum machine_field */
	uint8_t is_function; /* the symbol is: else a variable */
	const char *symbol;  /* mangled; "" without a name */
	int64_t addend;
	long function;  /* machine_code.function that it names, -1: none here */
	long section;   /* machine_code.section in which the symbol lies, -1: elsewhere */
	uint64_t value; /* of the symbol: its offset in its section */
};

/* A constant bank's contents as the cubin has them. */
struct machine_bank {
	uint8_t number;
	const uint8_t *data; /* NULL: zeros */
	size_t size;
	const struct machine_relocation *relocation; /* by offset */
	size_t relocation_count;
};

/* Where a BRX or JMX may go. */
struct machine_jump {
	uint64_t at;            /* of the instruction */
	const uint32_t *target; /* offsets in the section */
	uint32_t target_count;
};

/* A section .text.NAME: the function NAME and others that the compiler put in it. */
struct machine_section {
	const char *name; /* without ".text." */
	const uint8_t *code;
	size_t size;
	const struct machine_relocation *relocation; /* by offset */
	size_t relocation_count;
	const struct machine_jump *jump; /* by at */
	size_t jump_count;
	uint32_t register_count;
	/* Of kernels: */
	uint32_t parameter_base; /* in constant bank 0 */
	uint32_t parameter_bytes;
	uint8_t parameters_known;     /* 0: no EIATTR_PARAM_CBANK */
	struct machine_bank bank[18]; /* by number; data NULL and size 0: none */
};

struct machine_function {
	const char *name; /* mangled; local ones are like "$__internal_0_$__cuda_sm20_div_u64" */
	uint32_t section;
	uint64_t offset, size; /* in its section; size 0: up to the next one */
	uint8_t is_kernel;
};

struct machine_code {
	unsigned arch;
	struct machine_section *section;
	size_t section_count;
	struct machine_function *function; /* by section, then offset */
	size_t function_count;
	void *memory; /* private: what the lists point to */
};

/* A cubin's; 0, or -1 with a message. */
int machine_code_open(const void *cubin, size_t size, struct machine_code *code,
	char error[IMAGE_ERROR_SIZE]);
void machine_code_close(struct machine_code *code);

/* The function of that name, or NULL. */
const struct machine_function *machine_find_function(const struct machine_code *code,
	const char *name);
/* The function that is there, or NULL. */
const struct machine_function *machine_function_at(const struct machine_code *code,
	uint32_t section, uint64_t offset);

/*
 * What the driver puts into constant bank 0 below the parameters, or elsewhere for the
 * architecture: offset in bank 0 of 32-bit words.  .
 */
enum machine_word {
	MACHINE_WORD_BLOCK_X, /* blockDim */
	MACHINE_WORD_BLOCK_Y,
	MACHINE_WORD_BLOCK_Z,
	MACHINE_WORD_GRID_X, /* gridDim */
	MACHINE_WORD_GRID_Y,
	MACHINE_WORD_GRID_Z,
	MACHINE_WORD_STACK,      /* where the thread's stack begins: R1 */
	MACHINE_WORD_DESCRIPTOR, /* 64 bits: of global memory, for desc[UR] */
	MACHINE_WORD_OTHER,
};
/* Which word lies at an offset of bank 0 (a multiple of 4). */
enum machine_word machine_driver_word(unsigned arch, uint32_t offset);

#endif
