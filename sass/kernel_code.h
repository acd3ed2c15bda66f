/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine code of a cubin: its functions, with everything that the code refers to.
 *
 * Memory: a machine_code owns its lists; names and bytes point into the cubin, which must outlive
 * it.  The cubin is untrusted: every size is checked, and damaged parts are left out.  Offsets are
 * relative to the section of code, as for sass_decode() ("at").
 *
 * NVIDIA documents none of it; this code relies on the output of nvcc 11 to 13.
 */
#ifndef CUFENCE_KERNEL_CODE_H
#define CUFENCE_KERNEL_CODE_H

#include <stddef.h>
#include <stdint.h>

#include "image.h"

#define MACHINE_NONE UINT32_MAX

/* The bits that a relocation fills in. */
enum machine_field {
	MACHINE_FIELD_UNKNOWN,
	MACHINE_FIELD_64,             /* an address, in data or a constant bank */
	MACHINE_FIELD_32,             /* the lower half of an address */
	MACHINE_FIELD_IMMEDIATE_LOW,  /* low half, in 32 bits of an instruction */
	MACHINE_FIELD_IMMEDIATE_HIGH, /* high half, likewise */
	MACHINE_FIELD_TARGET,         /* target of a branch or call */
};

struct machine_relocation {
	uint64_t offset;     /* in the section of code, or in the bank */
	uint32_t type;       /* R_CUDA_* */
	uint8_t field;       /* enum machine_field */
	uint8_t is_function; /* the symbol is a function; else a variable, a section or unknown */
	const char *symbol;  /* mangled; "" without a name */
	int64_t addend;
	uint64_t value; /* the symbol's offset in its section */
	/* index of the symbol's section in machine_code.section; MACHINE_NONE: elsewhere */
	uint32_t section;
};

/* A constant bank's contents in the cubin, before relocation. */
struct machine_bank {
	const uint8_t *data; /* NULL: none */
	size_t size;
	const struct machine_relocation *relocation; /* sorted by offset */
	size_t relocation_count;
};

/* Possible targets of a BRX or JMX. */
struct machine_jump {
	uint64_t at; /* of the instruction */
	const uint32_t *target;
	uint32_t target_count;
};

#define MACHINE_BANKS 8

/* A section .text.NAME: the function NAME, and others that the compiler put there. */
struct machine_section {
	const char *name; /* without ".text." */
	const uint8_t *code;
	size_t size;
	const struct machine_relocation *relocation; /* sorted by offset */
	size_t relocation_count;
	const struct machine_jump *jump; /* sorted by at */
	size_t jump_count;
	/* Place of the kernel's parameters in constant bank 0; bytes 0: unknown. */
	uint32_t parameter_base, parameter_bytes;
	struct machine_bank
		bank[MACHINE_BANKS]; /* 2: the compiler's, 3: __constant__, 4: addresses */
};

struct machine_function {
	/* mangled; local functions have names like "$__internal_0_$__cuda_sm20_div_u64" */
	const char *name;
	uint32_t section;
	uint64_t offset, size; /* in its section */
	uint8_t is_kernel;
};

/* A __constant__ variable, in bank 3. */
struct machine_variable {
	const char *name;
	uint64_t offset, size;
};

struct machine_code {
	unsigned arch;
	struct machine_variable *constant;
	uint32_t constant_count;
	struct machine_section *section;
	uint32_t section_count;
	struct machine_function *function; /* sorted by section, then by offset */
	uint32_t function_count;
	void **memory; /* private: memory of the lists */
	size_t memory_count;
};

/*
 * Reads a cubin for that architecture (image_code.arch).  Returns 0, or -1 with a message in error.
 */
int machine_code_open(struct machine_code *code, const void *cubin, size_t size, unsigned arch,
	char error[IMAGE_ERROR_SIZE]);
void machine_code_close(struct machine_code *code);

/* Returns the function with that name, or NULL. */
const struct machine_function *machine_find_function(const struct machine_code *code,
	const char *name);
/* Returns the last function that begins at or before the offset, or NULL. */
const struct machine_function *machine_function_at(const struct machine_code *code,
	uint32_t section, uint64_t offset);
/* Returns the possible targets of the jump at that offset, or NULL. */
const struct machine_jump *machine_find_jump(const struct machine_section *section, uint64_t at);

/* Words of constant bank 0 below the parameters, set by the driver. */
enum machine_word {
	MACHINE_WORD_OTHER,
	MACHINE_WORD_BLOCK_X, /* blockDim */
	MACHINE_WORD_BLOCK_Y,
	MACHINE_WORD_BLOCK_Z,
	MACHINE_WORD_GRID_X, /* gridDim */
	MACHINE_WORD_GRID_Y,
	MACHINE_WORD_GRID_Z,
	MACHINE_WORD_STACK, /* address of the stack in local memory: R1 */
	/* 64 bits, this word and the next one: generic addresses */
	MACHINE_WORD_SHARED,     /* of byte 0 of shared memory */
	MACHINE_WORD_LOCAL,      /* of byte 0 of local memory */
	MACHINE_WORD_BANK,       /* of byte 0 of this bank */
	MACHINE_WORD_PARAMETERS, /* of byte machine_parameters_begin() of this bank */
	MACHINE_WORD_DESCRIPTOR, /* global memory's descriptor, for desc[UR] */
};
/* Returns the word at that offset; for a word of 64 bits, at the offset of its first half. */
enum machine_word machine_driver_word(unsigned arch, uint32_t offset);
uint32_t machine_parameters_begin(unsigned arch);

#endif
