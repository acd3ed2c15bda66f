/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cubin and containers for it, made by hand the way nvcc lays them out, and memory that ends
 * at a page that cannot be read: a byte too far is a crash, in libraries too.  For cmocka tests
 * of fatbin/.
 */
#ifndef CUFENCE_IMAGE_SAMPLES_H
#define CUFENCE_IMAGE_SAMPLES_H

#include <elf.h>
#include <lz4.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

struct bytes {
	uint8_t data[4096];
	size_t size;
};

static inline size_t append(struct bytes *bytes, const void *data, size_t size)
{
	size_t at = bytes->size;

	assert_true(at + size <= sizeof(bytes->data));
	memcpy(bytes->data + at, data, size);
	bytes->size += size;
	return at;
}

static inline size_t append_u32(struct bytes *bytes, uint32_t value)
{
	return append(bytes, &value, sizeof(value));
}

static inline void align8(struct bytes *bytes)
{
	while (bytes->size % 8)
		append(bytes, "", 1);
}

/* --- the cubin: scale(unsigned long long, float *, size_t, float) of namespace cufence ------- */

#define SAMPLE_KERNEL "_ZN7cufence5scaleEyPfmf"

enum sample_section { STRINGS = 1, SYMBOLS, INFO, KERNEL_INFO, SHARED, CALLS, SECTIONS };

static const char *const sample_section_names[SECTIONS] = { "", ".strtab", ".symtab", ".nv.info",
	".nv.info." SAMPLE_KERNEL, ".nv.shared." SAMPLE_KERNEL, ".nv.callgraph" };

/* The kernel calls the second, which calls the third, which is not in the cubin. */
static const char *const sample_functions[] = { SAMPLE_KERNEL, "report", "vprintf" };

static inline uint32_t info_word(unsigned format, unsigned attribute, unsigned value)
{
	return format | attribute << 8 | value << 16;
}

static inline void append_parameter(struct bytes *bytes, uint32_t ordinal, uint32_t size)
{
	append_u32(bytes, info_word(4, 0x17, 12));
	append_u32(bytes, 0);
	append_u32(bytes, ordinal | ordinal * 8 << 16);
	append_u32(bytes, size << 18 | 0x1f000);
}

/* As nvcc does, the last parameter first; the third in the form for large ones. */
static inline void append_parameters(struct bytes *bytes)
{
	append_parameter(bytes, 3, 4);
	append_u32(bytes, info_word(4, 0x45, 12));
	append_u32(bytes, 0);
	append_u32(bytes, 2 | 16 << 16);
	append_u32(bytes, 8);
	append_parameter(bytes, 1, 8);
	append_parameter(bytes, 0, 8);
	append_u32(bytes, info_word(3, 0x19, 28));
}

static inline void append_strings(struct bytes *bytes, Elf64_Shdr *section, Elf64_Sym *symbol)
{
	size_t start = bytes->size;

	for (unsigned i = 0; i < SECTIONS; i++)
		section[i].sh_name = (uint32_t)(append(bytes, sample_section_names[i],
							strlen(sample_section_names[i]) + 1) -
			start);
	for (unsigned i = 0; i < 3; i++)
		symbol[i].st_name = (uint32_t)(append(bytes, sample_functions[i],
						       strlen(sample_functions[i]) + 1) -
			start);
	section[STRINGS].sh_offset = start;
	section[STRINGS].sh_size = bytes->size - start;
	align8(bytes);
}

/* Pairs of symbols, then one that is none. */
static inline void append_calls(struct bytes *bytes, Elf64_Shdr *section)
{
	static const uint32_t pairs[] = { 0, UINT32_MAX, 1, 2, 2, 3, 0, UINT32_MAX - 1 };

	section[CALLS].sh_offset = append(bytes, pairs, sizeof(pairs));
	section[CALLS].sh_size = sizeof(pairs);
}

static inline void append_contents(struct bytes *bytes, Elf64_Shdr *section)
{
	const unsigned char function = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
	Elf64_Sym symbol[4] = { { 0 }, { .st_info = function, .st_other = 0x10, .st_shndx = 1 },
		{ .st_info = function, .st_shndx = 1 }, { .st_info = function } };

	append_strings(bytes, section, &symbol[1]);
	section[SYMBOLS].sh_offset = append(bytes, symbol, sizeof(symbol));
	section[SYMBOLS].sh_size = sizeof(symbol);
	section[INFO].sh_offset = append_u32(bytes, info_word(4, 0x11, 8));
	append_u32(bytes, 1);   /* symbol */
	append_u32(bytes, 320); /* bytes of stack */
	section[INFO].sh_size = bytes->size - section[INFO].sh_offset;
	section[KERNEL_INFO].sh_offset = bytes->size;
	append_parameters(bytes);
	section[KERNEL_INFO].sh_size = bytes->size - section[KERNEL_INFO].sh_offset;
	align8(bytes);
	append_calls(bytes, section);
}

