/* SPDX-License-Identifier: Apache-2.0 */
#include "account.h"

#include <stdlib.h>

#include "account_internal.h"
#include "bounds.h"
#include "compare.h"
#include "large.h"
#include "memory.h"
#include "polls.h"
#include "rows.h"
#include "workers.h"

const char *const account_cause_names[] = {
#define X(cause, name) [ACCOUNT_##cause] = name,
	ACCOUNT_CAUSES(X)
#undef X
};

void account_add_sum(struct account *account, const struct account_sum *sum)
{
	const uint64_t words[] = { (uint64_t)(uint32_t)sum->device << 32 | sum->cause,
		(uint64_t)sum->from << 32 | sum->site,
		(uint64_t)(uintptr_t)sum->ended ^ sum->stream,
		(uint64_t)sum->by_thread << 32 | sum->by_site };
	size_t at;

	if (sum->ns <= 0)
		return;
	at = map_number(&account->sums, map_hash_words(words, 4));
	if (at == account->sum_count)
		*array_push(account->sum, account->sum_count) = *sum;
	else
		account->sum[at].ns += sum->ns;
	account->sum[at].times++;
}

void account_add(struct account *account, int32_t device, enum account_cause cause, uint32_t from,
	uint32_t site, int64_t ns)
{
	account_add_sum(account, &(struct account_sum){ device, cause, from, site, .ns = ns });
}

static void read_calls(struct account *account)
{
	const struct run *run = account->run;
	uint32_t *busiest = account->busiest;

	for (size_t i = 0; i < account->of_count; i++) {
		struct account_thread *thread = &account->threads[account->of[i]];
		size_t at = account->busiest_count;

		thread->thread = account->of[i];
		for (uint32_t id = run->thread[thread->thread].first; id;
			id = run_link(run, id)->next) {
			const struct run_call *call = run_call(run, id);
			const struct run_wait *wait = run_wait_of(&run->evidence, id);
			struct account_call *last, *first;
			int64_t since, held;

			if (!run_link(run, id)->parent || !thread->count)
				*large_push(thread->call, thread->count) =
					(struct account_call){ .enter = call->enter,
						.exit = run_exit(run, call, id),
						.site = run_link(run, id)->site,
						.cause = ACCOUNT_CALL };
			/* It extends the last one, if it was made within that. */
			last = &thread->call[thread->count - 1];
			if (wait || kind_family(call->kind) == FAMILY_wait)
				last->cause = ACCOUNT_WAIT;
			else if (kind_has(call->kind, K_WORK) && last->cause == ACCOUNT_CALL)
				last->cause = ACCOUNT_SUBMIT;
			for (held = 0; wait; wait = run_next_wait(&run->evidence, wait)) {
				held = at_least(wait->waited, held);
				last->op = wait->op;
			}
			last->held += held;
			if (!last->site)
				last->site = run_link(run, id)->site;
			/* A loop of queries that ended in success with this one is one wait. */
			since = polls_since(run, id);
			if (since == INT64_MIN)
				continue;
			for (first = last; first > thread->call && first[-1].exit > since;)
				first--;
			first->exit = last->exit;
			first->held = first->exit - since;
			first->cause = ACCOUNT_WAIT;
			thread->count = (size_t)(first - thread->call) + 1;
		}
		if (!thread->count)
			continue;
		account->busiest_count += at < ACCOUNT_BUSIEST;
		for (; at && account->threads[busiest[at - 1]].count < thread->count; at--)
			if (at < ACCOUNT_BUSIEST)
				busiest[at] = busiest[at - 1];
		if (at < ACCOUNT_BUSIEST)
			busiest[at] = thread->thread;
	}
}

/*
 * Without a loop the account covers the first submitting call to the end of the last operation. The
 * last turn of a loop ends when all work that it submitted has ended.
 */
static void set_covered_time(struct account *account)
{
	const struct run *run = account->run;
	const struct loop *loop = &account->loop;
	const int64_t *begin = loop->run.begin;
	int64_t submitted = loop->run.turns ? begin[loop->run.turns] : RUN_NEVER;
	int64_t first = RUN_NEVER, last = INT64_MIN;

	for (size_t i = 0; i < account->work_count; i++) {
		const struct account_work *work = &account->work[i];
		const struct run_call *call = run_call(run, run_work(run, work->id)->call);
		int64_t end = account_work_end(account, work);

		first = at_most(first, call ? at_most(call->enter, work->start) : work->start);
		if (end != RUN_NEVER && (call ? call->enter : work->start) < submitted)
			last = at_least(last, end);
	}
	account->begin = loop->run.turns ? begin[0] : first;
	account->end = at_least(loop->run.turns ? submitted : first, last);
}

