/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by account*.c: the calls of threads as intervals, and the sums. */
#ifndef CUFENCE_ACCOUNT_PARTS_H
#define CUFENCE_ACCOUNT_PARTS_H

#include "loop.h"
#include "polls.h"
#include "run_columns.h"

/* Causes and their names in table account. */
#define ACCOUNT_CAUSES(X) \
	X(BUSY, "busy") \
	X(OUTSIDE, "outside") \
	X(SUBMIT, "submit") \
	X(CALL, "call") \
	X(WAIT, "wait") \
	X(HELD, "held") \
	X(LOADING, "loading") \
	X(ORDER, "order") \
	X(START, "start") \
	X(DONE, "done") \
	X(UNKNOWN, "unknown")

enum account_cause {
#define X(cause, name) ACCOUNT_##cause,
	ACCOUNT_CAUSES(X)
#undef X
};

#define ACCOUNT_HOST (-1) /* in place of a device */

/* Maximum number of threads of a process, besides the submitting one, that may cause host time. */
#define ACCOUNT_BUSIEST 8

/* An operation. */
struct account_work {
	int64_t start, end; /* ns; RUN_NEVER: unknown */
	uint32_t id, process;
	int32_t device;
};

/* An outermost call, not made by another call. */
struct account_call {
	int64_t enter, exit; /* ns; exit RUN_NEVER: it did not return */
	int64_t held;        /* ns, by table wait */
	uint32_t site;
	enum account_cause cause;
};

struct account_thread {
	uint32_t thread;
	struct account_call *call;
	size_t count;
	size_t at; /* the first call that has not ended at the start of the current interval */
};

struct account_sum {
	int32_t device; /* its ordinal, or ACCOUNT_HOST */
	enum account_cause cause;
	uint32_t from, site;
	int64_t ns, times;
};

/* All processes of a run. */
struct account_run {
	const struct run *run;
	struct db *db;
	struct run_evidence *evidence; /* loops are added to it; NULL: none are */
	struct account_work *work;     /* by process, device and start */
	size_t work_count;
	uint32_t *of; /* threads, sorted by process */
	size_t of_count;
	/* By thread, including 0; only threads of the current process have calls. */
	struct account_thread *threads;
	struct map holds; /* operation -> number of its hold + 1 */
	struct polls polls;
};

/* One process. */
struct account {
	const struct run *run;
	struct db *db;
	const struct account_work *work; /* by device and start */
	size_t work_count;
	const uint32_t *of; /* threads of the process */
	size_t of_count;
	struct account_thread *threads; /* by thread */
	const struct map *holds;
	const struct polls *polls;
	struct loop loop;
	uint32_t process, thread; /* thread: the one that the host's account covers, 0: none */
	int64_t begin, end;       /* ns: the time covered */
	uint32_t busiest[ACCOUNT_BUSIEST]; /* threads with the most calls, descending */
	size_t busiest_count;
	struct account_sum *sum;
	size_t sum_count;
	struct map sums; /* hash of device, cause and sites -> number + 1 */
};

/* Each returns 0, or -1 after a message. */
int account_list_works(struct account_run *all);
int account_read_calls(struct account *account);
int account_add(struct account *account, int32_t device, enum account_cause cause, uint32_t from,
	uint32_t site, int64_t ns);
int account_host(struct account *account);
int account_devices(struct account *account);

/*
 * Accounts for the host while a device was idle between two times, before an operation submitted by
 * a call of that thread.
 */
int account_idle_host(struct account *account, int32_t device, uint32_t thread, uint32_t site,
	int64_t from, int64_t until);

#endif
