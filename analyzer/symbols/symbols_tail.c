/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that are on no stack: a function whose last act is a call jumps to the callee, which
 * returns to the function's caller.  DWARF's call sites (DWARF 5, section 3.4) say what was called
 * before a return address, and in that function which calls are jumps.  They do not say it for
 * virtual functions and for calls by other libraries.  There a kernel's host stub helps: seldom
 * more than one function jumps to it.
 */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "demangle.h"
#include "memory.h"
#include "symbols_dwarf.h"
#include "symbols_user.h"

#define MAX_NEST 32 /* of functions inlined into each other; deeper ones are not named */

static const char stub_mark[] = "__device_stub_";

static int is_tail_call(Dwarf_Die *site)
{
	Dwarf_Attribute attribute;
	bool flag = false;

	if (dwarf_attr(site, DW_AT_call_tail_call, &attribute) ||
		dwarf_attr(site, DW_AT_GNU_tail_call, &attribute))
		return !dwarf_formflag(&attribute, &flag) && flag;
	return 0;
}

static struct callee function_of(struct symbol_file *file, Dwarf_Die *function)
{
	struct callee callee = { dwarf_linkage_name(function), 0 };
	Dwarf_Addr base, end;

	/* The first of its parts, where it has a cold one elsewhere. */
	if (dwarf_ranges(function, 0, &base, &callee.address, &end) <= 0)
		callee.address = 0;
	/* DWARF has no linkage names of static functions and of instances of templates. */
	if (!callee.name && callee.address)
		callee.name = symbol_table_name(file, callee.address);
	if (!callee.name)
		callee.name = dwarf_diename(function);
	return callee;
}

static struct callee callee_of(struct symbol_file *file, Dwarf_Die *site)
{
	Dwarf_Attribute attribute;
	Dwarf_Die callee;

	if (!dwarf_attr(site, DW_AT_call_origin, &attribute) &&
		!dwarf_attr(site, DW_AT_abstract_origin, &attribute))
		return (struct callee){ 0 };
	if (!dwarf_formref_die(&attribute, &callee))
		return (struct callee){ 0 };
	return function_of(file, &callee);
}

static void note_jump(struct jump *jump, struct symbol_file *file, struct dwarf_call *call)
{
	struct callee callee = callee_of(file, &call->site);
	int into_cuda = callee.name && symbol_is_cuda(callee.name);

	/* A jump into CUDA takes precedence over one that may lead there. */
	if (into_cuda != jump->into_cuda) {
		if (!into_cuda)
			return;
		jump->count = 0;
	}
	jump->into_cuda = into_cuda;
	jump->callee = callee;
	jump->at = call->returns;
	jump->count++;
}

/* How a function is left; NULL: by no jump that is known. */
static const struct jump *jump_of(struct dwarf_function *function)
{
	dwarf_read_scopes(function);
	for (size_t i = 0; i < function->call_count && !function->has_jump; i++)
		if (is_tail_call(&function->call[i].site))
			note_jump(&function->jump, function->unit->file, &function->call[i]);
	function->has_jump = 1;
	return function->jump.count ? &function->jump : NULL;
}

/* The compiled function around an address, NULL: not known. */
static struct dwarf_function *find_function(struct symbol_file *file, uint64_t address)
{
	struct dwarf_unit *unit = dwarf_unit_of(file, address);

	return unit ? dwarf_function_at(unit, address) : NULL;
}

static const struct jump *left_by_jump(struct symbol_file *file, struct callee callee)
{
	struct dwarf_function *function;

	if (!callee.address)
		callee.address = symbol_table_address(file, callee.name);
	function = callee.address ? find_function(file, callee.address) : NULL;
	return function ? jump_of(function) : NULL;
}

/* Functions inlined around the jump have frames of their own. */
static int frames_of(struct symbol_file *file, const struct jump *jump, struct source_frame *frame,
	int max)
{
	int added = dwarf_frames(file, jump->at - 1, frame, max);

	/* If there are several jumps, the one taken is unknown. */
	if (added && jump->count > 1) {
		frame[0] = frame[added - 1];
		frame[0].file = NULL;
		frame[0].line = 0;
		added = 1;
	}
	return added;
}

int symbol_file_tail_calls(struct symbol_file *file, uint64_t offset, struct tail_frame *frame,
	int max)
{
	struct source_frame more[MAX_NEST];
	struct dwarf_function *function;
	struct callee callee;
	const struct jump *jump;
	Dwarf_Die *site;
	uint64_t address;
	int count = 0, added;

	if (symbol_file_address(file, offset, &address))
		return 0;
	function = find_function(file, address);
	site = function ? dwarf_call_before(function, address + 1) : NULL;
	callee = site ? callee_of(file, site) : (struct callee){ 0 };
	for (; callee.name && count < max; callee = jump->callee) {
		jump = symbol_is_cuda(callee.name) ? NULL : left_by_jump(file, callee);
		if (!jump)
			break;
		added = max - count < MAX_NEST ? max - count : MAX_NEST;
		added = frames_of(file, jump, more, added);
		if (!added)
			break;
		memmove(frame + added, frame, (size_t)count * sizeof(*frame));
		for (int i = 0; i < added; i++)
			frame[i] = (struct tail_frame){ more[i], callee.name };
		count += added;
	}
	return count;
}

