/* SPDX-License-Identifier: Apache-2.0 */
/* What the files that read DWARF share (symbols_file.c, symbols_tail.c). */
#ifndef CUFENCE_SYMBOLS_DWARF_H
#define CUFENCE_SYMBOLS_DWARF_H

#include <elfutils/libdwfl.h>

#include "symbols_file.h"

struct symbol_file {
	Dwfl *dwfl;
	Dwfl_Module *module;
};

/* The unit an address belongs to, NULL: none; bias is what its addresses lack. */
Dwarf_Die *dwarf_unit_of(struct symbol_file *file, Dwarf_Addr address, Dwarf_Addr *bias);

/* symbol_file_lookup(), by libdwfl's address. */
int dwarf_frames(struct symbol_file *file, Dwarf_Addr address, struct source_frame *frame,
	int max);

/* The compiled function around an address, less the unit's bias: 0, or -1 if there is none. */
int dwarf_function_at(Dwarf_Die *unit, Dwarf_Addr address, Dwarf_Die *function);

/* The mangled name, NULL where the source's name is all there is. */
const char *dwarf_linkage_name(Dwarf_Die *die);

/* From an offset in the file to libdwfl's address: 0, or -1 if nothing is loaded there. */
int dwarf_address_of(struct symbol_file *file, uint64_t offset, Dwarf_Addr *address);

#endif
