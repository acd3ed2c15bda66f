/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A loop with several entries has no head, which the interpreter needs: compilers let a thread jump
 * into the middle of a loop that they copied (cuBLAS's kernels for Hopper).  It gets a head: an
 * empty block that leads to all entries, and that all paths to an entry pass.  This adds paths that
 * the kernel does not have, with unknown conditions: what holds on all paths remains true, and less
 * is known for certain.
 */
#include <stdlib.h>
#include <string.h>

#include "ptx_internal.h"

enum {
	IS_AHEAD = 1,  /* the end of the edge leads to it */
	IS_BEFORE = 2, /* it leads to the end of the edge */
	IS_ENTRY = 4,
	IN_LOOP = IS_AHEAD | IS_BEFORE,
};

static int is_in_loop(const uint8_t *mark, uint32_t block)
{
	return (mark[block] & IN_LOOP) == IN_LOOP;
}

/* Returns 1 for a block dominated by that one. */
static int is_below(const struct ptx_function *function, uint32_t above, uint32_t block)
{
	return block != above && function->block[block].order != UINT32_MAX &&
		ptx_dominates(function, above, block);
}

/* Marks blocks that lead to the end of the edge and follow it, below that block. */
static void mark_loop(const struct ptx_function *function, uint32_t above, uint32_t to,
	uint8_t *mark)
{
	int changed = 1;

	mark[to] = IN_LOOP;
	while (changed) {
		changed = 0;
		for (uint32_t i = 0; i < function->edge_count; i++) {
			const struct ptx_edge *edge = &function->edges[i];
			uint8_t ahead, before;

			if (!is_below(function, above, edge->from) ||
				!is_below(function, above, edge->block))
				continue;
			ahead = mark[edge->from] & IS_AHEAD & ~mark[edge->block];
			before = mark[edge->block] & IS_BEFORE & ~mark[edge->from];
			mark[edge->block] |= ahead;
			mark[edge->from] |= before;
			changed |= ahead | before;
		}
	}
}

static uint32_t mark_entries(const struct ptx_function *function, uint8_t *mark)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < function->edge_count; i++) {
		const struct ptx_edge *edge = &function->edges[i];

		if (is_in_loop(mark, edge->from) || !is_in_loop(mark, edge->block) ||
			mark[edge->block] & IS_ENTRY)
			continue;
		mark[edge->block] |= IS_ENTRY;
		count++;
	}
	return count;
}

/* Makes room for a block and that many edges. */
static int make_room(struct ptx_function *function, uint32_t edges)
{
	struct ptx_block *block =
		realloc(function->block, (function->block_count + 2) * sizeof(*function->block));
	struct ptx_edge *edge;

	if (!block)
		return -1;
	function->block = block;
	edge = realloc(function->edges,
		(size_t)(function->edge_count + edges) * sizeof(*function->edges));
	if (!edge)
		return -1;
	function->edges = edge;
	/* Adds a branch with unknown conditions. */
	struct ptx_instruction *in;

	if (PTX_ROOM(function->instruction, function->instruction_room,
		    function->instruction_count))
		return -1;
	in = &function->instruction[function->instruction_count++];
	memset(in, 0, sizeof(*in));
	in->opcode = OP_BRX;
	in->guard = -1;
	return 0;
}

/* Returns the block that all paths to both pass. */
static uint32_t above_both(const struct ptx_function *function, uint32_t a, uint32_t b)
{
	while (!ptx_dominates(function, a, b) || a == b)
		a = function->block[a].dominator;
	return a;
}

int ptx_give_head(struct ptx_function *function, uint32_t edge)
{
	uint32_t from = function->edges[edge].from, to = function->edges[edge].block;
	uint8_t *mark = calloc(function->block_count, 1);
	uint32_t entries;

	if (!mark)
		return ptx_refuse(function, "out of memory");
	mark_loop(function, above_both(function, to, from), to, mark);
	entries = mark_entries(function, mark);
	if (make_room(function, entries)) {
		free(mark);
		return ptx_refuse(function, "out of memory");
	}
	uint32_t head = function->block_count;

	for (uint32_t i = 0; i < function->edge_count; i++)
		if (mark[function->edges[i].block] & IS_ENTRY)
			function->edges[i].block = head;
	function->block[head] = (struct ptx_block){ .first = function->instruction_count - 1,
		.end = function->instruction_count,
		.edge = function->edge_count };
	for (uint32_t i = 0; i < head; i++)
		if (mark[i] & IS_ENTRY) {
			function->edges[function->edge_count++] = (struct ptx_edge){ head, i, -1 };
			function->block[head].edge_count++;
		}
	function->block_count++;
	free(mark);
	return 0;
}
