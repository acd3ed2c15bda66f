/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The address space of one traced process: the mapped files, and names for an
 * address, from the trace itself or from that file.
 */
#ifndef CUFENCE_SYMBOLS_SPACE_H
#define CUFENCE_SYMBOLS_SPACE_H

#include <stddef.h>

#include "map.h"
#include "symbols_answer.h"

struct mapping {
	int64_t id;              /* the caller's */
	uint64_t start, end;     /* addresses */
	uint64_t file_offset;    /* of start */
	char *path, *build_id;   /* build_id NULL: not recorded */
	int system;              /* CUDA's or the system's: not opened unless asks_system, */
				 /* or if it is a library whose entry points say what to change */
	struct known_file *file; /* NULL: not asked for yet, or not believed */
	int is_judged;           /* file is what it stays */
};

struct recorded_frame {
	uint64_t address;
	char *function, *file;
	int line;
};

/* Zero-initialized but for files is empty. */
struct symbol_space {
	struct known_files *files; /* the caller's, and kept by it; of several processes */
	int64_t until;             /* ns since 1970: when recording ended, 0: not known */
	int asks_system;           /* 1: the system's files are opened, too, but CUDA's runtimes */
	struct mapping *mapping;
	size_t mapping_count;
	struct recorded_frame *recorded;
	size_t recorded_count;
	struct map recorded_first; /* address -> index + 1 */
};

/* Copies path and build_id; a later mapping hides earlier ones. */
void symbol_space_map(struct symbol_space *space, const struct mapping *mapping);

/* The next frame of an address, innermost first, all of one address in a row. */
void symbol_space_record(struct symbol_space *space, uint64_t address,
	const struct source_frame *frame);

/* The mapping a return address points into, or NULL. */
const struct mapping *symbol_space_find(const struct symbol_space *space, uint64_t address);

/* The offset of an address in its file. */
uint64_t mapping_offset(const struct mapping *mapping, uint64_t address);

/*
 * The functions at the call before a return address, innermost first: their number, 0 if nothing
 * is known.  Strings live as long as the space.
 */
int symbol_space_lookup(struct symbol_space *space, uint64_t address, struct source_frame *frame,
	int max);

/* The functions that left by a jump (symbols_file.h): the stack goes on with inner. */
int symbol_space_tail_calls(struct symbol_space *space, uint64_t address, const char *inner,
	struct source_frame *frame, int max);

/*
 * The function that left by a jump into the host stub that contains inner, if address does not call
 * the stub itself: its frames, 0 if there is none or it is unknown.
 */
int symbol_space_jump_into(struct symbol_space *space, uint64_t inner, uint64_t address,
	struct source_frame *frame, int max);

void symbol_space_release(struct symbol_space *space);

#endif