/* The account's clock stops while the program is outside of its loop. */
static void leave_out_pauses(struct account *account)
{
	const struct run_loop *turns = &account->loop.run;

	account->begin = run_loop_clock(turns, account->begin);
	account->end = run_loop_clock(turns, account->end);
	for (size_t i = 0; i < account->work_count && turns->pauses; i++) {
		struct account_work *work = &account->work[i];

		work->start = run_loop_clock(turns, work->start);
	}
	for (size_t i = 0; i < account->of_count && turns->pauses; i++) {
		struct account_thread *thread = &account->threads[account->of[i]];

		for (size_t k = 0; k < thread->count; k++) {
			struct account_call *call = &thread->call[k];

			call->enter = run_loop_clock(turns, call->enter);
			call->exit = run_loop_clock(turns, call->exit);
			call->held = at_most(call->held, call->exit - call->enter);
			if (!thread->gap)
				continue;
			thread->gap[k].blocked = run_loop_clock(turns, thread->gap[k].blocked);
			thread->gap[k].preempted = run_loop_clock(turns, thread->gap[k].preempted);
			thread->gap[k].end = run_loop_clock(turns, thread->gap[k].end);
		}
	}
}

/* Stores what was found of a process; its loop is evidence. */
static int store(struct account *account)
{
	struct run_evidence *evidence = &account->db->run->evidence;
	const struct loop *loop = &account->loop;
	const struct run_loop *turns = &account->loop.run;
	int64_t process = account->process;
	struct rows *rows;
	int rc = 0;

	if (turns->turns)
		rc = db_add(account->db,
			ROW(loop, process, loop->run.thread, loop->site, cell_text(loop->place),
				turns->turns, loop->warm, turns->begin[0],
				turns->begin[turns->turns], turns->end,
				turns->end - turns->begin[0] - run_loop_length(turns)));
	/* There may be as many turns as calls. */
	rows = rc ? NULL : rows_open(account->db, TABLE_turn);
	for (size_t i = 0, pause = 0; i < turns->turns && rows && !rc; i++) {
		int is_left =
			pause < turns->pauses && turns->pause[pause].until == turns->begin[i + 1];

		rc = rows_add(rows,
			ROW(turn, process, i, turns->begin[i],
				is_left ? turns->pause[pause].from : turns->begin[i + 1]));
		pause += is_left;
	}
	rc = rc || !rows || rows_finish(rows) ? -1 : 0;
	rows_free(rows);
	for (size_t i = 0; i < loop->inner_count && !rc; i++)
		rc = db_add(account->db,
			ROW(inner_loop, process, i, loop->inner[i].site,
				cell_text(loop->inner[i].place), loop->inner[i].turns));
	for (size_t i = 0; i < account->sum_count && !rc; i++) {
		const struct account_sum *sum = &account->sum[i];
		int64_t from = cell_id(sum->from), site = cell_id(sum->site);

		if (sum->device == ACCOUNT_ENDED)
			rc = db_add(account->db,
				ROW(blocked, process, from, site, cell_text(sum->ended),
					cell_id(sum->stream), cell_id(sum->by_thread),
					cell_id(sum->by_site), sum->ns, sum->times));
		else
			rc = db_add(account->db,
				ROW(account, process,
					sum->device == ACCOUNT_HOST ? DB_NULL
								    : (int64_t)sum->device,
					cell_text(account_cause_names[sum->cause]), from, site,
					sum->ns, sum->times));
	}
	if (rc || !turns->turns)
		return rc;
	*array_push(evidence->loop, evidence->loop_count) = *turns;
	account->loop = (struct loop){ 0 };
	return 0;
}

