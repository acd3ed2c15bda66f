/* SPDX-License-Identifier: Apache-2.0 */
#include "handovers.h"

#include <stdlib.h>

#include "bounds.h"
#include "compare.h"
#include "constants.h"
#include "host_runs.h"
#include "ids.h"
#include "map.h"
#include "memory.h"
#include "sorted.h"

/* What is known of a thread before the next call in order. */
struct talker {
	uint32_t last;    /* its last outermost call, 0: none */
	int64_t returned; /* ns */
	/* Threads whose last call returned, in a ring that begins and ends at number 0. */
	uint32_t later, earlier;
};

struct search {
	const struct run *run;
	struct handovers *found;
	struct talker *talker; /* by thread */
	struct map virtual;    /* processes whose clock runs in CUDA calls only */
};

/*
 * Returns how long the thread was off its processor while it was silent, ns; -1: not read.  *times:
 * how often it was blocked.
 */
static int64_t off_between(const struct search *search, uint32_t thread, int64_t from,
	int64_t until, uint32_t *times)
{
	const struct usage_reading *reading = search->found->reading;
	size_t low = sorted_in_group(reading, search->found->reading_count, sizeof(*reading),
		offsetof(struct usage_reading, thread), thread,
		offsetof(struct usage_reading, time), from);
	int64_t off = -1;

	*times = 0;
	/* A reading is made when the silence ends, within the next call. */
	for (; low < search->found->reading_count && reading[low].thread == thread &&
		reading[low].time <= until + BLOCKED_SLACK_NS;
		low++) {
		off = (off < 0 ? 0 : off) + reading[low].off;
		*times += reading[low].voluntary;
	}
	return off;
}

static uint32_t next_outermost(const struct run *run, uint32_t call)
{
	do
		call = run_link(run, call)->next;
	while (call && run_link(run, call)->parent);
	return call;
}

/*
 * Another thread's last call, the latest, that returned at that time or later, but for the time
 * that the thread still ran before it woke this one; and that was silent then until this thread's
 * next call had returned.  If nothing shows that this thread was blocked, the two must take turns:
 * the other one goes on when this one is silent.
 */
static void look_for_stop(const struct search *search, struct handover *silence, int64_t earliest,
	int64_t returned)
{
	const struct run *run = search->run;

	for (uint32_t thread = search->talker[0].earlier;
		thread && search->talker[thread].returned > silence->ended;
		thread = search->talker[thread].earlier) {
		const struct talker *other = &search->talker[thread];
		int64_t resumed, until, off, last = INT64_MIN;
		uint32_t next, times, own = silence->is_read ? 0 : silence->after;

		if (thread == silence->thread || other->returned > silence->until ||
			run->thread[thread].process != silence->process)
			continue;
		next = next_outermost(run, other->last);
		resumed = next ? run_call(run, next)->enter : INT64_MAX;
		for (; next && own && run_call(run, own)->enter <= resumed;
			own = next_outermost(run, own))
			last = run_exit(run, run_call(run, own), own);
		if (resumed < returned || last > resumed)
			continue;
		until = next ? resumed : silence->until;
		off = off_between(search, thread, other->returned, until, &times);
		/* How long it still ran. */
		if (off < 0 || off > until - other->returned)
			off = until - other->returned;
		if (until - off < earliest - WAKE_NS)
			continue;
		silence->by = other->last;
		silence->ended = other->returned;
		silence->is_function = 0;
		return;
	}
}

/* The thread's last call.  Of threads that returned at one time the first is the latest. */
static void note_call(struct talker *talker, uint32_t thread, uint32_t call, int64_t returned)
{
	struct talker *own = &talker[thread];
	uint32_t before;

	talker[own->later].earlier = own->earlier;
	talker[own->earlier].later = own->later;
	*own = (struct talker){ call, returned, thread, thread };
	if (returned == RUN_NEVER)
		return;
	before = talker[0].earlier;
	while (before &&
		(talker[before].returned > returned ||
			(talker[before].returned == returned && before < thread)))
		before = talker[before].earlier;
	own->earlier = before;
	own->later = talker[before].later;
	talker[own->earlier].later = talker[own->later].earlier = thread;
}

/* The thread was silent before a call: what has ended that? */
static void look(struct search *search, struct handover *silence, int64_t returned)
{
	uint32_t times;
	int64_t off = off_between(search, silence->thread, silence->from, silence->until, &times);
	int64_t earliest = silence->from, latest = silence->until;
	uint64_t count = host_run_count(search->run);
	int is_found = 0;

	silence->is_read = off >= 0;
	silence->is_sure = off >= 0 || map_get(&search->virtual, silence->process, 0);
	if (off >= 0 && off < BLOCKED_LEAST_NS)
		return;
	off = at_most(off, latest - earliest);
	/* Blocked more than once, it was the first time for most of that. */
	if (off >= 0) {
		latest = at_most(latest, earliest + off + BLOCKED_SLACK_NS);
		earliest = silence->from + (times > 1 ? off / 2 : off) - BLOCKED_SLACK_NS;
	}
	earliest = at_least(earliest, silence->from);
	silence->ended = silence->from;
	/* The first host function that returned in that time; without readings the last. */
	for (uint64_t i = host_runs_find(search->run, earliest); i < count && !is_found; i++) {
		const struct host_run *host = host_run_at(search->run, i);

		if (host->exit > latest)
			break;
		if (host->process != silence->process || host->thread == silence->thread ||
			!host->call ||
			(times > 1 && run_call(search->run, host->call)->thread != silence->thread))
			continue;
		silence->by = host->call;
		silence->ended = host->exit;
		silence->is_function = 1;
		is_found = silence->is_read;
	}
	if (!is_found)
		look_for_stop(search, silence, earliest, returned);
	if (!silence->by)
		return;
	silence->blocked = at_most(silence->ended - silence->from, off < 0 ? INT64_MAX : off);
	*array_push(search->found->list, search->found->count) = *silence;
}

