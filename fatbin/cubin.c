/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the kernels of a cubin.  A cubin is an ELF file.  Its entry points are the function symbols
 * with STO_CUDA_ENTRY.  Section .nv.info.NAME holds attributes of the function NAME: records of a
 * format byte, an attribute byte and 16 bits, which are the value or, with FORMAT_SIZED, the size
 * of the data that follows.
 */
#include <elf.h>
#include <gelf.h>
#include <stdlib.h>

#include "cubin.h"

#ifndef EM_CUDA
#define EM_CUDA 190
#endif
#define STO_CUDA_ENTRY 0x10

enum info_format {
	FORMAT_NONE = 1,
	FORMAT_BYTE = 2,
	FORMAT_HALF = 3,
	FORMAT_SIZED = 4,
};

enum info_attribute {
	ATTRIBUTE_FRAME_SIZE = 0x11,      /* u32 symbol, u32 bytes; in .nv.info itself */
	ATTRIBUTE_PARAMETER = 0x17,       /* u32 index, u16 ordinal, u16 offset, u32 size << 18 */
	ATTRIBUTE_PARAMETER_BYTES = 0x19, /* the record's value */
	ATTRIBUTE_PARAMETER_V2 = 0x45,    /* the same, with a u32 for the size */
};

struct parameter_payload {
	uint32_t index;
	uint16_t ordinal, offset;
	uint32_t size;
};

static int compare_kernels(const void *a, const void *b)
{
	return strcmp(((const struct image_kernel *)a)->name,
		((const struct image_kernel *)b)->name);
}

struct image_kernel *cubin_find(const struct image_code *code, const char *name)
{
	size_t low = 0, high = code->kernel_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(name, code->kernel[middle].name);

