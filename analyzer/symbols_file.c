/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols_dwarf.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int build_id_matches(Dwfl_Module *module, const char *expected)
{
	const unsigned char *id;
	GElf_Addr where;
	int length = dwfl_module_build_id(module, &id, &where);
	char hex[3];

	if (!expected)
		return 1;
	if (length <= 0)
		return 0;
	/* A record has room for 20 bytes, a file may have more or fewer. */
	for (int i = 0; i < length && i < 20; i++) {
		snprintf(hex, sizeof(hex), "%02x", id[i]);
		if (strncmp(expected + 2 * i, hex, 2))
			return 0;
	}
	return 1;
}

#define MAX_DEPTH 64 /* of functions in namespaces and types */

struct symbol_file *symbol_file_open(const char *path, const char *build_id)
{
	static char *folders; /* NULL: elfutils' own, ":.debug:/usr/lib/debug" */
	static const Dwfl_Callbacks callbacks = {
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.section_address = dwfl_offline_section_address,
		.debuginfo_path = &folders,
	};
	struct symbol_file *file;
	struct stat st;

	/* The path is what a trace says: opening a pipe or a device may wait, or do worse. */
	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return NULL;
	folders = getenv("CUFENCE_DEBUGINFO_PATH");
	file = calloc(1, sizeof(*file));
	if (!file)
		return NULL;
	file->dwfl = dwfl_begin(&callbacks);
	if (file->dwfl)
		file->module = dwfl_report_offline(file->dwfl, path, path, -1);
	if (!file->module || dwfl_report_end(file->dwfl, NULL, NULL) ||
		!build_id_matches(file->module, build_id)) {
		symbol_file_close(file);
		return NULL;
	}
	return file;
}

void symbol_file_close(struct symbol_file *file)
{
	if (file && file->dwfl)
		dwfl_end(file->dwfl);
	free(file);
}

int dwarf_address_of(struct symbol_file *file, uint64_t offset, Dwarf_Addr *address)
{
	GElf_Addr bias;
	Elf *elf = dwfl_module_getelf(file->module, &bias);
	size_t count;
	GElf_Phdr header;

	if (!elf || elf_getphdrnum(elf, &count))
		return -1;
	for (size_t i = 0; i < count; i++) {
		if (!gelf_getphdr(elf, (int)i, &header) || header.p_type != PT_LOAD)
			continue;
		if (offset < header.p_offset || offset - header.p_offset >= header.p_filesz)
			continue;
		*address = offset - header.p_offset + header.p_vaddr + bias;
		return 0;
	}
	return -1;
}

Dwarf_Die *dwarf_unit_of(struct symbol_file *file, Dwarf_Addr address, Dwarf_Addr *bias)
{
	Dwarf_Die *unit = dwfl_module_addrdie(file->module, address, bias);

	if (unit)
		return unit;
	/* clang writes no .debug_aranges. */
	while ((unit = dwfl_module_nextcu(file->module, unit, bias)))
		if (dwarf_haspc(unit, address - *bias) > 0)
			return unit;
	return NULL;
}

const char *dwarf_linkage_name(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;

	if (!dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) &&
		!dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
		return NULL;
	return dwarf_formstring(&attribute);
}

/* Where an inlined function was called from. */
static void call_site(Dwarf_Die *unit, Dwarf_Die *inlined, struct source_frame *frame)
{
	Dwarf_Attribute attribute;
	Dwarf_Word line, number;
	Dwarf_Files *files;
	size_t count;

	frame->file = NULL;
	frame->line = 0;
	if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attribute), &line) ||
		dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attribute), &number) ||
		dwarf_getsrcfiles(unit, &files, &count) || number >= count)
		return;
	frame->file = dwarf_filesrc(files, number, NULL, NULL);
	frame->line = (int)line;
}

/* Whose children may be functions; within: of functions too. */
static int holds_functions(Dwarf_Die *die, int within)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_namespace:
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
		return 1;
	case DW_TAG_subprogram:
	case DW_TAG_lexical_block:
		return within;
	default:
		return 0;
	}
}

