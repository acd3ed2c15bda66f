/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image/: a cubin and containers made here by hand, damaged in every way, and the test apps as
 * nvcc made them, where they are built (CUFENCE_BUILD says where).  Input under test ends at a
 * page that cannot be read: a byte too far is a crash, in libraries without instrumentation too.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <elf.h>
#include <lz4.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include "image.h"

#define KERNEL "_ZN7cufence5scaleEyPfmf"
static const char ptx[] = ".version 9.0\n.target sm_75\n.address_size 64\n";

/* --- bytes that end at an unreadable page --------------------------------------------------- */

struct guarded {
	uint8_t *map;
	size_t map_size, usable;
};

static void guarded_init(struct guarded *guarded, size_t capacity)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	guarded->usable = (capacity + page - 1) / page * page;
	guarded->map_size = guarded->usable + page;
	guarded->map = mmap(NULL, guarded->map_size, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(guarded->map, MAP_FAILED);
	assert_int_equal(mprotect(guarded->map + guarded->usable, page, PROT_NONE), 0);
}

static void *guarded_put(struct guarded *guarded, const void *data, size_t size)
{
	uint8_t *start = guarded->map + guarded->usable - size;

	memcpy(start, data, size);
	return start;
}

static void guarded_release(struct guarded *guarded)
{
	munmap(guarded->map, guarded->map_size);
}

/* --- a cubin and containers, as nvcc lays them out ------------------------------------------- */

struct bytes {
	uint8_t data[8192];
	size_t size;
};

static size_t append(struct bytes *bytes, const void *data, size_t size)
{
	size_t at = bytes->size;

	assert_true(at + size <= sizeof(bytes->data));
	memcpy(bytes->data + at, data, size);
	bytes->size += size;
	return at;
}

static void append_u32(struct bytes *bytes, uint32_t value)
{
	append(bytes, &value, sizeof(value));
}

static uint32_t info_word(unsigned format, unsigned attribute, unsigned value)
{
	return format | attribute << 8 | value << 16;
}

/* The parameters of scale(unsigned long long, float *, size_t, float), last one first. */
static void append_parameters(struct bytes *bytes)
{
	static const uint32_t size[] = {8, 8, 8, 4};

	for (uint32_t i = 4; i-- > 0;) {
		append_u32(bytes, info_word(4, 0x17, 12));
		append_u32(bytes, 0);
		append_u32(bytes, i | i * 8 << 16);
		append_u32(bytes, size[i] << 18 | 0x1f000);
	}
	append_u32(bytes, info_word(3, 0x19, 28));
}

enum { STRINGS = 1, SYMBOLS, INFO, KERNEL_INFO, SHARED, SECTIONS };

static void make_cubin(struct bytes *bytes)
{
	static const char strings[] = "\0.nv.info\0.nv.info." KERNEL "\0.nv.shared." KERNEL
				      "\0.rest";
	static const uint32_t names[SECTIONS] = {0, 40 + 30 + 8, 40 + 30 + 8, 1, 10, 0};
	Elf64_Ehdr header = {.e_type = ET_EXEC, .e_machine = 190, .e_version = EV_CURRENT,
		.e_flags = 90 << 8, .e_ehsize = sizeof(header), .e_shnum = SECTIONS,
		.e_shentsize = sizeof(Elf64_Shdr), .e_shstrndx = STRINGS};
	Elf64_Shdr section[SECTIONS] = {
		[STRINGS] = {.sh_type = SHT_STRTAB},
		[SYMBOLS] = {.sh_type = SHT_SYMTAB, .sh_link = STRINGS,
			.sh_entsize = sizeof(Elf64_Sym)},
		[INFO] = {.sh_type = SHT_LOPROC, .sh_link = SYMBOLS},
		[KERNEL_INFO] = {.sh_type = SHT_LOPROC, .sh_link = SYMBOLS},
		[SHARED] = {.sh_type = SHT_NOBITS, .sh_size = 512},
	};
	Elf64_Sym symbol[2] = {{0}, {.st_name = 10 + 9, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
					    .st_other = 0x10, .st_shndx = 1}};

	memcpy(header.e_ident, "\177ELF\2\1\1\x41\x8", 9);
	bytes->size = 0;
	append(bytes, &header, sizeof(header));
	for (unsigned i = 0; i < SECTIONS; i++)
		section[i].sh_name = names[i];
	section[SHARED].sh_name = 10 + 9 + sizeof(KERNEL);
	section[STRINGS].sh_offset = append(bytes, strings, sizeof(strings));
	section[STRINGS].sh_size = sizeof(strings);
	while (bytes->size % 8)
		append(bytes, "", 1);
	section[SYMBOLS].sh_offset = append(bytes, symbol, sizeof(symbol));
	section[SYMBOLS].sh_size = sizeof(symbol);
	section[INFO].sh_offset = bytes->size;
	append_u32(bytes, info_word(4, 0x11, 8));
	append_u32(bytes, 1);
	append_u32(bytes, 320);
	section[INFO].sh_size = bytes->size - section[INFO].sh_offset;
	section[KERNEL_INFO].sh_offset = bytes->size;
	append_parameters(bytes);
	section[KERNEL_INFO].sh_size = bytes->size - section[KERNEL_INFO].sh_offset;
	while (bytes->size % 8)
		append(bytes, "", 1);
	header.e_shoff = append(bytes, section, sizeof(section));
	memcpy(bytes->data, &header, sizeof(header));
}
