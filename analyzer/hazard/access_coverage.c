/* SPDX-License-Identifier: Apache-2.0 */
#include "access_coverage.h"

#include <stdio.h>
#include <stdlib.h>

#include "memory.h"
#include "rows.h"
#include "run_columns.h"

struct kernel_use {
	int64_t launches, complete;
};

/* A successful launch, or a kernel node of a launched graph. */
static int is_launch(const struct run *run, const struct run_call *call,
	const struct run_ended *launch)
{
	const struct run_payload *payload = run_payload(run, call);

	return payload->kernel && !payload->result &&
		(launch || kind_family(call->kind) == FAMILY_launch);
}

static int has_known_buffers(struct run_cursor *extents, uint32_t call)
{
	const struct run_extent *extent = run_cursor_at(extents, call);
	int known = extent != NULL;

	for (; (extent = run_cursor_at(extents, call)); extents->at++)
		known &= extent->allocation != 0;
	return known;
}

int access_coverage_count(struct db *db)
{
	const struct run *run = db->run;
	struct kernel_use *use = xcalloc(run->kernel_count + 1, sizeof(*use));
	int rc = 0;

	struct run_cursor launches = { .rows = &run->launches };
	struct run_cursor extents = { .rows = &run->extents };

	for (uint32_t id = 1; id < run_call_end(run); id++) {
		const struct run_call *call = run_call(run, id);
		const struct run_ended *launch;
		const struct run_shape *shape;
		uint32_t kernel;

		launch = run_cursor_at(&launches, id);
		if (!call || !is_launch(run, call, launch))
			continue;
		kernel = run_payload(run, call)->kernel;
		if (kernel >= run->kernel_count)
			continue;
		shape = launch ? run_shape(run, launch->what) : NULL;
		use[kernel].launches++;
		/* The buffers of collectives are all that NCCL's kernel accesses. */
		use[kernel].complete += has_known_buffers(&extents, id) ||
			(shape ? shape->complete != 0 : run_kernel(run, kernel)->complete != 0);
	}
	for (size_t i = 1; i < run->kernel_count && !rc; i++)
		if (use[i].launches)
			rc = db_add(db, ROW(kernel_use, i, use[i].launches, use[i].complete));
	free(use);
	return rc;
}
