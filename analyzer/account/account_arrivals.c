/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What threads did, in their calls and between them: the account of the host, and why a rank came
 * to a collective when it did, by what its thread did since the collective before.  While that was
 * blocked until another thread had done its part, it is what that one did: in PyTorch the backward
 * pass calls for collectives on a thread of its own, and waits for the main thread's forward pass.
 */
#include <stdlib.h>

#include "account_internal.h"
#include "bounds.h"
#include "memory.h"
#include "rows.h"
#include "sorted.h"

/* Threads that were handed over to, one by the other. */
enum { THREADS_DEEP = 8 };

/* What the time of a thread is added to. */
struct account_time {
	struct account *account;
	struct account_arrival *arrival; /* NULL: the account of the host */
};

static void spend(const struct account_time *to, enum account_cause cause, uint32_t from,
	uint32_t site, int64_t ns)
{
	struct account_spent *spent = to->arrival ? &to->arrival->spent[cause] : NULL;

	if (!spent)
		account_add(to->account, ACCOUNT_HOST, cause, from, site, ns);
	if (!spent || ns <= 0)
		return;
	spent->ns += ns;
	if (ns <= spent->longest)
		return;
	spent->longest = ns;
	spent->from = from;
	spent->site = site;
}

/* Adds time of the host that was blocked before a call, by what ended it, to table blocked. */
static void add_ended(struct account *account, const struct handover *by, uint32_t from,
	uint32_t site, int64_t ns)
{
	const struct run *run = account->run;
	const struct run_call *call = by ? run_call(run, by->by) : NULL;
	struct account_sum sum = { .device = ACCOUNT_ENDED,
		.cause = ACCOUNT_BLOCKED,
		.from = from,
		.site = site,
		.ns = ns };

	if (call && by->is_function) {
		sum.ended = "host_function";
		sum.stream = call->stream;
	} else if (call) {
		sum.ended = run_wait_of(&run->evidence, by->by) ||
				kind_family(call->kind) == FAMILY_wait
			? "wait"
			: "call";
		sum.by_thread = call->thread;
		sum.by_site = run_link(run, by->by)->site;
	}
	account_add_sum(account, &sum);
}

static void follow(const struct account_time *to, uint32_t number, struct span time, int deep);

/* Between two calls; next: the number of the one after it. */
static void follow_gap(const struct account_time *to, const struct account_thread *thread,
	size_t next, struct span time, int deep)
{
	const struct run *run = to->account->run;
	uint32_t from = next ? thread->call[next - 1].site : 0;
	uint32_t site = next < thread->count ? thread->call[next].site : 0;
	const struct handover *by = to->arrival && next < thread->count
		? handovers_at(&run->evidence.handovers, thread->thread, thread->call[next].enter)
		: NULL;
	int64_t rest = time.until - time.from;

	if (by && (by->is_function || !by->is_sure || deep == THREADS_DEEP))
		by = NULL;
	for (int part = 0; part < ACCOUNT_PARTS; part++) {
		struct span span = account_part(thread, next, part, time.from, time.until);
		int is_blocked = account_parts[part] == ACCOUNT_BLOCKED;
		uint32_t at = account_site_of_part(thread, next, part, from);

		if (span.from >= span.until)
			continue;
		rest -= span.until - span.from;
		if (is_blocked && by)
			follow(to, run_call(run, by->by)->thread, span, deep + 1);
		else
			spend(to, account_parts[part], at, site, span.until - span.from);
		if (is_blocked && !to->arrival)
			add_ended(to->account, thread->gap[next].ended, at, site,
				span.until - span.from);
	}
	/* A clock that runs in calls only has no readings. */
	if (by && !by->is_read) {
		struct span span = { at_least(by->ended - by->blocked, time.from),
			at_most(by->ended, time.until) };

		if (span.from < span.until) {
			rest -= span.until - span.from;
			follow(to, run_call(run, by->by)->thread, span, deep + 1);
		}
	}
	spend(to, ACCOUNT_OUTSIDE, from, site, rest);
}

