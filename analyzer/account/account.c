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

struct account_rows {
	struct rows *loops, *turns, *inner, *sums, *blocked;
};

int account_add(struct account *account, int32_t device, enum account_cause cause, uint32_t from,
	uint32_t site, int64_t ns)
{
	struct account_sum what = { .device = device, .cause = cause, .from = from, .site = site };
	const uint64_t words[] = { (uint64_t)(uint32_t)device << 32 | cause,
		(uint64_t)from << 32 | site };
	uint64_t key = map_hash_words(words, 2);
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
	map_set(&account->sums, key, account->sum_count);
	return 0;
}

/* Without a loop the account covers the first submitting call to the end of the last operation. */
static void cover_run(struct account *account)
{
	account->begin = RUN_NEVER;
	for (size_t i = 0; i < account->work_count; i++) {
		const struct run_work *work = run_work(account->run, account->work[i].id);
		const struct run_call *call = run_call(account->run, work->call);

		if (call && call->enter < account->begin)
			account->begin = call->enter;
		if (work->start < account->begin)
			account->begin = work->start;
	}
	account->end = account->begin;
}

/* The last turn ends when all work that it submitted has ended. */
static void set_end(struct account *account)
{
	int64_t submitted = account->loop.turns ? account->end : RUN_NEVER;

	for (size_t i = 0; i < account->work_count; i++) {
		const struct account_work *work = &account->work[i];
		const struct run_call *call =
			run_call(account->run, run_work(account->run, work->id)->call);

		if (work->end != RUN_NEVER && work->end > account->end &&
			(call ? call->enter : work->start) < submitted)
			account->end = work->end;
	}
}

static int measure(struct account *account)
{
	if (loop_find(&account->loop, account->run, account->db, account->of, account->of_count))
		return -1;
	if (account->loop.turns) {
		account->begin = account->loop.begin[0];
		account->end = account->loop.begin[account->loop.turns];
		account->thread = account->loop.thread;
	} else {
		cover_run(account);
	}
	set_end(account);
	if (account->begin == account->end)
		return 0;
	if (account_read_calls(account) || account_find_gaps(account))
		return -1;
	if (!account->thread && account->busiest_count)
		account->thread = account->busiest[0];
	return account_devices(account) || (account->thread && account_host(account)) ? -1 : 0;
}

static int64_t id_or_null(uint32_t id)
{
	return id ? id : DB_NULL;
}

static int store_blocked(const struct account *account, struct rows *blocked)
{
	static const char *const ended[] = {
		[END_HOST_FUNCTION] = "host_function",
		[END_WAIT] = "wait",
		[END_CALL] = "call",
	};
	int rc = 0;

	for (size_t i = 0; i < account->blocked_count && !rc; i++) {
		const struct account_blocked *of = &account->blocked[i];

		rc = rows_add(blocked, (int64_t)account->process, id_or_null(of->from),
			id_or_null(of->site), ended[of->by.ended], id_or_null(of->by.stream),
			id_or_null(of->by.thread), id_or_null(of->by.site), of->ns, of->times);
	}
	return rc;
}

/* The rows of loops have texts of the loop's own, so they are written here. */
static int store_loop_rows(const struct account *account, struct account_rows *into)
{
	const struct loop *loop = &account->loop;
	int64_t process = account->process;
	int rc;

	if (!loop->turns)
		return 0;
	rc = rows_add(into->loops, process, (int64_t)loop->thread, (int64_t)loop->site, loop->place,
		     (int64_t)loop->turns, (int64_t)loop->warm, account->begin,
		     loop->begin[loop->turns], account->end) ||
		rows_finish(into->loops);
	for (size_t i = 0; i < loop->turns && !rc; i++)
		rc = rows_add(into->turns, process, (int64_t)i, loop->begin[i]);
	for (size_t i = 0; i < loop->inner_count && !rc; i++)
		rc = rows_add(into->inner, process, (int64_t)i, (int64_t)loop->inner[i].site,
			loop->inner[i].place, (int64_t)loop->inner[i].turns);
	return rc || rows_finish(into->turns) || rows_finish(into->inner) ? -1 : 0;
}

static int store(const struct account *account, struct account_rows *into)
{
	int rc = store_loop_rows(account, into);

	for (size_t i = 0; i < account->sum_count && !rc; i++) {
		const struct account_sum *sum = &account->sum[i];

		rc = rows_add(into->sums, (int64_t)account->process,
			sum->device == ACCOUNT_HOST ? DB_NULL : (int64_t)sum->device,
			cause_names[sum->cause], id_or_null(sum->from), id_or_null(sum->site),
			sum->ns, sum->times);
	}
	return rc ? rc : store_blocked(account, into->blocked);
}

