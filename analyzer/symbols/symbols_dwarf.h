/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Types shared by the files that read DWARF (symbols_file.c, symbols_unit.c, symbols_source.c,
 * symbols_tail.c).  A unit's
 * functions, and a function's scopes and calls, are read once and kept in order of their
 * addresses: a program may have thousands of places in one of them.
 */
#ifndef CUFENCE_SYMBOLS_DWARF_H
#define CUFENCE_SYMBOLS_DWARF_H

#include <elfutils/libdw.h>

#include "intervals.h"
#include "map.h"
#include "symbols_file.h"
#include "symbols_open.h"

/* A lexical block or inlined function in a compiled one. */
struct dwarf_scope {
	Dwarf_Die die;
	int outer; /* index of the one around it, -1: the function */
};

struct dwarf_call {
	uint64_t returns; /* after the call instruction */
	Dwarf_Die site;
};

/* A call's target. */
struct callee {
	const char *name; /* its symbol, NULL: called by address */
	uint64_t address; /* 0: in another unit */
};

/* How a function leaves by a jump; count 1: there is one such place for that kind of callee. */
struct jump {
	struct callee callee;
	uint64_t at; /* after the jump */
	int into_cuda, count;
};

/* A compiled function. */
struct dwarf_function {
	struct dwarf_unit *unit;
	Dwarf_Die die;
	struct dwarf_scope *scope;
	size_t scope_count;
	struct intervals spans;  /* of scopes */
	struct dwarf_call *call; /* by address */
	size_t call_count;
	struct jump jump;
	struct map launch_lines; /* those that configure a launch */
	int has_scopes, has_jump, has_launch_lines;
};

struct function_table {
	struct dwarf_function *function;
	size_t count;
	struct intervals spans;
	int is_read;
};

/* A place that jumps into a host stub. */
struct jumper {
	uint64_t at;    /* after the jump */
	uint32_t count; /* of such places */
};

struct dwarf_unit {
	struct symbol_file *file;
	Dwarf_Die die;
	/* Functions in scopes that are no functions; all, only for where those are none. */
	struct function_table functions[2];
	struct map closures;   /* offset of a lambda's operator() -> its name */
	const char *toolkit;   /* folder of the CUDA toolkit's headers */
	size_t toolkit_length; /* 0: the unit has none of them */
	int has_closures, has_toolkit;
	struct map jumpers; /* address or name of a stub -> index + 1 */
	struct jumper *jumper;
	size_t jumper_count;
	int has_jumpers;
};

struct symbol {
	uint64_t address, end;
	uint32_t name;
	uint8_t rank;  /* of several at one place the highest counts */
	uint8_t sized; /* 0: end is that of the section */
};

struct symbol_file {
	struct elf_file main, debug, shared;
	struct debug_link link;
	Dwarf *dwarf, *shared_dwarf; /* NULL: none */
	struct map units;            /* offset of a unit's DIE -> index + 1 */
	struct dwarf_unit **unit;
	size_t unit_count;
	struct intervals unit_spans; /* of units that .debug_aranges leaves out, by number */
	Dwarf_Off *unit_offset;      /* by that number */
	size_t unit_offset_count;
	struct symbol *symbol;
	size_t symbol_count, symbol_names;
	Elf *symbol_elf; /* whose section symbol_names has the names */
	struct intervals symbol_spans;
	struct map symbol_addresses; /* hash of the name -> address */
	int has_unit_spans, has_symbols, has_symbol_addresses;
};

/* The unit an address belongs to, NULL: none. */
struct dwarf_unit *dwarf_unit_of(struct symbol_file *file, uint64_t address);

/* The compiled function around an address, NULL: none. */
struct dwarf_function *dwarf_function_at(struct dwarf_unit *unit, uint64_t address);

/* Its scopes and calls, which its table or dwarf_function_release() frees. */
void dwarf_read_scopes(struct dwarf_function *function);
void dwarf_function_release(struct dwarf_function *function);

/* The call that returns to an address, NULL: not known. */
Dwarf_Die *dwarf_call_before(struct dwarf_function *function, uint64_t address);

/* Calls visit for the functions of a unit that lie in no function. */
void dwarf_each_function(struct dwarf_unit *unit, void (*visit)(Dwarf_Die *die, void *argument),
	void *argument);

/* A lambda by the function that it was written in, "main::{lambda}"; NULL: it is none. */
const char *dwarf_closure_name(struct dwarf_unit *unit, Dwarf_Die *function);

/* Whether a file is a header of the CUDA toolkit that the unit was compiled with. */
int dwarf_is_toolkit(struct dwarf_unit *unit, const char *file);

void dwarf_units_release(struct symbol_file *file);

/* symbol_file_lookup(), by the file's address. */
int dwarf_frames(struct symbol_file *file, uint64_t address, struct source_frame *frame, int max);

/* The line of an address, 0: not known; name: of the file. */
int dwarf_line_of(struct dwarf_unit *unit, uint64_t address, const char **name);

/* The mangled name, NULL where the source's name is all there is. */
const char *dwarf_linkage_name(Dwarf_Die *die);

/* From an offset in the file to an address: 0, or -1 if nothing is loaded there. */
int symbol_file_address(struct symbol_file *file, uint64_t offset, uint64_t *address);

/* The symbol around an address, NULL: none.  And the address of a function, 0: not known. */
const char *symbol_table_name(struct symbol_file *file, uint64_t address);
uint64_t symbol_table_address(struct symbol_file *file, const char *name);

#endif
