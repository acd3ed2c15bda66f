/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of table hazard.  Up to a number of rows each pair of operations has its own.  Beyond
 * it, a pair of operations has a row only if no other row is of the same pair of places, else it is
 * counted in such a row: a race that is repeated hides no other one.
 */
#include "hazards_internal.h"
#include "memory.h"

enum {
	/* Rows in all, and of one graph: without edges, every pair of its nodes may be one. */
	MOST_HAZARDS = 100000,
	MOST_OF_GRAPH = 1000,
};

/*
 * Each pair of operations has one row: for the conflict with the highest confidence,
 * read-after-write first, and accesses of graph nodes before allocations.
 */
static int is_worse(const struct hazard *one, const struct hazard *other)
{
	if (one->confidence != other->confidence)
		return one->confidence > other->confidence;
	if (one->order != other->order)
		return one->order < other->order;
	return one->rule < other->rule;
}

void hazards_add(struct hazards *hazards, const struct hazard *hazard)
{
	const struct order_epoch *earlier = &hazard->earlier.epoch;
	uint64_t operation = (uint64_t)earlier->key << 32 | earlier->seq;
	size_t at = (size_t)map_get(&hazards->earlier, operation, hazards->count);

	if (at < hazards->count) {
		int same_bytes = hazards->hazard[at].same_bytes | hazard->same_bytes;

		if (is_worse(hazard, &hazards->hazard[at]))
			hazards->hazard[at] = *hazard;
		hazards->hazard[at].same_bytes = same_bytes;
		return;
	}
	map_set(&hazards->earlier, operation, hazards->count);
	*array_push(hazards->hazard, hazards->count) = *hazard;
}

uint64_t hazards_place(const struct run *run, int64_t id)
{
	const struct run_call *call = run_call(run, id);
	uint64_t words[3] = { 0 };

	if (!call)
		return 0;
	words[0] = run_link(run, id)->site;
	words[1] = call->type;
	words[2] = run_payload(run, call)->kernel;
	/* A report names the site of the outermost call. */
	for (uint32_t outer = run_link(run, id)->parent; outer && run_call(run, outer);
		outer = run_link(run, outer)->parent)
		if (run_link(run, outer)->site)
			words[0] = run_link(run, outer)->site;
	return map_hash_words(words, 3);
}

/*
 * Equal for hazards that a finding does not tell apart.  A graph has rows of its
 * own, because each of its launches counts, unless there are too many graphs.
 */
static uint64_t pair_of(const struct hazards *hazards, const struct hazard *hazard, size_t rows)
{
	int64_t graph = rows < MOST_HAZARDS ? hazard->launch : hazard->launch != 0;
	uint64_t words[] = { (uint64_t)hazard->process, hazard->rule, hazard->order,
		hazard->confidence, (uint64_t)graph,
		hazards_place(hazards->run, hazard->later.call),
		hazards_place(hazards->run, hazard->earlier.call),
		hazards_place(hazards->run, hazard->via) };

	return map_hash_words(words, sizeof(words) / sizeof(*words));
}

/* A finding counts an operation once, however many operations of one line it conflicts with. */
static void count_in(struct hazard *row, const struct hazard *hazard)
{
	row->more += hazard->later.call != (row->last ? row->last : row->later.call);
	row->last = hazard->later.call;
}

void hazards_keep_rows(struct hazards *hazards, size_t graph_first)
{
	size_t kept = hazards->first;
	size_t rows = hazards->launch ? graph_first + MOST_OF_GRAPH : MOST_HAZARDS;

	if (rows > MOST_HAZARDS)
		rows = MOST_HAZARDS;

	for (size_t i = kept; i < hazards->count; i++) {
		const struct hazard *hazard = &hazards->hazard[i];
		uint64_t pair = pair_of(hazards, hazard, kept);
		uint64_t row = map_get(&hazards->pairs, pair, UINT64_MAX);

		if (kept >= rows && row != UINT64_MAX) {
			count_in(&hazards->hazard[row], hazard);
			continue;
		}
		if (row == UINT64_MAX || hazards->hazard[row].later.call != hazard->later.call)
			map_set(&hazards->pairs, pair, kept);
		hazards->hazard[kept++] = *hazard;
	}
	hazards->count = kept;
	if (hazards->earlier.count)
		map_release(&hazards->earlier);
}
