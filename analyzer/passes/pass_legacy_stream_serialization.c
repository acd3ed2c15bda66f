/* SPDX-License-Identifier: Apache-2.0 */
/*
 * legacy-stream-serialization: work of a blocking stream waited for legacy-stream work, or the
 * reverse, and nothing else blocked it.  "When an action is taken in the legacy stream such as a
 * kernel launch or cudaStreamWaitEvent(), the legacy stream first waits on all blocking streams,
 * the action is queued in the legacy stream, and then all blocking streams wait on the legacy
 * stream" (CUDA runtime API, "Stream synchronization behavior").
 *
 * Both directions are one finding: at the call in the legacy stream, for the blocking stream's
 * operation.  Two operations that name the same allocation may need their order, unless the
 * accesses of both are known and neither writes what the other uses (conflict.h).  A pair that may
 * need its order is not reported.  Only the time after the last operation that the blocked one may
 * need counts as blocked: the cost is "as far as cufence sees".  If the thread itself waits
 * needlessly for that operation in the blocked call, that wait is the finding.
 *
 * Threads share the legacy stream, and it orders their work like that of blocking streams.
 *
 * A copy between devices in the legacy stream is legacy work of both (order_legacy.c): the finding
 * is at the copy if the blocked work is legacy work, too.
 *
 * If several consecutive pieces of legacy work order the two, such as two memsets or the event
 * records of a timer, fixing one saves nothing: the replay finds those that delay the same then.
 */
#include <stdlib.h>

#include "conflict.h"
#include "constants.h"
#include "large.h"
#include "radix_sort.h"
#include "memory.h"
#include "pass.h"
#include "print.h"
#include "sorted.h"

/* Returns 1 if both may use the same memory and one may write it; 0, or -1 after a message. */
static int may_need(struct access_reader *reader, int64_t call, int64_t other)
{
	return access_may_conflict(reader, call, other, CONFLICT_MAYBE);
}

/* --- operations that ended while another was blocked --- */

struct ended {
	int64_t end;
	uint64_t op;
};

struct search {
	const struct pass_input *input;
	struct findings *findings;
	struct access_reader *reader;
	struct ended *ended; /* all operations, sorted by end */
	size_t count;
};

static void list_ends(struct search *search)
{
	const struct run *run = search->input->run;

	search->ended = large_need(NULL, run_work_end(run), sizeof(*search->ended));
	for (uint32_t op = 1; op < run_work_end(run); op++) {
		const struct run_work *work = run_work(run, op);
		int64_t end = work ? run_end(run, work, op) : RUN_NEVER;

		if (end != RUN_NEVER)
			search->ended[search->count++] = (struct ended){ end, op };
	}
	search->ended = radix_sort_large(search->ended, search->count, sizeof(*search->ended));
}

/* Returns the index of the first operation that ended after a time. */
static size_t first_after(const struct search *search, int64_t time)
{
	return sorted_after(search->ended, search->count, sizeof(*search->ended),
		offsetof(struct ended, end), time);
}

/*
 * Returns the last end, during the blocked time, of an operation that the blocked one may need, ns;
 * -1 after a message.
 */
static int64_t last_needed(struct search *search, const struct run_hold *hold)
{
	const struct run *run = search->input->run;
	const struct run_work *held = run_work(run, hold->op);
	size_t first = first_after(search, hold->ready);

	for (size_t i = first_after(search, held->start); i-- > first;) {
		const struct run_work *work = run_work(run, search->ended[i].op);
		int needed;

		if (work->call == held->call ||
			run_where(run, work)->process != run_where(run, held)->process)
			continue;
		needed = may_need(search->reader, held->call, work->call);
		if (needed)
			return needed < 0 ? -1 : search->ended[i].end;
	}
	return hold->ready;
}

/* --- holds --- */

/* instance.why: both operations are in one legacy stream. */
static const char two_threads[] = "two threads share the legacy default stream";