/* The lines in which launches are configured: those that call the kernel. */
static void need_launch_lines(struct dwarf_function *function)
{
	dwarf_read_scopes(function);
	for (size_t i = 0; i < function->call_count && !function->has_launch_lines; i++) {
		struct dwarf_call *call = &function->call[i];
		struct callee callee = callee_of(function->unit->file, &call->site);

		if (!callee.name || strcmp(callee.name, "__cudaPushCallConfiguration"))
			continue;
		map_set(&function->launch_lines,
			(uint64_t)dwarf_line_of(function->unit, call->returns - 1, NULL), 1);
	}
	function->has_launch_lines = 1;
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
	struct dwarf_function *function;
	struct callee callee = { 0 };
	Dwarf_Die *site;
	uint64_t address;

	if (symbol_file_address(file, offset, &address))
		return 1;
	function = find_function(file, address);
	if (!function)
		return 1;
	site = dwarf_call_before(function, address + 1);
	/* Compilers leave out calls by address of which they have nothing to say. */
	if (!site && !lists_calls(&function->die))
		return 1;
	if (site)
		callee = callee_of(file, site);
	if (callee.name)
		return strstr(callee.name, stub_mark) != NULL;
	need_launch_lines(function);
	return (int)map_get(&function->launch_lines,
		(uint64_t)dwarf_line_of(function->unit, address, NULL), 0);
}

/* The host's function that stands for the kernel is no user's function. */
static int is_kernel_of(const char *stub, Dwarf_Die *function)
{
	const char *mangled = strstr(stub, stub_mark), *name = dwarf_linkage_name(function);
	char base[256], own[256];

	if (!mangled)
		return 0;
	mangled += strlen(stub_mark);
	if (name)
		return strstr(mangled, name) != NULL;
	/* The name of a template's instance contains its arguments. */
	name = dwarf_diename(function);
	demangle_base(mangled, base, sizeof(base));
	demangle_base(name ? name : "", own, sizeof(own));
	return !strcmp(own, base);
}

/* A stub by its address, or by its name: that of a function that was inlined has no address. */
static uint64_t key_of(const char *name)
{
	return map_hash(name, strlen(name)) | 1ull << 63;
}

static void note_jumper(struct dwarf_unit *unit, uint64_t key, uint64_t at)
{
	uint64_t known = map_get(&unit->jumpers, key, 0);

	if (known) {
		unit->jumper[known - 1].count++;
		unit->jumper[known - 1].at = at;
		return;
	}
	*array_push(unit->jumper, unit->jumper_count) = (struct jumper){ at, 1 };
	map_set(&unit->jumpers, key, unit->jumper_count);
}

/* Notes the jumps of a function into host stubs. */
static void note_jumpers(Dwarf_Die *die, void *argument)
{
	struct dwarf_function function = { .unit = argument, .die = *die };

	dwarf_read_scopes(&function);
	for (size_t i = 0; i < function.call_count; i++) {
		struct dwarf_call *call = &function.call[i];
		struct callee callee = { 0 };

		if (is_tail_call(&call->site))
			callee = callee_of(function.unit->file, &call->site);
		if (callee.name && strstr(callee.name, stub_mark) &&
			!is_kernel_of(callee.name, die))
			note_jumper(function.unit,
				callee.address ? callee.address : key_of(callee.name),
				call->returns);
	}
	dwarf_function_release(&function);
}

int symbol_file_jump_into(struct symbol_file *file, uint64_t offset, struct source_frame *frame,
	int max)
{
	struct dwarf_function *function;
	struct dwarf_unit *unit;
	struct callee stub;
	uint64_t address, found[2];

	if (symbol_file_address(file, offset, &address))
		return 0;
	function = find_function(file, address);
	stub = function ? function_of(file, &function->die) : (struct callee){ 0 };
	if (!stub.name || !stub.address)
		return 0;
	unit = function->unit;
	if (!unit->has_jumpers)
		dwarf_each_function(unit, note_jumpers, unit);
	unit->has_jumpers = 1;
	found[0] = map_get(&unit->jumpers, stub.address, 0);
	found[1] = map_get(&unit->jumpers, key_of(stub.name), 0);
	if (!found[0] == !found[1] || unit->jumper[(found[0] | found[1]) - 1].count != 1)
		return 0;
	return dwarf_frames(file, unit->jumper[(found[0] | found[1]) - 1].at - 1, frame, max);
}
