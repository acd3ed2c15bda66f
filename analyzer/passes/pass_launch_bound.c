/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch-bound: a loop's thread submits the same work in each iteration, call by call, and this
 * takes the host longer than the device needs for the work.  "CPU launch costs are reduced compared
 * to streams, because much of the setup is done in advance" (CUDA programming guide, "CUDA
 * Graphs"). A row is a sequence of calls with nothing between them that cannot be captured:
 * launched as a graph, it costs the host as much as its first call.
 *
 * A row can become a graph unchanged if the same calls repeat: at the same lines, in the same order
 * and streams, with the same kernels, sizes and arguments.  Otherwise the graph must be updated in
 * each iteration: possible at most.  findings.c replays the run to check that these calls limit it
 * (rule_is_pace()).
 */
#include <stdlib.h>

#include "constants.h"
#include "large.h"
#include "map.h"
#include "memory.h"
#include "pass.h"
#include "print.h"
#include "workers.h"

/* One call of a row: a submission of work, or an event record or wait between these. */
struct member {
	uint32_t call, outer;
	uint32_t row;     /* from 1 on */
	int submits;      /* it submits work */
	int64_t duration; /* duration of the outermost call, ns */
};

struct search {
	const struct run *run;
	const struct run_loop *loop;
	struct member *member;
	size_t count;
	uint64_t *hash; /* by row */
	size_t rows;
	struct map times;          /* hash -> number of rows */
	int64_t host, device;      /* total ns of all calls that submit, and of their work */
	int64_t submits, saveable; /* number of calls; ns without the first call of each row */
};

static int is_pageable(const struct run_payload *payload)
{
	return payload->src == MEMORY_PAGEABLE || payload->dst == MEMORY_PAGEABLE;
}

/* The call can become a node or an edge of a graph, and it returned without waiting. */
static int can_be_captured(const struct run *run, uint32_t id, const struct run_call *call)
{
	int puts_in_order = kind_has(call->kind, K_MARKER) &&
		(kind_has(call->kind, K_QUICK) || kind_family(call->kind) == FAMILY_event_wait);
	int submits = kind_has(call->kind, K_WORK) && kind_has(call->kind, K_QUICK) &&
		!is_pageable(run_payload(run, call));

	return (puts_in_order || submits) && call->stream && call->duration < DURATION_LONG &&
		!run_payload(run, call)->result && !run_wait_of(&run->evidence, id) &&
		!run_object(run, id, OBJECT_CAPTURED);
}

/* Hashes what the graph node for the call would contain.  Events are left out. */
static uint64_t hash_of(const struct run *run, const struct member *member)
{
	const struct run_call *call = run_call(run, member->call);
	const struct run_ended *launch = run_find(&run->launches, member->call);
	const struct run_operand *operand = run_find(&run->operands, member->call);
	const struct run_operand *end = run_rows_end(&run->operands);
	uint64_t hash = map_hash_next(run_link(run, member->outer)->site, call->type);

	hash = map_hash_next(hash, call->stream);
	if (!member->submits)
		return hash;
	hash = map_hash_next(map_hash_next(hash, call->payload), launch ? launch->what : 0);
	for (; operand && operand < end && operand->call == member->call; operand++)
		hash = map_hash_next(map_hash_next(hash, operand->allocation),
			(uint64_t)operand->address);
	return hash;
}

static int64_t device_time(const struct run *run, const struct run_call *call)
{
	const struct run_work *work = run_work(run, call->last_work);

	return work && work->duration < DURATION_LONG && !run_where(run, work)->end_is_limit
		? work->duration
		: 0;
}

static int begin_row(struct search *search)
{
	*large_push(search->hash, search->rows) = 0;
	return 0;
}

static int add_member(struct search *search, uint32_t id, uint32_t outer, int is_first)
{
	const struct run *run = search->run;
	const struct run_call *call = run_call(run, id);
	struct member *member;

	if (is_first && begin_row(search))
		return -1;
	member = large_push(search->member, search->count);
	*member = (struct member){ .call = id,
		.outer = outer,
		.row = (uint32_t)search->rows,
		.submits = kind_has(call->kind, K_WORK),
		.duration = run_call(run, outer)->duration };
	search->hash[search->rows - 1] =
		map_hash_next(search->hash[search->rows - 1], hash_of(run, member));
	search->saveable += is_first ? 0 : member->duration;
	if (!member->submits)
		return 0;
	search->submits++;
	search->host += member->duration;
	search->device += device_time(run, call);
	return 0;
}

