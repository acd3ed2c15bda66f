/* SPDX-License-Identifier: Apache-2.0 */
/* The origin of a function's source: where a lambda was written, headers of the toolkit. */
#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "demangle.h"
#include "memory.h"
#include "symbols_dwarf.h"

#define MAX_DEPTH 64 /* of functions, types and scopes in each other; beyond it names are missing */

static int begins(const char *text, const char *with)
{
	return text && !strncmp(text, with, strlen(with));
}

/* A lambda's call operator, or the function that it becomes as a pointer to a function. */
static int is_call_operator(const char *name)
{
	return begins(name, "operator()") || begins(name, "_FUN");
}

/* gcc names the type of a lambda <lambda(int)>, clang leaves it without a name. */
static int is_closure_type(Dwarf_Die *die)
{
	const char *name = dwarf_diename(die);

	return !name || begins(name, "<lambda");
}

/* function: the innermost one around that is no lambda's, NULL: none; closure: parent is a type. */
static void walk(struct dwarf_unit *unit, Dwarf_Die *parent, const char *function, int closure,
	int depth)
{
	Dwarf_Die child;

	if (depth == MAX_DEPTH || dwarf_child(parent, &child))
		return;
	do {
		int tag = dwarf_tag(&child);
		const char *name = tag == DW_TAG_subprogram ? dwarf_diename(&child) : NULL;

		if (function && closure && is_call_operator(name)) {
			char base[200];

			demangle_base(function, base, sizeof(base));
			map_set(&unit->closures, dwarf_dieoffset(&child),
				(uintptr_t)xprintf("%s::{lambda}", base));
		}
		if (tag == DW_TAG_subprogram)
			walk(unit, &child, is_call_operator(name) ? function : name, 0, depth + 1);
		else if (tag == DW_TAG_structure_type || tag == DW_TAG_class_type)
			walk(unit, &child, function, is_closure_type(&child), depth + 1);
		else if (tag == DW_TAG_namespace || tag == DW_TAG_lexical_block)
			walk(unit, &child, function, 0, depth + 1);
	} while (!dwarf_siblingof(&child, &child));
}

const char *dwarf_closure_name(struct dwarf_unit *unit, Dwarf_Die *function)
{
	Dwarf_Die die = *function;
	Dwarf_Attribute attribute;

	if (!is_call_operator(dwarf_diename(function)))
		return NULL;
	if (!unit->has_closures)
		walk(unit, &unit->die, NULL, 0, 0);
	unit->has_closures = 1;
	/* To the declaration, which is where the lambda was written. */
	for (int i = 0; i < MAX_DEPTH; i++)
		if (!dwarf_attr(&die, DW_AT_abstract_origin, &attribute) &&
			!dwarf_attr(&die, DW_AT_specification, &attribute))
			break;
		else if (!dwarf_formref_die(&attribute, &die))
			break;
	return (const char *)(uintptr_t)map_get(&unit->closures, dwarf_dieoffset(&die), 0);
}

/* Headers that each program of the runtime has some of, and where they lie in the folder. */
static size_t toolkit_length(const char *file)
{
	static const char *const headers[] = {
		"/cuda_runtime.h",
		"/cuda_runtime_api.h",
		"/driver_types.h",
		"/crt/host_runtime.h",
	};
	size_t length = strlen(file);

	for (size_t i = 0; i < sizeof(headers) / sizeof(*headers); i++) {
		size_t end = strlen(headers[i]);

		if (length > end && !strcmp(file + length - end, headers[i]))
			return length - end;
	}
	return 0;
}

int dwarf_is_toolkit(struct dwarf_unit *unit, const char *file)
{
	Dwarf_Files *files;
	size_t count;

	for (size_t i = 0; !unit->has_toolkit && !dwarf_getsrcfiles(&unit->die, &files, &count) &&
		i < count && !unit->toolkit_length;
		i++) {
		unit->toolkit = dwarf_filesrc(files, i, NULL, NULL);
		unit->toolkit_length = unit->toolkit ? toolkit_length(unit->toolkit) : 0;
	}
	unit->has_toolkit = 1;
	return file && unit->toolkit_length &&
		!strncmp(file, unit->toolkit, unit->toolkit_length) &&
		file[unit->toolkit_length] == '/';
}
