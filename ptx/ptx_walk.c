/* SPDX-License-Identifier: Apache-2.0 */
/* Interprets a function block by block until nothing changes, and a kernel for a launch. */
#include "ptx_walk.h"

#include <stdlib.h>

/*
 * Limits of passes until a function's loops converge (each needs a few, nested ones more), and of
 * memory.  Code beyond it is refused: its kernels are not known, and kernel_code.why says so.
 */
#define PASS_LIMIT 60
#define STATE_BYTES_LIMIT (256u << 20)

const char ptx_no_memory[] = "out of memory";

int ptx_fail(struct ptx_walk *walk, const char *why)
{
	if (!walk->failure)
		walk->failure = why;
	return -1;
}

void ptx_doubt(struct ptx_walk *walk, const char *why)
{
	if (walk->collects && !walk->doubts)
		walk->access->why = why;
	walk->doubts |= walk->collects;
}

void ptx_reach(struct ptx_walk *walk, unsigned memory, int direction, const char *why)
{
	if (!walk->collects)
		return;
	if (!walk->access->why)
		walk->access->why = why;
	walk->access->reaches |= memory | (direction == PTX_LOAD ? 0 : memory << 1);
}

/* Returns the symbol's place in walk.symbol_slot, or an empty place. */
static uint32_t find_slot(const struct ptx_walk *walk, uint32_t path, uint32_t place,
	uint32_t which)
{
	uint32_t at = (place * 0x9e3779b1u + which * 0x85ebca6bu + path * 0xc2b2ae35u) >> 16;

	for (;; at++) {
		uint32_t number = walk->symbol_slot[at %= PTX_SYMBOL_SLOTS];
		const struct ptx_symbol *symbol = &walk->symbol[number];

		if (!number ||
			(symbol->place == place && symbol->which == which && symbol->path == path))
			return at;
	}
}

uint32_t ptx_known_symbol(const struct ptx_walk *walk, uint32_t path, uint32_t place,
	uint32_t which)
{
	uint32_t number = walk->symbol_slot[find_slot(walk, path, place, which)];

	return number ? number : PTX_NO_SYMBOL;
}

uint32_t ptx_symbol(struct ptx_walk *walk, uint32_t path, uint32_t place, uint32_t which)
{
	uint32_t slot = find_slot(walk, path, place, which), known = walk->symbol_slot[slot];

	if (known)
		return known;
	if (walk->symbol_count == PTX_SYMBOLS)
		return PTX_NO_SYMBOL;
	walk->symbol[walk->symbol_count] = (struct ptx_symbol){ path, place, which };
	walk->symbol_slot[slot] = (uint16_t)walk->symbol_count;
	return walk->symbol_count++;
}

static void join_facts(struct ptx_state *into, const struct ptx_state *from)
{
	for (uint32_t i = 0; i < into->fact_count;) {
		struct ptx_fact *fact = &into->fact[i];
		uint32_t j = 0;

		while (j < from->fact_count &&
			!ptx_same_terms(fact->term, fact->count, from->fact[j].term,
				from->fact[j].count))
			j++;
		if (j == from->fact_count) {
			*fact = into->fact[--into->fact_count];
			continue;
		}
		fact->range = ptx_hull(fact->range, from->fact[j].range);
		i++;
	}
}

static int is_missing(const void *arg, const struct ptx_split *split)
{
	const struct ptx_split *other = ptx_split_of(arg, split->quotient);

	return !other || split->quotient != other->quotient ||
		split->remainder != other->remainder || split->constant != other->constant ||
		split->modulus != other->modulus ||
		!ptx_same_terms(split->term, split->count, other->term, other->count);
}

static void join_slot(struct ptx_frame *frame, uint32_t block, struct ptx_state *into,
	const struct ptx_state *from, uint32_t slot)
{
	struct ptx_twins *twins = &frame->twins[1];
	struct ptx_value old = into->many[slot], *joined = &into->many[slot];
	uint32_t symbol = PTX_NO_SYMBOL;
	struct ptx_range range = { 1, 0 };

	if (ptx_same(joined, &from->many[slot]) ||
		ptx_find_twin(twins, 0, &old, into, &from->many[slot], from, joined))
		return;
	if (frame->function->reg[frame->function->slot_reg[slot]].relevant == RELEVANT_ADDRESS)
		symbol = ptx_symbol(frame->walk, frame->path, block, WHICH_JOIN + slot);
	*joined = ptx_join(frame, &old, into, &from->many[slot], from, symbol, &range);
	ptx_note_twin(twins, 0, &old, &from->many[slot], joined);
	if (range.low > range.high)
		return;
	ptx_redefine(into, symbol, range);
	frame->fresh[symbol] = 1;
}

