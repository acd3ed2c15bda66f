/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lazy-loading: a launch loaded code in the middle of other work.  "Lazy Loading delays loading of
 * CUDA modules and kernels from program initialization closer to kernels execution" (CUDA
 * programming guide, "Lazy Loading").  The time adds to that of the work, and the device may have
 * to become idle first.
 *
 * Every first launch of a kernel loads it, once.  Therefore a load counts only at a line that loads
 * in many of its rounds, if the launch waited for other work or the line had launched before.  A
 * load that may be a warm-up does not count: up to the context's first explicit wait, or if the
 * same kernel is launched from elsewhere later.
 *
 * If each round loads or unloads a module, its kernels are loaded again each time.  If the module
 * waited for the device, and for longer than the loading took, blocking-module reports it.
 */
#include <stdlib.h>

#include "constants.h"
#include "id_map.h"
#include "memory.h"
#include "pass_waits.h"
#include "sorted.h"

struct place {
	int64_t launches, loads;
	int64_t last; /* last launch */
	int64_t in_rounds,
		waited; /* ns of loading in rounds that waited for a module; ns of these waits */
};

/* A module load or unload that waited. */
struct module_wait {
	int64_t call, ns;
};

/* A launch that loaded its kernel. */
struct loading {
	struct instance instance;
	const struct place *at;
	int used_elsewhere, in_round;
};

struct search {
	struct findings *findings;
	struct loading *loading;
	size_t count;
	struct id_map kernels;      /* kernel -> 1 + index of its last loading (size_t) */
	struct id_map places;       /* place -> struct place, of launches */
	struct module_wait *module; /* sorted by call */
	size_t module_count;
	int64_t last_end; /* last end of the kernels launched so far, ns */
};

static int is_launch_that_waited(const struct pass_input *input, const struct waited *waited)
{
	return waited->wait->kind == WAIT_INTERNAL &&
		kind_family(waited->call->kind) == FAMILY_launch &&
		loads_late(&input->late, waited->wait->call) &&
		is_loading_place(&input->late, waited->wait->call);
}

static int by_call(const void *a, const void *b)
{
	const struct module_wait *x = a, *y = b;

	return (x->call > y->call) - (x->call < y->call);
}

static int find_modules(struct search *search, const struct run *run)
{
	const struct run_evidence *evidence = &run->evidence;

	for (size_t i = 1; i < evidence->wait_count; i++) {
		const struct run_wait *wait = &evidence->wait[i];
		const struct run_call *call = run_call(run, wait->call);

		if (wait->kind != WAIT_IMPLICIT || wait->avoidable <= 0 || !call ||
			kind_family(call->kind) != FAMILY_module)
			continue;
		*array_push(search->module, search->module_count) =
			(struct module_wait){ wait->call, wait->avoidable };
	}
	if (search->module_count)
		qsort(search->module, search->module_count, sizeof(*search->module), by_call);
	return 0;
}

/* Returns the time waited for modules between two calls, ns. */
static int64_t waited_between(const struct search *search, int64_t from, int64_t to)
{
	size_t low = sorted_after(search->module, search->module_count, sizeof(*search->module),
		offsetof(struct module_wait, call), from);
	int64_t ns = 0;

	for (; low < search->module_count && search->module[low].call < to; low++)
		ns += search->module[low].ns;
	return ns;
}

/* A launch from elsewhere means that the last loading may have been a warm-up. */
static void note_use(struct search *search, int64_t kernel, const struct place *at)
{
	const size_t *number = id_map_get(&search->kernels, kernel);

	if (number && search->loading[*number - 1].at != at)
		search->loading[*number - 1].used_elsewhere = 1;
}

static int add_loading(struct search *search, const struct loading *loading, int64_t kernel)
{
	size_t *number = id_map_need(&search->kernels, kernel, sizeof(*number));

	*array_push(search->loading, search->count) = *loading;
	*number = search->count;
	return 0;
}

/* Returns the part of the time in which the device was idle: the rest costs nothing. */
static int64_t idle_part(const struct search *search, int64_t start, int64_t end)
{
	int64_t from = search->last_end > start ? search->last_end : start;

	return end > from ? end - from : 0;
}

/* Returns the last end of a call's operations, ns; 0: unknown. */
static int64_t last_end(const struct run *run, const struct run_call *call)
{
	int64_t last = INT64_MIN;

	for (uint32_t id = 0; (id = run_next_work(run, call, id));) {
		int64_t end = run_end(run, run_work(run, id), id);

		if (end != RUN_NEVER && end > last)
			last = end;
	}
	return last == INT64_MIN ? 0 : last;
}

