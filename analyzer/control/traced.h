/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that are being traced, and requests to them: struct trace_control in the header of
 * their traces, which the recorder has mapped.
 *
 * They are found by their mapped traces in /proc, also those of other containers that are visible
 * there; or in a folder that is shared with containers that are not, where a process is alive while
 * it holds the lock on its trace.
 */
#ifndef CUFENCE_TRACED_H
#define CUFENCE_TRACED_H

#include <stddef.h>
#include <stdint.h>

#include "record.h"

struct traced {
	long pid;    /* as seen here; in a folder, as seen there */
	char *trace; /* path */
	char *command;
	uint64_t bytes;             /* that the trace takes on disk */
	struct file_header *header; /* mapped and shared */
};

struct traced_list {
	struct traced *item;
	size_t count;
};

/* Finds all, by process id; folder: those in it, by their traces.  0, or -1 after a message. */
int traced_find(struct traced_list *list, const char *folder);

/* Removes those for which keep returns 0. */
void traced_keep(struct traced_list *list,
	int (*keep)(const struct traced *traced, const void *argument), const void *argument);

void traced_release(struct traced_list *list);

/* What is asked for: to pause, to record, or to hand over what CUPTI holds. */
enum traced_wish { WISH_RECORD, WISH_PAUSE, WISH_FLUSH };

struct traced_request {
	uint32_t asked;  /* its number */
	uint32_t flush;  /* its number among the flushes */
	int needs_flush; /* it is done when that flush is */
};
struct traced_request traced_ask(const struct traced *traced, enum traced_wish wish);

/* Asks for a window of that length, after which the process is paused. */
struct traced_request traced_ask_sample(const struct traced *traced, uint32_t us);

/* If it was not yet answered: counts an empty window, and returns 1. */
int traced_withdraw_sample(const struct traced *traced, uint32_t us);

enum traced_answer { ANSWERED, NOT_YET, ENDED };

/*
 * Waits for the answer, ms at most.  A process answers when it makes a call; while it records, a
 * thread of the recorder's flushes without one.
 */
enum traced_answer traced_wait(const struct traced *traced, struct traced_request request,
	unsigned ms);

enum control_state traced_state(const struct traced *traced);
const char *traced_state_name(enum control_state state);

#endif
