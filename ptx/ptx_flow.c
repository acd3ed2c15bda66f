/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the blocks of a function, in an order in which each comes after its dominators, and loops.
 */
#include "ptx_internal.h"

#include <stdlib.h>

/* Limit of loops with several entries in a function, which is refused beyond it. */
#define HEADS_LIMIT 64

static int ends_block(const struct ptx_instruction *in)
{
	return in->opcode == OP_BRA || in->opcode == OP_BRX || in->opcode == OP_RET ||
		in->opcode == OP_EXIT || in->opcode == OP_TRAP;
}

/* Finds blocks by their first instructions; starts: 1 where one begins. */
static int cut_blocks(struct ptx_function *function, uint8_t *starts)
{
	uint32_t count = function->instruction_count;

	starts[0] = 1;
	for (uint32_t i = 0; i < function->labels.count; i++)
		if (function->label[i] < count)
			starts[function->label[i]] = 1;
	for (uint32_t i = 0; i + 1 < count; i++)
		if (ends_block(&function->instruction[i]))
			starts[i + 1] = 1;
	for (uint32_t i = 0; i < count; i++)
		function->block_count += starts[i];
	function->block = calloc(function->block_count + 1, sizeof(*function->block));
	if (!function->block)
		return ptx_refuse(function, "out of memory");
	function->block_count = 0;
	for (uint32_t i = 0; i < count; i++) {
		if (starts[i])
			function->block[function->block_count++].first = i;
		function->block[function->block_count - 1].end = i + 1;
	}
	return 0;
}

static int add_edge(struct ptx_function *function, uint32_t *room, uint32_t from, uint32_t first,
	int taken)
{
	struct ptx_block *block = &function->block[from];
	uint32_t low = 0, high = function->block_count;

	if (first >= function->instruction_count) {
		block->leaves = 1; /* after the last instruction the function returns */
		return 0;
	}
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (function->block[middle].first <= first)
			low = middle;
		else
			high = middle;
	}
	if (PTX_ROOM(function->edges, *room, function->edge_count))
		return ptx_refuse(function, "out of memory");
	function->edges[function->edge_count++] = (struct ptx_edge){ from, low, (int8_t)taken };
	block->edge_count++;
	return 0;
}

static const struct ptx_table *table_of(const struct ptx_function *function, uint32_t label)
{
	for (uint32_t i = 0; i < function->table_count; i++)
		if (function->table[i].label == label)
			return &function->table[i];
	return NULL;
}

/* brx.idx register, table */
static int add_table_edges(struct ptx_function *function, uint32_t *room, uint32_t from,
	const struct ptx_instruction *in)
{
	const struct ptx_operand *operand = &function->operand[in->operand];
	const struct ptx_table *table = NULL;

	if (in->count == 2 && operand[1].kind == OPERAND_LABEL)
		table = table_of(function, operand[1].number);
	if (!table)
		return ptx_refuse(function, "a branch that is not understood");
	for (uint32_t i = 0; i < table->count; i++)
		if (add_edge(function, room, from,
			    function->label[function->target[table->first + i]], -1))
			return -1;
	return 0;
}

static int connect(struct ptx_function *function)
{
	uint32_t room = 0;

	for (uint32_t i = 0; i < function->block_count; i++) {
		struct ptx_block *block = &function->block[i];
		const struct ptx_instruction *last = &function->instruction[block->end - 1];
		const struct ptx_operand *operand = &function->operand[last->operand];
		int guarded = last->guard >= 0, leaves = ends_block(last);

		block->edge = function->edge_count;
		block->leaves = last->opcode == OP_RET || last->opcode == OP_EXIT;
		if (last->opcode == OP_BRX && add_table_edges(function, &room, i, last))
			return -1;
		if (last->opcode == OP_BRA) {
			if (last->count != 1 || operand->kind != OPERAND_LABEL)
				return ptx_refuse(function, "a branch that is not understood");
			if (add_edge(function, &room, i, function->label[operand->number],
				    guarded ? !last->negated : -1))
				return -1;
		}
		if ((!leaves || guarded) &&
			add_edge(function, &room, i, block->end,
				leaves && guarded ? last->negated : -1))
			return -1;
	}
	return 0;
}

/* Depth first without recursion: a block is placed after all blocks that it leads to. */
static int put_in_order(struct ptx_function *function)
{
	uint32_t count = function->block_count, depth = 0, at = count;
	uint32_t *stack = malloc((count + 1) * sizeof(*stack));
	uint32_t *next = calloc(count + 1, sizeof(*next));

	free(function->order);
	function->order = malloc((count + 1) * sizeof(*function->order));
	if (!stack || !next || !function->order) {
		free(stack);
		free(next);
		return ptx_refuse(function, "out of memory");
	}
	for (uint32_t i = 0; i < count; i++)
		function->block[i].order = UINT32_MAX;
	stack[depth++] = 0;
	function->block[0].order = 0;
	while (depth) {
		struct ptx_block *block = &function->block[stack[depth - 1]];

		if (next[stack[depth - 1]] < block->edge_count) {
			uint32_t to = function->edges[block->edge + next[stack[depth - 1]]++].block;

			if (function->block[to].order == UINT32_MAX) {
				function->block[to].order = 0;
				stack[depth++] = to;
			}
		} else {
			function->order[--at] = stack[--depth];
		}
	}
	function->order_count = count - at;
	memmove(function->order, function->order + at, function->order_count * sizeof(uint32_t));
	for (uint32_t i = 0; i < function->order_count; i++)
		function->block[function->order[i]].order = i;
	free(stack);
	free(next);
	return 0;
}