/* Adds a launch.  start, end: when it loaded code; 0: it loaded none. */
static int add_launch(struct search *search, const struct run *run, uint32_t call, int64_t start,
	int64_t end)
{
	const struct run_call *row = run_call(run, call);
	const struct run_payload *payload = run_payload(run, row);
	int64_t op_end = last_end(run, row), waited;
	int64_t place = findings_place(search->findings, call);
	struct place *at = place < 0 ? NULL : id_map_need(&search->places, place, sizeof(*at));
	struct loading loading = {
		.instance = { .rule = RULE_lazy_loading,
			.call = call,
			.cost = end - start,
			.process = payload->process,
			.saving = idle_part(search, start, end) },
		.at = at,
	};

	if (!at)
		return -1;
	if (op_end > search->last_end)
		search->last_end = op_end;
	waited = at->launches++ && end ? waited_between(search, at->last, call) : 0;
	at->loads += end != 0;
	at->last = call;
	note_use(search, payload->kernel, at);
	if (at->launches == 1 || !end)
		return 0;
	if (waited) {
		loading.in_round = 1;
		at->in_rounds += loading.instance.saving;
		at->waited += waited;
	}
	return add_loading(search, &loading, payload->kernel);
}

static int is_reported(const struct loading *loading)
{
	const struct place *at = loading->at;

	return !loading->used_elsewhere && loading->instance.saving > 0 &&
		!(loading->in_round && at->waited > at->in_rounds) &&
		at->launches <= LOADS_PART * at->loads;
}

static int is_launch(const struct run *run, uint32_t id)
{
	const struct run_call *call = run_call(run, id);

	return call && kind_family(call->kind) == FAMILY_launch && call->flags & CALL_RETURNED &&
		!run_payload(run, call)->result && run_payload(run, call)->kernel;
}

/* Finds calls that blocked the device to load code. */
static void find_holders(struct map *holders, const struct run_evidence *evidence)
{
	for (size_t i = 0; i < evidence->hold_count; i++)
		if (evidence->hold[i].reason == HOLD_LOAD && evidence->hold[i].via)
			map_set(holders, evidence->hold[i].via, 1);
}

/* Finds when the call loaded code.  end 0: it loaded none, or it waited meanwhile. */
static void when_loaded(const struct pass_input *input, const struct map *holders, uint32_t id,
	int64_t *start, int64_t *end)
{
	const struct run_overhead *row = run_find(&input->run->overheads, id);
	const struct run_overhead *last = run_rows_end(&input->run->overheads);

	*start = *end = 0;
	if (!row || !loads_late(&input->late, id) || map_get(holders, id, 0) ||
		run_wait_of(&input->run->evidence, id))
		return;
	*start = row->start;
	for (; row < last && row->call == id; row++)
		if (row->end > *end)
			*end = row->end;
}

/* Adds all launches in order. */
static int add_launches(struct search *search, const struct pass_input *input,
	const struct map *holders)
{
	int rc = 0;

	for (uint32_t id = 1; !rc && id < run_call_end(input->run); id++) {
		int64_t start, end;

		if (!is_launch(input->run, id))
			continue;
		when_loaded(input, holders, id, &start, &end);
		rc = add_launch(search, input->run, id, start, end);
	}
	return rc;
}

static int find_in_loops(const struct pass_input *input, struct findings *findings)
{
	struct search search = { .findings = findings, .last_end = INT64_MIN };
	struct map holders = { 0 };
	int rc;

	find_holders(&holders, &input->run->evidence);
	rc = find_modules(&search, input->run) || add_launches(&search, input, &holders) ? -1 : 0;
	for (size_t i = 0; i < search.count && !rc; i++)
		if (is_reported(&search.loading[i]))
			rc = findings_add(findings, &search.loading[i].instance);
	map_release(&holders);
	id_map_release(&search.kernels, free);
	id_map_release(&search.places, free);
	free(search.loading);
	free(search.module);
	return rc;
}

/* Returns 1 if any call loaded code late. */
static int any_loads_late(const struct pass_input *input)
{
	const struct run_overhead *row = (const struct run_overhead *)input->run->overheads.rows;
	const struct run_overhead *end = run_rows_end(&input->run->overheads);

	while (row < end &&
		!(run_call(input->run, row->call) && loads_late(&input->late, row->call)))
		row++;
	return row < end;
}

static int run(const struct pass_input *input, struct findings *findings)
{
	if (!any_loads_late(input))
		return 0;
	if (pass_add_waits(input, findings, RULE_lazy_loading, is_launch_that_waited))
		return -1;
	return find_in_loops(input, findings);
}

static int say(struct words *words, const struct instance *worst, FILE *out)
{
	if (words_call(words, worst->call, out))
		return -1;
	fputs(" took ", out);
	words_time(worst->cost, out);
	fputs(" to load the code of ", out);
	if (words_operation(words, worst->call, out))
		return -1;
	if (!worst->other_call)
		return 0;
	fputs(", and waited for ", out);
	return words_operation(words, worst->other_call, out);
}

const struct pass pass_lazy_loading = { .run = run, .say = say };
