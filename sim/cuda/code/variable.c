/* SPDX-License-Identifier: Apache-2.0 */
/* Global variables of a cubin: its object symbols, initialized where their section has data. */
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_module.h"

struct module_variable {
	struct module_variable *next;
	char *name;
	size_t bytes;
	void *value;         /* initial value, NULL: zeros */
	CUdeviceptr address; /* 0: not yet allocated */
};

static void *initial_value(Elf *elf, const GElf_Sym *symbol)
{
	Elf_Scn *section = elf_getscn(elf, symbol->st_shndx);
	Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
	void *value;

	if (!data || !data->d_buf || symbol->st_value > data->d_size ||
		symbol->st_size > data->d_size - symbol->st_value)
		return NULL;
	value = must_realloc(NULL, symbol->st_size);
	return memcpy(value, (char *)data->d_buf + symbol->st_value, symbol->st_size);
}

static struct module_variable *variable_new(Elf *elf, const GElf_Sym *symbol, const char *name)
{
	struct module_variable *variable = must_realloc(NULL, sizeof(*variable));

	*variable = (struct module_variable){ .bytes = symbol->st_size,
		.value = initial_value(elf, symbol) };
	variable->name = strcpy(must_realloc(NULL, strlen(name) + 1), name);
	return variable;
}

static struct module_variable *read_symbols(Elf *elf, Elf_Scn *section, size_t names)
{
	Elf_Data *data = elf_getdata(section, NULL);
	struct module_variable *variables = NULL;
	GElf_Sym symbol;

	for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
		const char *name = elf_strptr(elf, names, symbol.st_name);
		struct module_variable *variable;

		if (GELF_ST_TYPE(symbol.st_info) != STT_OBJECT || !symbol.st_size || !name ||
			symbol.st_shndx == SHN_UNDEF || symbol.st_size > 1ull << 30)
			continue;
		variable = variable_new(elf, &symbol, name);
		variable->next = variables;
		variables = variable;
	}
	return variables;
}

struct module_variable *cubin_variables(const void *cubin, size_t size)
{
	struct module_variable *variables = NULL;
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_memory((char *)cubin, size);
	while (elf && (section = elf_nextscn(elf, section))) {
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_SYMTAB) {
			variables = read_symbols(elf, section, header.sh_link);
			break;
		}
	}
	elf_end(elf);
	return variables;
}

void variables_free(struct module_variable *variables)
{
	struct module_variable *next;

	for (; variables; variables = next) {
		next = variables->next;
		if (variables->address)
			memory_release(memory_find(variables->address));
		free(variables->name);
		free(variables->value);
		free(variables);
	}
}

CUresult variable_find(struct module_variable *variables, struct device *device,
	enum memory_place place, const char *name, CUdeviceptr *ptr, size_t *bytes)
{
	struct module_variable *v = variables;

	while (v && strcmp(v->name, name))
		v = v->next;
	if (!v)
		return CUDA_ERROR_NOT_FOUND;
	if (!v->address) {
		v->address = memory_reserve(device, place, v->bytes);
		if (!v->address)
			return CUDA_ERROR_OUT_OF_MEMORY;
		if (v->value)
			memcpy((void *)v->address, v->value, v->bytes);
		else
			memset((void *)v->address, 0, v->bytes);
	}
	if (ptr)
		*ptr = v->address;
	if (bytes)
		*bytes = v->bytes;
	return CUDA_SUCCESS;
}
