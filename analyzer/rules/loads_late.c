/* SPDX-License-Identifier: Apache-2.0 */
#include "pass.h"

#include "constants.h"

static uint64_t context_of(const struct run *run, uint32_t call)
{
	const struct run_payload *payload = run_payload(run, run_call(run, call));

	return (uint64_t)payload->process << 32 | payload->context;
}

void loads_late_find(struct loads_late *late, const struct run *run)
{
	const struct run_overhead *row = (const struct run_overhead *)run->overheads.rows;
	const struct run_overhead *end = run_rows_end(&run->overheads);
	uint32_t last = 0;

	*late = (struct loads_late){ .run = run };
	for (uint32_t id = 1; id < run_call_end(run); id++) {
		const struct run_call *call = run_call(run, id);

		if (call && call_is_wait(call->kind) &&
			!map_get(&late->first, context_of(run, id), 0))
			map_set(&late->first, context_of(run, id), id);
	}
	for (; row < end; row++) {
		if (row->call == last || !run_call(run, row->call))
			continue;
		last = row->call;
		if (run_link(run, last)->site && loads_late(late, last))
			map_add(&late->loads, run_link(run, last)->site, 1);
	}
	for (uint32_t id = 1; late->loads.count && id < run_call_end(run); id++) {
		const struct run_call *call = run_call(run, id);
		uint32_t site = call ? run_link(run, id)->site : 0;

		if (site && kind_family(call->kind) == FAMILY_launch &&
			map_get(&late->loads, site, 0))
			map_add(&late->launches, site, 1);
	}
}

void loads_late_release(struct loads_late *late)
{
	map_release(&late->first);
	map_release(&late->loads);
	map_release(&late->launches);
}

int is_warmed_up(const struct loads_late *late, uint32_t call)
{
	return call > map_get(&late->first, context_of(late->run, call), UINT32_MAX);
}

int loads_late(const struct loads_late *late, uint32_t call)
{
	return run_has_overhead(late->run, call, OVERHEAD_LAZY_LOADING) && is_warmed_up(late, call);
}

int is_loading_place(const struct loads_late *late, uint32_t call)
{
	uint32_t site = run_link(late->run, call)->site;
	uint64_t launches = map_get(&late->launches, site, 0);

	return launches && launches <= LOADS_PART * map_get(&late->loads, site, 0);
}
