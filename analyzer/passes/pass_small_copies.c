/* SPDX-License-Identifier: Apache-2.0 */
/*
 * small-copies: a line copies small results to the host one by one, and its thread submits nothing
 * in between, so that no work depends on what the host read: one copy could bring them all.
 * "Batching many small transfers into one larger transfer performs significantly better than making
 * each transfer separately" (CUDA C++ best practices guide, "Data Transfer Between Host and
 * Device").  Two of the calls remain, the first for the kernel that gathers the results, the last
 * for the copy.
 *
 * The host may choose the next copy by what it has read, as in a list; so it is only likely.
 */
#include <stdlib.h>

#include "constants.h"
#include "id_map.h"
#include "memory.h"
#include "pass.h"
#include "print.h"

/* Consecutive copies of a thread from one site, and the first wait after each. */
struct copies {
	uint32_t site, stream;
	size_t count;
	struct small_copy {
		uint32_t call, wait; /* wait 0: none */
	} * copy;
};

struct search {
	const struct run *run;
	struct findings *findings;
	struct id_map threads; /* struct copies */
};

static int64_t time_of(const struct run *run, uint32_t id)
{
	uint32_t parent = id ? run_link(run, id)->parent : 0;
	const struct run_call *call = run_call(run, run_call(run, parent) ? parent : id);

	return call && call->duration < DURATION_LONG ? call->duration : 0;
}

static int report(struct search *search, const struct copies *copies, size_t number)
{
	const struct small_copy *copy = &copies->copy[number];
	const struct run_call *call = run_call(search->run, copy->call);
	int64_t cost = time_of(search->run, copy->call) + time_of(search->run, copy->wait);

	return findings_add(search->findings,
		&(struct instance){ .rule = RULE_small_copies,
			.process = run_payload(search->run, call)->process,
			.call = copy->call,
			.cost = cost,
			.saving = cost,
			.also = { copy->wait },
			.change = CHANGE_CALL,
			.a_turn = (int64_t)copies->count });
}

static int end_row(struct search *search, struct copies *copies)
{
	int rc = 0;

	for (size_t i = 1; i + 1 < copies->count && !rc; i++)
		rc = report(search, copies, i);
	copies->count = 0;
	return rc;
}

static int is_small_result(const struct run *run, const struct run_call *call)
{
	const struct run_payload *payload = run_payload(run, call);

	return call_is_copy(call->kind) && payload->has_bytes && !payload->result &&
		payload->direction == COPY_D2H && payload->bytes < LARGE_COPY_BYTES;
}

static int add_copy(struct search *search, struct copies *copies, const struct run_call *call,
	uint32_t id)
{
	uint32_t site = run_link(search->run, id)->site;

	if ((site != copies->site || call->stream != copies->stream) && end_row(search, copies))
		return -1;
	copies->site = site;
	copies->stream = call->stream;
	if (!site)
		return 0;
	*array_push(copies->copy, copies->count) = (struct small_copy){ id, 0 };
	return 0;
}

static int process_call(struct search *search, uint32_t id)
{
	const struct run_call *call = run_call(search->run, id);
	struct copies *copies;

	if (!call || call->kind == KIND_RUNTIME)
		return 0;
	if (is_small_result(search->run, call)) {
		copies = id_map_need(&search->threads, call->thread, sizeof(*copies));
		return copies ? add_copy(search, copies, call, id) : -1;
	}
	copies = id_map_get(&search->threads, call->thread);
	if (!copies || !copies->count)
		return 0;
	if (kind_has(call->kind, K_WORK))
		return end_row(search, copies);
	if (call_is_wait(call->kind) && !copies->copy[copies->count - 1].wait)
		copies->copy[copies->count - 1].wait = id;
	return 0;
}

static void free_copies(void *object)
{
	struct copies *copies = object;

	free(copies->copy);
	free(copies);
}

static int run(const struct pass_input *input, struct findings *findings)
{
	struct search search = { .run = input->run, .findings = findings };
	int rc = 0;

	for (uint32_t id = 1; id < run_call_end(search.run) && !rc; id++)
		rc = process_call(&search, id);
	for (size_t i = 0; i < search.threads.size && !rc; i++)
		if (search.threads.slot[i].object)
			rc = end_row(&search, search.threads.slot[i].object);
	id_map_release(&search.threads, free_copies);
	return rc;
}

static int say(struct words *words, const struct instance *worst, FILE *out)
{
	if (words_call(words, worst->call, out))
		return -1;
	print(out,
		" is one of %lld small copies to the host in a row, and nothing is submitted "
		"in between",
		(long long)worst->a_turn);
	return 0;
}

const struct pass pass_small_copies = { .run = run, .say = say };