static inline void make_cubin(struct bytes *bytes)
{
	Elf64_Shdr section[SECTIONS] = {
		[STRINGS] = { .sh_type = SHT_STRTAB },
		[SYMBOLS] = { .sh_type = SHT_SYMTAB,
			.sh_link = STRINGS,
			.sh_entsize = sizeof(Elf64_Sym) },
		[INFO] = { .sh_type = SHT_LOPROC },
		[KERNEL_INFO] = { .sh_type = SHT_LOPROC },
		[SHARED] = { .sh_type = SHT_NOBITS, .sh_size = 512 },
		[CALLS] = { .sh_type = SHT_LOPROC },
	};
	Elf64_Ehdr header = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT,
				      0x41, 8 },
		.e_type = ET_EXEC,
		.e_machine = 190,
		.e_version = EV_CURRENT,
		.e_flags = 0x6005a04,
		.e_ehsize = sizeof(header),
		.e_shnum = SECTIONS,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shstrndx = STRINGS };

	memset(bytes, 0, sizeof(*bytes));
	append(bytes, &header, sizeof(header));
	append_contents(bytes, section);
	header.e_shoff = append(bytes, section, sizeof(section));
	memcpy(bytes->data, &header, sizeof(header));
}

/* --- containers ------------------------------------------------------------------------------ */

static const char sample_ptx[] = ".version 9.0\n.target sm_75\n.address_size 64\n";

enum sample_packing { RAW = 0x11, LZ4 = 0x2011, ZSTD = 0x8011 };

/* Offsets in an entry's header. */
enum { ENTRY_SIZE_AT = 8, ENTRY_PACKED_AT = 16, ENTRY_UNPACKED_AT = 56, ENTRY_HEADER = 64 };

static inline void begin_container(struct bytes *bytes)
{
	memset(bytes, 0, sizeof(*bytes));
	append_u32(bytes, 0xba55ed50);
	append_u32(bytes, 1 | 16 << 16);
	append(bytes, &(uint64_t){ 0 }, 8);
}

static inline void end_container(struct bytes *bytes)
{
	uint64_t size = bytes->size - 16;

	memcpy(bytes->data + 8, &size, sizeof(size));
}

static inline size_t pack(enum sample_packing packing, const void *data, size_t size, uint8_t *out,
	size_t room)
{
	int written;

	if (packing == ZSTD)
		return ZSTD_compress(out, room, data, size, 3);
	if (packing == LZ4) {
		written = LZ4_compress_default(data, (char *)out, (int)size, (int)room);
		assert_true(written > 0);
		return (size_t)written;
	}
	memcpy(out, data, size);
	return size;
}

/* Gives the offset of the entry's header. */
static inline size_t append_entry(struct bytes *bytes, unsigned kind, enum sample_packing packing,
	const void *data, size_t size)
{
	uint8_t payload[4096] = { 0 };
	size_t packed = pack(packing, data, size, payload, sizeof(payload));
	uint64_t padded = (packed + 7) / 8 * 8;
	size_t at = append_u32(bytes, kind | 0x101 << 16);

	append_u32(bytes, ENTRY_HEADER);
	append(bytes, &padded, sizeof(padded));
	append_u32(bytes, packing == RAW ? 0 : (uint32_t)packed);
	append_u32(bytes, 0);
	append_u32(bytes, 0x10008); /* version of the format */
	append_u32(bytes, 75);      /* architecture */
	append(bytes, &(uint64_t){ 0 }, 8);
	append(bytes, &(uint64_t){ packing }, 8);
	append(bytes, &(uint64_t){ 0 }, 8);
	append(bytes, &(uint64_t){ packing == RAW ? 0 : size }, 8);
	append(bytes, payload, padded);
	return at;
}

/* The cubin and the PTX, each packed so. */
static inline void make_container(struct bytes *bytes, enum sample_packing packing)
{
	struct bytes cubin;

	make_cubin(&cubin);
	begin_container(bytes);
	append_entry(bytes, 2, packing, cubin.data, cubin.size);
	append_entry(bytes, 1, packing, sample_ptx, sizeof(sample_ptx));
	end_container(bytes);
}

/* --- memory that ends at an unreadable page -------------------------------------------------- */

struct guarded {
	uint8_t *map;
	size_t usable, guard;
};

static inline void guarded_init(struct guarded *guarded)
{
	guarded->guard = (size_t)sysconf(_SC_PAGESIZE);
	guarded->usable = guarded->guard * (1 + sizeof(struct bytes) / guarded->guard);
	guarded->map = mmap(NULL, guarded->usable + guarded->guard, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(guarded->map != MAP_FAILED);
	assert_int_equal(mprotect(guarded->map + guarded->usable, guarded->guard, PROT_NONE), 0);
}

static inline uint8_t *guarded_put(struct guarded *guarded, const void *data, size_t size)
{
	return memcpy(guarded->map + guarded->usable - size, data, size);
}

static inline void guarded_release(struct guarded *guarded)
{
	munmap(guarded->map, guarded->usable + guarded->guard);
}

#endif