/* Stores the loop for the rules.  The run and the rest of its evidence are complete. */
static int store_loop(const struct account *account, struct run_evidence *evidence)
{
	const struct loop *loop = &account->loop;

	return loop->turns ? run_add_loop(evidence,
				     &(struct run_loop){ .process = account->process,
					     .thread = loop->thread,
					     .turns = loop->turns,
					     .begin = loop->begin,
					     .end = account->end })
			   : 0;
}

static void release(struct account *account)
{
	for (size_t i = 0; i < account->of_count; i++) {
		free(account->threads[account->of[i]].call);
		free(account->threads[account->of[i]].gap);
		account->threads[account->of[i]] = (struct account_thread){ 0 };
	}
	free(account->sum);
	map_release(&account->sums);
	free(account->blocked);
	map_release(&account->blocks);
	loop_release(&account->loop);
}

/*
 * Accounts for the process of these threads.  *work is its first operation; set to the next
 * process's.
 */
static int account_process(const struct account_run *all, const uint32_t *of, size_t of_count,
	size_t *work, struct account_rows *into)
{
	struct account account = { .run = all->run,
		.db = all->db,
		.of = of,
		.of_count = of_count,
		.threads = all->threads,
		.holds = &all->holds,
		.polls = &all->polls,
		.usage = all->usage,
		.usage_count = all->usage_count,
		.process = all->run->thread[*of].process };
	int rc;

	while (*work < all->work_count && all->work[*work].process < account.process)
		(*work)++;
	account.work = all->work + *work;
	while (*work < all->work_count && all->work[*work].process == account.process)
		(*work)++;
	account.work_count = (size_t)(all->work + *work - account.work);
	rc = measure(&account) || store(&account, into) ||
			(all->evidence && store_loop(&account, all->evidence))
		? -1
		: 0;
	release(&account);
	return rc;
}

/* Processes are found by their threads. */
static int account_processes(const struct account_run *all, struct account_rows *into)
{
	const struct run_thread *thread = all->run->thread;
	size_t work = 0, end;

	for (size_t first = 0; first < all->of_count; first = end) {
		for (end = first; end < all->of_count &&
			thread[all->of[end]].process == thread[all->of[first]].process;)
			end++;
		if (account_process(all, all->of + first, end - first, &work, into))
			return -1;
	}
	return rows_finish(into->sums) || rows_finish(into->blocked) ? -1 : 0;
}

static int map_holds(struct account_run *all)
{
	const struct run_evidence *evidence = &all->run->evidence;

	for (size_t i = 0; i < evidence->hold_count; i++)
		map_set(&all->holds, evidence->hold[i].op, i + 1);
	return 0;
}

static int by_process(const void *a, const void *b, void *of)
{
	const uint32_t *x = a, *y = b;
	const struct run_thread *thread = of;

	if (thread[*x].process != thread[*y].process)
		return thread[*x].process < thread[*y].process ? -1 : 1;
	return (*x > *y) - (*x < *y);
}

static int list_threads(struct account_run *all)
{
	const struct run *run = all->run;

	all->threads = calloc(run->thread_count + 1, sizeof(*all->threads));
	all->of = calloc(run->thread_count + 1, sizeof(*all->of));
	if (!all->threads || !all->of) {
		fputs("cufence: out of memory\n", stderr);
		return -1;
	}
	for (uint32_t i = 1; i < run->thread_count; i++)
		if (run->thread[i].process)
			all->of[all->of_count++] = i;
	qsort_r(all->of, all->of_count, sizeof(*all->of), by_process, run->thread);
	return 0;
}

static int account_all(const struct run *run, struct db *db, struct account_rows *into)
{
	struct account_run all = { .run = run,
		.db = db,
		.evidence = db->run ? &db->run->evidence : NULL };
	int rc = list_threads(&all) || map_holds(&all) || polls_find(&all.polls, run, db) ||
			account_read_usage(&all, db) || account_list_works(&all)
		? -1
		: account_processes(&all, into);

	free(all.work);
	free(all.of);
	free(all.threads);
	free(all.usage);
	map_release(&all.holds);
	polls_release(&all.polls);
	return rc;
}

int account_measure(struct db *db)
{
	struct run *own;
	const struct run *run = run_of(db, &own);
	struct account_rows into = {
		.loops = rows_open(db, "INSERT INTO loop", "iiiciiiii"),
		.turns = rows_open(db, "INSERT INTO turn", "iii"),
		.inner = rows_open(db, "INSERT INTO inner_loop", "iiici"),
		.sums = rows_open(db, "INSERT INTO account", "iIcIIii"),
		.blocked = rows_open(db, "INSERT INTO blocked", "iIIcIIIii"),
	};
	int rc = !run || !into.loops || !into.turns || !into.inner || !into.sums || !into.blocked
		? -1
		: account_all(run, db, &into);

	rows_free(into.loops);
	rows_free(into.turns);
	rows_free(into.inner);
	rows_free(into.sums);
	rows_free(into.blocked);
	run_close(own);
	return rc;
}
