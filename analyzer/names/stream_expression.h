/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a line of source names the stream of the operation that it submits: a scan for a few known
 * forms, no parser.  An expression is only good for a text, at the line or where it is visible.
 */
#ifndef CUFENCE_STREAM_EXPRESSION_H
#define CUFENCE_STREAM_EXPRESSION_H

#include <stddef.h>
#include <stdint.h>

#include "code_frames.h"

#define STREAM_EXPRESSION_SIZE 64

/*
 * CUDA C++: the fourth argument of KERNEL<<<>>>, or the last one of that call if it is named
 * ...Async, cudaGraphLaunch or cudaLaunchKernel, in the statements that begin in the line.  For an
 * operation in a stream that is no default stream: otherwise the last argument may be another one.
 * Returns 1, or 0: not found, or several that differ.
 */
int stream_expression_compiled(const struct source *source, int64_t line,
	const struct code_called *called, char text[STREAM_EXPRESSION_SIZE]);

/*
 * Python: the argument stream= in the line, the third one of kernel[grid, block, stream](...), or
 * that of the innermost block "with torch.cuda.stream(...):", "with stream:" (CuPy) around the line
 * in its function.  Returns as above.
 */
int stream_expression_script(const struct source *source, int64_t line,
	char text[STREAM_EXPRESSION_SIZE]);

#endif
