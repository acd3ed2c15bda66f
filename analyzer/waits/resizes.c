/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "bounds.h"
#include "constants.h"
#include "id_map.h"
#include "ids.h"
#include "map.h"
#include "wait.h"

#define NOT_KNOWN (-1) /* of maps: UINT64_MAX */

/* What a kernel needs: local memory per thread, bytes, and the buffer of printf, 0 or 1. */
enum { LOCAL, PRINTS, SHARED };

struct sized_context {
	int64_t has[SHARED]; /* lower bounds of what is allocated */
	int unsure[SHARED];  /* there may be more: not all kernels launched so far are known */
};

int resizes_read(struct resizes *resizes, struct db *db)
{
	return ids_read(&resizes->local, db,
		       "SELECT id, local_bytes FROM kernel WHERE local_bytes NOT NULL", 0) ||
			ids_read(&resizes->prints, db,
				"SELECT kernel, prints FROM kernel_code WHERE prints NOT NULL", 0)
		? -1
		: 0;
}

void resizes_release(struct resizes *resizes)
{
	id_map_release(&resizes->contexts, free);
	map_release(&resizes->launched);
	map_release(&resizes->local);
	map_release(&resizes->prints);
}

/* Notes that a kernel with these needs runs.  Returns whether something grows for it. */
static enum resize grow_for(struct sized_context *context, const int64_t needs[SHARED])
{
	enum resize all = RESIZE_NO;

	for (int i = 0; i < SHARED; i++) {
		int64_t need = needs[i], has = context->has[i];
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
	static const int64_t unknown[SHARED] = { NOT_KNOWN, NOT_KNOWN };
	int64_t id = walk_context(call), needs[SHARED];
	enum kind_family family = kind_family(call->kind);
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
		grow_for(context, unknown);
	if (call->kind != KIND_LAUNCH)
		return RESIZE_UNKNOWN;
	key = (uint64_t)id << 32 | (uint64_t)call->kernel;
	if (call->kernel && map_get(&resizes->launched, key, 0))
		return RESIZE_NO;
	if (call->kernel)
		map_set(&resizes->launched, key, 1);
	needs[LOCAL] = (int64_t)map_get(&resizes->local, (uint64_t)call->kernel, UINT64_MAX);
	needs[PRINTS] = (int64_t)map_get(&resizes->prints, (uint64_t)call->kernel, UINT64_MAX);
	return grow_for(context, needs);
}
