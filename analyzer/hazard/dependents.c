/* SPDX-License-Identifier: Apache-2.0 */
#include "dependents.h"

#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "record.h"

static const struct run_kernel *kernel_of(const struct run *run, int64_t id)
{
	const struct run_call *call = run_call(run, (uint32_t)id);
	uint32_t kernel = call ? run_payload(run, call)->kernel : 0;

	return kernel && kernel < run->kernel_count ? run_kernel(run, kernel) : NULL;
}

int dependents_triggers(const struct run *run, int64_t call)
{
	const struct run_kernel *kernel = kernel_of(run, call);

	return kernel && kernel->triggers == CODE_YES;
}

int dependents_ignores(const struct run *run, int64_t call)
{
	const struct run_kernel *kernel = kernel_of(run, call);

	return kernel && kernel->waits == CODE_NO;
}

/* Removes the oldest kernel.  Returns 1 if it need not have ended at the end of the newest one. */
static int drop_first(struct dependent_chain *chain)
{
	int pending = !(chain->link[chain->count - 1].at_end & 1);

	memmove(chain->link, chain->link + 1, --chain->count * sizeof(*chain->link));
	for (unsigned i = 0; i < chain->count; i++) {
		chain->link[i].at_start >>= 1;
		chain->link[i].after_wait >>= 1;
		chain->link[i].at_end >>= 1;
	}
	return pending;
}

/* A kernel whose code is unknown may wait.  Returns the number of kernels forgotten. */
static int add(struct dependent_chain *chain, const struct run *run, int64_t call)
{
	const struct run_kernel *kernel = kernel_of(run, call);
	struct dependent *link;
	uint32_t ended = 0;
	int forgotten = chain->count == DEPENDENTS_MOST ? drop_first(chain) : 0;

	link = &chain->link[chain->count];
	*link = (struct dependent){ .call = call };
	if (chain->count) {
		const struct dependent *before = link - 1;

		ended = before->at_end | 1u << (chain->count - 1);
		link->at_start = before->triggers ? before->at_start : ended;
	}
	link->after_wait = kernel && kernel->waits == CODE_NO ? link->at_start : ended;
	link->at_end = link->after_wait;
	link->triggers = kernel && kernel->triggers == CODE_YES;
	chain->count++;
	return forgotten;
}

int dependents_process_call(struct dependents *dependents, const struct run *run,
	const struct walk_call *call)
{
	struct dependent_chain *chain = id_map_get(&dependents->streams, call->stream);

	if (kind_family(call->kind) != FAMILY_launch) {
		if (chain)
			chain->count = 0;
		return 0;
	}
	/*
	 * Few programs use programmatic launch: outside of a chain, only the kernel before it is
	 * kept.
	 */
	if (!chain)
		chain = id_map_need(&dependents->streams, call->stream, sizeof(*chain));
	if (!chain)
		return -1;
	if (!(call->attributes & LAUNCH_PROGRAMMATIC))
		chain->count = 0;
	return add(chain, run, call->id);
}

int dependents_overlap(const struct dependents *dependents, int64_t stream, int64_t earlier,
	int64_t call, int early)
{
	const struct dependent_chain *chain = id_map_get(&dependents->streams, stream);
	const struct dependent *now;

	if (!chain || !chain->count)
		return 0;
	now = &chain->link[chain->count - 1];
	if (now->call != call)
		return 0;
	for (unsigned i = 0; i + 1 < chain->count; i++)
		if (chain->link[i].call == earlier)
			return !((early ? now->at_start : now->after_wait) >> i & 1);
	return 0;
}

void dependents_release(struct dependents *dependents)
{
	id_map_release(&dependents->streams, free);
}
