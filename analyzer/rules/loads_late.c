/* SPDX-License-Identifier: Apache-2.0 */
#include "loads_late.h"

#include "constants.h"

static uint64_t context_of(const struct run *run, uint32_t call)
{
	const struct run_payload *payload = run_payload(run, run_call(run, call));

	return (uint64_t)payload->process << 32 | payload->context;
}

static void find_first_waits(struct loads_late *late)
{
	for (uint32_t id = 1; id < run_call_end(late->run); id++) {
		const struct run_call *call = run_call(late->run, id);
		uint64_t key;

		if (!call || !call_is_wait(call->kind))
			continue;
		key = context_of(late->run, id);
		if (!map_get(&late->first, key, 0))
			map_set(&late->first, key, id);
	}
}

static void add_one(struct map *map, uint32_t site)
{
	map_set(map, site, map_get(map, site, 0) + 1);
}

static void count_loads(struct loads_late *late)
{
	const struct run_overhead *row = (const struct run_overhead *)late->run->overheads.rows;
	const struct run_overhead *end = run_rows_end(&late->run->overheads);
	uint32_t last = 0;

	for (; row < end; row++) {
		uint32_t site;

		if (row->call == last || !run_call(late->run, row->call))
			continue;
		last = row->call;
		site = run_link(late->run, last)->site;
		if (site && loads_late(late, last))
			add_one(&late->loads, site);
	}
}

static void count_launches(struct loads_late *late)
{
	for (uint32_t id = 1; late->loads.count && id < run_call_end(late->run); id++) {
		const struct run_call *call = run_call(late->run, id);
		uint32_t site = call ? run_link(late->run, id)->site : 0;

		if (site && kind_family(call->kind) == FAMILY_launch &&
			map_get(&late->loads, site, 0))
			add_one(&late->launches, site);
	}
}

void loads_late_find(struct loads_late *late, const struct run *run)
{
	*late = (struct loads_late){ .run = run };
	find_first_waits(late);
	count_loads(late);
	count_launches(late);
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
