/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The size of a code image that the program passes to the driver by its address alone: PTX text, a
 * cubin, or a fat binary container.  Sizes in headers are trusted, as by the driver.
 */
#ifndef CUFENCE_IMAGE_SIZE_H
#define CUFENCE_IMAGE_SIZE_H

#include <elf.h>
#include <string.h>

#include "image_hash.h"

/* Undocumented; written by nvcc 11 to 13. */
#define IMAGE_CONTAINER_MAGIC 0xba55ed50u
struct image_container {
	uint32_t magic;
	uint16_t version, header_size;
	uint64_t size; /* size after the header */
};

/* Returns the end of the section header table or of the last section. */
static inline uint64_t image_elf_size(const char *image)
{
	const Elf64_Ehdr *elf = (const Elf64_Ehdr *)image;
	uint64_t size = elf->e_shoff + (uint64_t)elf->e_shnum * sizeof(Elf64_Shdr);

	if (elf->e_ident[EI_CLASS] != ELFCLASS64 || elf->e_shentsize != sizeof(Elf64_Shdr) ||
		size > IMAGE_MOST_BYTES)
		return 0;
	for (unsigned i = 0; i < elf->e_shnum; i++) {
		Elf64_Shdr section;
		uint64_t end;

		memcpy(&section, image + elf->e_shoff + i * sizeof(section), sizeof(section));
		end = section.sh_offset + section.sh_size;
		if (section.sh_type != SHT_NOBITS && end > size)
			size = end;
	}
	return size;
}

/* PTX begins with comments, white space and directives. */
static inline int image_is_text(const char *image)
{
	return *image == '/' || *image == '.' || *image == ' ' || *image == '\t' ||
		*image == '\n' || *image == '\r';
}

/* Returns the size of an image in bytes, 0: not an image.  The wrapper of a container is none. */
static inline uint64_t image_size(const char *image)
{
	struct image_container header;

	if (image_is_text(image))
		return strnlen(image, IMAGE_MOST_BYTES + 1);
	memcpy(&header.magic, image, sizeof(header.magic));
	if (header.magic == IMAGE_CONTAINER_MAGIC) {
		memcpy(&header, image, sizeof(header));
		return header.header_size + header.size;
	}
	return memcmp(image, ELFMAG, SELFMAG) ? 0 : image_elf_size(image);
}

#endif