		if (order == 0)
			return &code->kernel[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

int cubin_next_info(const Elf_Data *section, size_t *position, struct cubin_info *record)
{
	const uint8_t *bytes = section->d_buf;
	size_t left = section->d_size - *position;

	if (left == 0)
		return 0;
	if (left < 4)
		return -1;
	bytes += *position;
	*record = (struct cubin_info){ .attribute = bytes[1] };
	memcpy(&record->value, bytes + 2, sizeof(record->value));
	*position += 4;
	if (bytes[0] != FORMAT_SIZED)
		return bytes[0] >= FORMAT_NONE && bytes[0] <= FORMAT_HALF ? 1 : -1;
	record->size = record->value;
	if (record->size > left - 4)
		return -1;
	record->data = bytes + 4;
	*position += record->size;
	return 1;
}

/* Returns 1 if the record is a parameter, with its ordinal, offset and size. */
static int get_parameter(const struct cubin_info *record, unsigned *ordinal,
	struct image_parameter *parameter)
{
	struct parameter_payload payload;

	if ((record->attribute != ATTRIBUTE_PARAMETER &&
		    record->attribute != ATTRIBUTE_PARAMETER_V2) ||
		record->size != sizeof(payload))
		return 0;
	memcpy(&payload, record->data, sizeof(payload));
	*ordinal = payload.ordinal;
	parameter->offset = payload.offset;
	parameter->size =
		record->attribute == ATTRIBUTE_PARAMETER ? payload.size >> 18 : payload.size;
	return 1;
}

/* Counts the parameters that the section describes and finds the size of their buffer. */
static int measure_parameters(const Elf_Data *section, struct image_kernel *kernel)
{
	struct image_parameter parameter;
	struct cubin_info record;
	size_t position = 0;
	unsigned ordinal;
	int more;

	while ((more = cubin_next_info(section, &position, &record)) > 0) {
		if (record.attribute == ATTRIBUTE_PARAMETER_BYTES && !record.data)
			kernel->parameter_bytes = record.value;
		else if (get_parameter(&record, &ordinal, &parameter))
			kernel->parameter_count++;
	}
	return more;
}

/* Every ordinal below the count must occur once, within the buffer. */
static int place_parameters(const Elf_Data *section, struct image_kernel *kernel)
{
	struct image_parameter parameter;
	struct cubin_info record;
	size_t position = 0;
	unsigned ordinal;

	while (cubin_next_info(section, &position, &record) > 0) {
		if (!get_parameter(&record, &ordinal, &parameter))
			continue;
		if (ordinal >= kernel->parameter_count || kernel->parameter[ordinal].size ||
			parameter.size == 0 || parameter.offset > kernel->parameter_bytes ||
			parameter.size > kernel->parameter_bytes - parameter.offset)
			return -1;
		kernel->parameter[ordinal] = parameter;
	}
	return 0;
}

static int describe_kernel(const Elf_Data *section, struct image_kernel *kernel,
	char error[IMAGE_ERROR_SIZE])
{
	if (kernel->described || measure_parameters(section, kernel))
		return image_fail(error, "damaged attributes of kernel '%.100s'", kernel->name);
	kernel->described = 1;
	if (kernel->parameter_count == 0)
		return 0;
	kernel->parameter = calloc(kernel->parameter_count, sizeof(*kernel->parameter));
	if (!kernel->parameter)
		return image_fail(error, "out of memory");
	if (place_parameters(section, kernel))
		return image_fail(error, "impossible parameters of kernel '%.100s'", kernel->name);
	return 0;
}

/* Stack frames are listed by symbol in the section .nv.info without a function's name. */
static int read_frames(const struct cubin *cubin, const Elf_Data *section, struct image_code *code)
{
	struct cubin_info record;
	size_t position = 0;
	int more;

	while ((more = cubin_next_info(section, &position, &record)) > 0) {
		uint32_t frame[2];
		struct image_kernel *kernel;
		const char *name;
		GElf_Sym symbol;

		if (record.attribute != ATTRIBUTE_FRAME_SIZE || record.size != sizeof(frame))
			continue;
		memcpy(frame, record.data, sizeof(frame));
		if (frame[0] >= cubin->symbol_count ||
			!gelf_getsym(cubin->symbols, (int)frame[0], &symbol))
			return -1;
		name = elf_strptr(cubin->elf, cubin->symbol_names, symbol.st_name);
		kernel = name ? cubin_find(code, name) : NULL;
		if (kernel)
			kernel->local_bytes = frame[1];
	}
	return more;
}

static int read_section(const struct cubin *cubin, Elf_Scn *section, const GElf_Shdr *header,
	struct image_code *code, char error[IMAGE_ERROR_SIZE])
{
	static const char info[] = ".nv.info", shared[] = ".nv.shared.";
	const char *name = elf_strptr(cubin->elf, cubin->names, header->sh_name);
	struct image_kernel *kernel;
	Elf_Data *data;

	if (!name)
		return image_fail(error, "a section without a name");
	if (strncmp(name, shared, sizeof(shared) - 1) == 0) {
		kernel = cubin_find(code, name + sizeof(shared) - 1);
		if (kernel && header->sh_size <= UINT32_MAX)
			kernel->shared_bytes = (uint32_t)header->sh_size;
		return 0;
	}
	if (strncmp(name, info, sizeof(info) - 1) != 0 || header->sh_type == SHT_NOBITS)
		return 0;
	name += sizeof(info) - 1;
	kernel = *name == '.' ? cubin_find(code, name + 1) : NULL;
	if (*name && !kernel)
		return 0;
	data = elf_rawdata(section, NULL);
	if (!data || (data->d_size && !data->d_buf))
		return image_fail(error, "section '.nv.info%.100s': %s", name, elf_errmsg(-1));
	if (kernel)
		return describe_kernel(data, kernel, error);
	if (read_frames(cubin, data, code))
		return image_fail(error, "damaged section .nv.info");
	return 0;
}

static int read_sections(const struct cubin *cubin, struct image_code *code,
	char error[IMAGE_ERROR_SIZE])
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(cubin->elf, section)) != NULL) {
		if (!gelf_getshdr(section, &header))
			return image_fail(error, "section header: %s", elf_errmsg(-1));
		if (read_section(cubin, section, &header, code, error))
			return -1;
	}
	return 0;
}

