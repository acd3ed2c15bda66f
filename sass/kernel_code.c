/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collects what belongs to a function's code.  Sections .text.NAME hold code, .nv.info.NAME the
 * attributes of NAME, .nv.constantN.NAME its banks and .nv.constantN those of the module;
 * relocations name the section that they apply to.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cubin.h"
#include "kernel_code.h"
#include "sections.h"

#define STO_CUDA_ENTRY 0x10
#define PROGRAM_BANK 3

enum attribute {
	ATTRIBUTE_PARAMETER_BANK = 0x0a, /* u32 symbol, u16 offset, u16 bytes */
	ATTRIBUTE_JUMPS = 0x34,          /* u32 at, u32 0, u32 count, u32 targets; once more */
};

enum relocation_type {
	R_CUDA_32 = 1,
	R_CUDA_64 = 2,
	R_CUDA_ABS32_32 = 55, /* an address in shared memory */
	R_CUDA_ABS32_LO_32 = 56,
	R_CUDA_ABS32_HI_32 = 57,
	R_CUDA_ABS47_34 = 58,
	R_CUDA_ABS55_16_34 = 75,      /* from sm_90 on */
	R_CUDA_UNIFIED32_LO_32 = 112, /* a function, possibly of another module */
	R_CUDA_UNIFIED32_HI_32 = 113,
};

struct reader {
	struct machine_code *code;
	struct sections elf;
	uint32_t *text; /* by section of the file: index of its section of code; MACHINE_NONE */
	Elf64_Shdr symbols;
	uint64_t symbol_count;
	struct machine_bank bank[MACHINE_BANKS]; /* banks of the module */
};

/* Allocates zeroed memory that the code owns. */
static void *allocate(struct machine_code *code, size_t count, size_t size)
{
	void **list = realloc(code->memory, (code->memory_count + 1) * sizeof(*list));
	void *memory;

	if (!list)
		return NULL;
	code->memory = list;
	memory = calloc(count ? count : 1, size);
	if (memory)
		list[code->memory_count++] = memory;
	return memory;
}

/* --- sections of code --------------------------------------------------------------------- */

static int is_code(const struct sections *elf, const Elf64_Shdr *header)
{
	return header->sh_type == SHT_PROGBITS &&
		strncmp(sections_name(elf, header), ".text.", 6) == 0;
}

static int add_sections(struct reader *reader)
{
	struct machine_code *code = reader->code;
	Elf64_Shdr header;
	uint32_t count = 0;

	for (uint32_t i = 0; i < reader->elf.count; i++)
		count += sections_get(&reader->elf, i, &header) == 0 &&
			is_code(&reader->elf, &header);
	code->section = allocate(code, count, sizeof(*code->section));
	reader->text = allocate(code, reader->elf.count, sizeof(*reader->text));
	if (!code->section || !reader->text)
		return -1;
	for (uint32_t i = 0; i < reader->elf.count; i++) {
		struct machine_section *section = &code->section[code->section_count];

		reader->text[i] = MACHINE_NONE;
		if (sections_get(&reader->elf, i, &header) || !is_code(&reader->elf, &header))
			continue;
		section->name = sections_name(&reader->elf, &header) + 6;
		section->code = sections_data(&reader->elf, &header);
		section->size = header.sh_size;
		reader->text[i] = code->section_count++;
	}
	return 0;
}

/* Returns the section of code for a section of the file, or NULL. */
static struct machine_section *section_of(const struct reader *reader, uint32_t number)
{
	if (number >= reader->elf.count || reader->text[number] == MACHINE_NONE)
		return NULL;
	return &reader->code->section[reader->text[number]];
}

/* --- symbols ------------------------------------------------------------------------------- */

static void find_symbols(struct reader *reader)
{
	Elf64_Shdr header;

	for (uint32_t i = 0; i < reader->elf.count; i++)
		if (sections_get(&reader->elf, i, &header) == 0 && header.sh_type == SHT_SYMTAB) {
			reader->symbols = header;
			reader->symbol_count = header.sh_size / sizeof(Elf64_Sym);
			return;
		}
}

