/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds which kernels of a cubin print.  Section .nv.callgraph has pairs of symbols, 32 bits each:
 * caller and callee, including calls of inlined functions and calls by pointer.  Callees from -4 on
 * are no symbols; with caller 0 they end a list (nvcc 13).
 */
#include <gelf.h>
#include <stdlib.h>

#include "builtin.h"
#include "cubin.h"

#define CALLGRAPH ".nv.callgraph"

/*
 * Limit of the length of call chains, as a guard against damaged files: nvcc makes short ones.
 * Beyond it no kernel of the file is known to print, or not to.
 */
#define CHAIN_LIMIT 64

/* For each function the highest value counts. */
enum says { SAYS_NOTHING, MAY_SAY, SAYS };

static const char *name_of(const struct cubin *cubin, size_t i, GElf_Sym *symbol)
{
	const char *name = gelf_getsym(cubin->symbols, (int)i, symbol)
		? elf_strptr(cubin->elf, cubin->symbol_names, symbol->st_name)
		: NULL;

	return name ? name : "";
}

/* Returns what a function outside of the cubin does: CUDA's own are known. */
static enum says outside(const char *name)
{
	enum builtin what = builtin_of(name, strlen(name));

	if (what == BUILTIN_NONE || what == BUILTIN_LAUNCH)
		return MAY_SAY;
	return what == BUILTIN_PRINTF ? SAYS : SAYS_NOTHING;
}

static Elf_Data *find_calls(const struct cubin *cubin)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(cubin->elf, section)) != NULL) {
		const char *name = gelf_getshdr(section, &header)
			? elf_strptr(cubin->elf, cubin->names, header.sh_name)
			: NULL;

		if (name && !strcmp(name, CALLGRAPH) && header.sh_type != SHT_NOBITS)
			return elf_rawdata(section, NULL);
	}
	return NULL;
}

/* Passes results on to callers.  Returns 1 if any has changed. */
static int pass_on(const struct cubin *cubin, const Elf_Data *calls, uint8_t *says)
{
	int more = 0;

	for (size_t at = 0; at + 8 <= calls->d_size; at += 8) {
		uint32_t pair[2];
		enum says callee;

		memcpy(pair, (const char *)calls->d_buf + at, sizeof(pair));
		if (!pair[0] || pair[0] >= cubin->symbol_count)
			continue;
		callee = pair[1] < cubin->symbol_count ? says[pair[1]] : MAY_SAY;
		if (callee <= says[pair[0]])
			continue;
		says[pair[0]] = (uint8_t)callee;
		more = 1;
	}
	return more;
}

void cubin_read_prints(const struct cubin *cubin, struct image_code *code)
{
	Elf_Data *calls = find_calls(cubin);
	uint8_t *says = calls && calls->d_buf ? calloc(cubin->symbol_count + 1, 1) : NULL;

	for (size_t i = 0; i < code->kernel_count; i++)
		code->kernel[i].prints = -1;
	if (says) {
		int more = 1;
		GElf_Sym symbol;

		for (size_t i = 1; i < cubin->symbol_count; i++) {
			const char *name = name_of(cubin, i, &symbol);

			if (symbol.st_shndx == SHN_UNDEF &&
				GELF_ST_TYPE(symbol.st_info) == STT_FUNC)
				says[i] = (uint8_t)outside(name);
		}
		for (int i = 0; i < CHAIN_LIMIT && more; i++)
			more = pass_on(cubin, calls, says);
		for (size_t i = 1; i < cubin->symbol_count && !more; i++) {
			struct image_kernel *kernel = cubin_find(code, name_of(cubin, i, &symbol));

			if (kernel && GELF_ST_TYPE(symbol.st_info) == STT_FUNC)
				kernel->prints = says[i] == SAYS ? 1 : says[i] == MAY_SAY ? -1 : 0;
		}
	}
	free(says);
}
