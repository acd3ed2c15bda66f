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

/* Sets prints of the code's kernels. */
void cubin_read_prints(const struct cubin *cubin, struct image_code *code);

#endif