static int get_symbol(const struct reader *reader, uint64_t number, Elf64_Sym *symbol)
{
	if (number >= reader->symbol_count)
		return -1;
	memcpy(symbol, sections_data(&reader->elf, &reader->symbols) + number * sizeof(*symbol),
		sizeof(*symbol));
	return 0;
}

static const char *symbol_name(const struct reader *reader, const Elf64_Sym *symbol)
{
	return sections_string(&reader->elf, reader->symbols.sh_link, symbol->st_name);
}

static int compare_functions(const void *first, const void *second)
{
	const struct machine_function *a = first, *b = second;

	if (a->section != b->section)
		return a->section < b->section ? -1 : 1;
	return (a->offset > b->offset) - (a->offset < b->offset);
}

static int add_functions(struct reader *reader)
{
	struct machine_code *code = reader->code;
	uint64_t count = 0;
	Elf64_Sym symbol;

	for (uint64_t i = 0; get_symbol(reader, i, &symbol) == 0; i++)
		count += ELF64_ST_TYPE(symbol.st_info) == STT_FUNC;
	code->function = allocate(code, count, sizeof(*code->function));
	if (!code->function)
		return -1;
	for (uint64_t i = 0; get_symbol(reader, i, &symbol) == 0; i++) {
		const struct machine_section *section = section_of(reader, symbol.st_shndx);

		if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || !section ||
			symbol.st_value >= section->size)
			continue;
		code->function[code->function_count++] = (struct machine_function){
			.name = symbol_name(reader, &symbol),
			.section = reader->text[symbol.st_shndx],
			.offset = symbol.st_value,
			.size = symbol.st_size > section->size - symbol.st_value
				? section->size - symbol.st_value
				: symbol.st_size,
			.is_kernel = (symbol.st_other & STO_CUDA_ENTRY) != 0,
		};
	}
	qsort(code->function, code->function_count, sizeof(*code->function), compare_functions);
	return 0;
}

/* --- constant banks ------------------------------------------------------------------------ */

/* Returns the number of a bank, with its owner's name in *owner; -1: no bank. */
static int bank_number(const char *name, const char **owner)
{
	static const char prefix[] = ".nv.constant";
	char *end;
	unsigned long number;

	if (strncmp(name, prefix, sizeof(prefix) - 1) != 0)
		return -1;
	number = strtoul(name + sizeof(prefix) - 1, &end, 10);
	if (end == name + sizeof(prefix) - 1 || number >= MACHINE_BANKS || (*end && *end != '.'))
		return -1;
	*owner = *end ? end + 1 : end;
	return (int)number;
}

/* Returns the bank of a section of code, or of the module. */
static struct machine_bank *bank_of(struct reader *reader, const Elf64_Shdr *header)
{
	const char *owner;
	int number = bank_number(sections_name(&reader->elf, header), &owner);
	struct machine_section *section;

	if (number < 0)
		return NULL;
	if (!*owner)
		return &reader->bank[number];
	section = section_of(reader, header->sh_info);
	return section ? &section->bank[number] : NULL;
}

static void add_bank(struct reader *reader, const Elf64_Shdr *header)
{
	struct machine_bank *bank = bank_of(reader, header);

	if (bank && !bank->data) {
		bank->data = sections_data(&reader->elf, header);
		bank->size = bank->data ? header->sh_size : 0;
	}
}

/* Returns 1 if the section is the module's constant bank that programs write to. */
static int is_program_bank(const struct reader *reader, uint32_t number)
{
	const char *owner;
	Elf64_Shdr header;

	return number < reader->elf.count && sections_get(&reader->elf, number, &header) == 0 &&
		bank_number(sections_name(&reader->elf, &header), &owner) == PROGRAM_BANK;
}

