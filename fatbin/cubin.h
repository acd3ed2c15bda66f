/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by cubin*.c: the parts of an ELF file that they read. */
#ifndef CUFENCE_CUBIN_H
#define CUFENCE_CUBIN_H

#include <libelf.h>

#include "image_internal.h"

struct cubin {
	Elf *elf;
	size_t names; /* section with the names of sections */
	Elf_Data *symbols;
	size_t symbol_names; /* section with the names of symbols */
	size_t symbol_count;
};

/* One record of a section .nv.info. */
struct cubin_info {
	uint8_t attribute;
	uint16_t value;      /* for records without further data */
	const uint8_t *data; /* for records with FORMAT_SIZED, else NULL */
	uint16_t size;
};

/* Returns 1 and the record at *position, which advances; 0 at the end; -1 if it is damaged. */
int cubin_next_info(const Elf_Data *section, size_t *position, struct cubin_info *record);

/* Sets prints for each kernel of the code. */
void cubin_read_prints(const struct cubin *cubin, struct image_code *code);

#endif
