/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lives of objects while a process is paused.  What the recorder writes then goes to private
 * memory of its thread, 64 KiB, and not to the trace: streams, events, memory, graphs, code, and
 * call sites that a later window needs.  When it is full, objects that were made and destroyed
 * meanwhile are removed; if much is left, it goes to a second place, up to 4 MiB, where updates of
 * an executable graph stay until later ones replace them, and from there to the trace.  When a
 * window opens, all threads' go there.  So an idle server's trace does not grow, nor does its
 * memory; objects that one thread makes and another destroys do take space in the trace.
 *
 * Thread-safe; no thread waits for another one but for the moment in which records are copied.
 */
#ifndef CUFENCE_LIVES_H
#define CUFENCE_LIVES_H

#include "shim.h"

/* The thread is outside of all of its calls: from here on it writes to its private memory. */
void lives_enter(struct thread_state *thread);

/* Moves what is there to the trace, where the thread writes from here on. */
void lives_leave(struct thread_state *thread);

/* Copies what all threads have so far to the trace; the thread itself leaves. */
void lives_write_all(struct thread_state *thread);

/* Makes room for a record in the thread's private memory. */
void lives_make_room(struct thread_state *thread, size_t bytes);

/* In a forked child: all of it is the parent's. */
void lives_reset(void);

static inline int lives_has(const struct thread_state *thread)
{
	return thread->tables && thread->tables->lives && *shim.alive;
}

#endif
