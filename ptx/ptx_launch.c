/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interprets a kernel for a launch: as a whole, then in parts if the whole leaves something
 * unknown.
 *
 * The accesses of a block or a thread are accesses of the launch.  A table in the parameters that
 * is indexed by the block gives a single block one known word, and the addresses of the first
 * thread have no index, so its bytes are known even if those of all threads have no simple form.
 */
#include "ptx_walk.h"

#include <stdlib.h>

/*
 * Limits: blocks interpreted one by one, and instructions for all parts of a launch.  Beyond them
 * what holds for the whole launch stays: more may be accessed, at a lower confidence.
 */
#define PART_BLOCKS_LIMIT 64
#define PART_STEPS 200000ul

static const struct ptx_range nothing = { 1, 0 };

/* Sets CUDA's limits where the launch is unknown (programming guide, compute capabilities). */
static void set_fixed(struct ptx_state *state, const struct ptx_launch *launch)
{
	static const int64_t most[4][3] = {
		{ 1024, 1024, 64 },
		{ 1024, 1024, 64 },
		{ INT32_MAX, 65535, 65535 },
		{ INT32_MAX, 65535, 65535 },
	};
	const uint32_t *const known[4] = {
		launch->block,
		launch->block,
		launch->grid,
		launch->grid,
	};

	for (int kind = 0; kind < 4; kind++)
		for (int axis = 0; axis < 3; axis++) {
			struct ptx_range *range = &state->range[kind * 3 + axis];
			int64_t count = known[kind][axis];
			int is_index = kind % 2 == 0;

			range->high = (count ? count : most[kind][axis]) - is_index;
			range->low = is_index ? 0 : count ? count : 1;
		}
}

static struct ptx_state *make_start(const struct ptx_walk *walk)
{
	struct ptx_state *state = calloc(1, ptx_state_size(walk->kernel));

	if (!state)
		return NULL;
	state->possible = 1;
	for (int i = 0; i < PTX_SYMBOLS; i++)
		state->range[i] = nothing;
	set_fixed(state, walk->launch);
	for (int axis = 0; axis < 3; axis++) {
		int64_t block = walk->part.block[axis];

		if (walk->part.is_block)
			state->range[SPECIAL_CTAID_X + axis] = (struct ptx_range){ block, block };
		if (walk->part.is_thread)
			state->range[SPECIAL_TID_X + axis] = (struct ptx_range){ 0, 0 };
	}
	return state;
}

static int walk_kernel(struct ptx_walk *walk)
{
	struct ptx_state *start = make_start(walk);
	struct ptx_frame frame;
	int rc = start ? 0 : ptx_fail(walk, ptx_no_memory);

	if (rc)
		return -1;
	rc = ptx_frame_init(&frame, walk, walk->kernel, 0, 0);
	if (!rc)
		rc = ptx_walk_function(&frame, start);
	ptx_frame_release(&frame);
	free(start);
	return rc;
}

/* The arguments of ptx_interpret(). */
struct question {
	struct ptx_module *module;
	struct ptx_function *kernel;
	const struct ptx_launch *launch;
};

/* Interprets a part of the launch, as ptx_interpret(). */
static int interpret_part(const struct question *question, struct ptx_part part,
	unsigned long steps, struct ptx_access *access)
{
	struct ptx_function *function = question->kernel;
	struct ptx_walk walk = {
		.module = question->module,
		.launch = question->launch,
		.part = part,
		.kernel = function,
		.access = access,
		.symbol_count = PTX_FIXED_SYMBOLS,
		.path_count = 1,
		.steps = steps,
		.collects = 1,
	};
	int rc;

	memset(access, 0, sizeof(*access));
	access->scalar = calloc(1, function->parameter_bytes + 1);
	access->scalar_count = function->parameter_bytes;
	walk.path = calloc(16, sizeof(*walk.path));
	walk.path_room = 16;
	rc = access->scalar && walk.path ? walk_kernel(&walk) : ptx_fail(&walk, ptx_no_memory);
	free(walk.set);
	free(walk.cell);
	free(walk.path);
	if (rc) {
		unsigned long taken = access->steps;

		ptx_access_release(access);
		access->steps = taken;
		access->why = walk.failure;
		return -1;
	}
	ptx_claims_finish(access);
	access->complete = !access->why;
	if (access->why && !walk.doubts)
		access->reaches |= PTX_REACH_ONLY;
	return 0;
}

/* --- parts --- */

/* Steps left for parts and in all. */
struct part_steps {
	unsigned long left;
	int is_given; /* the caller's limit, below the one for parts */
};

/* Calls interpret_part() within this limit; the steps count for the whole's access. */
static int interpret_limited(const struct question *question, struct ptx_part part,
	struct part_steps *steps, struct ptx_access *whole, struct ptx_access *access)
{
	int rc = interpret_part(question, part, steps->left, access);

	steps->left -= access->steps;
	whole->steps += access->steps;
	if (rc && !steps->left && steps->is_given)
		whole->limited = 1;
	return rc;
}

static int add_scalars(struct ptx_access *into, const struct ptx_access *from)
{
	for (uint32_t i = 0; i < from->scalar_count; i++)
		into->scalar[i] |= from->scalar[i];
	return 0;
}

