/* SPDX-License-Identifier: Apache-2.0 */
#include "resizes.h"

#include <stdlib.h>

#include "constants.h"
#include "id_map.h"
#include "map.h"
#include "memory.h"

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
	struct id_map contexts; /* struct sized_context */
	struct map launched;    /* context and kernel */
};

struct resizes *resizes_new(struct db *db)
{
	struct resizes *resizes = xcalloc(1, sizeof(*resizes));
	sqlite3_stmt *q = db_prepare(db,
		"SELECT k.id, ifnull(k.local_bytes, -1), "
		"ifnull(c.prints, -1) FROM kernel k LEFT JOIN kernel_code c ON c.kernel = k.id "
		"WHERE k.id > 0");
	int step = -1;

	resizes->count = (size_t)db_int(db, "SELECT ifnull(max(id), 0) + 1 FROM kernel", 1);
	resizes->needs = xcalloc(resizes->count, sizeof(*resizes->needs));
	while (q && (step = db_step(q)) > 0)
		resizes->needs[sqlite3_column_int64(q, 0)] =
			(struct kernel_needs){ sqlite3_column_int64(q, 1),
				sqlite3_column_int(q, 2) };
	sqlite3_finalize(q);
	if (!step)
		return resizes;
	resizes_free(resizes);
	return NULL;
}

void resizes_free(struct resizes *resizes)
{
	if (!resizes)
		return;
	id_map_release(&resizes->contexts, free);
	map_release(&resizes->launched);
	free(resizes->needs);
	free(resizes);
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

static enum resize add_launch(struct resizes *resizes, const struct walk_call *call,
	int64_t context_id, struct sized_context *context)
{
	uint64_t key = (uint64_t)context_id << 32 | (uint64_t)call->kernel;
	struct kernel_needs needs = { NOT_KNOWN, NOT_KNOWN };
	enum resize local, print;

	if (call->kernel && map_get(&resizes->launched, key, 0))
		return RESIZE_NO;
	if (call->kernel)
		map_set(&resizes->launched, key, 1);
	if (call->kernel > 0 && (size_t)call->kernel < resizes->count)
		needs = resizes->needs[call->kernel];
	local = grows(context, needs);
	print = prints_first(context, needs);
	note_run(context, needs);
	if (local == RESIZE_YES || print == RESIZE_YES)
		return RESIZE_YES;
	return local == RESIZE_NO && print == RESIZE_NO ? RESIZE_NO : RESIZE_UNKNOWN;
}

enum resize resizes_process_call(struct resizes *resizes, const struct walk_call *call)
{
	int64_t id = call->stream_context ? call->stream_context : call->context;
	enum kind_family family = kind_family(call->kind);
	struct sized_context *context;

	if (!id || call->result || call->captured ||
		(family != FAMILY_launch && family != FAMILY_graph_launch &&
			family != FAMILY_limit))
		return RESIZE_UNKNOWN;
	context = id_map_need(&resizes->contexts, id, sizeof(*context));
	if (!context->local)
		context->local = STACK_DEFAULT;
	if (family == FAMILY_limit) {
		if (call->bytes > context->local)
			context->local = call->bytes;
		return RESIZE_UNKNOWN;
	}
	/* Kernels of a graph are unknown, and so is unrecorded work. */
	if (call->kind != KIND_LAUNCH || call->stretch)
		note_run(context, (struct kernel_needs){ NOT_KNOWN, NOT_KNOWN });
	return call->kind == KIND_LAUNCH ? add_launch(resizes, call, id, context) : RESIZE_UNKNOWN;
}
