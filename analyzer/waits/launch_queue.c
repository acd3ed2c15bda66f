/* SPDX-License-Identifier: Apache-2.0 */
/* Submissions that a full launch queue blocked, and the operations that made room for them. */
#include <stdlib.h>

#include "bounds.h"
#include "constants.h"
#include "id_map.h"
#include "memory.h"
#include "radix_sort.h"
#include "sorted.h"
#include "wait.h"

/* The operations of a stream in which a submission was blocked, sorted by end. */
struct queue {
	struct ended {
		int64_t end; /* ns */
		uint64_t op;
	} * ended;
	size_t count;
};

static void free_queue(void *object)
{
	free(((struct queue *)object)->ended);
	free(object);
}

void waits_find_queue(struct waits *waits)
{
	const struct run *run = waits->db->run;
	const struct run_overhead *first = (const struct run_overhead *)run->overheads.rows, *row;
	const struct run_overhead *end = run_rows_end(&run->overheads);
	struct id_map queues = { 0 }; /* struct queue, by stream */

	for (row = first; row < end; row++) {
		const struct run_call *call = run_call(run, row->call);

		if (row->kind == OVERHEAD_QUEUE_FULL && call && call->stream)
			id_map_need(&queues, call->stream, sizeof(struct queue));
	}
	for (uint32_t op = 1; queues.count && op < run_work_end(run); op++) {
		const struct run_work *work = run_work(run, op);
		struct queue *queue =
			work ? id_map_get(&queues, run_where(run, work)->stream) : NULL;
		int64_t until = queue ? run_end(run, work, op) : RUN_NEVER;

		if (until != RUN_NEVER)
			*array_push(queue->ended, queue->count) = (struct ended){ until, op };
	}
	for (struct id_map_slot *slot = NULL; (slot = id_map_next(&queues, slot));) {
		struct queue *queue = slot->object;

		queue->ended = radix_sort(queue->ended, queue->count, sizeof(*queue->ended));
	}
	for (row = first; row < end && queues.count; row++) {
		const struct run_call *call = run_call(run, row->call);
		struct wait wait = { .call = row->call,
			.kind = WAIT_QUEUE,
			.waited = row->end - row->start };
		const struct queue *queue;
		int64_t longest = -1;
		size_t at;

		if (row->kind != OVERHEAD_QUEUE_FULL || !call || !call->stream)
			continue;
		/* The stream's operation that ran longest in the block and ended in it. */
		queue = id_map_get(&queues, call->stream);
		at = sorted_after(queue->ended, queue->count, sizeof(*queue->ended),
			offsetof(struct ended, end), row->end + CLOCK_ERROR_MAX_NS);
		for (; at && queue->ended[at - 1].end > row->start; at--) {
			const struct ended *ended = &queue->ended[at - 1];
			int64_t ran = time_within(run_work(run, (int64_t)ended->op)->start,
				ended->end, row->start, row->end);

			if (ran <= longest)
				continue;
			longest = ran;
			wait.by.op = (int64_t)ended->op;
		}
		if (wait.by.op)
			wait_add_row(waits, &wait);
	}
	id_map_release(&queues, free_queue);
}
