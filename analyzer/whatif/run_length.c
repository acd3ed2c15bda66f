/* SPDX-License-Identifier: Apache-2.0 */
#include "run_length.h"

#include <stdio.h>
#include <stdlib.h>

#include "busy.h"
#include "run_columns.h"
#include "unknown.h"

/* From first to last, ns; first RUN_NEVER: empty. */
struct stretch {
	int64_t first, last;
};

/* Measurements of a process while its rows are read. */
struct measured {
	struct stretch whole, active; /* as in run_length(); first to last operation */
	uint32_t first_call;          /* first call that submitted an operation, 0: none */
	int64_t first_enter;
	int64_t *busy;      /* by stream, ns */
	struct map shared;  /* of legacy streams that threads share, by stream and thread, ns */
	struct busy device; /* an operation ran */
};

static int64_t excess(int64_t whole, int64_t part)
{
	return whole > part ? whole - part : 0;
}

static void extend_end(struct stretch *stretch, int64_t end)
{
	if (end != RUN_NEVER && end > stretch->last)
		stretch->last = end;
}

/* Threads share a legacy stream, and the work of each could have a stream of its own. */
static int add_busy(struct measured *m, const struct run *run, const struct run_work *work,
	int64_t busy)
{
	uint32_t stream = run_where(run, work)->stream;
	const struct run_call *call = run_call(run, work->call);
	uint64_t key;

	if (stream >= run->stream_count)
		return 0;
	if (!run->threads_share || !call || run_stream(run, stream)->kind != STREAM_KIND_LEGACY) {
		m->busy[stream] += busy;
		return 0;
	}
	key = (uint64_t)stream << 32 | call->thread;
	map_set(&m->shared, key, map_get(&m->shared, key, 0) + (uint64_t)busy);
	return 0;
}

/* Only operations on a known stream count as the device's time. */
static int add_operation(struct measured *m, const struct run *run, uint32_t id)
{
	const struct run_work *work = run_work(run, id);
	uint32_t stream = run_where(run, work)->stream;
	int64_t end = run_end(run, work, id);

	if (work->call && (!m->first_call || work->call < m->first_call))
		m->first_call = work->call;
	extend_end(&m->whole, end);
	if (!stream)
		return 0;
	extend_end(&m->active, end);
	if (work->start < m->active.first)
		m->active.first = work->start;
	if (work->start == RUN_NEVER || end == RUN_NEVER)
		return 0;
	end = run_busy_end(run, work, id);
	if (add_busy(m, run, work, end - work->start))
		return -1;
	busy_add(&m->device, work->start, end);
	return 0;
}

static int64_t busiest_stream(const struct measured *m, const struct run *run)
{
	int64_t most = 0;

	for (size_t i = 0; i < run->stream_count; i++)
		most = m->busy[i] > most ? m->busy[i] : most;
	for (size_t i = 0; i < m->shared.size; i++)
		if (m->shared.entry[i].used && (int64_t)m->shared.entry[i].value > most)
			most = (int64_t)m->shared.entry[i].value;
	return most;
}

/* Code is unloaded and contexts are destroyed at the end. */
static int is_end(enum call_kind kind)
{
	return kind_family(kind) == FAMILY_runtime || kind == KIND_MODULE_UNLOAD ||
		kind_family(kind) == FAMILY_context_end;
}

static void add_call(struct measured *m, const struct run *run, uint32_t id)
{
	const struct run_call *call = run_call(run, id);

	if (call->enter < m->first_enter)
		m->first_enter = call->enter;
	if (!is_end(call->kind))
		extend_end(&m->whole, run_exit(run, call, id));
}

static int measure(struct measured *m, const struct run *run, int64_t process)
{
	int64_t since = unknown_since(run, process);

	*m = (struct measured){ .whole = { RUN_NEVER, 0 },
		.active = { RUN_NEVER, INT64_MIN },
		.first_enter = RUN_NEVER };
	m->busy = calloc(run->stream_count, sizeof(*m->busy));
	if (!m->busy) {
		fputs("cufence: out of memory\n", stderr);
		return -1;
	}
	for (uint32_t id = 1; id < run_work_end(run); id++)
		if (run_work(run, id) && run_where(run, run_work(run, id))->process == process &&
			add_operation(m, run, id))
			return -1;
	for (uint32_t id = 1; id < run_call_end(run); id++) {
		const struct run_call *call = run_call(run, id);

		if (call && run_payload(run, call)->process == process && call->enter < since)
			add_call(m, run, id);
	}
	m->whole.first =
		run_call(run, m->first_call) ? run_call(run, m->first_call)->enter : m->first_enter;
	return 0;
}

/*
 * Subtracts time in which no work was recorded: shares and bounds refer to the recorded time.
 * Returns -1 after a message.
 */
static int64_t length_of(struct db *db, int64_t process, const struct stretch *stretch)
{
	sqlite3_stmt *q;
	int64_t missing = -1;

	if (stretch->first == RUN_NEVER || stretch->last == INT64_MIN)
		return 0;
	q = db_prepare(db,
		"SELECT coalesce(sum(max(0, min(end, ?3) - max(start, ?2))), 0) "
		"FROM recording WHERE process = ?1 AND NOT work");
	if (q && !db_bind(q, "iii", process, stretch->first, stretch->last) && db_step(q) > 0)
		missing = sqlite3_column_int64(q, 0);
	sqlite3_finalize(q);
	return missing < 0 ? -1 : excess(stretch->last - stretch->first, missing);
}

/*
 * Measures from the first call that submitted an operation to the last end, before code and
 * contexts are unloaded.  Starting CUDA takes 150 ms to a second, ending it 1 to 30 ms, part of it
 * the recorder's: a short run's mistakes would not count.  Then measures first
 * operation to last.
 */
int run_length(struct db *db, int64_t process, struct run_length *length)
{
	struct measured m = { .busy = NULL };
	struct run *own;
	const struct run *run = run_of(db, &own);
	int64_t active;
	int rc = !run || measure(&m, run, process) ? -1 : 0;

	busy_join(&m.device);
	active = rc ? -1 : length_of(db, process, &m.active);
	length->whole = rc ? -1 : length_of(db, process, &m.whole);
	if (active >= 0 && length->whole >= 0) {
		int64_t busiest = busiest_stream(&m, run);

		if (!length->whole)
			length->whole = 1;
		length->idle = excess(active, busiest);
		length->serial = excess(busy_total(&m.device), busiest);
	} else {
		rc = -1;
	}
	free(m.busy);
	map_release(&m.shared);
	busy_release(&m.device);
	run_close(own);
	return rc;
}
