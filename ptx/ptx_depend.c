/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Control dependence: which edges decide whether a block runs.  An edge does so if the block is on
 * every path from there to the end of the function, but not on every path from the start of the
 * edge (Ferrante, Ottenstein, Warren: "The program dependence graph and its use in optimization").
 *
 * A condition counts as exact if the state contains exactly that.  Otherwise, code that depends on
 * the edge is run by only some of the threads in the state, and by all again where the paths have
 * joined.
 */
#include "ptx_walk.h"

#include <stdlib.h>

#define NONE UINT32_MAX
/*
 * Limit of edges in all lists together; beyond it, functions are nested deeper than compilers
 * write, and no block is known to be run by all threads: accesses are less exact.
 */
#define DECIDE_LIMIT (1u << 18)

/* The reversed graph, from the end: it has one block more than the function. */
struct reverse {
	struct ptx_function *function;
	uint32_t end;          /* the block for the end */
	uint32_t *from;        /* blocks, by the block they lead to */
	uint32_t *first;       /* by block: its first in from */
	uint32_t *next;        /* next free place in from, while sorting */
	uint32_t *list, count; /* blocks, each after those on all its paths to the end */
	uint32_t *place;       /* by block: its index in list */
	uint32_t *up;          /* the first block on every path to the end */
};

/* Counts edges, then sorts them by the block they lead to, including the end. */
static void sort_edges(struct reverse *reverse)
{
	const struct ptx_function *function = reverse->function;
	uint32_t *first = reverse->first, *next = reverse->next;

	for (uint32_t i = 0; i < function->edge_count; i++)
		first[function->edges[i].block + 1]++;
	for (uint32_t i = 0; i < reverse->end; i++)
		first[reverse->end + 1] += function->block[i].leaves;
	for (uint32_t i = 0; i <= reverse->end; i++)
		first[i + 1] += first[i];
	memcpy(next, first, (reverse->end + 1) * sizeof(*next));
	for (uint32_t i = 0; i < function->edge_count; i++)
		reverse->from[next[function->edges[i].block]++] = function->edges[i].from;
	for (uint32_t i = 0; i < reverse->end; i++)
		if (function->block[i].leaves)
			reverse->from[next[reverse->end]++] = i;
	memcpy(next, first, (reverse->end + 1) * sizeof(*next));
}

static uint32_t common(const struct reverse *reverse, uint32_t a, uint32_t b)
{
	if (a == NONE || b == NONE)
		return a == NONE ? b : a;
	while (a != b)
		if (reverse->place[a] > reverse->place[b])
			a = reverse->up[a];
		else
			b = reverse->up[b];
	return a;
}

/* As find_dominators() in ptx_flow.c, from the end. */
static void find_ways_to_end(struct reverse *reverse)
{
	const struct ptx_function *function = reverse->function;
	int changed = 1;

	for (uint32_t i = 0; i <= reverse->end; i++)
		reverse->up[i] = NONE;
	reverse->up[reverse->end] = reverse->end;
	while (changed) {
		changed = 0;
		for (uint32_t i = 1; i < reverse->count; i++) {
			const struct ptx_block *block = &function->block[reverse->list[i]];
			uint32_t found = block->leaves ? reverse->end : NONE;

			for (uint32_t e = block->edge; e < block->edge + block->edge_count; e++)
				if (reverse->up[function->edges[e].block] != NONE)
					found = common(reverse, found, function->edges[e].block);
			changed |= found != reverse->up[reverse->list[i]];
			reverse->up[reverse->list[i]] = found;
		}
	}
}

/* Calls visit for each edge and each block that depends on it.  Returns 0 if there are too many. */
static int for_each_dependence(const struct reverse *reverse,
	void (*visit)(struct ptx_function *function, uint32_t edge, uint32_t block))
{
	struct ptx_function *function = reverse->function;
	uint32_t count = 0;

	for (uint32_t i = 0; i < function->edge_count; i++) {
		uint32_t from = function->edges[i].from, at = function->edges[i].block;

		if (function->block[from].edge_count + function->block[from].leaves < 2)
			continue;
		for (; at != reverse->up[from] && at != reverse->end && at != NONE;
			at = reverse->up[at]) {
			if (++count > DECIDE_LIMIT)
				return 0;
			visit(function, i, at);
		}
	}
	return 1;
}

