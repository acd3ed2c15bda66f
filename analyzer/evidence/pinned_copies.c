/* SPDX-License-Identifier: Apache-2.0 */
#include "pinned_copies.h"

#include "bounds.h"
#include "constants.h"

/* Time from the first start to the last end of a call's operations, ns; 0: unknown. */
static int64_t length_of(const struct run *run, const struct run_call *call)
{
	int64_t start = INT64_MAX, end = INT64_MIN;

	for (uint32_t id = 0; (id = run_next_work(run, call, id));) {
		const struct run_work *work = run_work(run, id);
		int64_t until = run_busy_end(run, work, id);

		if (work->start == RUN_NEVER || until == RUN_NEVER)
			return 0;
		start = at_most(work->start, start);
		end = at_least(until, end);
	}
	return end > start ? end - start : 0;
}

int pinned_find(struct id_map *rates, struct db *db)
{
	const struct run *run = db->run;
	sqlite3_stmt *q = db_prepare(db,
		"SELECT p.id, coalesce(max(d.compute_major), 0) FROM process p "
		"LEFT JOIN device d ON d.process = p.id GROUP BY p.id");
	int step = -1;

	while (q && (step = db_step(q)) > 0) {
		struct pinned_rate *rate =
			id_map_need(rates, sqlite3_column_int64(q, 0), sizeof(*rate));
		int major = sqlite3_column_int(q, 1), ns = BUS_NS_BEFORE;

		/* PCIe 5 since Hopper, 4 before. */
		if (major >= 8)
			ns = major == 8 ? BUS_NS_AMPERE : BUS_NS_HOPPER;
		rate->bus = ns / 1000.0;
	}
	sqlite3_finalize(q);
	for (uint32_t id = 1; id < run_call_end(run) && !step; id++) {
		const struct run_call *call = run_call(run, id);
		const struct run_payload *payload = call ? run_payload(run, call) : NULL;
		const struct run_work *work = call ? run_work(run, call->last_work) : NULL;
		const struct run_where *where = work ? run_where(run, work) : NULL;
		struct pinned_rate *rate;
		double seen;

		if (!where || where->kind != WORK_MEMCPY ||
			(where->copy_kind != COPY_H2D && where->copy_kind != COPY_D2H) ||
			!call_is_copy(call->kind) || payload->bytes < LARGE_COPY_BYTES ||
			payload->src == MEMORY_PAGEABLE || payload->dst == MEMORY_PAGEABLE)
			continue;
		rate = id_map_get(rates, payload->process);
		seen = (double)length_of(run, call) / (double)payload->bytes;
		if (rate && seen > 0 && (!(rate->seen > 0) || seen < rate->seen))
			rate->seen = seen;
	}
	return step;
}

struct pinned_rate pinned_rate_of(const struct id_map *rates, int64_t process)
{
	const struct pinned_rate *rate = id_map_get(rates, process);

	return rate ? *rate : (struct pinned_rate){ 0 };
}

int64_t pinned_excess(const struct id_map *rates, const struct run *run, int64_t id)
{
	const struct run_call *call = run_call(run, id);
	const struct run_payload *payload = call ? run_payload(run, call) : NULL;
	struct pinned_rate rate;
	int64_t excess;

	if (!call || !call_is_async_copy(call->kind) || payload->src != MEMORY_PAGEABLE ||
		payload->direction != COPY_H2D)
		return 0;
	rate = pinned_rate_of(rates, payload->process);
	excess = length_of(run, call) -
		(int64_t)((rate.seen > 0 ? rate.seen : rate.bus) * (double)payload->bytes);
	return at_least(excess, 0);
}
