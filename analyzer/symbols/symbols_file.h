/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One executable or library, and what its symbol table and DWARF say about offsets in it.
 */
#ifndef CUFENCE_SYMBOLS_FILE_H
#define CUFENCE_SYMBOLS_FILE_H

#include <stdint.h>

struct symbol_file;
struct debug_link;

/* One function at an address: the code's own, or one inlined there.  Strings are the file's. */
struct source_frame {
	const char *symbol; /* linkage name; NULL: not known */
	const char *name;   /* as in the source, without parameters; NULL: only symbol */
	const char *file;   /* NULL: no line information */
	int line;
	int toolkit; /* 1: file is a header of the CUDA toolkit */
	int loop;    /* line of the loop statement around it, of scripts only; 0: none is known */
};

/* A function that is on no stack, as it left by a jump. */
struct tail_frame {
	struct source_frame source;
	const char *callee; /* the symbol of the compiled function that it is part of */
};

/*
 * NULL if the file cannot be read or has another build id (hexadecimal; NULL: none was recorded).
 */
struct symbol_file *symbol_file_open(const char *path, const char *build_id);

/* Returns where its debug information was looked for. */
const struct debug_link *symbol_file_debug_link(const struct symbol_file *file);

/* Up to max frames at an offset of the file, innermost first; 0 if nothing is known. */
int symbol_file_lookup(struct symbol_file *file, uint64_t offset, struct source_frame *frame,
	int max);

/*
 * Up to max functions, innermost first, that were called before an offset (as for
 * symbol_file_lookup()) and may have left by a tail call.  If the next inner frame on the stack was
 * called by one of them, that one and those before it did not.
 */
int symbol_file_tail_calls(struct symbol_file *file, uint64_t offset, struct tail_frame *frame,
	int max);

/*
 * The host stub that an offset lies in (CUDA's function that launches one kernel) has been entered
 * by a jump: the frames of the function that jumped there, 0 if there are several.
 */
int symbol_file_jump_into(struct symbol_file *file, uint64_t offset, struct source_frame *frame,
	int max);

/* 1 unless it is known that the call before an offset does not lead straight into a host stub. */
int symbol_file_calls_stub(struct symbol_file *file, uint64_t offset);

void symbol_file_close(struct symbol_file *file);

#endif
