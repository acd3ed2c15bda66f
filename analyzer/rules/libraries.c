/* SPDX-License-Identifier: Apache-2.0 */
#include "libraries.h"

#include <fnmatch.h>
#include <string.h>

#include "run_columns.h"

enum {
	WAITS = 1 << 0,
	MEMORY = 1 << 1,
	CODE = 1 << 2,
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

static unsigned family_of(enum call_kind kind)
{
	switch (kind_family(kind)) {
	case FAMILY_wait:
	case FAMILY_copy:
	case FAMILY_set:
		return WAITS;
	case FAMILY_allocation:
	case FAMILY_free:
	case FAMILY_host_memory:
		return MEMORY;
	case FAMILY_module:
	case FAMILY_code:
		return CODE;
	default:
		return 0;
	}
}

static const char *base_of(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path ? path : "";
}

static int matches_text(const struct library *library, const char *text)
{
	return text && !fnmatch(library->function, text, 0);
}

static int matches(const struct library *library, const char *module, const char *function,
	const char *file)
{
	if (strncmp(base_of(module), library->module, strlen(library->module)))
		return 0;
	return !strcmp(library->function, "*") || matches_text(library, function) ||
		matches_text(library, file);
}

/* The frame that the program's innermost line called. */
static const char frame_sql[] =
	"SELECT m.path, f.function, f.file FROM call c JOIN frame f ON f.site = c.site"
	" LEFT JOIN module m ON m.id = f.module WHERE c.id = ?1 AND f.depth ="
	" (SELECT min(u.depth) - 1 FROM frame u WHERE u.site = c.site AND u.user)";

int library_advice(struct db *db, int64_t call, const char **advice)
{
	const struct run_call *row = run_call(db->run, call);
	unsigned families = row ? family_of(row->kind) : 0;
	sqlite3_stmt *q = families ? db_prepare(db, frame_sql) : NULL;
	int step = !families ? 0 : !q || db_bind(q, "i", call) ? -1 : db_step(q);

	*advice = NULL;
	for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries) && step > 0 && !*advice; i++)
		if (families & libraries[i].families &&
			matches(&libraries[i], db_text(q, 0), db_text(q, 1), db_text(q, 2)))
			*advice = libraries[i].advice;
	sqlite3_finalize(q);
	return step < 0 ? -1 : 0;
}
