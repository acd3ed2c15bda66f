/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by account*.c: calls of threads as intervals, the sums, and arrivals at collectives. */
#ifndef CUFENCE_ACCOUNT_INTERNAL_H
#define CUFENCE_ACCOUNT_INTERNAL_H

#include "bounds.h"
#include "handovers.h"
#include "loop.h"
#include "run_columns.h"

/*
 * Causes and their names in table account.  From COMPUTING to PREEMPTED: the host's time outside of
 * CUDA where its usage was read.
 */
#define ACCOUNT_CAUSES(X) \
	X(KERNELS, "kernels") \
	X(COPIES, "copies") \
	X(BOTH, "both") \
	X(OUTSIDE, "outside") \
	X(COMPUTING, "computing") \
	X(BLOCKED, "blocked") \
	X(PREEMPTED, "preempted") \
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

extern const char *const account_cause_names[];

/* Causes up to this one may be the host's. */
enum { ACCOUNT_HOST_CAUSES = ACCOUNT_HELD + 1 };

/* In place of a device; ACCOUNT_ENDED: host time that was blocked, by what ended it. */
enum { ACCOUNT_HOST = -1, ACCOUNT_ENDED = -2 };

/* Maximum number of threads of a process, besides the submitting one, that may cause host time. */
#define ACCOUNT_BUSIEST 8

/* An operation; there may be as many as calls. */
struct account_work {
	int64_t start; /* ns; RUN_NEVER: unknown */
	uint32_t id;
	int32_t device;
};

/*
 * The time before a call, since the thread's call before it.  Of the time that the thread was off
 * its processor only the length is known: it is taken to end with what ended it, else to begin with
 * the gap; it was preempted after it had been blocked.
 */
struct account_gap {
	int64_t blocked, preempted, end; /* ns: starts of the two, and end of the second */
	const struct handover *ended;    /* what ended the blocked time; NULL: nothing seen */
	uint8_t is_read;                 /* 0: not known, the three are equal */
};

/* An outermost call, not made by another call. */
struct account_call {
	int64_t enter, exit; /* ns; exit RUN_NEVER: it did not return */
	int64_t held;        /* ns, by table wait */
	uint32_t site;
	uint32_t op; /* the operation that held it last, 0: none, or not known */
	enum account_cause cause;
};

struct account_thread {
	uint32_t thread;
	const struct usage_reading *usage; /* in order of time */
	size_t usage_count;
	struct account_call *call;
	struct account_gap *gap; /* before each call; NULL: no usage was read */
	size_t count;
	size_t at; /* the first call that has not ended at the start of the current interval */
};

/* A row of table account, for ACCOUNT_ENDED of table blocked. */
struct account_sum {
	int32_t device; /* its ordinal, or as above */
	enum account_cause cause;
	uint32_t from, site;
	int64_t ns, times;
	const char *ended;                   /* NULL: nothing seen */
	uint32_t stream, by_thread, by_site; /* of the host function; of the other thread's call */
};

/* What a rank did since its collective before (account_arrivals.c), by cause. */
struct account_spent {
	int64_t ns, longest;
	uint32_t from, site; /* of the longest: sites; from 0: in a call */
};
struct account_arrival {
	int64_t collective, came; /* its id, and when it was launched, ns */
	uint32_t process, thread;
	struct account_spent spent[ACCOUNT_HOST_CAUSES];
};

/* A run, and the process that is being accounted for. */
struct account {
	const struct run *run;
	struct db *db;
	/* By thread, including 0; only threads of the current process have calls. */
	struct account_thread *threads;
	struct map holds; /* operation -> number of its hold + 1 */

	uint32_t process;
	uint32_t thread;    /* the one that the host's account covers, 0: none */
	const uint32_t *of; /* threads of the process */
	size_t of_count;
	uint32_t first, last;      /* ids of the first and the last operation of the process */
	struct account_work *work; /* of the process, by device and start */
	size_t work_count;
	struct loop loop;   /* its pauses are left out of the time covered, and of all times */
	int64_t begin, end; /* ns: the time covered */
	uint32_t busiest[ACCOUNT_BUSIEST]; /* threads with the most calls, descending */
	size_t busiest_count;
	struct account_arrival *arrival; /* of the process, by thread and time */
	size_t arrival_count;
	struct account_sum *sum;
	size_t sum_count;
	struct map sums; /* hash of device, cause, sites and what ended it -> number */
};

/* Lists the operations of the process, which large_free() frees. */
void account_list_works(struct account *account);
void account_add_sum(struct account *account, const struct account_sum *sum);

/* Returns the end of an operation, ns, pauses included; RUN_NEVER: unknown. */
static inline int64_t account_work_end(const struct account *account,
	const struct account_work *work)
{
	return run_busy_end(account->run, run_work(account->run, work->id), work->id);
}
void account_add(struct account *account, int32_t device, enum account_cause cause, uint32_t from,
	uint32_t site, int64_t ns);
void account_devices(struct account *account);

/* All of a run, by process, thread and time.  Each: 0, or -1 after a message. */
int account_list_arrivals(struct db *db, struct account_arrival **arrival, size_t *count);
int account_store_arrivals(struct db *db, const struct account_arrival *arrival, size_t count);

/* Once gaps are known: what the process did before each of its own; what account->thread did. */
void account_arrivals(struct account *account);
void account_host(struct account *account);

/* Finds what threads did in their gaps, by their readings of usage, once the calls are read. */
void account_find_gaps(struct account *account);

/*
 * Between two calls a thread was computing, blocked, preempted, and computing again.  Returns that
 * part of an interval; empty if it has none, or where its usage is not known.  next: the number of
 * the call after it.
 */
enum { ACCOUNT_PARTS = 4 };
extern const enum account_cause account_parts[ACCOUNT_PARTS];
struct span account_part(const struct account_thread *thread, size_t next, int part, int64_t from,
	int64_t until);
/* Where it was in that part: the site where it was blocked, if known, else the one given. */
uint32_t account_site_of_part(const struct account_thread *thread, size_t next, int part,
	uint32_t before);

#endif
