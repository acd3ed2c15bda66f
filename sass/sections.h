/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sections of a 64-bit ELF file in memory.  Unlike with libelf, names and contents point into
 * the file and outlive the reader.  The file is untrusted: parts outside of it count as missing.
 */
#ifndef CUFENCE_SECTIONS_H
#define CUFENCE_SECTIONS_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

struct sections {
	const uint8_t *file;
	size_t size;
	uint64_t table; /* offset of the section headers */
	uint32_t count, names;
};

/* Returns 0; -1: no 64-bit ELF file, or a truncated one. */
int sections_open(struct sections *sections, const void *file, size_t size);

/* Returns 0; -1: no section with that number, or its contents are outside of the file. */
int sections_get(const struct sections *sections, uint32_t number, Elf64_Shdr *header);

/* Returns a string of a string table, or "". */
const char *sections_string(const struct sections *sections, uint32_t table, uint64_t offset);
const char *sections_name(const struct sections *sections, const Elf64_Shdr *header);

/* Returns the contents, header.sh_size bytes; NULL for a section without contents in the file. */
const uint8_t *sections_data(const struct sections *sections, const Elf64_Shdr *header);

#endif
