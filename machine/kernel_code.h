/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine code of a cubin: its functions with all that the code refers to.
 *
 * Memory: a machine_code owns its lists; names and bytes point into the cubin, which must outlive
 * it.  The cubin is hostile: every size is checked; what is damaged is left out.  Offsets are
 * within the section of code, as sass_decode() wants them ("at").
 *
 * NVIDIA documents none of it; what is relied on is what nvcc 11 to 13 write.
 */
#ifndef CUFENCE_KERNEL_CODE_H
#define CUFENCE_KERNEL_CODE_H

#include <stddef.h>
#include <stdint.h>

#include "image.h"

#define MACHINE_NONE UINT32_MAX

/* Which bits a relocation fills in. */
enum machine_field {
	MACHINE_FIELD_UNKNOWN,
	MACHINE_FIELD_64,             /* of data or a constant bank: an address */
	MACHINE_FIELD_32,             /* the lower half of it */
	MACHINE_FIELD_IMMEDIATE_LOW,  /* 32 bits of an instruction: low half */
	MACHINE_FIELD_IMMEDIATE_HIGH, /* the high half */
	MACHINE_FIELD_TARGET,         /* of a branch or call */
};

struct machine_relocation {
	uint64_t offset;     /* in the section of code or the bank */
	uint32_t type;       /* R_CUDA_* */
	uint8_t field;       /* enum machine_field */
	uint8_t is_function; /* the symbol is; else a variable, a section or unknown */
	const char *symbol;  /* mangled; "" without a name */
	int64_t addend;
	uint64_t value;   /* of the symbol: its offset in its section */
	uint32_t section; /* machine_code.section in which it lies; MACHINE_NONE: elsewhere */
};

/* A constant bank's contents as the cubin has them, before relocation. */
struct machine_bank {
	const uint8_t *data; /* NULL: none */
	size_t size;
	const struct machine_relocation *relocation; /* by offset */
	size_t relocation_count;
};

/* Where a BRX or JMX may go. */
struct machine_jump {
	uint64_t at; /* of the instruction */
	const uint32_t *target;
	uint32_t target_count;
};

#define MACHINE_BANKS 8

/* A section .text.NAME: the function NAME and others that the compiler put in it. */
struct machine_section {
	const char *name; /* without ".text." */
	const uint8_t *code;
	size_t size;
	const struct machine_relocation *relocation; /* by offset */
	size_t relocation_count;
	const struct machine_jump *jump; /* by at */
	size_t jump_count;
	/* Where the kernel's parameters are in constant bank 0; bytes 0: not known. */
	uint32_t parameter_base, parameter_bytes;
	struct machine_bank
		bank[MACHINE_BANKS]; /* 2: the compiler's, 3: __constant__, 4: addresses */
};

struct machine_function {
	const char *name; /* mangled; local ones are like "$__internal_0_$__cuda_sm20_div_u64" */
	uint32_t section;
	uint64_t offset, size; /* in its section */
	uint8_t is_kernel;
};

/* A variable that is __constant__: of bank 3. */
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
	struct machine_function *function; /* by section, then offset */
	uint32_t function_count;
	void **memory; /* private: what the lists point to */
	size_t memory_count;
};

/* Of a cubin for that architecture (image_code.arch); 0, or -1 with a message. */
int machine_code_open(struct machine_code *code, const void *cubin, size_t size, unsigned arch,
	char error[IMAGE_ERROR_SIZE]);
void machine_code_close(struct machine_code *code);

/* The function of that name, or NULL. */
const struct machine_function *machine_find_function(const struct machine_code *code,
	const char *name);
/* The function in which that offset lies: the last one that begins there or before; or NULL. */
const struct machine_function *machine_function_at(const struct machine_code *code,
	uint32_t section, uint64_t offset);
/* The list of where the jump at that offset may go, or NULL. */
const struct machine_jump *machine_find_jump(const struct machine_section *section, uint64_t at);

/* What the driver puts into words of constant bank 0 that are no parameters. */
enum machine_word {
	MACHINE_WORD_OTHER,
	MACHINE_WORD_BLOCK_X, /* blockDim */
	MACHINE_WORD_BLOCK_Y,
	MACHINE_WORD_BLOCK_Z,
	MACHINE_WORD_GRID_X, /* gridDim */
	MACHINE_WORD_GRID_Y,
	MACHINE_WORD_GRID_Z,
	MACHINE_WORD_STACK, /* local memory's address of the stack: R1 */
	/* 64 bits, this word and the next one: generic addresses */
	MACHINE_WORD_SHARED,     /* of shared memory's byte 0 */
	MACHINE_WORD_LOCAL,      /* of local memory's byte 0 */
	MACHINE_WORD_BANK,       /* of byte 0 of this bank */
	MACHINE_WORD_PARAMETERS, /* of byte machine_parameters_begin() of it */
	MACHINE_WORD_DESCRIPTOR, /* of global memory, for desc[UR] */
};
/* Which word lies at that offset; of 64 bits, of the first half. */
enum machine_word machine_driver_word(unsigned arch, uint32_t offset);
uint32_t machine_parameters_begin(unsigned arch);

#endif
