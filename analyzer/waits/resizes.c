/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "bounds.h"
#include "constants.h"
#include "id_map.h"
#include "map.h"
#include "memory.h"
#include "wait.h"

#define NOT_KNOWN (-1)

/* What a kernel needs: local memory per thread, bytes, and the buffer of printf, 0 or 1. */
enum { LOCAL, PRINTS, SHARED };

struct kernel_needs {
	int64_t of[SHARED]; /* NOT_KNOWN each */
};

struct sized_context {
	int64_t has[SHARED]; /* lower bounds of what is allocated */
	int unsure[SHARED];  /* there may be more: not all kernels launched so far are known */
};

int resizes_read(struct resizes *resizes, struct db *db)
{
	sqlite3_stmt *q = db_prepare(db,
		"SELECT k.id, ifnull(k.local_bytes, -1), "
		"ifnull(c.prints, -1) FROM kernel k LEFT JOIN kernel_code c ON c.kernel = k.id "
		"WHERE k.id > 0");
	int step = -1;

	resizes->count = (size_t)db_int(db, "SELECT ifnull(max(id), 0) + 1 FROM kernel", 1);
	resizes->needs = xcalloc(resizes->count, sizeof(*resizes->needs));
	while (q && (step = db_step(q)) > 0)
		resizes->needs[sqlite3_column_int64(q, 0)] = (struct kernel_needs){
			{ sqlite3_column_int64(q, 1), sqlite3_column_int64(q, 2) }
		};
	sqlite3_finalize(q);
	return step;
}

void resizes_release(struct resizes *resizes)
{
	id_map_release(&resizes->contexts, free);
	map_release(&resizes->launched);
	free(resizes->needs);
}

/* Notes that a kernel with these needs runs.  Returns whether something grows for it. */
static enum resize grow_for(struct sized_context *context, const struct kernel_needs *needs)
{
	enum resize all = RESIZE_NO;

	for (int i = 0; i < SHARED; i++) {
		int64_t need = needs->of[i], has = context->has[i];
		enum resize one = RESIZE_YES;

		/* Nothing needs more than one buffer of printf. */
		if (need == NOT_KNOWN ? i == PRINTS && has : need <= has)
			one = RESIZE_NO;
		else if (need == NOT_KNOWN || context->unsure[i])
			one = RESIZE_UNKNOWN;
		if (one == RESIZE_YES || all == RESIZE_NO)
			all = one;
		context->has[i] = at_least(has, need);
		context->unsure[i] |= need == NOT_KNOWN;
	}
	return all;
}

enum resize resizes_process_call(struct resizes *resizes, const struct walk_call *call)
{
	int64_t id = call->stream_context ? call->stream_context : call->context;
	enum kind_family family = kind_family(call->kind);
	static const struct kernel_needs unknown = { { NOT_KNOWN, NOT_KNOWN } };
	struct sized_context *context;
	uint64_t key;

	if (!id || call->result || call->captured ||
		(family != FAMILY_launch && family != FAMILY_graph_launch &&
			family != FAMILY_limit))
		return RESIZE_UNKNOWN;
	context = id_map_need(&resizes->contexts, id, sizeof(*context));
	context->has[LOCAL] = at_least(context->has[LOCAL], STACK_DEFAULT);
	if (family == FAMILY_limit) {
		context->has[LOCAL] = at_least(context->has[LOCAL], call->bytes);
		return RESIZE_UNKNOWN;
	}
	/* Kernels of a graph are unknown, and so is unrecorded work. */
	if (call->kind != KIND_LAUNCH || call->stretch)
		grow_for(context, &unknown);
	if (call->kind != KIND_LAUNCH)
		return RESIZE_UNKNOWN;
	key = (uint64_t)id << 32 | (uint64_t)call->kernel;
	if (call->kernel && map_get(&resizes->launched, key, 0))
		return RESIZE_NO;
	if (call->kernel)
		map_set(&resizes->launched, key, 1);
	return grow_for(context,
		call->kernel > 0 && (size_t)call->kernel < resizes->count
			? &resizes->needs[call->kernel]
			: &unknown);
}
