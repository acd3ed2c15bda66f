/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPython frames on the calling thread's stack.  They are read directly from memory, without the
 * GIL, which callers of CUDA release, and without Python functions that need it.  This is safe
 * because the frames belong to the calling thread: no other thread pushes or frees them.  Those of
 * the first thread are also read while it sleeps.
 *
 * The layout of structures is known by version (python_layout.c) and verified on the first frame,
 * using reads that cannot fault; on any mismatch no frames are recorded.  The property
 * "python.frames" in the trace is the version, or "none: " and the reason.
 */
#ifndef CUFENCE_PYTHON_H
#define CUFENCE_PYTHON_H

#include <stdint.h>

#include "shim.h"

/* Offsets of members in bytes.  NONE: no such member. */
#define PYTHON_NONE 0xffff
struct python_layout {
	uint16_t version;                     /* major << 8 | minor */
	uint16_t thread_frame;                /* of the thread state: its frame or frame holder */
	uint16_t holder_frame;                /* of the frame holder (3.11, 3.12) */
	uint16_t previous, code, instruction; /* of a frame */
	uint16_t owner;                       /* of a frame: its kind of owner, from 3.11 */
	uint16_t entry_owner;                 /* owner of frames that represent C code, from 3.12 */
	uint16_t instruction_size; /* up to 3.10 instruction is an int32_t count in these units */
	uint16_t name, file, table, first_line; /* of a code object */
	uint16_t number;           /* of a code object: co_version, 0: none, from 3.12 */
	uint16_t traceable, bytes; /* of a code object: the first instruction that is the */
				   /* program's, and the instructions themselves, from 3.11 */
	uint16_t ascii, compact;   /* of strings: offset of their characters */
};

/* Returns the layout of a version, NULL: unknown. */
const struct python_layout *python_layout_find(unsigned version);

/* From 3.13 the interpreter describes itself.  Returns 0, or why it cannot be read. */
const char *python_layout_read(const void *runtime, struct python_layout *layout);

/* PyObject, PyVarObject and PyBytesObject are the same in all versions. */
#define OBJECT_TYPE 8
#define OBJECT_SIZE 16
#define BYTES_DATA 32

/* The interpreter's types and layout. */
struct python {
	struct python_layout layout;
	const void *code_type, *string_type, *bytes_type;
};

/* Members of a code object. */
struct python_code {
	uintptr_t address;
	uintptr_t name, file, table; /* objects */
	uint32_t first_line;
};

/*
 * Returns the id of a code object, which is recorded at first use; 0: it is invalid, or the table
 * is full. *own: its file is one of the program's.
 */
uint32_t python_code_read(struct thread_state *thread, const struct python *python,
	const struct python_code *code, int *own);
void python_code_reset(void);

/* Returns 1 if the members are valid, using reads that cannot fault. */
int python_code_check(const struct python *python, const struct python_code *code);
/* Reads a word that may be unmapped.  Returns 0, or -1. */
int python_peek(uintptr_t address, uintptr_t *word);

/* Looks for an interpreter; once, when recording starts. */
void python_init(struct thread_state *thread);

/* Drops all code objects: a new process records them again. */
void python_reset(void);

/*
 * Returns SCRIPT_FRAME()s of the calling thread, innermost first: the innermost SCRIPT_FRAMES_ANY,
 * then only those in the program's own files, of which there are at most SITE_OWN_FRAMES.  A module
 * of a package that calls others takes three.  0: none.
 */
#define SCRIPT_FRAMES_ANY 12
unsigned python_frames(struct thread_state *thread, uint64_t frame[SITE_SCRIPT_FRAMES]);

/* The calling thread is the one of python_frames_of_first(), if it is the process's first. */
void python_note_first(struct thread_state *thread);

/*
 * The same of the process's first thread, which is asleep, as seen from another one.  Should it
 * wake meanwhile, it may free frames, which the kernel copies for that reason; code objects live
 * longer, and are checked before they are read.
 */
unsigned python_frames_of_first(struct thread_state *thread, uint64_t frame[SITE_SCRIPT_FRAMES]);

/* 1: the address is in the interpreter's code.  Takes no lock. */
int python_holds(const void *address);

#endif