/* Accounts for a process, in a thread of its own; number: of an array of struct account. */
static int account_process(void *arg, size_t number)
{
	struct account *account = (struct account *)arg + number;
	const uint32_t *of = account->of;
	const struct loop *loop = &account->loop;
	int rc;

	account_list_works(account);
	rc = loop_find(&account->loop, account->run, account->db, of, account->of_count);
	set_covered_time(account);
	account->loop.run.process = account->process;
	account->loop.run.end = account->end;
	if (!rc && account->begin != account->end) {
		read_calls(account);
		account_find_gaps(account);
		account_arrivals(account);
		leave_out_pauses(account);
		account->thread = loop->run.turns ? loop->run.thread : account->busiest[0];
		account_devices(account);
		if (account->thread)
			account_host(account);
	}
	for (size_t i = 0; i < account->of_count; i++) {
		large_free(account->threads[of[i]].call);
		large_free(account->threads[of[i]].gap);
		account->threads[of[i]] = (struct account_thread){ 0 };
	}
	large_free(account->work);
	return rc;
}

static int by_process(const void *a, const void *b, void *of)
{
	const uint32_t *x = a, *y = b;
	const struct run_thread *thread = of;

	return by_number(thread[*x].process, thread[*y].process) ?: by_number(*x, *y);
}

/* Operations of a process have ids that are close together. */
static void find_works(struct account *each, size_t processes)
{
	const struct run *run = processes ? each->run : NULL;
	struct account *of = NULL;
	struct map number = { 0 };

	for (size_t i = 0; i < processes; i++)
		map_set(&number, each[i].process, i + 1);
	for (uint32_t id = 1; run && id < run_work_end(run); id++) {
		const struct run_work *work = run_work(run, id);
		uint32_t process = work ? run_where(run, work)->process : 0;

		if (!work)
			continue;
		if (!of || of->process != process) {
			uint64_t at = map_get(&number, process, 0);

			of = at ? &each[at - 1] : NULL;
		}
		if (of) {
			of->first = of->first ? of->first : id;
			of->last = id;
		}
	}
	map_release(&number);
}

int account_measure(struct db *db)
{
	const struct run *run = db->run;
	const struct handovers *handovers = &run->evidence.handovers;
	struct account account = { .run = run, .db = db };
	/* Processes are found by their threads. */
	uint32_t *of = xcalloc(run->thread_count, sizeof(*of));
	size_t count = 0, processes = 0, end;
	struct account *each = NULL;
	struct account_arrival *arrival = NULL;
	size_t arrivals = 0, arrived = 0;
	int rc = account_list_arrivals(db, &arrival, &arrivals);

	for (size_t i = 0; i < run->evidence.hold_count; i++)
		map_set(&account.holds, run->evidence.hold[i].op, i + 1);
	account.threads = xcalloc(run->thread_count, sizeof(*account.threads));
	for (size_t i = 0; i < handovers->reading_count; i++) {
		const struct usage_reading *usage = &handovers->reading[i];
		struct account_thread *thread = &account.threads[usage->thread];

		thread->usage = thread->usage ? thread->usage : usage;
		thread->usage_count++;
	}
	for (uint32_t i = 1; i < run->thread_count; i++)
		if (run->thread[i].process)
			of[count++] = i;
	qsort_r(of, count, sizeof(*of), by_process, run->thread);
	for (size_t first = 0; first < count; first = end) {
		for (end = first; end < count &&
			run->thread[of[end]].process == run->thread[of[first]].process;)
			end++;
		account.process = run->thread[of[first]].process;
		account.of = of + first;
		account.of_count = end - first;
		account.arrival = arrival + arrived;
		while (arrived < arrivals && arrival[arrived].process <= account.process)
			arrived++;
		account.arrival_count = (size_t)(arrival + arrived - account.arrival);
		*array_push(each, processes) = account;
	}
	find_works(each, processes);
	rc = rc || workers_run(processes, account_process, each) ? -1 : 0;
	/* In order of processes. */
	for (size_t i = 0; i < processes && !rc; i++)
		rc = store(&each[i]);
	rc = rc || account_store_arrivals(db, arrival, arrivals) ? -1 : 0;
	for (size_t i = 0; i < processes; i++) {
		free(each[i].sum);
		map_release(&each[i].sums);
		loop_release(&each[i].loop);
	}
	free(arrival);
	free(each);
	free(of);
	free(account.threads);
	map_release(&account.holds);
	return rc;
}