static int add_constants(struct reader *reader)
{
	struct machine_code *code = reader->code;
	uint64_t count = 0;
	Elf64_Sym symbol;

	for (uint64_t i = 0; get_symbol(reader, i, &symbol) == 0; i++)
		count += ELF64_ST_TYPE(symbol.st_info) == STT_OBJECT;
	code->constant = allocate(code, count, sizeof(*code->constant));
	if (!code->constant)
		return -1;
	for (uint64_t i = 0; get_symbol(reader, i, &symbol) == 0; i++)
		if (ELF64_ST_TYPE(symbol.st_info) == STT_OBJECT &&
			is_program_bank(reader, symbol.st_shndx))
			code->constant[code->constant_count++] = (struct machine_variable){
				symbol_name(reader, &symbol),
				symbol.st_value,
				symbol.st_size,
			};
	return 0;
}

/* --- relocations ---------------------------------------------------------------------------- */

static uint8_t field_of(uint32_t type)
{
	switch (type) {
	case R_CUDA_32:
		return MACHINE_FIELD_32;
	case R_CUDA_64:
		return MACHINE_FIELD_64;
	case R_CUDA_ABS32_32:
	case R_CUDA_ABS32_LO_32:
	case R_CUDA_UNIFIED32_LO_32:
		return MACHINE_FIELD_IMMEDIATE_LOW;
	case R_CUDA_ABS32_HI_32:
	case R_CUDA_UNIFIED32_HI_32:
		return MACHINE_FIELD_IMMEDIATE_HIGH;
	case R_CUDA_ABS47_34:
	case R_CUDA_ABS55_16_34:
		return MACHINE_FIELD_TARGET;
	default:
		return MACHINE_FIELD_UNKNOWN;
	}
}

static void describe(const struct reader *reader, const Elf64_Rela *entry,
	struct machine_relocation *relocation)
{
	Elf64_Sym symbol;

	*relocation = (struct machine_relocation){
		.offset = entry->r_offset,
		.type = (uint32_t)ELF64_R_TYPE(entry->r_info),
		.field = field_of((uint32_t)ELF64_R_TYPE(entry->r_info)),
		.addend = entry->r_addend,
		.symbol = "",
		.section = MACHINE_NONE,
	};
	if (get_symbol(reader, ELF64_R_SYM(entry->r_info), &symbol))
		return;
	relocation->symbol = symbol_name(reader, &symbol);
	relocation->is_function = ELF64_ST_TYPE(symbol.st_info) == STT_FUNC;
	relocation->value = symbol.st_value;
	if (section_of(reader, symbol.st_shndx))
		relocation->section = reader->text[symbol.st_shndx];
}

static int compare_relocations(const void *first, const void *second)
{
	const struct machine_relocation *a = first, *b = second;

	return (a->offset > b->offset) - (a->offset < b->offset);
}

static struct machine_relocation *read_relocations(const struct reader *reader,
	const Elf64_Shdr *header, size_t *count)
{
	size_t size = header->sh_type == SHT_RELA ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
	const uint8_t *data = sections_data(&reader->elf, header);
	struct machine_relocation *list;

	*count = header->sh_size / size;
	list = allocate(reader->code, *count, sizeof(*list));
	if (!list)
		return NULL;
	for (size_t i = 0; i < *count; i++) {
		Elf64_Rela entry = { 0 };

		memcpy(&entry, data + i * size, size);
		describe(reader, &entry, &list[i]);
	}
	qsort(list, *count, sizeof(*list), compare_relocations);
	return list;
}

/* Adds a section of relocations, for code or for a bank. */
static int add_relocations(struct reader *reader, const Elf64_Shdr *header)
{
	struct machine_section *section = section_of(reader, header->sh_info);
	struct machine_bank *bank = NULL;
	struct machine_relocation *list;
	Elf64_Shdr target;
	size_t count;

	if (!section && sections_get(&reader->elf, header->sh_info, &target) == 0)
		bank = bank_of(reader, &target);
	if (section ? section->relocation != NULL : !bank || bank->relocation)
		return 0;
	list = read_relocations(reader, header, &count);
	if (!list)
		return -1;
	if (section) {
		section->relocation = list;
		section->relocation_count = count;
	} else {
		bank->relocation = list;
		bank->relocation_count = count;
	}
	return 0;
}