/*
 * What a thread did in that time.  Before a collective the time is left out in which the device
 * held it in a call that does not wait, as its queue was full: the host was early.
 */
static void follow(const struct account_time *to, uint32_t number, struct span time, int deep)
{
	const struct account_thread *thread = &to->account->threads[number];
	size_t next = to->arrival ? sorted_after(thread->call, thread->count, sizeof(*thread->call),
					    offsetof(struct account_call, exit), time.from)
				  : 0;

	for (; next < thread->count && time.from < time.until; next++) {
		const struct account_call *call = &thread->call[next];
		int64_t enter = at_most(call->enter, time.until), exit, held;

		if (enter > time.from) {
			follow_gap(to, thread, next, (struct span){ time.from, enter }, deep);
			time.from = enter;
		}
		exit = at_least(at_most(call->exit, time.until), time.from);
		held = at_most(call->held, exit - time.from);
		if (!to->arrival || call->cause == ACCOUNT_WAIT)
			spend(to, ACCOUNT_HELD, 0, call->site, held);
		spend(to, call->cause, 0, call->site, exit - time.from - held);
		time.from = exit;
	}
	if (time.from < time.until)
		follow_gap(to, thread, thread->count, time, deep);
}

void account_host(struct account *account)
{
	follow(&(struct account_time){ account, NULL }, account->thread,
		(struct span){ account->begin, account->end }, 0);
}

int account_list_arrivals(struct db *db, struct account_arrival **arrival, size_t *count)
{
	/* It comes when its kernel was launched. */
	sqlite3_stmt *q = db_prepare(db,
		"SELECT l.id, l.process, d.thread, max(coalesce(k.exit, k.enter, d.exit, d.enter),"
		"  d.enter) AS came FROM collective l JOIN call d ON d.id = l.call"
		" LEFT JOIN call k ON k.id = l.launch WHERE l.sequence NOT NULL"
		" ORDER BY l.process, d.thread, came, l.id");
	int step = -1;

	while (q && (step = db_step(q)) > 0)
		*array_push(*arrival, *count) = (struct account_arrival){
			.collective = sqlite3_column_int64(q, 0),
			.process = (uint32_t)sqlite3_column_int64(q, 1),
			.thread = (uint32_t)sqlite3_column_int64(q, 2),
			.came = sqlite3_column_int64(q, 3),
		};
	sqlite3_finalize(q);
	return step;
}

void account_arrivals(struct account *account)
{
	for (size_t i = 0; i < account->arrival_count; i++) {
		struct account_arrival *arrival = &account->arrival[i];
		const struct account_thread *thread = &account->threads[arrival->thread];
		int64_t from = i && arrival[-1].thread == arrival->thread ? arrival[-1].came
			: thread->count                                   ? thread->call[0].enter
									  : arrival->came;

		follow(&(struct account_time){ account, arrival }, arrival->thread,
			(struct span){ from, arrival->came }, 0);
	}
}

int account_store_arrivals(struct db *db, const struct account_arrival *arrival, size_t count)
{
	struct rows *rows = count ? rows_open(db, TABLE_collective_time) : NULL;
	int rc = count && !rows ? -1 : 0;

	for (size_t i = 0; i < count && !rc; i++)
		for (int cause = 0; cause < ACCOUNT_HOST_CAUSES && !rc; cause++) {
			const struct account_spent *spent = &arrival[i].spent[cause];

			if (spent->ns)
				rc = rows_add(rows,
					ROW(collective_time, arrival[i].collective,
						cell_text(account_cause_names[cause]), spent->ns,
						spent->longest, cell_id(spent->from),
						cell_id(spent->site)));
		}
	rc = rc || (rows && rows_finish(rows)) ? -1 : 0;
	rows_free(rows);
	return rc;
}
