/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel and a launch: what is known at the start. */
#include "ptx_walk.h"

#include <stdlib.h>

static const struct ptx_range nothing = { 1, 0 };

/* Limits of CUDA where the launch does not say more (programming guide, compute capabilities). */
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

static struct ptx_state *make_start(const struct ptx_function *kernel,
	const struct ptx_launch *launch)
{
	struct ptx_state *state = calloc(1, ptx_state_size(kernel));

	if (!state)
		return NULL;
	state->possible = 1;
	for (int i = 0; i < PTX_SYMBOLS; i++)
		state->range[i] = nothing;
	set_fixed(state, launch);
	return state;
}

static int interpret(struct ptx_walk *walk)
{
	struct ptx_state *start = make_start(walk->kernel, walk->launch);
	struct ptx_frame frame;
	int rc = start ? 0 : ptx_fail(walk, "out of memory");

	if (rc)
		return -1;
	rc = ptx_frame_init(&frame, walk, walk->kernel, 0, 0);
	if (!rc)
		rc = ptx_walk_function(&frame, start);
	ptx_frame_release(&frame);
	free(start);
	return rc;
}

int ptx_interpret(struct ptx_module *module, size_t kernel, const struct ptx_launch *launch,
	unsigned long steps, struct ptx_access *access)
{
	struct ptx_function *function = &module->function[module->kernel[kernel]];
	struct ptx_walk walk = {
		.module = module,
		.launch = launch,
		.kernel = function,
		.access = access,
		.symbol_count = PTX_FIXED_SYMBOLS,
		.path_count = 1,
		.steps = steps,
		.collects = 1,
	};
	int rc;

	memset(access, 0, sizeof(*access));
	if (ptx_parse_function(module, function)) {
		access->why = function->why;
		return -1;
	}
	access->scalar = calloc(1, function->parameter_bytes + 1);
	access->scalar_count = function->parameter_bytes;
	walk.path = calloc(16, sizeof(*walk.path));
	walk.path_room = 16;
	rc = access->scalar && walk.path ? interpret(&walk) : ptx_fail(&walk, "out of memory");
	free(walk.set);
	free(walk.cell);
	free(walk.path);
	if (rc) {
		ptx_access_release(access);
		access->why = walk.failure;
		return -1;
	}
	ptx_claims_finish(access);
	access->complete = !access->why;
	return 0;
}

void ptx_access_release(struct ptx_access *access)
{
	free(access->claim);
	free(access->scalar);
	memset(access, 0, sizeof(*access));
}
