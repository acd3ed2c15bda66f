/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a rank came to a collective when it did: what its thread did since the collective before, in
 * its calls and between them.  While that was blocked until another thread had done its part, it is
 * what that one did: in PyTorch the backward pass calls for collectives on a thread of its own, and
 * waits for the main thread's forward pass.
 */
#include <stdlib.h>

#include "account_internal.h"
#include "bounds.h"
#include "memory.h"
#include "rows.h"
#include "sorted.h"

/* Threads that were handed over to, one by the other. */
enum { THREADS_DEEP = 8 };

static void spend(struct account_arrival *arrival, enum account_cause cause, uint32_t from,
	uint32_t site, int64_t ns)
{
	struct account_spent *spent = &arrival->spent[cause];

	if (ns <= 0)
		return;
	spent->ns += ns;
	if (ns <= spent->longest)
		return;
	spent->longest = ns;
	spent->from = from;
	spent->site = site;
}

static void follow(const struct account *account, struct account_arrival *arrival, uint32_t number,
	struct span time, int deep);

/* Between two calls; next: the number of the one after it. */
static void follow_gap(const struct account *account, struct account_arrival *arrival,
	const struct account_thread *thread, size_t next, struct span time, int deep)
{
	const struct run *run = account->run;
	uint32_t from = next ? thread->call[next - 1].site : 0;
	uint32_t site = next < thread->count ? thread->call[next].site : 0;
	const struct handover *by = next < thread->count
		? handovers_at(&run->evidence.handovers, thread->thread, thread->call[next].enter)
		: NULL;
	int64_t rest = time.until - time.from;

	if (by && (by->is_function || !by->is_sure || deep == THREADS_DEEP))
		by = NULL;
	for (int part = 0; part < ACCOUNT_PARTS; part++) {
		struct span span = account_part(thread, next, part, time.from, time.until);

		if (span.from >= span.until)
			continue;
		rest -= span.until - span.from;
		if (account_parts[part] == ACCOUNT_BLOCKED && by)
			follow(account, arrival, run_call(run, by->by)->thread, span, deep + 1);
		else
			spend(arrival, account_parts[part], from, site, span.until - span.from);
	}
	/* A clock that runs in calls only has no readings. */
	if (by && !by->is_read) {
		struct span span = { at_least(by->ended - by->blocked, time.from),
			at_most(by->ended, time.until) };

		if (span.from < span.until) {
			rest -= span.until - span.from;
			follow(account, arrival, run_call(run, by->by)->thread, span, deep + 1);
		}
	}
	spend(arrival, ACCOUNT_OUTSIDE, from, site, rest);
}

/*
 * What a thread did in that time.  The time in which the device held it in a call that does not
 * wait, as its queue was full, is left out: the host was early.
 */
static void follow(const struct account *account, struct account_arrival *arrival, uint32_t number,
	struct span time, int deep)
{
	const struct account_thread *thread = &account->threads[number];
	size_t next = sorted_after(thread->call, thread->count, sizeof(*thread->call),
		offsetof(struct account_call, exit), time.from);

	for (; next < thread->count && time.from < time.until; next++) {
		const struct account_call *call = &thread->call[next];
		int64_t enter = at_most(call->enter, time.until), exit, held;

		if (enter > time.from) {
			follow_gap(account, arrival, thread, next,
				(struct span){ time.from, enter }, deep);
			time.from = enter;
		}
		exit = at_least(at_most(call->exit, time.until), time.from);
		held = at_most(call->held, exit - time.from);
		if (call->cause == ACCOUNT_WAIT)
			spend(arrival, ACCOUNT_HELD, 0, call->site, held);
		spend(arrival, call->cause, 0, call->site, exit - time.from - held);
		time.from = exit;
	}
	if (time.from < time.until)
		follow_gap(account, arrival, thread, thread->count, time, deep);
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

		follow(account, arrival, arrival->thread, (struct span){ from, arrival->came }, 0);
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
						spent->longest, spent->from ? spent->from : DB_NULL,
						spent->site ? spent->site : DB_NULL));
		}
	rc = rc || (rows && rows_finish(rows)) ? -1 : 0;
	rows_free(rows);
	return rc;
}
