/* SPDX-License-Identifier: Apache-2.0 */
#include "concurrency.h"

#include "calls.h"

static double part(uint64_t grid, uint64_t block, int64_t sms, int64_t threads_per_sm,
	int64_t blocks_per_sm)
{
	double blocks = (double)GRID_X(grid) * (double)GRID_Y(grid) * (double)GRID_Z(grid);
	double threads =
		blocks * (double)BLOCK_X(block) * (double)BLOCK_Y(block) * (double)BLOCK_Z(block);
	double by_threads, by_blocks;

	if (sms <= 0 || threads_per_sm <= 0)
		return 0;
	by_threads = threads / (double)(sms * threads_per_sm);
	by_blocks = blocks_per_sm > 0 ? blocks / (double)(sms * blocks_per_sm) : 0;
	return by_threads > by_blocks ? by_threads : by_blocks;
}

static double part_of(const struct run *run, const struct run_where *where, uint32_t call)
{
	const struct run_call *launch = run_call(run, call);
	const struct run_payload *payload = launch ? run_payload(run, launch) : NULL;

	for (size_t i = 0; payload && i < run->device_count; i++) {
		const struct run_device *device = &run->device[i];

		if (device->process == where->process && device->ordinal == where->device)
			return part(payload->grid, payload->block, device->sms, device->threads,
				device->blocks);
	}
	return 0;
}

struct shape shape_of(const struct run *run, int64_t op)
{
	const struct run_work *work = run_work(run, op);
	const struct run_where *where = work ? run_where(run, work) : NULL;
	struct shape shape = { .kind = 'o' };

	/* For how long it took room or an engine is not known. */
	if (!where || where->end_is_limit)
		return shape;
	shape.copy_kind = where->copy_kind;
	switch ((enum work_kind)where->kind) {
	case WORK_KERNEL:
		shape.kind = 'k';
		shape.part = part_of(run, where, work->call);
		break;
	case WORK_MEMCPY:
		shape.kind = 'c';
		break;
	case WORK_MEMSET:
		shape.kind = 's';
		break;
	default:
		break;
	}
	return shape;
}

int shape_can_overlap(const struct shape *a, const struct shape *b)
{
	if (a->kind == 'c' && b->kind == 'c')
		return a->copy_kind != b->copy_kind;
	if (a->kind == 'c' || b->kind == 'c')
		return 1;
	return a->part < 1 && b->part < 1;
}
