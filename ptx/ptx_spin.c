/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds loops that wait for others: with a load that can observe stores of other threads (volatile,
 * relaxed, acquire), from a constant address, where the loop's exit depends on the loaded value and
 * on nothing else that changes.  Such a loop runs until another thread stores there.  The same
 * holds for an atomic operation that changes nothing when repeated, like that of a lock; not for
 * one that takes the next piece of work, or that stores a value computed from the old one.
 */
#include "ptx_internal.h"

#include <stdlib.h>

/*
 * Limit of accesses checked per function.  Others do not count as waits for a value, which would
 * only lower a confidence.
 */
#define SPINS_LIMIT 256

/* Limits of blocks and instructions visited for these. */
#define SPINS_WORK (1 << 20)
#define SPINS_DEPTH 64

/* The dependences of a value in a loop, other than constants of the loop. */
enum depends { ON_FOUND = 1, ON_OTHERS = 2 };

#define OPEN 4

struct loop {
	const struct ptx_function *function;
	uint32_t head, access; /* access: the instruction that may wait */
	uint8_t *known;    /* by instruction: 1 + dependences of its result; OPEN: unknown so far */
	uint32_t *changed; /* instructions with an entry in known */
	uint32_t changed_count;
	uint32_t path[SPINS_DEPTH]; /* instructions that are OPEN */
	int64_t work;               /* work left */
};

/* Returns 1 if the instruction stores what it found, or the same value in each round. */
static int repeats(const struct ptx_function *function, const struct ptx_instruction *in)
{
	const struct ptx_operand *operand = &function->operand[in->operand];
	const struct ptx_operand *last = &operand[in->count - 1];

	return in->update == PTX_REPEATS || (last->kind == OPERAND_NUMBER && !last->value);
}

static int is_candidate(const struct ptx_function *function, const struct ptx_instruction *in)
{
	if (in->opcode == OP_ATOM)
		return in->count && repeats(function, in);
	return in->opcode == OP_LD && in->modifiers & MODIFIER_STRONG;
}

static int is_inside(const struct loop *loop, uint32_t block)
{
	return ptx_is_in_loop(loop->function, loop->head, block);
}

static int writes(const struct ptx_function *function, const struct ptx_instruction *in,
	uint32_t reg)
{
	const struct ptx_operand *operand = &function->operand[in->operand];
	uint32_t end = ptx_written(function, in);

	for (uint32_t i = 0; i < end; i++)
		if (operand[i].kind == OPERAND_REGISTER && operand[i].number == reg)
			return 1;
	return 0;
}

static unsigned made_by(struct loop *loop, uint32_t block, uint32_t instruction, unsigned depth);

/*
 * Returns the dependences of a register read: those of its last write in the block, else of all
 * writes in the loop.
 */
static unsigned read_of(struct loop *loop, uint32_t block, uint32_t instruction, uint32_t reg,
	unsigned depth)
{
	const struct ptx_function *function = loop->function;
	unsigned on = 0;

	for (uint32_t i = instruction; i-- > function->block[block].first;) {
		loop->work--;
		if (!writes(function, &function->instruction[i], reg))
			continue;
		on |= made_by(loop, block, i, depth);
		if (function->instruction[i].guard < 0)
			return on;
	}
	for (uint32_t i = function->block[loop->head].order; i < function->order_count; i++) {
		uint32_t other = function->order[i];

		loop->work--;
		if (!is_inside(loop, other))
			continue;
		for (uint32_t j = function->block[other].first; j < function->block[other].end;
			j++) {
			loop->work--;
			if (writes(function, &function->instruction[j], reg))
				on |= made_by(loop, other, j, depth);
		}
	}
	return on;
}

/* Returns 1 if each round may find another value: parameters and constants are fixed. */
static int is_new(const struct ptx_function *function, const struct ptx_instruction *in)
{
	if (in->opcode == OP_OTHER)
		return in->count <= ptx_written(function, in);
	return in->opcode == OP_CALL ||
		(ptx_touches(in) && in->space != SPACE_PARAM && in->space != SPACE_CONST);
}

/* Returns 1 if the operand is one of several conditions. */
static int is_condition(const struct ptx_instruction *in, uint32_t operand)
{
	if ((in->opcode == OP_AND || in->opcode == OP_OR) && in->type.class == CLASS_PREDICATE)
		return 1;
	return in->opcode == OP_SETP && in->modifiers & MODIFIER_COMBINED &&
		operand + 1 == in->count;
}