/* Finds the thread's rows within each iteration: any other call ends a row. */
static int find_rows(struct search *search)
{
	const struct run *run = search->run;
	const struct run_loop *loop = search->loop;
	uint32_t outer = 0;
	size_t turn = 0;
	int open = 0;

	for (uint32_t id = run->thread[loop->thread].first; id; id = run_link(run, id)->next) {
		const struct run_call *call = run_call(run, id);

		if (!call || call->enter < loop->begin[0])
			continue;
		if (call->enter >= loop->begin[loop->turns])
			break;
		if (!run_loop_has(loop, call->enter)) {
			open = 0;
			continue;
		}
		if (!run_link(run, id)->parent)
			outer = id;
		for (; call->enter >= loop->begin[turn + 1]; turn++)
			open = 0;
		/* The driver call within a runtime call, or within NCCL's, tells what it is. */
		if (kind_family(call->kind) == FAMILY_runtime ||
			kind_family(call->kind) == FAMILY_collective)
			continue;
		if (!outer || !can_be_captured(run, id, call)) {
			open = 0;
			continue;
		}
		if (!open && !kind_has(call->kind, K_WORK))
			continue;
		if (add_member(search, id, outer, !open))
			return -1;
		open = 1;
	}
	return 0;
}

static void count_rows(struct search *search)
{
	for (size_t i = 0; i < search->rows; i++)
		map_add(&search->times, search->hash[i], 1);
}

/* One graph serves for a good part of all iterations. */
static int is_repeated(const struct search *search, uint32_t row)
{
	uint64_t times = map_get(&search->times, search->hash[row - 1], 0);

	return times >= FINDING_MIN_COUNT && times * SAME_ROW_PART >= search->loop->turns;
}

/* Reports work that is not the first of its row, with the event calls before it. */
static int report(struct search *search, struct findings *findings, size_t *at)
{
	const struct member *member = &search->member[*at];
	int64_t turns = (int64_t)search->loop->turns;
	struct instance instance = { .rule = RULE_launch_bound,
		.process = search->loop->process,
		.change = CHANGE_NODE,
		.a_turn = (2 * search->submits + turns) / (2 * turns),
		.host = search->host / search->submits,
		.device = search->device / search->submits,
		.confidence = is_repeated(search, member->row) ? CONFIDENCE_LIKELY
							       : CONFIDENCE_POSSIBLE };
	uint32_t row = member->row;
	int also = 0;

	for (; *at < search->count && also < FINDING_ALSO; ++*at) {
		member = &search->member[*at];
		if (member->row != row)
			return 0;
		instance.cost += member->duration;
		if (member->submits) {
			++*at;
			instance.call = member->call;
			instance.saving = instance.cost;
			return findings_add(findings, &instance);
		}
		instance.also[also++] = member->call;
	}
	return 0;
}

/* The first call of each row remains, as the graph's launch. */
static int report_all(struct search *search, struct findings *findings)
{
	uint32_t row = 0;

	for (size_t i = 0; i < search->count;) {
		if (search->member[i].row != row) {
			row = search->member[i++].row;
			continue;
		}
		if (report(search, findings, &i))
			return -1;
	}
	return 0;
}

static int is_worth_it(const struct search *search)
{
	return search->submits > (int64_t)search->loop->turns &&
		100 * search->saveable >= LAUNCH_BOUND_PERCENT * run_loop_length(search->loop);
}

static void forget(struct search *search)
{
	large_free(search->member);
	large_free(search->hash);
	map_release(&search->times);
	search->member = NULL;
	search->hash = NULL;
	search->count = 0;
}

/* In a thread of its own; what is not worth it has no members afterwards. */
static int search_loop(void *arg, size_t number)
{
	struct search *search = (struct search *)arg + number;

	if (find_rows(search))
		return -1;
	count_rows(search);
	if (!is_worth_it(search))
		forget(search);
	return 0;
}

static int run(const struct pass_input *input, struct findings *findings)
{
	const struct run_evidence *evidence = &input->run->evidence;
	struct search *search = NULL;
	size_t count = 0;
	int rc;

	for (size_t i = 0; i < evidence->loop_count; i++)
		if (!map_get(&input->run->gaps, evidence->loop[i].process, 0))
			*array_push(search, count) =
				(struct search){ .run = input->run, .loop = &evidence->loop[i] };
	rc = workers_run(count, search_loop, search);
	for (size_t i = 0; i < count; i++) {
		if (!rc)
			rc = report_all(&search[i], findings);
		forget(&search[i]);
	}
	free(search);
	return rc;
}

static int say(struct words *words, const struct instance *worst, FILE *out)
{
	if (words_operation(words, worst->call, out))
		return -1;
	print(out, " is one of %lld submissions a turn: each takes the host ",
		(long long)worst->a_turn);
	words_time(worst->host, out);
	fputs(", and the device ", out);
	words_time(worst->device, out);
	return 0;
}

static int fix(struct words *words, const struct instance *worst, FILE *out)
{
	int script = words_has_script(words, worst->process);

	if (script > 0)
		fputs("torch.compile with mode=\"reduce-overhead\", or torch.cuda.graph: "
		      "capture the turn once and replay it",
			out);
	return script < 0 ? -1 : 0;
}

const struct pass pass_launch_bound = { .run = run, .say = say, .fix = fix };
