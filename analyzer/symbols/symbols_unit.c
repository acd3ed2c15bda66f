/* SPDX-License-Identifier: Apache-2.0 */
/* Units, functions and scopes by address. */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "symbols_dwarf.h"

#define MAX_DEPTH 64 /* as in symbols_source.c */

static void add_ranges(struct intervals *intervals, Dwarf_Die *die, uint32_t value)
{
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &low, &high)) > 0)
		intervals_add(intervals, low, high, value);
}

/*
 * Units in files of their own (-gsplit-dwarf) are not read: libdw would open the file that the unit
 * names, also to look for the unit's ranges.
 */
static int has_ranges(Dwarf_Die *unit)
{
	return dwarf_hasattr(unit, DW_AT_ranges) || dwarf_hasattr(unit, DW_AT_high_pc);
}

/* clang writes no .debug_aranges. */
static void read_unit_spans(struct symbol_file *file)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;

	file->has_unit_spans = 1;
	while (!dwarf_get_units(file->dwarf, unit, &unit, NULL, NULL, &die, NULL)) {
		if (!has_ranges(&die))
			continue;
		*array_push(file->unit_offset, file->unit_offset_count) = dwarf_dieoffset(&die);
		add_ranges(&file->unit_spans, &die, (uint32_t)file->unit_offset_count - 1);
	}
	intervals_sort(&file->unit_spans);
}

static struct dwarf_unit *add_unit(struct symbol_file *file, Dwarf_Die *die)
{
	struct dwarf_unit *unit = xcalloc(1, sizeof(*unit));

	*unit = (struct dwarf_unit){ .file = file, .die = *die };
	*array_push(file->unit, file->unit_count) = unit;
	map_set(&file->units, dwarf_dieoffset(die), file->unit_count);
	return unit;
}

struct dwarf_unit *dwarf_unit_of(struct symbol_file *file, uint64_t address)
{
	int64_t number;
	uint64_t known;
	Dwarf_Die die;

	if (!file->dwarf)
		return NULL;
	if (!dwarf_addrdie(file->dwarf, address, &die)) {
		if (!file->has_unit_spans)
			read_unit_spans(file);
		number = intervals_find(&file->unit_spans, address);
		if (number < 0 || !dwarf_offdie(file->dwarf, file->unit_offset[number], &die))
			return NULL;
	}
	known = map_get(&file->units, dwarf_dieoffset(&die), 0);
	return known ? file->unit[known - 1] : add_unit(file, &die);
}

/* Returns 1 if the entry's children may be functions; within: also if it is itself a function. */
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

static void walk_functions(Dwarf_Die *parent, int within, int depth,
	void (*visit)(Dwarf_Die *, void *), void *argument)
{
	Dwarf_Die child;

	if (depth == MAX_DEPTH || dwarf_child(parent, &child))
		return;
	do {
		if (dwarf_tag(&child) == DW_TAG_subprogram)
			visit(&child, argument);
		if (holds_functions(&child, within))
			walk_functions(&child, within, depth + 1, visit, argument);
	} while (!dwarf_siblingof(&child, &child));
}

void dwarf_each_function(struct dwarf_unit *unit, void (*visit)(Dwarf_Die *, void *),
	void *argument)
{
	walk_functions(&unit->die, 0, 0, visit, argument);
}

static void add_function(Dwarf_Die *die, void *argument)
{
	struct function_table *table = argument;
	size_t before = table->spans.count;

	/* A declaration, or one that was inlined everywhere. */
	add_ranges(&table->spans, die, (uint32_t)table->count);
	if (table->spans.count == before)
		return;
	*array_push(table->function, table->count) = (struct dwarf_function){ .die = *die };
}