/* Returns 0, with cubin->symbols NULL if there is no symbol table; or -1. */
static int find_symbols(struct cubin *cubin, char error[IMAGE_ERROR_SIZE])
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(cubin->elf, section)) != NULL) {
		if (!gelf_getshdr(section, &header))
			return image_fail(error, "section header: %s", elf_errmsg(-1));
		if (header.sh_type != SHT_SYMTAB)
			continue;
		cubin->symbols = elf_getdata(section, NULL);
		if (!cubin->symbols || (cubin->symbols->d_size && !cubin->symbols->d_buf))
			return image_fail(error, "symbol table: %s", elf_errmsg(-1));
		cubin->symbol_names = header.sh_link;
		cubin->symbol_count = cubin->symbols->d_size / sizeof(Elf64_Sym);
		return 0;
	}
	return 0;
}

static int read_entry_points(const struct cubin *cubin, struct image_code *code,
	char error[IMAGE_ERROR_SIZE])
{
	GElf_Sym symbol;

	code->kernel = calloc(cubin->symbol_count + 1, sizeof(*code->kernel));
	if (!code->kernel)
		return image_fail(error, "out of memory");
	for (size_t i = 0; i < cubin->symbol_count; i++) {
		struct image_kernel *kernel = &code->kernel[code->kernel_count];
		const char *name;

		if (!gelf_getsym(cubin->symbols, (int)i, &symbol))
			return image_fail(error, "symbol %zu: %s", i, elf_errmsg(-1));
		if (GELF_ST_TYPE(symbol.st_info) != STT_FUNC || !(symbol.st_other & STO_CUDA_ENTRY))
			continue;
		name = elf_strptr(cubin->elf, cubin->symbol_names, symbol.st_name);
		if (!name)
			return image_fail(error, "symbol %zu: %s", i, elf_errmsg(-1));
		kernel->name = strdup(name);
		if (!kernel->name)
			return image_fail(error, "out of memory");
		code->kernel_count++;
	}
	qsort(code->kernel, code->kernel_count, sizeof(*code->kernel), compare_kernels);
	return 0;
}

/* The architecture is the low byte of e_flags up to ABI version 7, the second byte from 8 on. */
static uint32_t flags_arch(const GElf_Ehdr *header)
{
	return header->e_ident[EI_ABIVERSION] >= 8 ? header->e_flags >> 8 & 0xff
						   : header->e_flags & 0xff;
}

static int read_elf(struct cubin *cubin, struct image_code *code, char error[IMAGE_ERROR_SIZE])
{
	GElf_Ehdr header;

	if (!gelf_getehdr(cubin->elf, &header) || gelf_getclass(cubin->elf) != ELFCLASS64 ||
		header.e_machine != EM_CUDA)
		return image_fail(error, "an ELF file, but not a cubin");
	/* libelf treats a section table beyond the end as missing. */
	if (header.e_shoff > code->size ||
		header.e_shnum > (code->size - header.e_shoff) / sizeof(Elf64_Shdr))
		return image_fail(error, "a cubin cut short");
	if (code->arch == 0)
		code->arch = flags_arch(&header);
	if (elf_getshdrstrndx(cubin->elf, &cubin->names))
		return image_fail(error, "section names: %s", elf_errmsg(-1));
	if (find_symbols(cubin, error) || read_entry_points(cubin, code, error))
		return -1;
	cubin_read_prints(cubin, code);
	return read_sections(cubin, code, error);
}

int cubin_read(struct image_code *code, char error[IMAGE_ERROR_SIZE])
{
	struct cubin cubin = { 0 };
	int result;

	elf_version(EV_CURRENT);
	/*
	 * libelf does not write to the bytes when opened for reading; its prototype predates const.
	 */
	cubin.elf = elf_memory((char *)(uintptr_t)code->data, code->size);
	if (!cubin.elf)
		return image_fail(error, "not an ELF file: %s", elf_errmsg(-1));
	result = read_elf(&cubin, code, error);
	elf_end(cubin.elf);
	return result;
}

void cubin_release(struct image_code *code)
{
	for (size_t i = 0; i < code->kernel_count; i++) {
		free(code->kernel[i].name);
		free(code->kernel[i].parameter);
	}
	free(code->kernel);
	code->kernel = NULL;
	code->kernel_count = 0;
}