/* With several exit conditions, a loop waits if one of them does. */
static unsigned operands_of(struct loop *loop, uint32_t block, uint32_t instruction, unsigned depth)
{
	const struct ptx_function *function = loop->function;
	const struct ptx_instruction *in = &function->instruction[instruction];
	const struct ptx_operand *operand = &function->operand[in->operand];
	unsigned on = 0, conditions = 0;
	int waits = 0;

	for (uint32_t i = ptx_written(function, in); i < in->count; i++) {
		unsigned its = operand[i].kind == OPERAND_REGISTER
			? read_of(loop, block, instruction, operand[i].number, depth)
			: 0;

		if (is_condition(in, i)) {
			waits |= its == ON_FOUND;
			conditions |= its;
		} else {
			on |= its;
		}
	}
	waits |= in->modifiers & MODIFIER_COMBINED && on == ON_FOUND;
	on = waits ? ON_FOUND : on | conditions;
	if (in->guard >= 0)
		on |= read_of(loop, block, instruction, (uint32_t)in->guard, depth);
	return on;
}

/*
 * A value that is only copied from round to round is constant; one computed from itself, such as a
 * counter, changes.
 */
static unsigned made_by_itself(const struct loop *loop, uint32_t instruction, unsigned depth)
{
	while (depth--) {
		uint8_t opcode = loop->function->instruction[loop->path[depth]].opcode;

		if (opcode != OP_MOV && opcode != OP_SELP)
			return ON_OTHERS;
		if (loop->path[depth] == instruction)
			return 0;
	}
	return ON_OTHERS;
}

static unsigned made_by(struct loop *loop, uint32_t block, uint32_t instruction, unsigned depth)
{
	const struct ptx_instruction *in = &loop->function->instruction[instruction];
	unsigned on;

	if (instruction == loop->access)
		return ON_FOUND;
	if (loop->known[instruction] == OPEN)
		return made_by_itself(loop, instruction, depth);
	if (loop->known[instruction])
		return loop->known[instruction] - 1;
	if (is_new(loop->function, in) || depth == SPINS_DEPTH || loop->work <= 0)
		return ON_OTHERS;
	loop->known[instruction] = OPEN;
	loop->changed[loop->changed_count++] = instruction;
	loop->path[depth] = instruction;
	on = operands_of(loop, block, instruction, depth + 1);
	loop->known[instruction] = (uint8_t)(1 + on);
	return on;
}

static int leaves(const struct loop *loop, const struct ptx_block *block)
{
	for (uint32_t e = block->edge; e < block->edge + block->edge_count; e++)
		if (!is_inside(loop, loop->function->edges[e].block))
			return 1;
	return block->leaves;
}

/*
 * Returns 1 if a branch out of the loop depends on the value found and on nothing else that
 * changes.
 */
static int ends_by_found(struct loop *loop)
{
	const struct ptx_function *function = loop->function;

	for (uint32_t i = function->block[loop->head].order; i < function->order_count; i++) {
		uint32_t block = function->order[i];

		loop->work--;
		if (is_inside(loop, block) && leaves(loop, &function->block[block]) &&
			operands_of(loop, block, function->block[block].end - 1, 0) == ON_FOUND)
			return 1;
	}
	return 0;
}

static int spins(struct loop *loop, uint32_t block)
{
	const struct ptx_block *its = &loop->function->block[block];
	int rc;

	loop->head = its->is_head ? block : its->loop;
	rc = loop->head != UINT32_MAX && !operands_of(loop, block, loop->access, 0) &&
		ends_by_found(loop) && loop->work > 0;
	while (loop->changed_count)
		loop->known[loop->changed[--loop->changed_count]] = 0;
	return rc;
}

int ptx_find_spins(struct ptx_function *function)
{
	struct loop loop = { .function = function,
		.work = SPINS_WORK,
		.known = calloc(function->instruction_count + 1, 1),
		.changed = calloc(function->instruction_count + 1, sizeof(*loop.changed)) };
	int rc = loop.known && loop.changed ? 0 : ptx_refuse(function, "out of memory");

	if (!rc) {
		uint32_t looked_at = 0;

		for (uint32_t i = 0; i < function->order_count; i++) {
			const struct ptx_block *block = &function->block[function->order[i]];

			for (uint32_t j = block->first; j < block->end; j++) {
				struct ptx_instruction *in = &function->instruction[j];

				loop.access = j;
				if (is_candidate(function, in) && looked_at++ < SPINS_LIMIT)
					in->spins = (uint8_t)spins(&loop, function->order[i]);
			}
		}
	}
	free(loop.known);
	free(loop.changed);
	return rc;
}