static uint32_t common_dominator(const struct ptx_block *block, uint32_t a, uint32_t b)
{
	while (a != b) {
		while (block[a].order > block[b].order)
			a = block[a].dominator;
		while (block[b].order > block[a].order)
			b = block[b].dominator;
	}
	return a;
}

/* Cooper, Harvey, Kennedy: "A simple, fast dominance algorithm". */
static void find_dominators(struct ptx_function *function)
{
	struct ptx_block *block = function->block;
	int changed = 1;

	for (uint32_t i = 0; i < function->block_count; i++)
		block[i].dominator = UINT32_MAX;
	block[0].dominator = 0;
	while (changed) {
		changed = 0;
		for (uint32_t i = 0; i < function->order_count; i++) {
			uint32_t from = function->order[i];

			for (uint32_t e = 0; e < block[from].edge_count; e++) {
				uint32_t to = function->edges[block[from].edge + e].block, found;

				found = block[to].dominator == UINT32_MAX
					? from
					: common_dominator(block, block[to].dominator, from);
				changed |= found != block[to].dominator;
				block[to].dominator = found;
			}
		}
	}
}

int ptx_dominates(const struct ptx_function *function, uint32_t a, uint32_t b)
{
	const struct ptx_block *block = function->block;

	while (block[b].order > block[a].order)
		b = block[b].dominator;
	return a == b;
}

/* Returns an edge back to a block that does not dominate its loop; edge_count: none. */
static uint32_t find_loops(struct ptx_function *function)
{
	for (uint32_t i = 0; i < function->block_count; i++)
		function->block[i].is_head = 0;
	for (uint32_t i = 0; i < function->order_count; i++) {
		uint32_t from = function->order[i];
		const struct ptx_block *block = &function->block[from];

		for (uint32_t e = 0; e < block->edge_count; e++) {
			uint32_t to = function->edges[block->edge + e].block;

			if (function->block[to].order > block->order)
				continue;
			if (!ptx_dominates(function, to, from))
				return block->edge + e;
			function->block[to].is_head = 1;
		}
	}
	return function->edge_count;
}

/* Both loops have a block: one is around the other.  Puts the outer one into the inner's list. */
static void put_into_loop(struct ptx_block *block, uint32_t inner, uint32_t outer)
{
	while (outer != UINT32_MAX && inner != outer) {
		uint32_t next = block[inner].loop;

		if (next == UINT32_MAX || block[next].order < block[outer].order) {
			block[inner].loop = outer;
			inner = outer;
			outer = next;
		} else {
			inner = next;
		}
	}
}

/*
 * Each block after those that it leads to: it is in their loops (Wei, Mao, Zou, Chen: "A new
 * algorithm for identifying loops in decompilation").
 */
static void find_bodies(struct ptx_function *function)
{
	struct ptx_block *block = function->block;

	for (uint32_t i = 0; i < function->block_count; i++)
		block[i].loop = UINT32_MAX;
	for (uint32_t i = function->order_count; i--;) {
		uint32_t from = function->order[i];

		for (uint32_t e = 0; e < block[from].edge_count; e++) {
			uint32_t to = function->edges[block[from].edge + e].block;

			put_into_loop(block, from, block[to].order <= i ? to : block[to].loop);
		}
	}
}

int ptx_is_in_loop(const struct ptx_function *function, uint32_t head, uint32_t block)
{
	while (block != head && block != UINT32_MAX)
		block = function->block[block].loop;
	return block == head;
}

/* Gives each loop a head. */
static int make_loops(struct ptx_function *function)
{
	for (int tries = 0; tries < HEADS_LIMIT; tries++) {
		uint32_t edge;

		if (put_in_order(function))
			return -1;
		find_dominators(function);
		edge = find_loops(function);
		if (edge == function->edge_count) {
			find_bodies(function);
			return 0;
		}
		if (ptx_give_head(function, edge))
			return -1;
	}
	return ptx_refuse(function, "loops with many entries");
}

int ptx_make_flow(struct ptx_function *function)
{
	uint8_t *starts;
	int rc;

	if (!function->instruction_count)
		return ptx_refuse(function, "an empty body");
	starts = calloc(function->instruction_count, 1);
	if (!starts)
		return ptx_refuse(function, "out of memory");
	rc = cut_blocks(function, starts);
	free(starts);
	if (rc || connect(function))
		return -1;
	if (make_loops(function) || ptx_make_dependences(function) ||
		ptx_make_registers(function) || ptx_find_spins(function))
		return -1;
	ptx_drop_idle(function);
	return 0;
}
