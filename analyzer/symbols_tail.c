/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that are on no stack: one whose last act is a call jumps there, and the callee returns
 * to its caller.  DWARF's call sites (DWARF 5, section 3.4) say what was called before a return
 * address, and in that function which calls are jumps.  Where they do not, as with virtual
 * functions and what other libraries call, a kernel's host stub tells: who jumps there is seldom
 * more than one function.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "demangle.h"
#include "symbols_dwarf.h"
#include "symbols_user.h"

#define MAX_DEPTH 64 /* of scopes in a function */
#define MAX_NEST 32  /* of functions inlined into each other */

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

/* What a call leads to. */
struct callee {
	const char *name;      /* its symbol, NULL: called by address */
	Dwarf_Addr address;    /* 0: in another unit */
};

/* A unit of a file, and what its addresses lack. */
struct unit {
	struct symbol_file *file;
	Dwarf_Die *die;
	Dwarf_Addr bias;
};

static struct callee function_of(const struct unit *unit, Dwarf_Die *function)
{
	struct callee callee = { dwarf_linkage_name(function), 0 };
	Dwarf_Addr base, end;

	/* The first of its parts, where it has a cold one elsewhere. */
	if (dwarf_ranges(function, 0, &base, &callee.address, &end) > 0)
		callee.address += unit->bias;
	else
		callee.address = 0;
	/* DWARF has no linkage names of static functions and of instances of templates. */
	if (!callee.name && callee.address)
		callee.name = dwfl_module_addrname(unit->file->module, callee.address);
	if (!callee.name)
		callee.name = dwarf_diename(function);
	return callee;
}

static struct callee callee_of(const struct unit *unit, Dwarf_Die *site)
{
	Dwarf_Attribute attribute;
	Dwarf_Die callee;

	if (!dwarf_attr(site, DW_AT_call_origin, &attribute) &&
		!dwarf_attr(site, DW_AT_abstract_origin, &attribute))
		return (struct callee){ 0 };
	if (!dwarf_formref_die(&attribute, &callee))
		return (struct callee){ 0 };
	return function_of(unit, &callee);
}

struct wanted {
	const struct unit *unit;
	Dwarf_Addr address;
	struct callee callee;
};

static int is_wanted(Dwarf_Die *site, void *argument)
{
	struct wanted *wanted = argument;
	Dwarf_Addr address;

	if (return_address(site, &address) || address != wanted->address)
		return 0;
	wanted->callee = callee_of(wanted->unit, site);
	return 1;
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

/* How a function leaves by a jump; count 1: there is one such place for that kind of callee. */
struct jump {
	struct unit unit;
	struct callee callee;
	Dwarf_Addr at;         /* behind the jump */
	int into_cuda, count;
};

/* Functions inlined around the jump have frames of their own. */
static int frames_of(const struct unit *unit, Dwarf_Addr jump, struct source_frame *frame, int max)
{
	return dwarf_frames(unit->file, jump - 1 + unit->bias, frame, max);
}

static int note_jump(Dwarf_Die *site, void *argument)
{
	struct jump *jump = argument;
	struct callee callee = callee_of(&jump->unit, site);
	int into_cuda = callee.name &&
			frame_is_cuda(&(struct source_frame){ .symbol = callee.name });
	Dwarf_Addr address;

	if (!is_tail_call(site) || return_address(site, &address))
		return 0;
	/* What ends in CUDA goes before what may lead there. */
	if (into_cuda != jump->into_cuda) {
		if (!into_cuda)
			return 0;
		jump->count = 0;
	}
	jump->into_cuda = into_cuda;
	jump->callee = callee;
	jump->at = address;
	jump->count++;
	return 0;
}

/* The compiled function around an address, and its unit. */
static int find_function(struct symbol_file *file, Dwarf_Addr address, struct unit *unit,
	Dwarf_Die *function)
{
	unit->file = file;
	unit->die = dwarf_unit_of(file, address, &unit->bias);
	return unit->die ? dwarf_function_at(unit->die, address - unit->bias, function) : -1;
}

/* Fills in how that function was left: 0, or -1 if by no jump that is known. */
static int left_by_jump(struct symbol_file *file, struct callee callee, struct jump *jump)
{
	Dwarf_Die function;

	*jump = (struct jump){ 0 };
	if (!callee.address && symbol_address(file, callee.name, &callee.address))
		return -1;
	if (find_function(file, callee.address, &jump->unit, &function))
		return -1;
	each_call(&function, 0, note_jump, jump);
	return jump->count ? 0 : -1;
}

int symbol_file_tail_calls(struct symbol_file *file, uint64_t offset, const char *inner,
	struct source_frame *frame, int max)
{
	struct unit unit;
	struct wanted wanted = { .unit = &unit };
	struct source_frame more[MAX_NEST];
	struct callee callee;
	struct jump jump;
	Dwarf_Die function;
	Dwarf_Addr address;
	int count = 0, added;

	if (max > MAX_NEST)
		max = MAX_NEST;

	if (dwarf_address_of(file, offset, &address) ||
		find_function(file, address, &unit, &function))
		return 0;
	wanted.address = address - unit.bias + 1;
	if (!each_call(&function, 0, is_wanted, &wanted))
		return 0;
	for (callee = wanted.callee; callee.name && count < max; callee = jump.callee) {
		if ((inner && !strcmp(callee.name, inner)) ||
			frame_is_cuda(&(struct source_frame){ .symbol = callee.name }) ||
			left_by_jump(file, callee, &jump))
			break;
		added = frames_of(&jump.unit, jump.at, more, max - count);
		if (!added)
			break;
		/* Of several jumps none can be told to be the one. */
		if (jump.count > 1) {
			more[0] = more[added - 1];
			more[0].file = NULL;
			more[0].line = 0;
			added = 1;
		}
		memmove(frame + added, frame, (size_t)count * sizeof(*frame));
		memcpy(frame, more, (size_t)added * sizeof(*frame));
		count += added;
	}
	return count;
}

/* The line that a call, behind which address is, was written in; 0: not known. */
static int line_of(const struct unit *unit, Dwarf_Addr address)
{
	Dwfl_Line *source = dwfl_module_getsrc(unit->file->module, address - 1 + unit->bias);
	int line;

	return source && dwfl_lineinfo(source, NULL, &line, NULL, NULL, NULL) ? line : 0;
}

/* A kernel's launch is configured in the line that calls it. */
static int configures_launch(Dwarf_Die *site, void *argument)
{
	const struct wanted *launch = argument;
	struct callee callee = callee_of(launch->unit, site);
	Dwarf_Addr address;

	return callee.name && !strcmp(callee.name, "__cudaPushCallConfiguration") &&
	       !return_address(site, &address) &&
	       line_of(launch->unit, address) == line_of(launch->unit, launch->address);
}

/* Whether at most calls by address are missing: the compiler says which of them it has listed. */
static int lists_calls(Dwarf_Die *function)
{
	static const unsigned flags[] = { DW_AT_call_all_calls, DW_AT_GNU_all_call_sites,
		DW_AT_call_all_tail_calls, DW_AT_GNU_all_tail_call_sites };
	Dwarf_Attribute attribute;

	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++)
		if (dwarf_attr_integrate(function, flags[i], &attribute))
			return 1;
	return 0;
}

