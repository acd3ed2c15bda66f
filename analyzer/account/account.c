/* SPDX-License-Identifier: Apache-2.0 */
#include "account.h"

#include <stdlib.h>

#include "account_parts.h"
#include "array.h"
#include "rows.h"

static const char *const cause_names[] = {
#define X(cause, name) [ACCOUNT_##cause] = name,
	ACCOUNT_CAUSES(X)
#undef X
};

int account_add(struct account *account, int32_t device, enum account_cause cause, uint32_t from,
	uint32_t site, int64_t ns)
{
	struct account_sum what = { .device = device, .cause = cause, .from = from, .site = site };
	uint64_t key = map_hash((const char *)&what, offsetof(struct account_sum, ns));
	uint64_t known = map_get(&account->sums, key, 0);
	struct account_sum *more;

	if (ns <= 0)
		return 0;
	if (known) {
		account->sum[known - 1].ns += ns;
		account->sum[known - 1].times++;
		return 0;
	}
	more = array_room(account->sum, account->sum_count, sizeof(*more));
	if (!more)
		return -1;
	account->sum = more;
	what.ns = ns;
	what.times = 1;
	more[account->sum_count++] = what;
	return map_set(&account->sums, key, account->sum_count);
}

static int note_holds(struct account *account)
{
	const struct run_evidence *evidence = &account->run->evidence;
	int rc = 0;

	for (size_t i = 0; i < evidence->hold_count && !rc; i++)
		rc = map_set(&account->holds, evidence->hold[i].op, i + 1);
	return rc;
}

/* Without a loop: from the first call that submits to the end of the last operation. */
static void take_run(struct account *account)
{
	const struct run *run = account->run;

	account->begin = RUN_NEVER;
	for (uint32_t id = 1; id < run_work_end(run); id++) {
		const struct run_work *work = run_work(run, id);
		const struct run_call *call = work ? run_call(run, work->call) : NULL;

		if (!work || run_where(run, work)->process != account->process)
			continue;
		if (call && call->enter < account->begin)
			account->begin = call->enter;
		if (work->start < account->begin)
			account->begin = work->start;
	}
	account->end = account->begin;
}

/* The last turn is over when all has ended that was submitted by its end. */
static void take_end(struct account *account)
{
	const struct run *run = account->run;
	int64_t submitted = account->loop.turns ? account->end : RUN_NEVER;

	for (uint32_t id = 1; id < run_work_end(run); id++) {
		const struct run_work *work = run_work(run, id);
		const struct run_call *call = work ? run_call(run, work->call) : NULL;
		int64_t end = work ? run_end(run, work, id) : RUN_NEVER;

		if (work && run_where(run, work)->process == account->process && end != RUN_NEVER &&
			end > account->end && (call ? call->enter : work->start) < submitted)
			account->end = end;
	}
}

static int measure(struct account *account)
{
	if (loop_find(&account->loop, account->run, account->process))
		return -1;
	if (account->loop.turns) {
		account->begin = account->loop.begin[0];
		account->end = account->loop.begin[account->loop.turns];
		account->thread = account->loop.thread;
	} else {
		take_run(account);
	}
	take_end(account);
	if (account->begin == account->end)
		return 0;
	if (account_read_calls(account) || note_holds(account))
		return -1;
	if (!account->thread && account->busiest_count)
		account->thread = account->busiest[0];
	return account_devices(account) || (account->thread && account_host(account)) ? -1 : 0;
}

static int64_t id_or_null(uint32_t id)
{
	return id ? id : DB_NULL;
}

static int store(const struct account *account, struct rows *loops, struct rows *sums)
{
	const struct loop *loop = &account->loop;
	int rc = 0;

	if (loop->turns)
		rc = rows_add(loops, (int64_t)account->process, (int64_t)loop->thread,
			(int64_t)loop->site, (int64_t)loop->turns, account->begin,
			loop->begin[loop->turns], account->end);
	for (size_t i = 0; i < account->sum_count && !rc; i++) {
		const struct account_sum *sum = &account->sum[i];

		rc = rows_add(sums, (int64_t)account->process,
			sum->device == ACCOUNT_HOST ? DB_NULL : (int64_t)sum->device,
			cause_names[sum->cause], id_or_null(sum->from), id_or_null(sum->site),
			sum->ns, sum->times);
	}
	return rc;
}

static void release(struct account *account)
{
	for (uint32_t i = 0; account->threads && i < account->run->thread_count; i++)
		free(account->threads[i].call);
	free(account->threads);
	free(account->sum);
	map_release(&account->sums);
	map_release(&account->holds);
	loop_release(&account->loop);
}

static int account_process(const struct run *run, uint32_t process, struct rows *loops,
	struct rows *sums)
{
	struct account account = { .run = run, .process = process };
	int rc = measure(&account) || store(&account, loops, sums) ? -1 : 0;

	release(&account);
	return rc;
}

/* Processes are those that threads are of. */
static int account_all(const struct run *run, struct rows *loops, struct rows *sums)
{
	struct map done = { 0 };
	int rc = 0;

	for (uint32_t i = 1; i < run->thread_count && !rc; i++) {
		uint32_t process = run->thread[i].process;

		if (!process || map_get(&done, process, 0))
			continue;
		rc = map_set(&done, process, 1) || account_process(run, process, loops, sums);
	}
	map_release(&done);
	return rc || rows_finish(loops) || rows_finish(sums) ? -1 : 0;
}

int account_measure(struct db *db)
{
	struct run *own;
	const struct run *run = run_of(db, &own);
	struct rows *loops = rows_open(db, "INSERT INTO loop", "iiiiiii");
	struct rows *sums = rows_open(db, "INSERT INTO account", "iIcIIii");
	int rc = !run || !loops || !sums ? -1 : account_all(run, loops, sums);

	rows_free(loops);
	rows_free(sums);
	run_close(own);
	return rc;
}
