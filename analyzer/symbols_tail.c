/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that are on no stack: one whose last act is a call jumps there, and the callee returns
 * to its caller.  DWARF's call sites (DWARF 5, section 3.4) say what was called before a return
 * address, and in that function which calls are jumps.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "symbols_dwarf.h"
#include "symbols_user.h"

#define MAX_DEPTH 64 /* of scopes in a function */

typedef int (*call_visitor)(Dwarf_Die *site, void *argument);

/* Calls visit for the call sites within a function until it returns nonzero: that. */
static int each_call(Dwarf_Die *scope, int depth, call_visitor visit, void *argument)
{
	Dwarf_Die child;
	int found = 0;

	if (depth == MAX_DEPTH || dwarf_child(scope, &child))
		return 0;
	do {
		int tag = dwarf_tag(&child);

		if (tag == DW_TAG_call_site || tag == DW_TAG_GNU_call_site)
			found = visit(&child, argument);
		else if (tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine)
			found = each_call(&child, depth + 1, visit, argument);
	} while (!found && !dwarf_siblingof(&child, &child));
	return found;
}

/* Behind the call instruction; DWARF 4's extension calls it low_pc. */
static int return_address(Dwarf_Die *site, Dwarf_Addr *address)
{
	Dwarf_Attribute attribute;

	if (!dwarf_attr(site, DW_AT_call_return_pc, &attribute) &&
		!dwarf_attr(site, DW_AT_low_pc, &attribute))
		return -1;
	return dwarf_formaddr(&attribute, address);
}

static int is_tail_call(Dwarf_Die *site)
{
	Dwarf_Attribute attribute;
	bool flag = false;

	if (dwarf_attr(site, DW_AT_call_tail_call, &attribute) ||
		dwarf_attr(site, DW_AT_GNU_tail_call, &attribute))
		return !dwarf_formflag(&attribute, &flag) && flag;
	return 0;
}

/* The callee's symbol, NULL: called by address. */
static const char *callee_of(Dwarf_Die *site)
{
	Dwarf_Attribute attribute;
	Dwarf_Die callee;
	const char *name;

	if (!dwarf_attr(site, DW_AT_call_origin, &attribute) &&
		!dwarf_attr(site, DW_AT_abstract_origin, &attribute))
		return NULL;
	if (!dwarf_formref_die(&attribute, &callee))
		return NULL;
	name = dwarf_linkage_name(&callee);
	return name ? name : dwarf_diename(&callee);
}

struct wanted {
	Dwarf_Addr address;
	const char *callee;
};

static int is_wanted(Dwarf_Die *site, void *argument)
{
	struct wanted *wanted = argument;
	Dwarf_Addr address;

	if (return_address(site, &address) || address != wanted->address)
		return 0;
	wanted->callee = callee_of(site);
	return 1;
}

/* The compiled function around an address. */
static int function_at(Dwarf_Die *unit, Dwarf_Addr address, Dwarf_Die *function)
{
	Dwarf_Die child;

	/* A namespace's functions are its children: their bodies usually are not. */
	if (dwarf_child(unit, &child))
		return -1;
	do {
		int tag = dwarf_tag(&child);

		if (tag == DW_TAG_subprogram && dwarf_haspc(&child, address) > 0) {
			*function = child;
			return 0;
		}
		if ((tag == DW_TAG_namespace || tag == DW_TAG_structure_type ||
			tag == DW_TAG_class_type) && !function_at(&child, address, function))
			return 0;
	} while (!dwarf_siblingof(&child, &child));
	return -1;
}

static int symbol_address(struct symbol_file *file, const char *name, Dwarf_Addr *address)
{
	int count = dwfl_module_getsymtab(file->module);

	for (int i = 1; i < count; i++) {
		GElf_Sym symbol;
		GElf_Word section;
		const char *found = dwfl_module_getsym_info(file->module, i, &symbol, address,
			&section, NULL, NULL);

		if (found && section != SHN_UNDEF && GELF_ST_TYPE(symbol.st_info) == STT_FUNC &&
			!strcmp(found, name))
			return 0;
	}
	return -1;
}

/* How a function leaves by a jump; unique: there is one such place for that kind of callee. */
struct jump {
	struct symbol_file *file;
	Dwarf_Addr bias;
	const char *callee;
	struct source_frame at;
	int into_cuda, count;
};

static int note_jump(Dwarf_Die *site, void *argument)
{
	struct jump *jump = argument;
	const char *callee = callee_of(site); /* NULL: by address */
	int into_cuda = callee && frame_is_cuda(&(struct source_frame){ .symbol = callee });
	Dwarf_Addr address;
	Dwfl_Line *line = NULL;

	if (!is_tail_call(site) || return_address(site, &address))
		return 0;
	/* What ends in CUDA goes before what may lead there. */
	if (into_cuda != jump->into_cuda) {
		if (!into_cuda)
			return 0;
		jump->count = 0;
	}
	line = dwfl_module_getsrc(jump->file->module, address - 1 + jump->bias);
	jump->into_cuda = into_cuda;
	jump->callee = callee;
	jump->at.file = NULL;
	jump->at.line = 0;
	/* Of several, none can be told to be the one. */
	if (++jump->count == 1 && line)
		jump->at.file = dwfl_lineinfo(line, NULL, &jump->at.line, NULL, NULL, NULL);
	return 0;
}

/* Fills in how the function of that name was left: 0, or -1 if by no jump that is known. */
static int left_by_jump(struct symbol_file *file, const char *name, struct jump *jump)
{
	Dwarf_Addr address;
	Dwarf_Die *unit, function;

	*jump = (struct jump){ .file = file };
	if (symbol_address(file, name, &address))
		return -1;
	unit = dwarf_unit_of(file, address, &jump->bias);
	if (!unit || function_at(unit, address - jump->bias, &function))
		return -1;
	each_call(&function, 0, note_jump, jump);
	jump->at.symbol = dwarf_linkage_name(&function);
	jump->at.name = dwarf_diename(&function);
	return jump->count ? 0 : -1;
}

int symbol_file_tail_calls(struct symbol_file *file, uint64_t offset, const char *inner,
	struct source_frame *frame, int max)
{
	struct wanted wanted = { 0 };
	struct jump jump;
	Dwarf_Die *unit, function;
	Dwarf_Addr address, bias;
	const char *name;
	int count = 0;

	if (dwarf_address_of(file, offset, &address))
		return 0;
	unit = dwarf_unit_of(file, address, &bias);
	wanted.address = address - bias + 1;
	if (!unit || function_at(unit, address - bias, &function) ||
		!each_call(&function, 0, is_wanted, &wanted))
		return 0;
	for (name = wanted.callee; name && count < max; name = jump.callee) {
		if ((inner && !strcmp(name, inner)) ||
			frame_is_cuda(&(struct source_frame){ .symbol = name }) ||
			left_by_jump(file, name, &jump))
			break;
		memmove(frame + 1, frame, (size_t)count * sizeof(*frame));
		frame[0] = jump.at;
		count++;
	}
	return count;
}
