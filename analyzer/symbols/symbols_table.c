/* SPDX-License-Identifier: Apache-2.0 */
/* The symbol table of a file: names of addresses, and back. */
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "symbols_dwarf.h"

/* The largest libraries have a million. */
#define MAX_SYMBOLS (16u << 20) /* later ones are not named */

static Elf_Scn *find_table(Elf *elf, GElf_Word type, GElf_Shdr *header)
{
	Elf_Scn *section = NULL;

	while (elf && (section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, header) && header->sh_type == type)
			return section;
	return NULL;
}

static void add_symbol(struct symbol_file *file, const GElf_Sym *symbol, uint64_t end)
{
	static const uint8_t ranks[] = { [STB_LOCAL] = 0, [STB_GLOBAL] = 2, [STB_WEAK] = 1 };
	unsigned bind = GELF_ST_BIND(symbol->st_info);
	*array_push(file->symbol, file->symbol_count) = (struct symbol){
		.address = symbol->st_value,
		.end = end,
		.name = symbol->st_name,
		.rank = bind < sizeof(ranks) / sizeof(*ranks) ? ranks[bind] : 0,
		.sized = symbol->st_size > 0,
	};
}

static int is_place(const GElf_Sym *symbol)
{
	int type = GELF_ST_TYPE(symbol->st_info);

	return symbol->st_shndx != SHN_UNDEF && symbol->st_value && symbol->st_name &&
		(type == STT_FUNC || type == STT_NOTYPE || type == STT_GNU_IFUNC);
}

static void read_table(struct symbol_file *file, Elf_Scn *section)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t count =
		data ? data->d_size / gelf_fsize(file->symbol_elf, ELF_T_SYM, 1, EV_CURRENT) : 0;
	GElf_Sym symbol;

	for (size_t i = 1; i < count && i < MAX_SYMBOLS; i++) {
		GElf_Shdr header = { 0 };
		Elf_Scn *of;

		if (!gelf_getsym(data, (int)i, &symbol) || !is_place(&symbol))
			continue;
		if (symbol.st_size) {
			header.sh_addr = symbol.st_value;
			header.sh_size = symbol.st_size;
		} else {
			of = elf_getscn(file->symbol_elf, symbol.st_shndx);
			if (!of || !gelf_getshdr(of, &header) || !(header.sh_flags & SHF_EXECINSTR))
				continue;
		}
		add_symbol(file, &symbol, header.sh_addr + header.sh_size);
	}
}

/* By address; at one address the one that counts comes last. */
static int by_address(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	if (x->end != y->end)
		return x->end > y->end ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return (x->name < y->name) - (x->name > y->name);
}

static void need_symbols(struct symbol_file *file)
{
	GElf_Shdr header;
	Elf_Scn *section;

	if (file->has_symbols)
		return;
	file->has_symbols = 1;
	file->symbol_elf = file->main.elf;
	section = find_table(file->main.elf, SHT_SYMTAB, &header);
	if (!section && (section = find_table(file->debug.elf, SHT_SYMTAB, &header)))
		file->symbol_elf = file->debug.elf;
	if (!section)
		section = find_table(file->main.elf, SHT_DYNSYM, &header);
	if (!section)
		return;
	file->symbol_names = header.sh_link;
	read_table(file, section);
	if (file->symbol_count)
		qsort(file->symbol, file->symbol_count, sizeof(*file->symbol), by_address);
	/* One without a size reaches to the next one, at most to the end of its section. */
	uint64_t next = UINT64_MAX;

	for (size_t i = file->symbol_count; i-- > 0;) {
		const struct symbol *symbol = &file->symbol[i];
		uint64_t end = !symbol->sized && next < symbol->end ? next : symbol->end;

		intervals_add(&file->symbol_spans, symbol->address, end, (uint32_t)i);
		if (!i || file->symbol[i - 1].address != symbol->address)
			next = symbol->address;
	}
	intervals_sort(&file->symbol_spans);
}

const char *symbol_table_name(struct symbol_file *file, uint64_t address)
{
	int64_t found;

	need_symbols(file);
	found = intervals_find(&file->symbol_spans, address);
	return found < 0
		? NULL
		: elf_strptr(file->symbol_elf, file->symbol_names, file->symbol[found].name);
}

uint64_t symbol_table_address(struct symbol_file *file, const char *name)
{
	need_symbols(file);
	for (size_t i = 0; i < file->symbol_count && !file->has_symbol_addresses; i++) {
		const char *at =
			elf_strptr(file->symbol_elf, file->symbol_names, file->symbol[i].name);

		if (at)
			map_set(&file->symbol_addresses, map_hash(at, strlen(at)),
				file->symbol[i].address);
	}
	file->has_symbol_addresses = 1;
	return map_get(&file->symbol_addresses, map_hash(name, strlen(name)), 0);
}
