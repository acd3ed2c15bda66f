/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is left out of a trace that is read from some time on: work before it, with its device
 * operations, host functions and windows.  What creates or destroys objects stays, as what follows
 * is about these.
 */
#ifndef CUFENCE_SINCE_H
#define CUFENCE_SINCE_H

#include "record.h"

struct trace_since {
	uint64_t ticks;       /* 0: nothing is left out */
	uint32_t correlation; /* the last one of a call before */
	uint8_t *is_work;     /* by number of the call (CALL_NUMBERS); the caller's */
};
#define CALL_NUMBERS 65536

/* Call for each record, with ticks set, before the next function: notes types and correlations. */
void since_note(struct trace_since *since, const struct record *record);

/* Of a record that has a time: whether it is before. */
int since_is_before(const struct trace_since *since, const struct record *record);

int since_leaves_out(const struct trace_since *since, const struct record *record);

#endif