int symbol_file_calls_stub(struct symbol_file *file, uint64_t offset)
{
	struct unit unit;
	struct wanted wanted = { .unit = &unit };
	Dwarf_Die function;
	Dwarf_Addr address;

	if (dwarf_address_of(file, offset, &address) ||
		find_function(file, address, &unit, &function))
		return 1;
	wanted.address = address - unit.bias + 1;
	/* Compilers leave out calls by address of which they have nothing to say. */
	if (!each_call(&function, 0, is_wanted, &wanted) && !lists_calls(&function))
		return 1;
	if (wanted.callee.name)
		return strstr(wanted.callee.name, "__device_stub_") != NULL;
	return each_call(&function, 0, configures_launch, &wanted);
}

/* Who leaves by a jump into a host stub. */
struct jumpers {
	struct unit unit;
	struct callee stub;
	Dwarf_Addr at;                 /* behind the jump */
	int count;
};

/* What the host calls the kernel by is no user's function. */
static int is_kernel_of(const char *stub, Dwarf_Die *function)
{
	const char *mangled = strstr(stub, "__device_stub_"), *name = dwarf_linkage_name(function);
	char base[256], own[256];

	if (!mangled)
		return 0;
	mangled += strlen("__device_stub_");
	if (name)
		return strstr(mangled, name) != NULL;
	/* Of an instance of a template the name says its arguments, too. */
	name = dwarf_diename(function);
	demangle_base(mangled, base, sizeof(base));
	demangle_base(name ? name : "", own, sizeof(own));
	return !strcmp(own, base);
}

static int note_jumper(Dwarf_Die *site, void *argument)
{
	struct jumpers *jumpers = argument;
	struct callee callee = callee_of(&jumpers->unit, site);
	Dwarf_Addr address;

	/* That of a function that was inlined elsewhere has no address. */
	if (!callee.name || (callee.address ? callee.address != jumpers->stub.address
					    : strcmp(callee.name, jumpers->stub.name)) ||
		!is_tail_call(site) || return_address(site, &address))
		return 0;
	jumpers->at = address;
	return ++jumpers->count > 1;
}

static void find_jumpers(struct jumpers *jumpers, Dwarf_Die *scope)
{
	Dwarf_Die child;

	if (dwarf_child(scope, &child))
		return;
	do {
		int tag = dwarf_tag(&child);

		if (tag == DW_TAG_namespace || tag == DW_TAG_structure_type ||
			tag == DW_TAG_class_type)
			find_jumpers(jumpers, &child);
		if (tag == DW_TAG_subprogram && !is_kernel_of(jumpers->stub.name, &child))
			each_call(&child, 0, note_jumper, jumpers);
	} while (jumpers->count < 2 && !dwarf_siblingof(&child, &child));
}

int symbol_file_jump_into(struct symbol_file *file, uint64_t offset, struct source_frame *frame,
	int max)
{
	struct jumpers jumpers = { 0 };
	Dwarf_Die stub;
	Dwarf_Addr address;

	if (dwarf_address_of(file, offset, &address) ||
		find_function(file, address, &jumpers.unit, &stub))
		return 0;
	jumpers.stub = function_of(&jumpers.unit, &stub);
	if (!jumpers.stub.name || !jumpers.stub.address)
		return 0;
	find_jumpers(&jumpers, jumpers.unit.die);
	return jumpers.count == 1 ? frames_of(&jumpers.unit, jumpers.at, frame, max) : 0;
}
