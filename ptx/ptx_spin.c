/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops that wait for others.  A load that other threads' stores are seen by (volatile, relaxed,
 * acquire), in a loop that ends by what it gave, from one address all the time: the loop goes on
 * until somebody stores there.  The same of an atomic operation that does the same each time, as
 * that of a lock does.  One that stores what it makes of what it found waits for nobody.
 */
#include "ptx_parts.h"

#include <stdlib.h>

/* Accesses of a function that are looked at. */
#define SPINS_LIMIT 256

struct loop {
	const struct ptx_function *function;
	uint32_t head;
	uint8_t *body;   /* by block: 1: it is in the loop */
	uint8_t *varies; /* by register: 1: another round may give it another value */
	uint8_t *found;  /* by register: 1: it depends on what was found */
	uint32_t *write; /* by register: 1 + the instruction of the body that writes it */
	uint32_t *where; /* by register: the block of that */
};

static int is_candidate(const struct ptx_instruction *in)
{
	return in->opcode == OP_ATOM || (in->opcode == OP_LD && in->modifiers & MODIFIER_STRONG);
}

static const struct ptx_block *block_of(const struct loop *loop, uint32_t order)
{
	return &loop->function->block[loop->function->order[order]];
}

/* 1: an edge of the block leads back to the head, or on within the body. */
static int stays(const struct loop *loop, const struct ptx_block *block)
{
	for (uint32_t e = block->edge; e < block->edge + block->edge_count; e++) {
		uint32_t to = loop->function->edges[e].block;

		if (to == loop->head || loop->body[to])
			return 1;
	}
	return 0;
}

/* What a head dominates and leads back to it. */
static void find_body(struct loop *loop)
{
	const struct ptx_function *function = loop->function;
	uint32_t first = function->block[loop->head].order;
	int changed = 1;

	memset(loop->body, 0, function->block_count);
	while (changed) {
		changed = 0;
		for (uint32_t i = function->order_count; i-- > first;) {
			uint32_t block = function->order[i];

			if (!loop->body[block] && stays(loop, &function->block[block]) &&
				ptx_dominates(function, loop->head, block))
				changed = loop->body[block] = 1;
		}
	}
}

/* The innermost loop that a block is in: 1, or 0. */
static int find_loop(struct loop *loop, uint32_t block)
{
	const struct ptx_function *function = loop->function;
	uint32_t head = block;

	for (;; head = function->block[head].dominator) {
		if (function->block[head].is_head) {
			loop->head = head;
			find_body(loop);
			if (loop->body[block])
				return 1;
		}
		if (head == function->block[head].dominator)
			return 0;
	}
}

/* Some register is of those that are marked. */
static int reads_marked(const struct loop *loop, const struct ptx_instruction *in,
	const uint8_t *marked)
{
	const struct ptx_operand *operand = &loop->function->operand[in->operand];

	for (uint32_t i = ptx_written(loop->function, in); i < in->count; i++)
		if (operand[i].kind == OPERAND_REGISTER && marked[operand[i].number])
			return 1;
	return in->guard >= 0 && marked[in->guard];
}

/* 1: one is marked that was not. */
static int mark_written(const struct loop *loop, const struct ptx_instruction *in, uint8_t *marked)
{
	const struct ptx_function *function = loop->function;
	const struct ptx_operand *operand = &function->operand[in->operand];
	uint32_t end = ptx_written(function, in);
	int more = 0;

	for (uint32_t i = 0; i < end; i++)
		if (operand[i].kind == OPERAND_REGISTER && !marked[operand[i].number])
			more = marked[operand[i].number] = 1;
	return more;
}

/* What the body makes of marked registers is marked. */
static void mark_made(const struct loop *loop, uint8_t *marked)
{
	const struct ptx_function *function = loop->function;
	int more = 1;

	while (more) {
		more = 0;
		for (uint32_t i = function->block[loop->head].order; i < function->order_count;
			i++) {
			const struct ptx_block *block = block_of(loop, i);

			for (uint32_t j = block->first;
				loop->body[function->order[i]] && j < block->end; j++)
				if (reads_marked(loop, &function->instruction[j], marked))
					more |= mark_written(loop, &function->instruction[j],
						marked);
		}
	}
}

/* Each round may find something else: parameters and constants stay. */
static int is_new(const struct ptx_function *function, const struct ptx_instruction *in)
{
	if (in->opcode == OP_OTHER)
		return in->count <= ptx_written(function, in);
	return in->opcode == OP_CALL ||
		(ptx_touches(in) && in->space != SPACE_PARAM && in->space != SPACE_CONST);
}