static int search_function(Dwarf_Die *parent, Dwarf_Addr address, int within, int depth,
	Dwarf_Die *function)
{
	Dwarf_Die child;

	if (depth == MAX_DEPTH || dwarf_child(parent, &child))
		return -1;
	do {
		if (dwarf_tag(&child) == DW_TAG_subprogram && dwarf_haspc(&child, address) > 0) {
			*function = child;
			return 0;
		}
		if (holds_functions(&child, within) &&
			!search_function(&child, address, within, depth + 1, function))
			return 0;
	} while (!dwarf_siblingof(&child, &child));
	return -1;
}

int dwarf_function_at(Dwarf_Die *unit, Dwarf_Addr address, Dwarf_Die *function)
{
	/* A parallel region is a function of its own, a child of the one it was written in. */
	return search_function(unit, address, 0, 0, function) &&
	       search_function(unit, address, 1, 0, function) ? -1 : 0;
}

/* The innermost scope around an address in a function. */
static Dwarf_Die innermost_scope(Dwarf_Die function, Dwarf_Addr address)
{
	Dwarf_Die scope = function, child;
	int more = !dwarf_child(&scope, &child);

	while (more) {
		int tag = dwarf_tag(&child);

		if ((tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine) &&
			dwarf_haspc(&child, address) > 0) {
			scope = child;
			more = !dwarf_child(&scope, &child);
		} else {
			more = !dwarf_siblingof(&child, &child);
		}
	}
	return scope;
}

/* The nest of inlined functions from a scope to the one that was compiled: number of frames. */
static int nest_frames(Dwarf_Die *unit, Dwarf_Die *scope, struct source_frame *frame, int max)
{
	Dwarf_Die *nest = NULL;
	struct source_frame at = frame[0];
	int used = 0, count = dwarf_getscopes_die(scope, &nest);

	for (int i = 0; i < count && used < max; i++) {
		int tag = dwarf_tag(&nest[i]);
		if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram)
			continue;
		at.name = dwarf_diename(&nest[i]);
		at.symbol = dwarf_linkage_name(&nest[i]);
		frame[used++] = at;
		if (tag == DW_TAG_subprogram)
			break;
		call_site(unit, &nest[i], &at);
	}
	free(nest);
	return used;
}

static int inline_frames(Dwarf_Die *unit, Dwarf_Addr address, struct source_frame *frame, int max)
{
	Dwarf_Die *scopes = NULL, function, scope;
	int used = 0;

	/* dwarf_getscopes() leaves the concrete nest at the first inlined function, and does not
	 * look for a function within another one. */
	if (dwarf_getscopes(unit, address, &scopes) > 0)
		used = nest_frames(unit, &scopes[0], frame, max);
	free(scopes);
	if (used || dwarf_function_at(unit, address, &function))
		return used;
	scope = innermost_scope(function, address);
	return nest_frames(unit, &scope, frame, max);
}

int symbol_file_lookup(struct symbol_file *file, uint64_t offset, struct source_frame *frame,
	int max)
{
	Dwarf_Addr address;

	return dwarf_address_of(file, offset, &address) ? 0
							: dwarf_frames(file, address, frame, max);
}

int dwarf_frames(struct symbol_file *file, Dwarf_Addr address, struct source_frame *frame, int max)
{
	Dwarf_Addr bias = 0;
	Dwarf_Die *unit;
	Dwfl_Line *line;
	int used = 0;

	if (max < 1)
		return 0;
	frame[0] = (struct source_frame){ 0 };
	line = dwfl_module_getsrc(file->module, address);
	if (line)
		frame[0].file = dwfl_lineinfo(line, NULL, &frame[0].line, NULL, NULL, NULL);
	unit = dwarf_unit_of(file, address, &bias);
	if (unit)
		used = inline_frames(unit, address - bias, frame, max);
	/* DWARF has no linkage names of static functions and of instances of templates. */
	if (used && used < max && !frame[used - 1].symbol)
		frame[used - 1].symbol = dwfl_module_addrname(file->module, address);
	if (used)
		return used;
	frame[0].symbol = dwfl_module_addrname(file->module, address);
	return frame[0].symbol || frame[0].file ? 1 : 0;
}
