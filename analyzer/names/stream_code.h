/* SPDX-License-Identifier: Apache-2.0 */
/* Streams and fences as the program would write them: with its library and its own variables. */
#ifndef CUFENCE_STREAM_CODE_H
#define CUFENCE_STREAM_CODE_H

#include "code_frames.h"
#include "stream_expression.h"

/* Patterns (fnmatch, extended) of the libraries' files. */
#define FILES_OF_PYTORCH "@(*-packages/@(torch|triton)/*|*/libtorch*)"
#define FILES_OF_CUPY "*-packages/cupy*"
#define FILES_OF_NUMBA "*-packages/numba*"
#define FILES_OF_JAX "*-packages/jax*"

/* {later} and {earlier}: expressions of the two streams. */
struct framework {
	const char *name;
	const char *files;    /* pattern */
	const char *order;    /* lets one stream wait for another one */
	const char *wait;     /* lets the host wait for {earlier} */
	const char *current;  /* the stream of a line; NULL: there is none */
	const char *standard; /* the default stream */
	const char *method;   /* that orders streams */
};

/* The library below a call, by its frames; NULL: none of the known ones. */
const struct framework *framework_of_call(struct code_frames *frames, int64_t call);

/* Is it how one of the libraries gets its current or its default stream, rather than a name? */
int framework_gets_stream(const char *expression);

/*
 * The expression of the stream that a call names, of the innermost frame that shows one, as the
 * source has it: for calls in streams other than default streams.  Returns 1, 0: the source does
 * not show it, -1 after a message.
 */
int stream_code(struct code_frames *frames, int64_t call, char text[STREAM_EXPRESSION_SIZE]);

#endif
