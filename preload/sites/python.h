/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames of CPython on the calling thread's stack.  They are read as they lie in memory: without
 * the GIL, because those who call CUDA release it, and without any function of Python's that
 * needs it.  That is safe because the frames are those of the calling thread, which is in here:
 * nobody else pushes or frees them.
 *
 * How the structures lie is known by version (python_layout.c).  It is checked, through reads
 * that cannot fault, on the first frame there is; anything unexpected means no frames at all.  The
 * property "python.frames" in the trace is the version, or "none: " and why.
 */
#ifndef CUFENCE_PYTHON_H
#define CUFENCE_PYTHON_H

#include <stdint.h>

#include "shim.h"

/* Where members lie, in bytes.  NONE: there is no such member. */
#define PYTHON_NONE 0xffff
struct python_layout {
	uint16_t version;      /* major << 8 | minor */
	uint16_t thread_frame; /* of the thread's state: its frame, or what holds it: */
	uint16_t holder_frame; /* of that (3.11, 3.12) */
	uint16_t previous, code, instruction; /* of a frame */
	uint16_t owner;                       /* of a frame: who it belongs to, from 3.11 */
	uint16_t entry_owner;                 /* that of frames that stand for C code, from 3.12 */
	uint16_t instruction_size; /* up to 3.10 instruction is an int32_t count of these */
	uint16_t name, file, table, first_line; /* of a code object */
	uint16_t number;           /* of a code object: co_version, 0: none, from 3.12 */
	uint16_t traceable, bytes; /* of a code object: the first instruction that is the */
				   /* program's, and the instructions themselves, from 3.11 */
	uint16_t ascii, compact;   /* of strings: where their characters start */
};

/* The layout of a version, NULL: not known. */
const struct python_layout *python_layout_find(unsigned version);

/* From 3.13 the interpreter says it itself: 0, or why it is not to be read. */
const char *python_layout_read(const void *runtime, struct python_layout *layout);

/* PyObject, PyVarObject and PyBytesObject are alike in all versions. */
#define OBJECT_TYPE 8
#define OBJECT_SIZE 16
#define BYTES_DATA 32

/* What of the interpreter the rest needs. */
struct python {
	struct python_layout layout;
	const void *code_type, *string_type, *bytes_type;
};

/* A code object's parts. */
struct python_code {
	uintptr_t address;
	uintptr_t name, file, table; /* objects */
	uint32_t first_line;
};

/*
 * Id of a code object, whose record is written at first sight; 0: it is not as it should be, or
 * there is no room.  *own: its file is one of the program's.
 */
uint32_t python_code_read(struct thread_state *thread, const struct python *python,
	const struct python_code *code, int *own);
void python_code_reset(void);

/* 1 if these are what they should be, by reads that cannot fault. */
int python_code_check(const struct python *python, const struct python_code *code);
/* Reads a word, which need not be there: 0, or -1. */
int python_peek(uintptr_t address, uintptr_t *word);

/* Looks for an interpreter; once, when recording starts. */
void python_init(struct thread_state *thread);

/* Forgets all code objects: a new process writes them anew. */
void python_reset(void);

/*
 * SCRIPT_FRAME()s of the calling thread, innermost first: the innermost SCRIPT_FRAMES_ANY, then
 * those in files of the program's own.  0: there are none.
 */
#define SCRIPT_FRAMES_ANY 4
unsigned python_frames(struct thread_state *thread, uint64_t frame[SITE_SCRIPT_FRAMES]);

/* 1: an address in the interpreter's own code.  Takes no lock. */
int python_holds(const void *address);

#endif