struct dwarf_function *dwarf_function_at(struct dwarf_unit *unit, uint64_t address)
{
	/* A parallel region is a function of its own, a child of the one it was written in. */
	for (int within = 0; within < 2; within++) {
		struct function_table *table = &unit->functions[within];
		int64_t found;

		if (!table->is_read) {
			walk_functions(&unit->die, within, 0, add_function, table);
			intervals_sort(&table->spans);
			table->is_read = 1;
		}
		found = intervals_find(&table->spans, address);
		if (found < 0 || (size_t)found >= table->count)
			continue;
		table->function[found].unit = unit;
		return &table->function[found];
	}
	return NULL;
}

/* The address after the call instruction; DWARF 4's extension calls it low_pc. */
static int return_address(Dwarf_Die *site, uint64_t *address)
{
	Dwarf_Attribute attribute;

	if (!dwarf_attr(site, DW_AT_call_return_pc, &attribute) &&
		!dwarf_attr(site, DW_AT_low_pc, &attribute))
		return -1;
	return dwarf_formaddr(&attribute, address);
}

static void add_call(struct dwarf_function *function, Dwarf_Die *site)
{
	uint64_t address;

	if (return_address(site, &address))
		return;
	*array_push(function->call, function->call_count) = (struct dwarf_call){ address, *site };
}

static void read_scopes(struct dwarf_function *function, Dwarf_Die *parent, int outer, int depth)
{
	Dwarf_Die child;

	if (depth == MAX_DEPTH || dwarf_child(parent, &child))
		return;
	do {
		int tag = dwarf_tag(&child);

		if (tag == DW_TAG_call_site || tag == DW_TAG_GNU_call_site)
			add_call(function, &child);
		if (tag != DW_TAG_lexical_block && tag != DW_TAG_inlined_subroutine)
			continue;
		*array_push(function->scope, function->scope_count) =
			(struct dwarf_scope){ child, outer };
		add_ranges(&function->spans, &child, (uint32_t)function->scope_count - 1);
		read_scopes(function, &child, (int)function->scope_count - 1, depth + 1);
	} while (!dwarf_siblingof(&child, &child));
}

static int by_address(const void *a, const void *b)
{
	const struct dwarf_call *x = a, *y = b;

	return (x->returns > y->returns) - (x->returns < y->returns);
}

void dwarf_read_scopes(struct dwarf_function *function)
{
	if (function->has_scopes)
		return;
	function->has_scopes = 1;
	read_scopes(function, &function->die, -1, 0);
	intervals_sort(&function->spans);
	if (function->call_count)
		qsort(function->call, function->call_count, sizeof(*function->call), by_address);
}

Dwarf_Die *dwarf_call_before(struct dwarf_function *function, uint64_t address)
{
	struct dwarf_call key = { .returns = address }, *found;

	dwarf_read_scopes(function);
	found = function->call_count
		? bsearch(&key, function->call, function->call_count, sizeof(key), by_address)
		: NULL;
	return found ? &found->site : NULL;
}

void dwarf_function_release(struct dwarf_function *function)
{
	free(function->scope);
	free(function->call);
	intervals_release(&function->spans);
	map_release(&function->launch_lines);
}

static void release_table(struct function_table *table)
{
	for (size_t i = 0; i < table->count; i++)
		dwarf_function_release(&table->function[i]);
	free(table->function);
	intervals_release(&table->spans);
}

void dwarf_units_release(struct symbol_file *file)
{
	for (size_t i = 0; i < file->unit_count; i++) {
		release_table(&file->unit[i]->functions[0]);
		release_table(&file->unit[i]->functions[1]);
		for (size_t k = 0; k < file->unit[i]->closures.size; k++)
			if (file->unit[i]->closures.entry[k].used)
				free((void *)(uintptr_t)file->unit[i]->closures.entry[k].value);
		map_release(&file->unit[i]->closures);
		map_release(&file->unit[i]->jumpers);
		free(file->unit[i]->jumper);
		free(file->unit[i]);
	}
	free(file->unit);
	free(file->unit_offset);
	intervals_release(&file->unit_spans);
	map_release(&file->units);
}