/* --- attributes ------------------------------------------------------------------------------ */

static uint32_t word_at(const uint8_t *bytes)
{
	uint32_t word;

	memcpy(&word, bytes, sizeof(word));
	return word;
}

static int compare_jumps(const void *first, const void *second)
{
	const struct machine_jump *a = first, *b = second;

	return (a->at > b->at) - (a->at < b->at);
}

/* All jumps of a section are in one record.  Targets are unaligned there, and therefore copied. */
static int add_jumps(struct machine_code *code, struct machine_section *section,
	const struct cubin_info *record)
{
	size_t words = record->size / 4, used = 0;
	struct machine_jump *jump;
	uint32_t *word;

	if (section->jump)
		return 0;
	word = allocate(code, words, sizeof(*word));
	jump = allocate(code, words / 3, sizeof(*jump));
	if (!word || !jump)
		return -1;
	memcpy(word, record->data, words * 4);
	while (words - used >= 3 && word[used + 2] <= words - used - 3) {
		jump[section->jump_count++] = (struct machine_jump){
			.at = word[used],
			.target = word + used + 3,
			.target_count = word[used + 2],
		};
		used += 3 + word[used + 2];
	}
	qsort(jump, section->jump_count, sizeof(*jump), compare_jumps);
	section->jump = jump;
	return 0;
}

static int read_attributes(const struct reader *reader, const Elf64_Shdr *header)
{
	struct machine_section *section = section_of(reader, header->sh_info);
	Elf_Data data = {
		.d_buf = (void *)(uintptr_t)sections_data(&reader->elf, header),
		.d_size = header->sh_size,
	};
	struct cubin_info record;
	size_t position = 0;

	if (!section || !data.d_buf)
		return 0;
	while (cubin_next_info(&data, &position, &record) > 0) {
		if (record.attribute == ATTRIBUTE_PARAMETER_BANK && record.size == 8) {
			section->parameter_base = word_at(record.data + 4) & 0xffff;
			section->parameter_bytes = word_at(record.data + 4) >> 16;
		} else if (record.attribute == ATTRIBUTE_JUMPS && record.data) {
			if (add_jumps(reader->code, section, &record))
				return -1;
		}
	}
	return 0;
}

/* --- open and query --------------------------------------------------------------------- */

static int read_sections(struct reader *reader)
{
	Elf64_Shdr header;

	for (uint32_t i = 0; i < reader->elf.count; i++)
		if (sections_get(&reader->elf, i, &header) == 0)
			add_bank(reader, &header);
	for (uint32_t i = 0; i < reader->elf.count; i++) {
		int result = 0;

		if (sections_get(&reader->elf, i, &header))
			continue;
		if (header.sh_type == SHT_RELA || header.sh_type == SHT_REL)
			result = add_relocations(reader, &header);
		else if (strncmp(sections_name(&reader->elf, &header), ".nv.info.", 9) == 0)
			result = read_attributes(reader, &header);
		if (result)
			return -1;
	}
	/* A section uses the module's banks where it has none of its own. */
	for (uint32_t i = 0; i < reader->code->section_count; i++)
		for (int number = 0; number < MACHINE_BANKS; number++)
			if (!reader->code->section[i].bank[number].data)
				reader->code->section[i].bank[number] = reader->bank[number];
	return 0;
}

int machine_code_open(struct machine_code *code, const void *cubin, size_t size, unsigned arch,
	char error[IMAGE_ERROR_SIZE])
{
	struct reader reader = { .code = code };

	*code = (struct machine_code){ .arch = arch };
	if (sections_open(&reader.elf, cubin, size)) {
		snprintf(error, IMAGE_ERROR_SIZE, "not a cubin");
		return -1;
	}
	find_symbols(&reader);
	if (add_sections(&reader) || add_functions(&reader) || add_constants(&reader) ||
		read_sections(&reader)) {
		machine_code_close(code);
		snprintf(error, IMAGE_ERROR_SIZE, "out of memory");
		return -1;
	}
	return 0;
}

