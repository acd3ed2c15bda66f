/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accesses that a kernel makes before it waits for previous kernels: "griddepcontrol.wait causes
 * the executing thread to wait until all prerequisite grids in flight have completed and all the
 * memory operations from the prerequisite grids are performed" (PTX ISA).  Whether it waits may
 * depend on the launch, so an access counts as early only if no path to it passes a wait.
 */
#include "ptx_walk.h"

#include <stdlib.h>

/* The function waits, or calls another one, which may. */
static int may_wait(const struct ptx_function *function)
{
	if (!function->has_body)
		return 0;
	if (function->parsed <= 0)
		return 1;
	for (uint32_t i = 0; i < function->instruction_count; i++) {
		const struct ptx_instruction *in = &function->instruction[i];

		if (in->opcode == OP_CALL ||
			(in->opcode == OP_GRIDDEPCONTROL && in->modifiers & MODIFIER_WAIT))
			return 1;
	}
	return 0;
}

static int is_wait(const struct ptx_frame *frame, uint32_t instruction)
{
	const struct ptx_function *function = frame->function;
	const struct ptx_instruction *in = &function->instruction[instruction];
	const struct ptx_operand *operand = &function->operand[in->operand];
	uint32_t at = 0;

	if (in->opcode != OP_CALL)
		return in->opcode == OP_GRIDDEPCONTROL && in->modifiers & MODIFIER_WAIT;
	if (in->count && operand->kind == OPERAND_VECTOR)
		at = ptx_operand_end(operand, 0);
	return at >= in->count || operand[at].kind != OPERAND_FUNCTION ||
		may_wait(&frame->walk->module->function[operand[at].number]);
}

static int has_wait(const struct ptx_frame *frame, uint32_t first, uint32_t end)
{
	for (uint32_t i = first; i < end; i++)
		if (is_wait(frame, i))
			return 1;
	return 0;
}

/* Marks the blocks that can follow a block; queue has room for all blocks. */
static void mark_after(const struct ptx_function *function, uint32_t block, uint8_t *after,
	uint32_t *queue)
{
	uint32_t count = 0;

	queue[count++] = block;
	while (count) {
		const struct ptx_block *from = &function->block[queue[--count]];

		for (uint32_t i = 0; i < from->edge_count; i++) {
			uint32_t to = function->edges[from->edge + i].block;

			if (!after[to])
				queue[count++] = to;
			after[to] = 1;
		}
	}
}

int ptx_find_waits(struct ptx_frame *frame)
{
	frame->waits = has_wait(frame, 0, frame->function->instruction_count);
	/* Returns by block, 1: a path to it passes a wait; NULL: out of memory. */
	const struct ptx_function *function = frame->function;
	uint8_t *after = calloc(function->block_count + 1, 1);
	uint32_t *queue = malloc((function->block_count + 1) * sizeof(*queue));

	for (uint32_t i = 0; after && queue && frame->waits && i < function->block_count; i++)
		if (has_wait(frame, function->block[i].first, function->block[i].end))
			mark_after(function, i, after, queue);
	if (!queue) {
		free(after);
		after = NULL;
	}
	free(queue);
	frame->after_wait = after;
	return frame->after_wait ? 0 : ptx_fail(frame->walk, ptx_no_memory);
}

int ptx_is_early(const struct ptx_frame *frame)
{
	const struct ptx_block *block = &frame->function->block[frame->block];

	if (frame->may_have_waited || frame->after_wait[frame->block])
		return 0;
	return !frame->waits || !has_wait(frame, block->first, frame->instruction);
}