/* It is unknown which words are used, or not all memory is known. */
static int is_open(const struct ptx_access *access)
{
	for (size_t i = 0; i < access->count; i++)
		if (!access->claim[i].sure)
			return 1;
	return !access->complete;
}

/* Adds the accesses of a block to those of others. */
static int add_block(struct ptx_access *all, uint32_t *room, const struct ptx_access *one)
{
	all->reaches |= one->reaches;
	for (size_t i = 0; i < one->count; i++)
		if (ptx_add_claim(all, room, &one->claim[i]))
			return -1;
	return add_scalars(all, one);
}

/* Returns 1 if each block is known, with the result in all; else 0. */
static int interpret_blocks(const struct question *question, struct part_steps *steps,
	struct ptx_access *whole, struct ptx_access *all)
{
	const uint32_t *grid = question->launch->grid;
	uint64_t count = (uint64_t)grid[0] * grid[1] * grid[2];
	uint32_t room = 0;

	for (uint64_t i = 0; i < count; i++) {
		struct ptx_part part = { 1, 0,
			{ (uint32_t)(i % grid[0]), (uint32_t)(i / grid[0] % grid[1]),
				(uint32_t)(i / grid[0] / grid[1]) } };
		struct ptx_access one;
		int is_known;

		if (interpret_limited(question, part, steps, whole, &one))
			return 0;
		is_known = !is_open(&one) && !add_block(all, &room, &one);
		ptx_access_release(&one);
		if (!is_known)
			return 0;
	}
	return 1;
}

static void follow_blocks(const struct question *question, struct part_steps *steps,
	struct ptx_access *whole)
{
	const uint32_t *grid = question->launch->grid;
	uint64_t count = (uint64_t)grid[0] * grid[1] * grid[2];
	struct ptx_access all = { .scalar_count = whole->scalar_count };

	if (!is_open(whole) || count < 2 || grid[1] > PART_BLOCKS_LIMIT ||
		grid[2] > PART_BLOCKS_LIMIT || count > PART_BLOCKS_LIMIT)
		return;
	all.scalar = calloc(1, whole->scalar_count + 1);
	if (!all.scalar || !interpret_blocks(question, steps, whole, &all)) {
		ptx_access_release(&all);
		return;
	}
	ptx_claims_finish(&all);
	all.complete = 1;
	all.steps = whole->steps;
	all.limited = whole->limited;
	add_scalars(&all, whole);
	ptx_access_release(whole);
	*whole = all;
}

static int is_known(const struct ptx_claim *claim)
{
	return claim->sure && claim->exact;
}

/* The word is used, but no byte is surely accessed. */
static int lacks_bytes(const struct ptx_access *access, const struct ptx_claim *of)
{
	int lacks = 0;

	for (size_t i = 0; i < access->count; i++) {
		const struct ptx_claim *claim = &access->claim[i];

		if (claim->offset != of->offset || claim->direction != of->direction)
			continue;
		if (is_known(claim))
			return 0;
		lacks |= claim->sure && claim->object == PTX_ADDRESS;
	}
	return lacks;
}

static void follow_thread(const struct question *question, struct part_steps *steps,
	struct ptx_access *whole)
{
	struct ptx_access one, more = { 0 };
	uint32_t room = 0;
	int lacks = 0, failed = 0;

	for (size_t i = 0; i < whole->count && !lacks; i++)
		lacks = lacks_bytes(whole, &whole->claim[i]);
	if (!lacks ||
		interpret_limited(question, (struct ptx_part){ .is_block = 1, .is_thread = 1 },
			steps, whole, &one))
		return;
	for (size_t i = 0; i < whole->count && !failed; i++)
		failed = ptx_put_claim(&more, &room, &whole->claim[i]);
	for (size_t i = 0; i < one.count && !failed; i++)
		if (is_known(&one.claim[i]) && lacks_bytes(whole, &one.claim[i]))
			failed = ptx_put_claim(&more, &room, &one.claim[i]);
	if (!failed) {
		free(whole->claim);
		whole->claim = more.claim;
		whole->count = more.count;
		more.claim = NULL;
		ptx_claims_finish(whole);
		add_scalars(whole, &one);
	}
	ptx_access_release(&more);
	ptx_access_release(&one);
}

int ptx_interpret(struct ptx_module *module, size_t kernel, const struct ptx_launch *launch,
	unsigned long steps, struct ptx_access *access)
{
	struct question question = { module, &module->function[module->kernel[kernel]], launch };
	struct part_steps parts = { PART_STEPS, 0 };

	memset(access, 0, sizeof(*access));
	if (ptx_parse_function(module, question.kernel)) {
		access->why = question.kernel->why;
		return -1;
	}
	if (interpret_part(&question, (struct ptx_part){ 0 }, steps, access))
		return -1;
	if (!launch->grid[0] || !launch->block[0])
		return 0;
	if (steps - access->steps < parts.left)
		parts = (struct part_steps){ steps - access->steps, 1 };
	follow_blocks(&question, &parts, access);
	follow_thread(&question, &parts, access);
	return 0;
}

void ptx_access_release(struct ptx_access *access)
{
	free(access->claim);
	free(access->scalar);
	memset(access, 0, sizeof(*access));
}
