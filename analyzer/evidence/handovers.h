/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a thread was blocked outside of CUDA until another thread had done its part, or until a
 * host function had run: the main thread of a training loop while another one submits the backward
 * pass, JAX's block_until_ready.
 *
 * The thread was silent for more than BLOCKED_SLACK_NS.  In that time a host function returned, or
 * another thread made its last call and then was silent itself until this thread's next call had
 * returned.  Where the thread's usage was read (table usage), that must be when it was woken: it
 * was off its processor before, for as long as was read, and ran after.  The other thread may have
 * run on between its last call and that time, as far as its own usage shows.  If the thread was
 * blocked more than once, a function of its own work has ended the first time if that explains most
 * of the time off the processor.  Where usage was not read, two threads must take turns: the other
 * one goes on when this one is silent.
 */
#ifndef CUFENCE_HANDOVERS_H
#define CUFENCE_HANDOVERS_H

#include "db.h"
#include "run_columns.h"

/* How long and how often a thread was off its processor since the reading before: table usage. */
struct usage_reading {
	int64_t since, time, off; /* ns */
	uint32_t thread, voluntary, involuntary;
};

struct handover {
	uint32_t process, thread;
	uint32_t before, after; /* its outermost calls before and after it was silent */
	int64_t from, until;    /* return and entry of these, ns */
	/* What it waited for: the other's last call, or the call that submitted the function; */
	uint32_t by;
	int64_t ended; /* and the return of that call, or of the function, ns */
	/* Time off its processor that ended then, ns; all since from if that was not read. */
	int64_t blocked;
	uint8_t is_function;
	uint8_t is_read; /* its usage was read */
	uint8_t is_sure; /* that it was blocked: that was read, or its clock runs in CUDA only */
};

/* Zero-initialized is empty. */
struct handovers {
	struct handover *list; /* by thread, then in order of time */
	size_t count;
	struct usage_reading *reading; /* by thread and time */
	size_t reading_count;
};

/* Both return 0, or -1 after a message; call handovers_release() in any case. */
int handovers_read_usage(struct handovers *handovers, struct db *db);
/* Reads the usage if that was not done. */
int handovers_find(struct handovers *handovers, const struct run *run, struct db *db);

/* Returns the one by which a thread's silence ended at a time; NULL: none. */
const struct handover *handovers_at(const struct handovers *handovers, uint32_t thread,
	int64_t until);

void handovers_release(struct handovers *handovers);

#endif