static void count_one(struct ptx_function *function, uint32_t edge, uint32_t block)
{
	(void)edge;
	function->block[block].decide_count++;
}

static void add_one(struct ptx_function *function, uint32_t edge, uint32_t block)
{
	struct ptx_block *to = &function->block[block];

	function->decide[to->decide + to->decide_count++] = edge;
}

/* Without the list, no block is known to be run by all threads. */
static int fill_lists(const struct reverse *reverse)
{
	struct ptx_function *function = reverse->function;
	uint32_t count = 0;

	for (uint32_t i = 0; i < function->block_count; i++)
		function->block[i].ends = reverse->up[i] != NONE;
	if (!for_each_dependence(reverse, count_one))
		return 0;
	for (uint32_t i = 0; i < function->block_count; i++) {
		function->block[i].decide = count;
		count += function->block[i].decide_count;
		function->block[i].decide_count = 0;
	}
	function->decide = malloc((count + 1) * sizeof(*function->decide));
	if (!function->decide)
		return -1;
	for_each_dependence(reverse, add_one);
	return 0;
}

int ptx_make_dependences(struct ptx_function *function)
{
	size_t count = function->block_count + 2, edges = function->edge_count + count;
	/* One allocation: six lists by block, one by edge. */
	uint32_t *room = calloc(6 * count + edges, sizeof(*room));
	struct reverse reverse = {
		.function = function,
		.end = function->block_count,
		.from = room + 6 * count,
		.first = room,
		.next = room + count,
		.list = room + 2 * count,
		.place = room + 3 * count,
		.up = room + 4 * count,
	};
	int rc = -1;

	if (room) {
		sort_edges(&reverse);
		/* Depth first, from the end; stack has room for all blocks. */
		uint32_t *stack = room + 5 * count;
		uint32_t depth = 0, at = reverse.end + 1;

		for (uint32_t i = 0; i <= reverse.end; i++)
			reverse.place[i] = NONE;
		reverse.place[reverse.end] = 0;
		stack[depth++] = reverse.end;
		while (depth) {
			uint32_t block = stack[depth - 1];

			if (reverse.next[block] == reverse.first[block + 1]) {
				reverse.list[--at] = block;
				depth--;
				continue;
			}
			block = reverse.from[reverse.next[block]++];
			if (reverse.place[block] != NONE)
				continue;
			reverse.place[block] = 0;
			stack[depth++] = block;
		}
		reverse.count = reverse.end + 1 - at;
		memmove(reverse.list, reverse.list + at, reverse.count * sizeof(*reverse.list));
		for (uint32_t i = 0; i < reverse.count; i++)
			reverse.place[reverse.list[i]] = i;
		find_ways_to_end(&reverse);
		rc = fill_lists(&reverse);
	}
	free(room);
	return rc ? ptx_refuse(function, "out of memory") : 0;
}

/* A block visited before an edge that decides on it is in a loop with several paths. */
static int is_some(const struct ptx_frame *frame, uint32_t block)
{
	return frame->some[block] != 1;
}

/* Returns 1 if only some of the threads in the state after the edge take it. */
static int takes_some(const struct ptx_frame *frame, uint32_t edge)
{
	return frame->way[edge] & WAY_PART || is_some(frame, frame->function->edges[edge].from);
}

static int decides(const struct ptx_function *function, uint32_t edge, uint32_t number)
{
	const struct ptx_block *block = &function->block[number];

	for (uint32_t i = block->decide; i < block->decide + block->decide_count; i++)
		if (function->decide[i] == edge)
			return 1;
	return 0;
}

