/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results about blocked work: rows of the derived tables wait, hold and known_wait, in memory until
 * run_evidence_write().  Passes add rows in order, later ones read them.  The number of a wait is
 * its row id, from 1 on.
 */
#ifndef CUFENCE_RUN_EVIDENCE_H
#define CUFENCE_RUN_EVIDENCE_H

#include <stddef.h>

#include "db.h"
#include "map.h"

/* Names are those of wait.kind, which defines each. */
#define WAIT_KIND_LIST(X) \
	X(EXPLICIT, "explicit") \
	X(IMPLICIT, "implicit") \
	X(INTERNAL, "internal") \
	X(BEHIND, "behind") \
	X(QUEUE, "queue") \
	X(STAGED, "staged")

enum wait_kind {
#define X(kind, name) WAIT_##kind,
	WAIT_KIND_LIST(X)
#undef X
};

/*
 * An Async copy to pageable memory waits, and may be the program's only wait for what it copies.
 * Where that is not seen it is as most others of its site.
 */
enum lone_wait {
	LONE_OTHER_CALL = 0,
	LONE_UNSEEN,
	LONE_YES,
	LONE_NO,
};

/* Calls and operations are row ids, 0: none; times in ns. */
struct run_wait {
	uint32_t call, op, partner, behind;
	uint32_t next; /* number of the call's next wait, 0: none */
	enum wait_kind kind;
	int64_t waited, avoidable;
	int64_t shorter; /* part of avoidable by which its operation gets shorter, ns; not stored */
	enum lone_wait alone; /* not stored */
};

#define HOLD_REASON_LIST(X) \
	X(LEGACY, "legacy") \
	X(EVENT, "event") \
	X(LOAD, "load") \
	X(ENGINE, "engine") \
	X(FULL, "full") \
	X(CHANNEL, "channel") \
	X(UNKNOWN, "unknown") \
	X(QUEUE, "queue")

enum hold_reason {
#define X(reason, name) HOLD_##reason,
	HOLD_REASON_LIST(X)
#undef X
};

struct run_hold {
	uint32_t op, behind, via;
	enum hold_reason reason;
	int64_t ready, held;
};

struct run_known {
	uint32_t call, since;
};

/* A row of table edge. */
struct run_edge {
	uint32_t call, needs;
	uint32_t reason; /* enum order_reason */
};

/*
 * A cudaMallocAsync that mapped memory again which its pool had given back in waits (waits.h):
 * ns of its own and of the waits that keeping the memory saves.
 */
#define RUN_TRIM_WAITS 4
struct run_trim {
	uint32_t call, wait[RUN_TRIM_WAITS]; /* 0: none */
	int64_t time;
};

/*
 * Time between two iterations in which the program had left the loop: between epochs, or two calls
 * of the function that has it.  It belongs to no iteration.
 */
struct loop_pause {
	int64_t from, until; /* ns */
	int64_t before;      /* ns, all earlier pauses together */
};

/* The loop of a process (table loop), with the start of each iteration. */
struct run_loop {
	uint32_t process, thread; /* the thread that runs the loop */
	size_t turns;
	int64_t *begin;           /* ns, of each iteration; [turns]: of the one after the last */
	int64_t end;              /* ns, end of the last iteration's work */
	struct loop_pause *pause; /* in order */
	size_t pauses;
};

struct run_evidence;

/* Returns the loop of a process; NULL: it has none. */
const struct run_loop *run_loop_of(const struct run_evidence *evidence, int64_t process);

/* Returns that time less the pauses before it, ns; INT64_MAX stays as it is. */
int64_t run_loop_clock(const struct run_loop *loop, int64_t time);

/* Is the time in an iteration? */
int run_loop_has(const struct run_loop *loop, int64_t time);

/* Returns how long all iterations took together, ns. */
int64_t run_loop_length(const struct run_loop *loop);

/* How long and how often a thread was off its processor since the reading before: table usage. */
struct usage_reading {
	int64_t since, time, off; /* ns */
	uint32_t thread, voluntary, involuntary;
};

/*
 * A thread was blocked outside of CUDA until another one had done its part, or a host function had
 * run (handovers.h).
 */
struct handover {
	uint32_t process, thread;
	uint32_t before, after; /* its outermost calls before and after it was silent */
	int64_t from, until;    /* return and entry of these, ns */
	/* What it waited for: the other's last call, or the call that submitted the function; */
	uint32_t by;
	int64_t ended; /* and the return of that call, or of the function, ns */
	/* Time off its processor that ended then, ns; all since from if that was not read. */
	int64_t blocked;
	/*
	 * For a function: the site where the thread slept after calls of the site of before, most
	 * of the times that it was looked (table asleep); 0: unknown.
	 */
	uint32_t asleep;
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

/*
 * A wait of the host keeps two operations of different streams in order, of which the second comes
 * after it: calls.  For each pair of streams the last operation of the one, and the first of the
 * other.
 */
struct run_fence {
	uint32_t wait, earlier, later;
};

struct run_evidence {
	struct run_wait *wait; /* [0] is empty */
	struct run_hold *hold;
	struct run_known *known;
	struct run_loop *loop; /* at most one per process */
	size_t loop_count;
	struct run_edge *edge; /* by call */
	size_t edge_count;
	int has_edges; /* all of the run are there, of each call those to the latest ones first */
	struct run_trim *trim; /* not stored */
	size_t trim_count;
	struct map trimmed; /* their calls and waits -> ns that are saved of each */
	size_t wait_count, hold_count, known_count; /* wait_count: highest number + 1 */
	uint32_t *wait_of; /* by call, of those below wait_calls: the number of its first wait */
	size_t wait_calls;
	struct map knows;           /* calls in known */
	struct handovers handovers; /* not stored */
	struct run_fence *fence;    /* by wait; not stored */
	size_t fence_count;
	struct map hazard_rules; /* hash of a rule that a row of table hazard has -> 1 */
};

void run_evidence_release(struct run_evidence *evidence);

/* Returns the number of the wait. */
uint32_t run_add_wait(struct run_evidence *evidence, const struct run_wait *wait);
void run_add_hold(struct run_evidence *evidence, const struct run_hold *hold);
void run_add_known(struct run_evidence *evidence, const struct run_known *known);

/*
 * Adds what a walk finds (hold, known, edge and trim) of the calls after those of evidence.  Both
 * are the caller's.
 */
void run_evidence_join(struct run_evidence *evidence, const struct run_evidence *later);

/* Writes the tables. */
int run_evidence_write(const struct run_evidence *evidence, struct db *db);

/* The first wait of a call, NULL if none; then the next one of the same call. */
static inline const struct run_wait *run_wait_of(const struct run_evidence *evidence, int64_t call)
{
	uint32_t number = (uint64_t)call < evidence->wait_calls ? evidence->wait_of[call] : 0;

	return number ? &evidence->wait[number] : NULL;
}

static inline const struct run_wait *run_next_wait(const struct run_evidence *evidence,
	const struct run_wait *wait)
{
	return wait->next ? &evidence->wait[wait->next] : NULL;
}

#endif
