/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cubin made by hand the way nvcc lays it out: a kernel "k" with a function "f" after it in the
 * same section, a jump table in constant bank 2, variables' addresses in bank 4.
 */
#ifndef CUFENCE_CUBIN_MAKER_H
#define CUFENCE_CUBIN_MAKER_H

#include <elf.h>
#include <stdint.h>
#include <string.h>

enum made_section {
	MADE_NAMES = 1,
	MADE_STRINGS,
	MADE_SYMBOLS,
	MADE_TEXT,
	MADE_INFO,
	MADE_BANK2,
	MADE_BANK4,
	MADE_BANK4_RELOCATIONS,
	MADE_TEXT_RELOCATIONS,
	MADE_SECTIONS
};

struct made_cubin {
	uint8_t data[4096];
	size_t size;
	Elf64_Shdr header[MADE_SECTIONS];
};

static inline void made_add(struct made_cubin *cubin, enum made_section number, uint32_t type,
	const void *data, size_t size)
{
	while (cubin->size % 8)
		cubin->data[cubin->size++] = 0;
	cubin->header[number].sh_type = type;
	cubin->header[number].sh_offset = cubin->size;
	cubin->header[number].sh_size = size;
	memcpy(cubin->data + cubin->size, data, size);
	cubin->size += size;
}

static inline void made_finish(struct made_cubin *cubin)
{
	static const char *const names[MADE_SECTIONS] = { "", ".shstrtab", ".strtab", ".symtab",
		".text.k", ".nv.info.k", ".nv.constant2.k", ".nv.constant4", ".rela.nv.constant4",
		".rela.text.k" };
	char text[256] = "";
	size_t length = 1;
	Elf64_Ehdr header = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1, 0x33, 7 },
		.e_type = 2,
		.e_machine = 190,
		.e_flags = 90,
		.e_ehsize = sizeof(header),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = MADE_SECTIONS,
		.e_shstrndx = MADE_NAMES,
	};

	for (int i = 1; i < MADE_SECTIONS; i++) {
		cubin->header[i].sh_name = (uint32_t)length;
		memcpy(text + length, names[i], strlen(names[i]) + 1);
		length += strlen(names[i]) + 1;
	}
	made_add(cubin, MADE_NAMES, SHT_STRTAB, text, length);
	while (cubin->size % 8)
		cubin->data[cubin->size++] = 0;
	header.e_shoff = cubin->size;
	memcpy(cubin->data, &header, sizeof(header));
	memcpy(cubin->data + cubin->size, cubin->header, sizeof(cubin->header));
	cubin->size += sizeof(cubin->header);
}

/* CALL.REL f; BRX R2; EXIT; f: RET.REL R20: of sm_90. */
static const uint64_t made_code[] = {
	0x0000000000087944,
	0x001fea0003c00000,
	0xfffffffc02f87949,
	0x000fea000383ffff, /* label 0 */
	0x000000000000794d,
	0x000fea0003800000,
	0xfffffffc14f07950,
	0x000fea0003c3ffff,
};

static inline void make_cubin(struct made_cubin *cubin)
{
	static const char strings[] = "\0k\0f\0table";
	static const uint32_t bank2[] = { 0x20, 0x10, 0x30 };
	static const uint32_t jumps[] = { 0x10, 0, 3, 0x20, 0x10, 0x30 };
	uint8_t info[4 + 8 + 4 + sizeof(jumps)] = { 4, 0x0a, 8, 0, 0, 0, 0, 0, 0x10, 2, 24, 0, 4,
		0x34, sizeof(jumps), 0 };
	Elf64_Sym symbols[4] = { { 0 },
		{ .st_name = 1,
			.st_info = STT_FUNC,
			.st_other = 0x10,
			.st_shndx = MADE_TEXT,
			.st_size = sizeof(made_code) },
		{ .st_name = 3,
			.st_info = STT_FUNC,
			.st_shndx = MADE_TEXT,
			.st_value = 0x30,
			.st_size = 0x10 },
		{ .st_name = 5, .st_info = STT_OBJECT, .st_value = 0x40, .st_size = 64 } };
	Elf64_Rela bank4[2] = { { .r_offset = 8, .r_info = ELF64_R_INFO(2, 2) },
		{ .r_offset = 0, .r_info = ELF64_R_INFO(3, 2), .r_addend = 16 } };
	Elf64_Rela text[1] = { { .r_offset = 0x20, .r_info = ELF64_R_INFO(3, 0x38) } };
	uint64_t zeros[2] = { 0 };

	memcpy(info + 16, jumps, sizeof(jumps));
	memset(cubin, 0, sizeof(*cubin));
	cubin->size = sizeof(Elf64_Ehdr);
	made_add(cubin, MADE_STRINGS, SHT_STRTAB, strings, sizeof(strings));
	made_add(cubin, MADE_SYMBOLS, SHT_SYMTAB, symbols, sizeof(symbols));
	cubin->header[MADE_SYMBOLS].sh_link = MADE_STRINGS;
	made_add(cubin, MADE_TEXT, SHT_PROGBITS, made_code, sizeof(made_code));
	made_add(cubin, MADE_INFO, 0x70000000, info, sizeof(info));
	cubin->header[MADE_INFO].sh_info = MADE_TEXT;
	made_add(cubin, MADE_BANK2, SHT_PROGBITS, bank2, sizeof(bank2));
	cubin->header[MADE_BANK2].sh_info = MADE_TEXT;
	made_add(cubin, MADE_BANK4, SHT_PROGBITS, zeros, sizeof(zeros));
	made_add(cubin, MADE_BANK4_RELOCATIONS, SHT_RELA, bank4, sizeof(bank4));
	cubin->header[MADE_BANK4_RELOCATIONS].sh_info = MADE_BANK4;
	made_add(cubin, MADE_TEXT_RELOCATIONS, SHT_RELA, text, sizeof(text));
	cubin->header[MADE_TEXT_RELOCATIONS].sh_info = MADE_TEXT;
	made_finish(cubin);
}

#endif
