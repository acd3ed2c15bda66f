/* SPDX-License-Identifier: Apache-2.0 */
/* What the files cubin*.c share: the parts of an ELF file that they look at. */
#ifndef CUFENCE_CUBIN_H
#define CUFENCE_CUBIN_H

#include <libelf.h>

#include "parts.h"

struct cubin {
	Elf *elf;
	size_t names; /* section of section names */
	Elf_Data *symbols;
	size_t symbol_names; /* section */
	size_t symbol_count;
};

/* One record of a section .nv.info. */
struct cubin_info {
	uint8_t attribute;
	uint16_t value;      /* of a byte or two */
	const uint8_t *data; /* of those with a size, else NULL */
	uint16_t size;
};

/* 1 and the record at *position, which moves on; 0 at the end; -1 if it is damaged. */
int cubin_next_info(const Elf_Data *section, size_t *position, struct cubin_info *record);

/* Sets prints of the code's kernels. */
void cubin_read_prints(const struct cubin *cubin, struct image_code *code);

#endif