static int is_high(const struct ptx_state *a, const struct ptx_state *b, uint32_t slot)
{
	return a->many[slot].half == HALF_HIGH || b->many[slot].half == HALF_HIGH;
}

/* Both paths lead to a block that is no loop head, or both come back to one. */
static void join_state(struct ptx_frame *frame, uint32_t block, struct ptx_state *into,
	const struct ptx_state *from)
{
	const struct ptx_function *function = frame->function;

	frame->twins[1].count = 0;
	for (uint32_t i = 0; i < function->slot_count; i++)
		if (!is_high(into, from, i))
			join_slot(frame, block, into, from, i);
	for (uint32_t i = 0; i < function->slot_count; i++)
		if (is_high(into, from, i))
			join_slot(frame, block, into, from, i);
	for (uint32_t i = 0; i < frame->walk->symbol_count; i++) {
		if (!frame->fresh[i])
			into->range[i] = ptx_hull(into->range[i], from->range[i]);
		frame->fresh[i] = 0;
	}
	join_facts(into, from);
	ptx_drop_splits(into, is_missing, from);
}

static int reach(struct ptx_frame *frame, struct ptx_state **into, uint32_t block,
	const struct ptx_state *from)
{
	if (!from->possible)
		return 0;
	if (*into) {
		join_state(frame, block, *into, from);
		return 0;
	}
	*into = malloc(ptx_state_size(frame->function));
	if (!*into)
		return ptx_fail(frame->walk, ptx_no_memory);
	ptx_copy_state(frame->function, *into, from);
	return 0;
}

/* Assumes the edge's condition; number: of the edge in its block; returns 1 as ptx_assume(). */
static int assume_way(struct ptx_frame *frame, struct ptx_state *way, const struct ptx_edge *edge,
	uint32_t number)
{
	const struct ptx_function *function = frame->function;
	const struct ptx_instruction *last =
		&function->instruction[function->block[edge->from].end - 1];

	if (edge->taken >= 0)
		return ptx_assume(frame, way, (uint32_t)last->guard, edge->taken, 0);
	if (last->opcode != OP_BRX)
		return 1;
	return last->count &&
		ptx_assume_number(frame, way, &function->operand[last->operand], number);
}

/* Applies the edge's condition to the state while the edge is followed, and restores the state. */
static int leave(struct ptx_frame *frame, struct ptx_state *state, uint32_t block, uint32_t number)
{
	const struct ptx_function *function = frame->function;
	uint32_t at = function->block[block].edge + number;
	const struct ptx_edge *edge = &function->edges[at];
	struct ptx_state *before = frame->spare, **into = &frame->entry[edge->block];
	int is_all, rc;

	ptx_copy_knowledge(before, state);
	is_all = assume_way(frame, state, edge, number);
	if (state->possible)
		frame->way[at] = (uint8_t)(WAY_POSSIBLE | (is_all ? 0 : WAY_PART));
	if (function->block[edge->block].order <= function->block[block].order)
		into = &frame->head[edge->block]->next;
	rc = reach(frame, into, edge->block, state);
	ptx_copy_knowledge(state, before);
	return rc;
}

/* If only one edge out of a block is possible, its condition adds nothing. */
static void find_only_way(struct ptx_frame *frame, const struct ptx_state *state, uint32_t number)
{
	const struct ptx_function *function = frame->function;
	const struct ptx_block *block = &function->block[number];
	const struct ptx_instruction *last = &function->instruction[block->end - 1];
	uint8_t *way = frame->way + block->edge;
	uint32_t ways = block->leaves, only = 0;

	if (block->leaves && block->edge_count && last->guard >= 0) {
		ptx_copy_knowledge(frame->spare, state);
		ptx_assume(frame, frame->spare, (uint32_t)last->guard, !last->negated, 0);
		ways = (uint32_t)frame->spare->possible;
	}
	for (uint32_t i = 0; i < block->edge_count; i++)
		if (way[i] & WAY_POSSIBLE) {
			ways++;
			only = i;
		}
	if (ways == 1 && block->edge_count && way[only])
		way[only] = WAY_POSSIBLE | WAY_ONLY;
}

static int returns(const struct ptx_function *function, const struct ptx_block *block)
{
	const struct ptx_instruction *last = &function->instruction[block->end - 1];

	if (last->opcode == OP_EXIT || last->opcode == OP_TRAP)
		return 0;
	return last->opcode == OP_RET || (!block->edge_count && last->opcode != OP_BRX);
}

