/* SPDX-License-Identifier: Apache-2.0 */
#include "reads.h"

#include <fnmatch.h>
#include <string.h>

#include "stream_code.h"

#define TORCH FILES_OF_PYTORCH
#define PYG "*-packages/torch_geometric/*"
#define JAX FILES_OF_JAX
#define CUPY FILES_OF_CUPY
#define NUMBA FILES_OF_NUMBA

static const struct read {
	const char *path, *function, *source, *advice;
} reads[] = {
#define READ(path, function, source, advice) { path, function, source, advice },
#include "reads.def"
};

enum { READS = sizeof(reads) / sizeof(*reads) };

struct search {
	int is_below[READS]; /* a frame is of the library */
	int has_function[READS];
	int has_source[READS];
};

static int is_like(const char *pattern, const char *text)
{
	return *pattern && !fnmatch(pattern, text, FNM_EXTMATCH);
}

static int contains(const struct code_frame *frame, const char *text)
{
	size_t length;
	const char *line = frame->source ? source_line(frame->source, frame->line, &length) : NULL;

	return line && *text && memmem(line, length, text, strlen(text));
}

/* The program's innermost line is the last frame that counts. */
static int see(const struct code_frame *frame, void *data)
{
	struct search *search = data;

	for (size_t i = 0; i < READS; i++) {
		int is_below = !frame->user &&
			(is_like(reads[i].path, frame->file) ||
				is_like(reads[i].path, frame->module));

		search->is_below[i] |= is_below;
		search->has_function[i] |= is_below && is_like(reads[i].function, frame->function);
		search->has_source[i] |= frame->user && contains(frame, reads[i].source);
	}
	return frame->user;
}

int read_advice(struct code_frames *frames, int64_t call, const char **advice)
{
	struct search search = { 0 };
	int found = code_frames_visit(frames, call, see, &search);

	*advice = NULL;
	for (size_t i = 0; i < READS && found > 0 && !*advice; i++)
		if (search.is_below[i] && (search.has_function[i] || search.has_source[i]))
			*advice = reads[i].advice;
	return found < 0 ? -1 : 0;
}
