/* SPDX-License-Identifier: Apache-2.0 */
/* The first call of a thread in a window, and every call outside of windows. */
#include <errno.h>

#include "gate.h"
#include "hot.h"
#include "lives.h"
#include "window.h"

/* The recorder was interrupted while writing a record: its state may be inconsistent. */
static void recover(struct thread_state *thread)
{
	if (lives_has(thread))
		lives_leave(thread);
	trace_chunk_close(&shim.writer, &thread->chunk);
	trace_count(&shim.writer, COUNT_DROPPED_RECORDS, 1);
	thread->generation = thread->ready = 0;
	thread->busy = 0;
}

COLD int thread_make_ready(struct thread_state *thread, enum call_id id, unsigned flags,
	void *frame_address)
{
	uintptr_t frame = (uintptr_t)frame_address;
	int saved = errno, outside;

	if (thread->busy && frame_was_left(thread->busy, frame))
		recover(thread);
	errno = saved;
	if (thread->busy || !shim_start())
		return 0;
	if (thread->known != window_now.generation)
		gate_know(thread);
	do {
		thread->busy = 0;
		outside = window_now.outside;
		if (outside) {
			if (!(flags & FRAME_HOST))
				gate_enter(thread, frame);
			if (!window_admits(thread, call_types[id].kind, frame))
				return 0;
		}
		thread->busy = frame;
		/* As in thread_enter(). */
		atomic_signal_fence(memory_order_seq_cst);
	} while (!outside && window_now.outside);
	if (thread->generation != window_now.generation)
		thread_begin(thread);
	/* Permanent: retrying at each call would cost the program more. */
	if (!thread->tables && thread_equip(thread))
		thread->busy = UINTPTR_MAX;
	else
		window_choose_chunk(thread);
	/* One that keeps lives comes here again. */
	thread->ready = thread->tables && !lives_has(thread) ? thread->generation : 0;
	errno = saved;
	return thread->busy == frame;
}