/* The thread waits needlessly for that operation in the blocked call. */
static int is_wait_of_its_own(const struct run *run, uint32_t call, uint32_t behind)
{
	const struct run_wait *wait = run_wait_of(&run->evidence, call);

	for (; wait; wait = run_next_wait(&run->evidence, wait))
		if (wait->op == behind && wait->avoidable > 0)
			return 1;
	return 0;
}

static int add_hold(struct search *search, const struct run_hold *hold)
{
	const struct run *run = search->input->run;
	const struct run_work *held = run_work(run, hold->op),
			      *behind = run_work(run, hold->behind);
	struct instance instance = {
		.rule = RULE_legacy_stream_serialization,
		.call = hold->via,
		.saving = FINDING_DELAY,
		.change = CHANGE_ORDER,
	};
	int64_t needed;
	int rc;

	if (!held || !behind || is_wait_of_its_own(run, held->call, hold->behind))
		return 0;
	rc = may_need(search->reader, held->call, behind->call);
	if (rc)
		return rc < 0 ? -1 : 0;
	needed = last_needed(search, hold);
	if (needed == -1)
		return -1;
	/* The threads may have handed over to each other unseen. */
	if (run_where(run, held)->stream == run_where(run, behind)->stream) {
		instance.why = two_threads;
		instance.confidence = CONFIDENCE_LIKELY;
	}
	instance.process = run_where(run, held)->process;
	instance.other_call = hold->via == held->call ? behind->call : held->call;
	instance.cost = hold->ready + hold->held - needed;
	if (instance.cost < HELD_MIN_NS)
		return 0;
	return findings_add(search->findings, &instance);
}

static int add_holds(struct search *search)
{
	const struct run_evidence *evidence = &search->input->run->evidence;
	int rc = 0;

	for (size_t i = 0; i < evidence->hold_count && !rc; i++) {
		if (evidence->hold[i].reason != HOLD_LEGACY)
			continue;
		if (!search->ended)
			list_ends(search);
		rc = add_hold(search, &evidence->hold[i]);
	}
	return rc;
}

static int run(const struct pass_input *input, struct findings *findings)
{
	struct search search = { .input = input, .findings = findings };
	int rc = -1;

	search.reader = access_share(input->db, 0);
	if (search.reader)
		rc = add_holds(&search);
	access_close(search.reader);
	large_free(search.ended);
	return rc;
}

static int say(struct words *words, const struct instance *worst, FILE *out)
{
	int orders = words_only_orders(words, worst->call);

	if (orders < 0 || words_operation(words, worst->call, out))
		return -1;
	fputs(orders ? " delayed " : " and ", out);
	if (words_operation(words, worst->other_call, out))
		return -1;
	fputs(orders ? " by " : " did not overlap: the later one was delayed by ", out);
	words_time(worst->cost, out);
	fputs(orders ? ", until other work had ended: no shared memory detected"
		     : ": no data dependency detected",
		out);
	if (worst->why == two_threads)
		print(out, "; %s", two_threads);
	if (worst->joined)
		fputs("; other work of the legacy stream next to it does the same and has to be "
		      "moved as well",
			out);
	return 0;
}

/* Suggests the stream that uses the memory; if several do, events are needed, too. */
static int fix(struct words *words, const struct instance *worst, FILE *out)
{
	int64_t user = words_user_of_memory(words, worst->call);
	int is_legacy = user ? words_in_default_stream(words, worst->call) : 0;

	if (worst->why == two_threads) {
		fputs("give each thread a stream of its own, or build with --default-stream "
		      "per-thread, with events for what threads share",
			out);
		return 0;
	}
	if (is_legacy <= 0)
		return is_legacy;
	fputs("submit it where its memory is used, which is by one stream only: ", out);
	if (words_operation(words, user, out) || words_place(words, user, out))
		return -1;
	return 0;
}

const struct pass pass_legacy_stream_serialization = { .run = run, .say = say, .fix = fix };