static int pass_block(struct ptx_frame *frame, uint32_t number, struct ptx_state *state)
{
	const struct ptx_function *function = frame->function;
	const struct ptx_block *block = &function->block[number];

	ptx_enter_block(frame, number);
	for (uint32_t i = block->first; i < block->end && state->possible; i++)
		if (ptx_step(frame, state, i))
			return -1;
	memset(frame->way + block->edge, 0, block->edge_count);
	for (uint32_t i = 0; i < block->edge_count && state->possible; i++)
		if (leave(frame, state, number, i))
			return -1;
	if (state->possible)
		find_only_way(frame, state, number);
	if (frame->depth && state->possible &&
		function->instruction[block->end - 1].opcode == OP_EXIT)
		frame->walk->ends_threads = 1;
	if (returns(function, block))
		return reach(frame, &frame->leave, function->block_count, state);
	return 0;
}

static int pass(struct ptx_frame *frame, const struct ptx_state *start)
{
	struct ptx_function *function = frame->function;
	int rc = reach(frame, &frame->entry[0], 0, start);

	frame->changed = 0;
	/* In the last pass, what comes back to a loop's head is unchanged. */
	if (!frame->walk->collects) {
		memset(frame->way, 0, function->edge_count);
		memset(frame->some, 0, function->block_count);
	}
	free(frame->leave);
	frame->leave = NULL;
	for (uint32_t i = 0; i < function->order_count && !rc; i++) {
		uint32_t block = function->order[i];
		struct ptx_state *state = frame->entry[block];

		if (!state)
			continue;
		frame->entry[block] = NULL;
		if (frame->head[block])
			ptx_enter_loop(frame, block, state);
		rc = pass_block(frame, block, state);
		free(state);
	}
	for (uint32_t i = 0; i < function->block_count; i++) {
		if (!frame->head[i])
			continue;
		free(frame->head[i]->back);
		frame->head[i]->back = frame->head[i]->next;
		frame->head[i]->next = NULL;
	}
	return rc;
}

static void free_head(struct ptx_head *head)
{
	if (!head)
		return;
	free(head->back);
	free(head->next);
	free(head->last);
	free(head->reg);
	free(head);
}

static struct ptx_head *new_head(const struct ptx_function *function)
{
	struct ptx_head *head = calloc(1, sizeof(*head));

	if (!head)
		return NULL;
	head->reg = calloc(function->slot_count + 1, sizeof(*head->reg));
	head->last = calloc(1, ptx_state_size(function));
	if (head->reg && head->last)
		return head;
	free_head(head);
	return NULL;
}

int ptx_frame_init(struct ptx_frame *frame, struct ptx_walk *walk, struct ptx_function *function,
	uint32_t path, unsigned depth)
{
	uint32_t heads = 0;

	*frame = (struct ptx_frame){
		.walk = walk,
		.function = function,
		.path = path,
		.depth = depth,
		.single = calloc(function->registers.count + 1, sizeof(*frame->single)),
		.condition_of = calloc(function->registers.count + 1, sizeof(uint32_t)),
		.entry = calloc(function->block_count + 1, sizeof(*frame->entry)),
		.head = calloc(function->block_count + 1, sizeof(*frame->head)),
		.spare = calloc(1, ptx_state_size(function)),
		.way = calloc(function->edge_count + 1, 1),
		.some = calloc(function->block_count + 1, 1),
		.twins = calloc(2, sizeof(*frame->twins)),
	};
	if (!frame->single || !frame->condition_of || !frame->entry || !frame->head ||
		!frame->spare || !frame->way || !frame->some || !frame->twins)
		return ptx_fail(walk, ptx_no_memory);
	if (ptx_find_waits(frame))
		return -1;
	for (uint32_t i = 0; i < function->block_count; i++) {
		if (!function->block[i].is_head)
			continue;
		if (++heads * ptx_state_size(function) > STATE_BYTES_LIMIT / 4)
			return ptx_fail(walk, "too large");
		frame->head[i] = new_head(function);
		if (!frame->head[i])
			return ptx_fail(walk, ptx_no_memory);
	}
	return 0;
}

void ptx_frame_release(struct ptx_frame *frame)
{
	for (uint32_t i = 0; frame->entry && i < frame->function->block_count; i++)
		free(frame->entry[i]);
	for (uint32_t i = 0; frame->head && i < frame->function->block_count; i++)
		free_head(frame->head[i]);
	free(frame->single);
	free(frame->condition_of);
	free(frame->condition);
	free(frame->entry);
	free(frame->head);
	free(frame->spare);
	free(frame->leave);
	free(frame->way);
	free(frame->some);
	free(frame->twins);
	free(frame->after_wait);
}

int ptx_walk_function(struct ptx_frame *frame, const struct ptx_state *start)
{
	struct ptx_walk *walk = frame->walk;
	int collects = walk->collects;

	walk->collects = 0;
	frame->passes = 0;
	do {
		walk->cells_changed = 0;
		if (pass(frame, start))
			return -1;
		if (++frame->passes == PASS_LIMIT)
			return ptx_fail(walk, "loops that do not settle");
	} while (frame->changed || walk->cells_changed);
	walk->collects = collects;
	return collects ? pass(frame, start) : 0;
}
