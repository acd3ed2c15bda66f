/* SPDX-License-Identifier: Apache-2.0 */
/* The frames of a call as the program's text has them, innermost first. */
#ifndef CUFENCE_CODE_FRAMES_H
#define CUFENCE_CODE_FRAMES_H

#include <stdint.h>

#include "db.h"
#include "source_line.h"

#define CODE_NAME_SIZE 128

struct code_frame {
	const char *function, *file, *module; /* "": not known; module: the file of compiled code */
	int64_t line;
	int script;                  /* of an interpreter */
	int user;                    /* the program's own */
	const struct source *source; /* NULL: not readable or newer than the run; of the program's
	                              * own and of scripts' frames */
};

struct code_frames;

/* NULL after a message. */
struct code_frames *code_frames_open(struct db *db);
void code_frames_close(struct code_frames *frames);

/* What the text of a line that makes a call names; "": nothing. */
struct code_called {
	char call[CODE_NAME_SIZE];   /* the function of CUDA */
	char kernel[CODE_NAME_SIZE]; /* without namespaces and template arguments */
};

/* Returns 0, or -1 after a message. */
int code_frames_called(struct code_frames *frames, int64_t call, struct code_called *called);

/*
 * Calls see with each frame until it returns 1, which is returned then; else 0, or -1 after a
 * message.
 */
int code_frames_visit(struct code_frames *frames, int64_t call,
	int (*see)(const struct code_frame *frame, void *data), void *data);

#endif
