/* SPDX-License-Identifier: Apache-2.0 */
/* What the files account*.c share: the calls of threads as intervals, and the sums. */
#ifndef CUFENCE_ACCOUNT_PARTS_H
#define CUFENCE_ACCOUNT_PARTS_H

#include "loop.h"
#include "polls.h"
#include "run_columns.h"

/* The names in table account. */
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

/* So many threads of a process, besides the submitting one, may be the cause of host time. */
#define ACCOUNT_BUSIEST 8

/* An operation. */
struct account_work {
	int64_t start, end; /* ns; RUN_NEVER: not known */
	uint32_t id, process;
	int32_t device;
};

/* A call that no other call made. */
struct account_call {
	int64_t enter, exit; /* ns; exit RUN_NEVER: it did not return */
	int64_t held;        /* ns, by what waits say of it */
	uint32_t site;
	enum account_cause cause;
};

struct account_thread {
	uint32_t thread;
	struct account_call *call;
	size_t count;
	size_t at; /* the first that has not ended when the present interval begins */
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
	struct run_evidence *evidence; /* to which loops are added, NULL: of nobody */
	struct account_work *work;     /* by process, device and start */
	size_t work_count;
	uint32_t *of; /* threads, by process */
	size_t of_count;
	struct account_thread
		*threads; /* by thread, 0 included; without calls but those of a process */
	struct map holds; /* operation -> number of its hold + 1 */
	struct polls polls;
};

/* One process. */
struct account {
	const struct run *run;
	const struct account_work *work; /* by device and start */
	size_t work_count;
	const uint32_t *of; /* its threads */
	size_t of_count;
	struct account_thread *threads; /* by thread */
	const struct map *holds;
	const struct polls *polls;
	struct loop loop;
	uint32_t process, thread;          /* thread: of the host's account, 0: none */
	int64_t begin, end;                /* ns: the time covered */
	uint32_t busiest[ACCOUNT_BUSIEST]; /* threads, those with the most calls first */
	size_t busiest_count;
	struct account_sum *sum;
	size_t sum_count;
	struct map sums; /* hash of what makes one -> number + 1 */
};

/* Each 0, or -1 after a message. */
int account_list_works(struct account_run *all);
int account_read_calls(struct account *account);
int account_add(struct account *account, int32_t device, enum account_cause cause, uint32_t from,
	uint32_t site, int64_t ns);
int account_host(struct account *account);
int account_devices(struct account *account);

/*
 * Device idled from a time on to another, when a call of that thread submitted the next operation:
 * who had the host meanwhile.
 */
int account_idle_host(struct account *account, int32_t device, uint32_t thread, uint32_t site,
	int64_t from, int64_t until);

#endif