/* Where the body writes registers; those that it writes twice vary. */
static void note_written(const struct loop *loop, uint32_t block, uint32_t instruction)
{
	const struct ptx_function *function = loop->function;
	const struct ptx_instruction *in = &function->instruction[instruction];
	const struct ptx_operand *operand = &function->operand[in->operand];
	uint32_t end = ptx_written(function, in);

	for (uint32_t i = 0; i < end; i++) {
		uint32_t reg = operand[i].number;

		if (operand[i].kind != OPERAND_REGISTER)
			continue;
		if (loop->write[reg] || is_new(function, in))
			loop->varies[reg] = 1;
		loop->write[reg] = instruction + 1;
		loop->where[reg] = block;
	}
}

/* What is read before it is written in the same round is of the round before. */
static void note_read(const struct loop *loop, uint32_t block, uint32_t instruction, uint32_t reg)
{
	uint32_t write = loop->write[reg];

	if (write &&
		(loop->where[reg] == block
				? write > instruction
				: !ptx_dominates(loop->function, loop->where[reg], block)))
		loop->varies[reg] = 1;
}

static void note_all_read(const struct loop *loop, uint32_t block, uint32_t instruction)
{
	const struct ptx_instruction *in = &loop->function->instruction[instruction];
	const struct ptx_operand *operand = &loop->function->operand[in->operand];

	for (uint32_t i = ptx_written(loop->function, in); i < in->count; i++)
		if (operand[i].kind == OPERAND_REGISTER)
			note_read(loop, block, instruction, operand[i].number);
	if (in->guard >= 0)
		note_read(loop, block, instruction, (uint32_t)in->guard);
}

static void for_each(const struct loop *loop,
	void (*visit)(const struct loop *loop, uint32_t block, uint32_t instruction))
{
	const struct ptx_function *function = loop->function;

	for (uint32_t i = function->block[loop->head].order; i < function->order_count; i++) {
		uint32_t number = function->order[i];

		for (uint32_t j = function->block[number].first;
			loop->body[number] && j < function->block[number].end; j++)
			visit(loop, number, j);
	}
}

/* What comes out of memory, what a round makes of the one before, and what is made of these. */
static void find_varying(const struct loop *loop)
{
	uint32_t count = loop->function->registers.count;

	memset(loop->varies, 0, count);
	memset(loop->write, 0, count * sizeof(*loop->write));
	for_each(loop, note_written);
	for_each(loop, note_all_read);
	mark_made(loop, loop->varies);
}

static int leaves(const struct loop *loop, const struct ptx_block *block)
{
	for (uint32_t e = block->edge; e < block->edge + block->edge_count; e++)
		if (!loop->body[loop->function->edges[e].block])
			return 1;
	return block->leaves;
}

/* 1: a branch out of the loop depends on what was found. */
static int ends_by_found(const struct loop *loop)
{
	const struct ptx_function *function = loop->function;

	for (uint32_t i = function->block[loop->head].order; i < function->order_count; i++) {
		const struct ptx_block *block = block_of(loop, i);

		if (loop->body[function->order[i]] && leaves(loop, block) &&
			reads_marked(loop, &function->instruction[block->end - 1], loop->found))
			return 1;
	}
	return 0;
}

static int spins(struct loop *loop, const struct ptx_instruction *in, uint32_t block)
{
	if (!find_loop(loop, block))
		return 0;
	find_varying(loop);
	if (reads_marked(loop, in, loop->varies))
		return 0;
	memset(loop->found, 0, loop->function->registers.count);
	mark_written(loop, in, loop->found);
	mark_made(loop, loop->found);
	return ends_by_found(loop);
}

static void find_spins(struct ptx_function *function, struct loop *loop)
{
	uint32_t looked_at = 0;

	for (uint32_t i = 0; i < function->order_count; i++) {
		const struct ptx_block *block = &function->block[function->order[i]];

		for (uint32_t j = block->first; j < block->end; j++) {
			struct ptx_instruction *in = &function->instruction[j];

			if (is_candidate(in) && looked_at++ < SPINS_LIMIT)
				in->spins = (uint8_t)spins(loop, in, function->order[i]);
		}
	}
}

int ptx_find_spins(struct ptx_function *function)
{
	struct loop loop = { .function = function,
		.body = calloc(function->block_count + 1, 1),
		.varies = calloc(function->registers.count + 1, 1),
		.found = calloc(function->registers.count + 1, 1),
		.write = calloc(function->registers.count + 1, sizeof(*loop.write)),
		.where = calloc(function->registers.count + 1, sizeof(*loop.where)) };
	int rc = loop.body && loop.varies && loop.found && loop.write && loop.where
		? 0
		: ptx_refuse(function, "out of memory");

	if (!rc)
		find_spins(function, &loop);
	free(loop.body);
	free(loop.varies);
	free(loop.found);
	free(loop.write);
	free(loop.where);
	return rc;
}