static int by_thread(const void *a, const void *b)
{
	const struct handover *x = a, *y = b;

	return by_number(x->thread, y->thread) ?: by_number(x->until, y->until);
}

/* Fills the member asleep.  The kernel shows where the first thread is, and only now and then. */
static int find_asleep(struct db *db, struct handovers *handovers)
{
	sqlite3_stmt *q = db_prepare(db,
		"SELECT t.id, a.time, a.site FROM asleep a JOIN process p ON p.id = a.process"
		" JOIN thread t ON t.process = p.id AND t.tid = p.pid"
		" WHERE a.site NOT NULL ORDER BY t.id, a.time");
	/* By the site of the last call: where most often, and how often; and by both sites. */
	struct map asleep = { 0 }, most = { 0 }, seen = { 0 };
	struct handover *at = handovers->list, *end = at + handovers->count;
	int step = -1;

	while (q && (step = db_step(q)) > 0) {
		int64_t thread = sqlite3_column_int64(q, 0), time = sqlite3_column_int64(q, 1);
		uint64_t site = (uint64_t)sqlite3_column_int64(q, 2), last, count;

		while (at < end &&
			(at->thread < thread || (at->thread == thread && at->ended < time)))
			at++;
		if (at == end || at->thread != thread || at->from > time)
			continue;
		last = run_link(db->run, at->before)->site;
		count = map_add(&seen, last << 32 | site, 1);
		if (count > map_get(&most, last, 0)) {
			map_set(&most, last, count);
			map_set(&asleep, last, site);
		}
	}
	sqlite3_finalize(q);
	for (at = handovers->list; at < end; at++)
		if (at->is_function)
			at->asleep =
				(uint32_t)map_get(&asleep, run_link(db->run, at->before)->site, 0);
	map_release(&asleep);
	map_release(&most);
	map_release(&seen);
	return step;
}

int handovers_find(struct db *db)
{
	const struct run *run = db->run;
	struct handovers *handovers = &db->run->evidence.handovers;
	struct search search = { .run = run, .found = handovers };
	sqlite3_stmt *q = db_prepare(db,
		"SELECT thread, since, time, off, voluntary, involuntary FROM usage"
		" ORDER BY thread, time");
	int rc = ids_read(&search.virtual, db, "SELECT id FROM process WHERE clock = 'virtual'", 1);
	int step = -1;

	while (q && !rc && (step = db_step(q)) > 0)
		*array_push(handovers->reading, handovers->reading_count) = (struct usage_reading){
			.thread = (uint32_t)sqlite3_column_int64(q, 0),
			.since = sqlite3_column_int64(q, 1),
			.time = sqlite3_column_int64(q, 2),
			.off = sqlite3_column_int64(q, 3),
			.voluntary = (uint32_t)sqlite3_column_int64(q, 4),
			.involuntary = (uint32_t)sqlite3_column_int64(q, 5),
		};
	sqlite3_finalize(q);
	rc = rc || step ? -1 : 0;
	search.talker = xcalloc(run->thread_count + 1, sizeof(*search.talker));
	for (uint32_t thread = 1; thread <= run->thread_count; thread++)
		search.talker[thread].later = search.talker[thread].earlier = thread;
	for (uint32_t id = 1; id < run_call_end(run) && !rc; id++) {
		const struct run_call *call = run_call(run, id);
		struct talker *talker = call ? &search.talker[call->thread] : NULL;
		struct handover silence;
		int64_t returned;

		if (!call || run_link(run, id)->parent)
			continue;
		returned = run_exit(run, call, id);
		silence = (struct handover){ .process = run->thread[call->thread].process,
			.thread = call->thread,
			.before = talker->last,
			.after = id,
			.from = talker->returned,
			.until = call->enter };
		if (talker->last && talker->returned != RUN_NEVER && returned != RUN_NEVER &&
			silence.until - silence.from > BLOCKED_SLACK_NS)
			look(&search, &silence, returned);
		note_call(search.talker, call->thread, id, returned);
	}
	if (handovers->count)
		qsort(handovers->list, handovers->count, sizeof(*handovers->list), by_thread);
	rc = rc || (handovers->count && find_asleep(db, handovers)) ? -1 : 0;
	free(search.talker);
	map_release(&search.virtual);
	return rc;
}

const struct handover *handovers_at(const struct handovers *handovers, uint32_t thread,
	int64_t until)
{
	const struct handover wanted = { .thread = thread, .until = until };

	return handovers->count
		? bsearch(&wanted, handovers->list, handovers->count, sizeof(wanted), by_thread)
		: NULL;
}
