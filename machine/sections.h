/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sections of a 64-bit ELF file in memory.  Unlike libelf's, names and contents point into the
 * file, so that they outlive the reader.  The file is hostile: whatever lies outside is not there.
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

/* 0; -1: no 64-bit ELF file, or one cut short. */
int sections_open(struct sections *sections, const void *file, size_t size);

/* 0; -1: there is none of that number, or its contents are not in the file. */
int sections_get(const struct sections *sections, uint32_t number, Elf64_Shdr *header);

/* A string of a string table, or "". */
const char *sections_string(const struct sections *sections, uint32_t table, uint64_t offset);
const char *sections_name(const struct sections *sections, const Elf64_Shdr *header);

/* The contents, header.sh_size bytes; NULL of those without any in the file. */
const uint8_t *sections_data(const struct sections *sections, const Elf64_Shdr *header);

#endif
