/* SPDX-License-Identifier: Apache-2.0 */
#include "resizes.h"

#include <stdio.h>
#include <stdlib.h>

#include "constants.h"
#include "idmap.h"
#include "map.h"

#define NOT_KNOWN (-1)

/* Requirements of a kernel; NOT_KNOWN each. */
struct kernel_needs {
	int64_t local; /* bytes */
	int prints;
};

struct sized_context {
	int64_t local; /* lower bound of the allocated local memory per thread, bytes */
	int has_printed;
	int local_unsure; /* there may be more: not all kernels launched so far are known */
	int print_unsure;
};

struct resizes {
	struct kernel_needs *needs; /* by kernel row */
	size_t count;
	struct idmap contexts; /* struct sized_context */
	struct map launched;   /* context and kernel */
};

static int read_needs(struct resizes *resizes, struct db *db)
{
	sqlite3_stmt *q = db_prepare(db,
		"SELECT k.id, ifnull(k.local_bytes, -1), "
		"ifnull(c.prints, -1) FROM kernel k LEFT JOIN kernel_code c ON c.kernel = k.id "
		"WHERE k.id > 0");
	int rc = -1;

	resizes->count = (size_t)db_int(db, "SELECT ifnull(max(id), 0) + 1 FROM kernel", 1);
	resizes->needs = calloc(resizes->count, sizeof(*resizes->needs));
	if (!resizes->needs)
		fputs("cufence: out of memory\n", stderr);
	while (q && resizes->needs && (rc = db_step(q)) > 0)
		resizes->needs[sqlite3_column_int64(q, 0)] =
			(struct kernel_needs){ sqlite3_column_int64(q, 1),
				sqlite3_column_int(q, 2) };
	sqlite3_finalize(q);
	return rc;
}

struct resizes *resizes_new(struct db *db)
{
	struct resizes *resizes = calloc(1, sizeof(*resizes));

	if (!resizes || !read_needs(resizes, db))
		return resizes;
	resizes_free(resizes);
	return NULL;
}

void resizes_free(struct resizes *resizes)
{
	if (!resizes)
		return;
	idmap_release(&resizes->contexts, free);
	map_release(&resizes->launched);
	free(resizes->needs);
	free(resizes);
}

static struct sized_context *context_of(struct resizes *resizes, int64_t id)
{
	struct sized_context *context = idmap_need(&resizes->contexts, id, sizeof(*context));

	if (context && !context->local)
		context->local = STACK_DEFAULT;
	return context;
}

static struct kernel_needs needs_of(const struct resizes *resizes, const struct walk_call *call)
{
	if (call->kernel <= 0 || (size_t)call->kernel >= resizes->count)
		return (struct kernel_needs){ NOT_KNOWN, NOT_KNOWN };
	return resizes->needs[call->kernel];
}

static enum resize grows(const struct sized_context *context, struct kernel_needs needs)
{
	if (needs.local == NOT_KNOWN)
		return RESIZE_UNKNOWN;
	if (needs.local <= context->local)
		return RESIZE_NO;
	return context->local_unsure ? RESIZE_UNKNOWN : RESIZE_YES;
}

static enum resize prints_first(const struct sized_context *context, struct kernel_needs needs)
{
	if (needs.prints == NOT_KNOWN)
		return context->has_printed ? RESIZE_NO : RESIZE_UNKNOWN;
	if (!needs.prints || context->has_printed)
		return RESIZE_NO;
	return context->print_unsure ? RESIZE_UNKNOWN : RESIZE_YES;
}

static void note_run(struct sized_context *context, struct kernel_needs needs)
{
	if (needs.local > context->local)
		context->local = needs.local;
	context->local_unsure |= needs.local == NOT_KNOWN;
	context->has_printed |= needs.prints > 0;
	context->print_unsure |= needs.prints == NOT_KNOWN;
}

/* Returns 1 for later launches of a kernel in a context, 0 for the first, -1 when out of memory. */
static int ran_before(struct resizes *resizes, int64_t context, int64_t kernel)
{
	uint64_t key = (uint64_t)context << 32 | (uint64_t)kernel;

	if (!kernel || map_get(&resizes->launched, key, 0))
		return !!kernel;
	map_set(&resizes->launched, key, 1);
	return 0;
}

static int add_launch(struct resizes *resizes, const struct walk_call *call, int64_t id,
	enum resize *resize)
{
	struct sized_context *context = context_of(resizes, id);
	struct kernel_needs needs = needs_of(resizes, call);
	int again = ran_before(resizes, id, call->kernel);
	enum resize local, print;

	if (!context || again < 0)
		return -1;
	if (again) {
		*resize = RESIZE_NO;
		return 0;
	}
	local = grows(context, needs);
	print = prints_first(context, needs);
	if (local == RESIZE_YES || print == RESIZE_YES)
		*resize = RESIZE_YES;
	else if (local == RESIZE_NO && print == RESIZE_NO)
		*resize = RESIZE_NO;
	note_run(context, needs);
	return 0;
}

static int runs_kernels(enum call_kind kind)
{
	return kind_family(kind) == FAMILY_launch || kind_family(kind) == FAMILY_graph_launch;
}

int resizes_process_call(struct resizes *resizes, const struct walk_call *call, enum resize *resize)
{
	int64_t id = call->stream_context ? call->stream_context : call->context;
	const struct kernel_needs anything = { NOT_KNOWN, NOT_KNOWN };
	struct sized_context *context;

	*resize = RESIZE_UNKNOWN;
	if (!id || call->result || call->captured)
		return 0;
	if (!runs_kernels(call->kind) && kind_family(call->kind) != FAMILY_limit)
		return 0;
	context = context_of(resizes, id);
	if (!context)
		return -1;
	if (kind_family(call->kind) == FAMILY_limit) {
		if (call->bytes > context->local)
			context->local = call->bytes;
		return 0;
	}
	/* Kernels of a graph are unknown, and so is unrecorded work. */
	if (call->kind != KIND_LAUNCH || call->stretch)
		note_run(context, anything);
	return call->kind == KIND_LAUNCH ? add_launch(resizes, call, id, resize) : 0;
}