void machine_code_close(struct machine_code *code)
{
	for (size_t i = 0; i < code->memory_count; i++)
		free(code->memory[i]);
	free(code->memory);
	*code = (struct machine_code){ 0 };
}

const struct machine_function *machine_find_function(const struct machine_code *code,
	const char *name)
{
	for (uint32_t i = 0; i < code->function_count; i++)
		if (strcmp(code->function[i].name, name) == 0)
			return &code->function[i];
	return NULL;
}

const struct machine_function *machine_function_at(const struct machine_code *code,
	uint32_t section, uint64_t offset)
{
	uint32_t low = 0, high = code->function_count;

	/* Finds the last function that begins at or before the offset. */
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct machine_function *function = &code->function[middle];

		if (function->section < section ||
			(function->section == section && function->offset <= offset))
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || code->function[low - 1].section != section)
		return NULL;
	return &code->function[low - 1];
}

const struct machine_jump *machine_find_jump(const struct machine_section *section, uint64_t at)
{
	const struct machine_jump key = { .at = at };

	return section->jump
		? bsearch(&key, section->jump, section->jump_count, sizeof(key), compare_jumps)
		: NULL;
}

/* Read from kernels compiled for each architecture. */
static const struct {
	unsigned first, last; /* architectures */
	uint32_t offset;
	enum machine_word word;
} words[] = {
	{ 75, 99, 0x00, MACHINE_WORD_BLOCK_X },
	{ 75, 99, 0x04, MACHINE_WORD_BLOCK_Y },
	{ 75, 99, 0x08, MACHINE_WORD_BLOCK_Z },
	{ 75, 99, 0x0c, MACHINE_WORD_GRID_X },
	{ 75, 99, 0x10, MACHINE_WORD_GRID_Y },
	{ 75, 99, 0x14, MACHINE_WORD_GRID_Z },
	{ 75, 89, 0x18, MACHINE_WORD_SHARED },
	{ 75, 99, 0x20, MACHINE_WORD_LOCAL },
	{ 75, 99, 0x28, MACHINE_WORD_STACK },
	{ 75, 89, 0x40, MACHINE_WORD_BANK },
	{ 80, 89, 0x118, MACHINE_WORD_DESCRIPTOR },
	{ 90, 99, 0xc0, MACHINE_WORD_BANK },
	{ 90, 99, 0x198, MACHINE_WORD_PARAMETERS },
	{ 90, 99, 0x208, MACHINE_WORD_DESCRIPTOR },
	{ 100, 121, 0x2f8, MACHINE_WORD_LOCAL },
	{ 100, 121, 0x348, MACHINE_WORD_PARAMETERS },
	{ 100, 121, 0x358, MACHINE_WORD_DESCRIPTOR },
	{ 100, 121, 0x360, MACHINE_WORD_BLOCK_X },
	{ 100, 121, 0x364, MACHINE_WORD_BLOCK_Y },
	{ 100, 121, 0x368, MACHINE_WORD_BLOCK_Z },
	{ 100, 121, 0x370, MACHINE_WORD_GRID_X },
	{ 100, 121, 0x374, MACHINE_WORD_GRID_Y },
	{ 100, 121, 0x378, MACHINE_WORD_GRID_Z },
	{ 100, 121, 0x37c, MACHINE_WORD_STACK },
};

enum machine_word machine_driver_word(unsigned arch, uint32_t offset)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (words[i].offset == offset && words[i].first <= arch && arch <= words[i].last)
			return words[i].word;
	return MACHINE_WORD_OTHER;
}

uint32_t machine_parameters_begin(unsigned arch)
{
	return arch < 100 ? 0x210 : 0x380;
}
