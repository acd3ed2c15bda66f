/* SPDX-License-Identifier: Apache-2.0 */
#include "turns.h"

#include "collector.h"
#include "control.h"
#include "hot.h"
#include "window.h"

#define AT_MOST 2 /* times its length that a sample lasts if a turn does not end */

static struct {
	_Atomic uint64_t asked;              /* ticks: a call first saw the request; 0: none */
	struct thread_state *_Atomic turner; /* who arrived at the head; NULL: nobody */
	uint64_t begun;                      /* ticks, of the sample */
	uint64_t length;                     /* ticks, of a sample of turns in progress, or 0 */
	uint64_t heads;                      /* calls of the head in it */
} turns;

void turns_init(void)
{
	turns.asked = 0;
	turns.turner = NULL;
	turns.length = 0;
}

static uint64_t ticks_of_us(uint32_t us)
{
	return (uint64_t)((double)us * 1e-6 * (double)shim.calibration_ticks);
}

static void forget_head(void)
{
	__atomic_store_n(&control_page()->head, 0, __ATOMIC_RELAXED);
	turns.asked = 0;
}

int turns_awaited(void)
{
	struct trace_control *page = control_page();
	uint32_t wish = __atomic_load_n(&page->wish, __ATOMIC_ACQUIRE);
	uint64_t now;

	if (!__atomic_load_n(&page->head, __ATOMIC_RELAXED) || wish <= CONTROL_PAUSE ||
		!window_is_paused() || collector_waits())
		return 0;
	if (turns.turner)
		return 0;
	now = clock_read();
	if (!turns.asked)
		turns.asked = now;
	if (now - turns.asked < ticks_of_us(wish) / 2)
		return 1;
	forget_head();
	return 0;
}

/* As before a call that is recorded while paused: records of a new site go where its own would. */
int turns_arrive(struct thread_state *thread, uintptr_t frame)
{
	uint32_t head = __atomic_load_n(&control_page()->head, __ATOMIC_RELAXED);

	if (thread->generation != window_now.generation)
		thread_begin(thread);
	if (!thread->tables && thread_equip(thread))
		return 0;
	window_choose_chunk(thread);
	if (!head || site_find(thread, (void *)frame) != head)
		return 0;
	thread->turn_site = head;
	turns.turner = thread;
	return 1;
}

uint64_t turns_begin(uint64_t length)
{
	/* Withdrawn: there were calls, and no turn. */
	if (!length && turns.asked && !turns.turner)
		forget_head();
	turns.asked = 0;
	turns.heads = 0;
	turns.begun = clock_read();
	turns.length = turns.turner ? length : 0;
	if (!length)
		turns.turner = NULL;
	return turns.turner ? length * AT_MOST : length;
}

int turns_ended(struct thread_state *thread)
{
	uint64_t elapsed = clock_read() - turns.begun, done = turns.heads;

	if (!turns.length || turns.turner != thread) {
		thread->turn_site = 0;
		return 0;
	}
	/* The sample ends where one more turn like those before does not fit. */
	turns.heads++;
	if (!done || elapsed + elapsed / done <= turns.length)
		return 0;
	thread->turn_site = 0;
	turns.length = 0;
	turns.turner = NULL;
	trace_count(&shim.writer, COUNT_TURN_WINDOWS, 1);
	return 1;
}
