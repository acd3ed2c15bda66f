/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "sections.h"

static int read_header(const struct sections *sections, uint32_t number, Elf64_Shdr *header)
{
	uint64_t at = sections->table + (uint64_t)number * sizeof(*header);

	if (at > sections->size || sections->size - at < sizeof(*header))
		return -1;
	memcpy(header, sections->file + at, sizeof(*header));
	return 0;
}

int sections_open(struct sections *sections, const void *file, size_t size)
{
	Elf64_Ehdr header;
	Elf64_Shdr first;

	*sections = (struct sections){ .file = file, .size = size };
	if (size < sizeof(header))
		return -1;
	memcpy(&header, file, sizeof(header));
	if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
		header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_shoff == 0 ||
		header.e_shoff > size || header.e_shentsize != sizeof(first))
		return -1;
	sections->table = header.e_shoff;
	sections->count = header.e_shnum;
	sections->names = header.e_shstrndx;
	if (header.e_shnum != 0 && header.e_shstrndx != SHN_XINDEX)
		return 0;
	/* With more than 65279 sections, the first header has the counts. */
	if (read_header(sections, 0, &first))
		return -1;
	if (header.e_shnum == 0)
		sections->count = first.sh_size > UINT32_MAX ? 0 : (uint32_t)first.sh_size;
	if (header.e_shstrndx == SHN_XINDEX)
		sections->names = first.sh_link;
	if (sections->count > (size - sections->table) / sizeof(first))
		return -1;
	return 0;
}

int sections_get(const struct sections *sections, uint32_t number, Elf64_Shdr *header)
{
	if (number >= sections->count || read_header(sections, number, header))
		return -1;
	if (header->sh_type == SHT_NOBITS)
		return 0;
	if (header->sh_offset > sections->size ||
		header->sh_size > sections->size - header->sh_offset)
		return -1;
	return 0;
}

const uint8_t *sections_data(const struct sections *sections, const Elf64_Shdr *header)
{
	return header->sh_type == SHT_NOBITS || header->sh_type == SHT_NULL
		? NULL
		: sections->file + header->sh_offset;
}

const char *sections_string(const struct sections *sections, uint32_t table, uint64_t offset)
{
	Elf64_Shdr header;
	const char *text;

	if (sections_get(sections, table, &header) || header.sh_type != SHT_STRTAB ||
		offset >= header.sh_size)
		return "";
	text = (const char *)sections_data(sections, &header) + offset;
	return memchr(text, 0, header.sh_size - offset) ? text : "";
}

const char *sections_name(const struct sections *sections, const Elf64_Shdr *header)
{
	return sections_string(sections, sections->names, header->sh_name);
}
