/* SPDX-License-Identifier: Apache-2.0 */
#include "savings.h"

#include "bounds.h"
#include "busy.h"
#include "run_columns.h"
#include "unknown.h"

static void extend_end(struct span *span, int64_t end)
{
	if (end != RUN_NEVER)
		span->until = at_least(end, span->until);
}

/* Of a process; from RUN_NEVER: empty. */
struct lengths {
	struct span whole;  /* the first call that submitted an operation, to the last end */
	struct span active; /* the first operation to the last */
	struct busy device; /* with operations on known streams */
	int64_t busiest;    /* the busy time of the busiest stream, ns */
};

static void measure_works(const struct run *run, int64_t process, struct lengths *lengths)
{
	/* By stream, ns; of legacy streams that threads share, by thread. */
	struct map busy = { 0 };
	uint32_t submitted = 0;

	for (uint32_t id = 1; id < run_work_end(run); id++) {
		const struct run_work *work = run_work(run, id);
		const struct run_call *call = work ? run_call(run, work->call) : NULL;
		uint32_t stream = work ? run_where(run, work)->stream : 0;
		int64_t end = work ? run_end(run, work, id) : RUN_NEVER, sum;
		uint64_t key = (uint64_t)stream << 32;

		if (!work || run_where(run, work)->process != process)
			continue;
		if (work->call && (!submitted || work->call < submitted))
			submitted = work->call;
		extend_end(&lengths->whole, end);
		/* Only operations on a known stream count as the device's time. */
		if (!stream)
			continue;
		extend_end(&lengths->active, end);
		if (work->start < lengths->active.from)
			lengths->active.from = work->start;
		if (work->start == RUN_NEVER || end == RUN_NEVER)
			continue;
		end = run_busy_end(run, work, id);
		busy_add(&lengths->device, work->start, end);
		/* The work of each thread could have a stream of its own. */
		if (!run->threads_share || !call ||
			run_stream(run, stream)->kind != STREAM_KIND_LEGACY)
			key |= UINT32_MAX;
		else
			key |= call->thread;
		sum = (int64_t)map_add(&busy, key, (uint64_t)(end - work->start));
		lengths->busiest = at_least(sum, lengths->busiest);
	}
	if (run_call(run, submitted))
		lengths->whole.from = run_call(run, submitted)->enter;
	map_release(&busy);
	busy_join(&lengths->device);
}

/*
 * Subtracts time in which no work was recorded: shares and bounds refer to the recorded time.
 * Returns -1 after a message.
 */
static int64_t length_of(struct db *db, int64_t process, const struct span *span)
{
	sqlite3_stmt *q;
	int64_t missing = -1;

	if (span->from == RUN_NEVER || span->until == INT64_MIN)
		return 0;
	q = db_prepare(db,
		"SELECT coalesce(sum(max(0, min(end, ?3) - max(start, ?2))), 0) "
		"FROM recording WHERE process = ?1 AND NOT work");
	if (q && !db_bind(q, "iii", process, span->from, span->until) && db_step(q) > 0)
		missing = sqlite3_column_int64(q, 0);
	sqlite3_finalize(q);
	return missing < 0 ? -1 : at_least(span->until - span->from - missing, 0);
}

int run_length(struct db *db, int64_t process, struct run_length *length)
{
	struct lengths lengths = { .whole = { RUN_NEVER, 0 }, .active = { RUN_NEVER, INT64_MIN } };
	int64_t idle, since = unknown_since(db->run, process);

	for (uint32_t id = 1; id < run_call_end(db->run); id++) {
		const struct run_call *call = run_call(db->run, id);
		enum kind_family family;

		if (!call || run_payload(db->run, call)->process != process || call->enter >= since)
			continue;
		if (call->enter < lengths.whole.from)
			lengths.whole.from = call->enter;
		family = kind_family(call->kind);
		if (family != FAMILY_runtime && family != FAMILY_context_end &&
			call->kind != KIND_MODULE_UNLOAD)
			extend_end(&lengths.whole, run_exit(db->run, call, id));
	}
	measure_works(db->run, process, &lengths);
	idle = length_of(db, process, &lengths.active);
	length->whole = length_of(db, process, &lengths.whole);
	length->idle = at_least(idle - lengths.busiest, 0);
	length->serial = at_least(busy_total(&lengths.device) - lengths.busiest, 0);
	busy_release(&lengths.device);
	if (idle < 0 || length->whole < 0)
		return -1;
	length->whole += !length->whole;
	return 0;
}