/* Returns 1 if the edge decides how often a loop around that loop runs. */
static int is_of_outer(const struct ptx_function *function, uint32_t edge, uint32_t head)
{
	while (head != function->block[head].dominator) {
		head = function->block[head].dominator;
		if (function->block[head].is_head && decides(function, edge, head))
			return 1;
	}
	return 0;
}

/*
 * Checks the edges that decide on a block: those that lead back to it, which decide how often a
 * loop's head runs, or the others.  Two possible edges are an "or", of which a state has the hull.
 */
static int decide_some(const struct ptx_frame *frame, uint32_t number, int back)
{
	const struct ptx_function *function = frame->function;
	const struct ptx_block *block = &function->block[number];
	unsigned count = 0;

	if (!function->decide || !block->ends)
		return 1;
	for (uint32_t i = block->decide; i < block->decide + block->decide_count; i++) {
		uint32_t edge = function->decide[i];

		if (!(frame->way[edge] & WAY_POSSIBLE) ||
			ptx_dominates(function, number, function->edges[edge].from) != back ||
			(back && is_of_outer(function, edge, number)))
			continue;
		if (takes_some(frame, edge) || ++count > 1)
			return 1;
	}
	return 0;
}

void ptx_enter_block(struct ptx_frame *frame, uint32_t block)
{
	frame->block = block;
	frame->some[block] = (uint8_t)(1 + decide_some(frame, block, 0));
}

static int mark(uint8_t *marked, const struct ptx_term *term, uint32_t count)
{
	int changed = 0;

	for (uint32_t i = 0; i < count; i++) {
		changed |= !marked[term[i].symbol];
		marked[term[i].symbol] = 1;
	}
	return changed;
}

static int has_marked(const uint8_t *marked, const struct ptx_fact *fact)
{
	for (uint32_t i = 0; i < fact->count; i++)
		if (marked[fact->term[i].symbol])
			return 1;
	return 0;
}

/* Marks the symbols of the address, those that it was divided from, and those that limit them. */
static void mark_all(uint8_t *marked, const struct ptx_value *address,
	const struct ptx_state *state)
{
	int changed = mark(marked, address->term, address->count);

	while (changed) {
		changed = 0;
		for (uint32_t i = 0; i < state->split_count; i++) {
			const struct ptx_split *split = &state->split[i];

			if (marked[split->quotient] || marked[split->remainder])
				changed |= mark(marked, split->term, split->count);
		}
		for (uint32_t i = 0; i < state->fact_count; i++)
			if (has_marked(marked, &state->fact[i]))
				changed |= mark(marked, state->fact[i].term, state->fact[i].count);
	}
}

/*
 * Returns 1 if not all threads run the loop, or one around it, as often as the state says; left:
 * only if they have left it.
 */
static int is_some_round(const struct ptx_frame *frame, const struct ptx_symbol *rounds, int left)
{
	while (frame && frame->path != rounds->path)
		frame = frame->caller;
	if (!frame)
		return 1; /* of a function that has returned */
	for (uint32_t head = rounds->place; head != UINT32_MAX;
		head = frame->function->block[head].loop) {
		if (left && ptx_is_in_loop(frame->function, head, frame->block))
			return 0;
		if (frame->head[head]->knows_less || decide_some(frame, head, 1))
			return 1;
	}
	return 0;
}

int ptx_has_left_some(const struct ptx_frame *frame, uint32_t rounds)
{
	return is_some_round(frame, &frame->walk->symbol[rounds], 1);
}

int ptx_is_some(const struct ptx_frame *frame, const struct ptx_value *address,
	const struct ptx_state *state)
{
	const struct ptx_walk *walk = frame->walk;
	uint8_t marked[PTX_SYMBOLS] = { 0 };

	if (walk->ends_threads || frame->is_part || frame->is_guard_part ||
		is_some(frame, frame->block))
		return 1;
	mark_all(marked, address, state);
	for (uint32_t i = PTX_FIXED_SYMBOLS; i < walk->symbol_count; i++)
		if (marked[i] && walk->symbol[i].which == WHICH_ROUNDS &&
			is_some_round(frame, &walk->symbol[i], 0))
			return 1;
	return 0;
}
