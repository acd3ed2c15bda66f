/* SPDX-License-Identifier: Apache-2.0 */
#include "findings_internal.h"

#include <fnmatch.h>
#include <string.h>

#include "run_columns.h"
#include "stream_code.h"

/* --- calls of libraries --- */

enum {
	WAITS = 1 << 0,
	MEMORY = 1 << 1,
	CODE = 1 << 2,
	FETCH = 1 << 3,
};

#define CUBLAS_POINTER_MODE \
	"cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE), with the result in device " \
	"memory: in host pointer mode the call waits for it"
#define CUB_STORAGE "allocate CUB's temporary storage once, for the largest size, and keep it"

static const struct library {
	const char *module, *function;
	unsigned families;
	const char *advice;
} libraries[] = {
#define LIBRARY(module, function, families, advice) { module, function, families, advice },
#include "libraries.def"
};

/* What the calls of a family are to a library. */
static const unsigned of_family[FAMILY_COUNT] = {
	[FAMILY_wait] = WAITS,
	[FAMILY_copy] = WAITS,
	[FAMILY_set] = WAITS,
	[FAMILY_allocation] = MEMORY,
	[FAMILY_free] = MEMORY,
	[FAMILY_host_memory] = MEMORY,
	[FAMILY_module] = CODE,
	[FAMILY_code] = CODE,
};

static int is_like(const char *pattern, const char *text)
{
	return *pattern && text && !fnmatch(pattern, text, FNM_EXTMATCH);
}

/* The frame that the program's innermost line called.  Frames of a script have no module. */
static const char frame_sql[] =
	"SELECT ifnull(m.path, f.file), f.function, f.file FROM call c"
	" JOIN frame f ON f.site = c.site"
	" LEFT JOIN module m ON m.id = f.module WHERE c.id = ?1 AND f.depth ="
	" (SELECT min(u.depth) - 1 FROM frame u WHERE u.site = c.site AND u.user)";

/* --- reads of results --- */

#define TORCH FILES_OF_PYTORCH
#define PYG "*-packages/torch_geometric/*"
#define JAX FILES_OF_JAX
#define CUPY FILES_OF_CUPY
#define NUMBA FILES_OF_NUMBA

static const struct read {
	const char *path, *function, *source;
	enum { LATER, GONE } fetch;
	const char *advice;
} reads[] = {
#define READ(path, function, source, fetch, advice) { path, function, source, fetch, advice },
#include "reads.def"
};

enum { READS = sizeof(reads) / sizeof(*reads) };

struct search {
	int is_below[READS]; /* a frame is of the library */
	int has_function[READS];
	int has_source[READS];
};

/* The program's innermost line is the last frame that counts. */
static int see(const struct code_frame *frame, void *data)
{
	struct search *search = data;
	size_t length = 0;
	const char *line = frame->user && frame->source
		? source_line(frame->source, frame->line, &length)
		: NULL;

	for (size_t i = 0; i < READS; i++) {
		int is_below = !frame->user &&
			(is_like(reads[i].path, frame->file) ||
				is_like(reads[i].path, frame->module));

		search->is_below[i] |= is_below;
		search->has_function[i] |= is_below && is_like(reads[i].function, frame->function);
		search->has_source[i] |= line && *reads[i].source &&
			memmem(line, length, reads[i].source, strlen(reads[i].source));
	}
	return frame->user;
}

int advice_find(struct db *db, struct code_frames *frames, int64_t call, int is_read,
	struct advice *advice)
{
	const struct run_call *row = run_call(db->run, call);
	unsigned families = row ? of_family[kind_family((enum call_kind)row->kind)] : 0;
	sqlite3_stmt *q;
	int step;
	struct search search = { 0 };
	int found;

	*advice = (struct advice){ NULL, 0 };
	found = is_read ? code_frames_visit(frames, call, see, &search) : 0;
	for (size_t i = 0; i < READS && found > 0 && !advice->text; i++)
		if (search.is_below[i] && (search.has_function[i] || search.has_source[i]))
			*advice = (struct advice){ reads[i].advice, reads[i].fetch == GONE };
	if (found < 0)
		return -1;
	/* Else what the library offers that the program's line calls. */
	if (!families || advice->text)
		return 0;
	q = db_prepare(db, frame_sql);
	step = !q || db_bind(q, "i", call) ? -1 : db_step(q);
	for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries) && step > 0 && !advice->text;
		i++) {
		const struct library *library = &libraries[i];
		const char *module = db_text(q, 0), *slash = strrchr(module, '/');

		if (families & library->families &&
			!strncmp(slash ? slash + 1 : module, library->module,
				strlen(library->module)) &&
			(!strcmp(library->function, "*") ||
				is_like(library->function, db_text(q, 1)) ||
				is_like(library->function, db_text(q, 2))))
			*advice = (struct advice){ library->advice, !!(library->families & FETCH) };
	}
	sqlite3_finalize(q);
	return step < 0 ? -1 : 0;
}
