/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blocked-outside: a thread was blocked outside of CUDA until a host function had run, which the
 * device reaches when all work before it in its stream has ended (handovers.h).  So frameworks
 * whose runtime waits for the device by a condition, as XLA for JAX's block_until_ready, wait.
 *
 * Only the author knows whether what the device had computed was needed then, as with every value
 * that a line of a script reads.  It is likely where the thread is known to have been off its
 * processor until then, and neither what was submitted since it was blocked last time nor the first
 * work that it submits afterwards writes memory of the host; otherwise it is possible.  So it is in
 * a program of scripts where no script called: a library's own thread, such as one of XLA's pool,
 * waits for its next task, which the host function may just happen to precede.
 *
 * The thread made no call where it was blocked, and a script may have gone on since its last one.
 * Where the first thread slept is known of some of its waits (handover.asleep).
 *
 * At most the time is saved for which the device then had nothing to do: if later work is pending
 * already, the wait only bounds how far the host is ahead, as JAX does with its executions.
 */
#include "access.h"
#include "handovers.h"
#include "host_runs.h"
#include "pass.h"

struct search {
	const struct run *run;
	struct findings *findings;
	struct access_reader *reader;
	sqlite3_stmt *next;   /* the operation that ended next after a time, and its submission */
	sqlite3_stmt *script; /* a frame of a script in a call's site; NULL: there are no scripts */
};

static int is_of_host(const struct run *run, int64_t allocation)
{
	switch (run_allocation(run, allocation)->kind) {
	case ALLOCATION_PINNED:
	case ALLOCATION_REGISTERED:
	case ALLOCATION_MANAGED:
		return 1;
	default:
		return 0;
	}
}

/* Does the call's work write memory of the host, or may it by what it names?  -1: a message. */
static int has_result(const struct search *search, uint32_t id)
{
	const struct run_call *call = run_call(search->run, id);
	const struct accesses *accesses;

	if (!call || !call->last_work)
		return 0;
	if (run_payload(search->run, call)->dst == MEMORY_PAGEABLE)
		return 1;
	accesses = access_read(search->reader, id);
	if (!accesses)
		return -1;
	for (size_t i = 0; i < accesses->count; i++)
		if (accesses->access[i].direction != ACCESS_READ &&
			is_of_host(search->run, accesses->access[i].allocation))
			return 1;
	return 0;
}

/* Looks at all calls from one to another, without the first one. */
static int has_results(const struct search *search, uint32_t since, uint32_t until)
{
	int rc = 0;

	for (uint32_t id = since + 1; id <= until && !rc; id++)
		rc = has_result(search, id);
	return rc;
}

/* Does the thread fetch a result by the first work that it submits after it was blocked? */
static int fetches_result(const struct search *search, const struct handover *handover)
{
	for (uint32_t id = handover->after; id < run_call_end(search->run); id++) {
		const struct run_call *call = run_call(search->run, id);

		if (call && call->thread == handover->thread && call->last_work)
			return has_result(search, id);
	}
	return 0;
}

/* How long the device had nothing to do after the function, ns; -1: a message. */
static int64_t idle_after(const struct search *search, const struct handover *handover)
{
	int step;

	if (db_bind(search->next, "ii", (int64_t)handover->process, handover->ended))
		return -1;
	step = db_step(search->next);
	return step > 0 ? sqlite3_column_int64(search->next, 0) : step;
}

/* 1: no script called, in a program of scripts; -1: a message. */
static int is_of_library(const struct search *search, uint32_t call)
{
	int step;

	if (!search->script)
		return 0;
	if (db_bind(search->script, "i", (int64_t)run_link(search->run, call)->site))
		return -1;
	step = db_step(search->script);
	return step < 0 ? -1 : !step;
}

static int add(const struct search *search, const struct handover *handover, uint32_t since)
{
	int64_t idle = idle_after(search, handover);
	int doubt = handover->is_sure ? has_results(search, since, handover->by) : 1;

	if (!doubt)
		doubt = fetches_result(search, handover);
	if (!doubt)
		doubt = is_of_library(search, handover->before);
	if (doubt < 0 || idle < 0)
		return -1;
	return findings_add(search->findings,
		&(struct instance){ .rule = RULE_blocked_outside,
			.process = handover->process,
			.call = handover->before,
			.site = handover->asleep,
			.other_call = handover->by,
			.cost = handover->blocked,
			.saving = idle < handover->blocked ? idle : handover->blocked,
			.change = CHANGE_OUTSIDE,
			.reads = 1,
			.only_replay = 1,
			.confidence = doubt ? CONFIDENCE_POSSIBLE : CONFIDENCE_LIKELY });
}

static int add_all(const struct search *search, const struct handovers *handovers)
{
	uint32_t thread = 0, since = 0;
	int rc = 0;

	for (size_t i = 0; i < handovers->count && !rc; i++) {
		const struct handover *handover = &handovers->list[i];

		if (!handover->is_function)
			continue;
		if (handover->thread != thread)
			since = 0;
		thread = handover->thread;
		rc = add(search, handover, since);
		since = handover->by;
	}
	return rc;
}

static int run(const struct pass_input *input, struct findings *findings)
{
	struct search search = { .run = input->run, .findings = findings };
	int rc;

	if (!host_run_count(input->run))
		return 0;
	search.reader = access_share(input->db, 0);
	search.next = db_prepare(input->db,
		"SELECT CASE WHEN c.enter < ?2 OR o.start < ?2 THEN 0 ELSE o.start - ?2 END"
		" FROM operation o LEFT JOIN call c ON c.id = o.call"
		" WHERE o.process = ?1 AND o.end > ?2 ORDER BY o.end LIMIT 1");
	if (db_int(input->db, "SELECT EXISTS (SELECT 1 FROM frame WHERE address < 0)", 0))
		search.script = db_prepare(input->db,
			"SELECT 1 FROM frame WHERE site = ? AND address < 0 LIMIT 1");
	rc = !search.reader || !search.next || add_all(&search, &input->run->evidence.handovers)
		? -1
		: 0;
	sqlite3_finalize(search.next);
	sqlite3_finalize(search.script);
	access_close(search.reader);
	return rc;
}

static int say(struct words *words, const struct instance *worst, FILE *out)
{
	fputs("after ", out);
	if (words_call(words, worst->call, out))
		return -1;
	fputs(" the thread was blocked outside of CUDA for ", out);
	words_time(worst->cost, out);
	fputs(", until the device had come to a host function", out);
	return 0;
}

const struct pass pass_blocked_outside = { .run = run, .say = say };
