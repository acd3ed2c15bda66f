/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Control of this process by "cufence start" and its like: struct trace_control in the mapped
 * header of its trace.  There is no signal for it: a call of the program reads the requests and
 * answers, while paused each one, else at most 8 ms after the last one.  A process that makes no
 * calls does not answer.  A thread that waits for other work anyway (cupti/flusher.h) looks at the
 * header for the calls of a paused process.
 */
#ifndef CUFENCE_CONTROL_H
#define CUFENCE_CONTROL_H

#include "shim.h"

/*
 * Says who this process is, in the header of its trace, which was just created.  paused: from the
 * start.
 */
void control_init(int paused);

static inline struct trace_control *control_page(void)
{
	return &shim.writer.header->control;
}

/*
 * A thread of the recorder begins to wait for requests: it looks for the calls, which then read
 * what it has seen in the cache line of all else that decides about them.  Until control_unwatch()
 * it calls this again whenever it was woken.
 */
void control_watch(void);
/* Calls look for themselves again. */
void control_unwatch(void);

/* The number of the last request, or of the last one that was answered. */
static inline uint32_t control_asked(void)
{
	return __atomic_load_n(&control_page()->asked, __ATOMIC_ACQUIRE);
}

static inline int control_is_asked(void)
{
	return control_asked() != control_page()->answered;
}

/* Says that everything up to this request was done. */
void control_answer(uint32_t asked);

/* Shows the state of the process, and that a window was opened. */
void control_show(enum control_state state, uint32_t windows);

#endif
