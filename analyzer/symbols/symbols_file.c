/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols_file.h"

#include <dwarf.h>
#include <elfutils/libdwelf.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "symbols_dwarf.h"

/* Opens the supplementary debug file (dwz); without it some names are unknown. */
static int open_shared(struct symbol_file *file)
{
	const struct elf_file *debug = file->debug.elf ? &file->debug : &file->main;
	const char *name;
	const void *id;
	ssize_t size = dwelf_dwarf_gnu_debugaltlink(file->dwarf, &name, &id);

	if (size <= 0)
		return size ? -1 : 0;
	if (shared_debug_open(&file->shared, debug, name, id, (size_t)size))
		return -1;
	file->shared_dwarf = debug_begin(&file->shared);
	if (!file->shared_dwarf)
		return -1;
	/* Keeps libdw from opening a file of that name by itself. */
	dwarf_setalt(file->dwarf, file->shared_dwarf);
	return 0;
}

struct symbol_file *symbol_file_open(const char *path, const char *build_id)
{
	struct symbol_file *file = xcalloc(1, sizeof(*file));

	file->main.descriptor = file->debug.descriptor = file->shared.descriptor = -1;
	if (elf_file_open(&file->main, path)) {
		free(file);
		return NULL;
	}
	debug_link_read(&file->link, &file->main);
	/* A trace's build id has 20 bytes at most; a file's may be longer or shorter. */
	enum { RECORDED = 40 };
	size_t length = strnlen(file->link.build_id, RECORDED);

	if (build_id && (!length || strncmp(file->link.build_id, build_id, length) != 0)) {
		symbol_file_close(file);
		return NULL;
	}
	file->dwarf = debug_begin(&file->main);
	if (!file->dwarf && !debug_file_open(&file->debug, file->main.path, &file->link))
		file->dwarf = debug_begin(&file->debug);
	if (file->dwarf && open_shared(file)) {
		dwarf_end(file->dwarf);
		file->dwarf = NULL;
	}
	return file;
}

const struct debug_link *symbol_file_debug_link(const struct symbol_file *file)
{
	return &file->link;
}

void symbol_file_close(struct symbol_file *file)
{
	if (!file)
		return;
	dwarf_units_release(file);
	free(file->symbol);
	intervals_release(&file->symbol_spans);
	map_release(&file->symbol_addresses);
	dwarf_end(file->dwarf);
	dwarf_end(file->shared_dwarf);
	elf_file_close(&file->shared);
	elf_file_close(&file->debug);
	elf_file_close(&file->main);
	free(file);
}

int symbol_file_address(struct symbol_file *file, uint64_t offset, uint64_t *address)
{
	size_t count;
	GElf_Phdr header;

	if (elf_getphdrnum(file->main.elf, &count))
		return -1;
	for (size_t i = 0; i < count; i++) {
		if (!gelf_getphdr(file->main.elf, (int)i, &header) || header.p_type != PT_LOAD)
			continue;
		if (offset < header.p_offset || offset - header.p_offset >= header.p_filesz)
			continue;
		*address = offset - header.p_offset + header.p_vaddr;
		return 0;
	}
	return -1;
}

const char *dwarf_linkage_name(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;

	if (!dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) &&
		!dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
		return NULL;
	return dwarf_formstring(&attribute);
}

int dwarf_line_of(struct dwarf_unit *unit, uint64_t address, const char **name)
{
	Dwarf_Line *line = dwarf_getsrc_die(&unit->die, address);
	int number;

	if (!line || dwarf_lineno(line, &number))
		return 0;
	if (name)
		*name = dwarf_linesrc(line, NULL, NULL);
	return number;
}

/* Finds the place that an inlined function was called from. */
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

/* A place in a function. */
static struct source_frame named(struct source_frame at, struct dwarf_unit *unit,
	Dwarf_Die *function)
{
	const char *closure = dwarf_closure_name(unit, function);

	at.name = closure ? closure : dwarf_diename(function);
	at.symbol = dwarf_linkage_name(function);
	at.toolkit = dwarf_is_toolkit(unit, at.file);
	return at;
}

/* The nest of inlined functions up to the one that was compiled; frame[0] has the line. */
static int nest_frames(struct dwarf_function *function, uint64_t address,
	struct source_frame *frame, int max)
{
	struct source_frame at = frame[0];
	int used = 0;

	dwarf_read_scopes(function);
	for (int64_t i = intervals_find(&function->spans, address); i >= 0 && used < max;
		i = function->scope[i].outer) {
		Dwarf_Die *die = &function->scope[i].die;

		if (dwarf_tag(die) != DW_TAG_inlined_subroutine)
			continue;
		frame[used++] = named(at, function->unit, die);
		call_site(&function->unit->die, die, &at);
	}
	if (used < max) {
		frame[used++] = named(at, function->unit, &function->die);
	}
	return used;
}

int dwarf_frames(struct symbol_file *file, uint64_t address, struct source_frame *frame, int max)
{
	struct dwarf_unit *unit = dwarf_unit_of(file, address);
	struct dwarf_function *function = unit ? dwarf_function_at(unit, address) : NULL;
	int used = 0;

	if (max < 1)
		return 0;
	frame[0] = (struct source_frame){ 0 };
	if (unit)
		frame[0].line = dwarf_line_of(unit, address, &frame[0].file);
	if (function)
		used = nest_frames(function, address, frame, max);
	/* DWARF has no linkage names of static functions and of instances of templates. */
	if (used && used < max && !frame[used - 1].symbol)
		frame[used - 1].symbol = symbol_table_name(file, address);
	if (used)
		return used;
	frame[0].symbol = symbol_table_name(file, address);
	return frame[0].symbol || frame[0].file ? 1 : 0;
}

int symbol_file_lookup(struct symbol_file *file, uint64_t offset, struct source_frame *frame,
	int max)
{
	uint64_t address;

	if (symbol_file_address(file, offset, &address))
		return 0;
	return dwarf_frames(file, address, frame, max);
}
