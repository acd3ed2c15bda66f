/* SPDX-License-Identifier: Apache-2.0 */
/* What fills the tables of evidence: parts of the walk over a run, and what looks at it whole. */
#ifndef CUFENCE_EVIDENCE_TABLES_H
#define CUFENCE_EVIDENCE_TABLES_H

#include "db.h"
#include "id_map.h"
#include "map.h"
#include "order.h"
#include "run_columns.h"
#include "walk.h"

/*
 * All of these may walk a part of a run (walk.h) while others walk other parts.  What they find is
 * stored when the walks have ended, in order of the parts.
 *
 * Finds the record that each event wait waits for, if any: table event_wait.  Part of the walk over
 * a run, after order_step().  Zero-initialized is empty.
 */
struct event_waits {
	struct found_wait {
		uint32_t call, event, record; /* record 0: none */
		uint32_t sure;
	} * wait; /* in order of call */
	size_t count;
	struct map captured; /* event -> the captured call that recorded it last */
};

/* Processes the call that order_step() has just processed. */
void event_waits_process_call(struct event_waits *waits, const struct order *order,
	const struct walk_call *call);

/* Adds rows of the table.  Returns 0, or -1 after a message. */
int event_waits_store(const struct event_waits *waits, struct rows *rows);
void event_waits_release(struct event_waits *waits);

/*
 * Finds waits that have no effect; fills table known_wait.  Part of the walk over a run.
 *
 * Explicit waits for work that the thread had already observed complete: it had waited for all of
 * it before, and nothing was submitted since.  Does not include waits for work that was complete
 * without the thread having observed it.  Work is observed complete by an explicit wait that
 * returned, or by a synchronous copy to the host ("for transfers from device to either pageable or
 * pinned host memory, the function returns only once the copy has completed").  Nothing is
 * concluded if another thread was submitting meanwhile.
 *
 * A stream's waits for events: the stream already comes after all work that the event covers, or it
 * waits for another event that covers this work before it gets new work.
 */
struct redundant_waits;

/* evidence: receives them; it is the caller's. */
struct redundant_waits *redundant_waits_new(const struct run *run, struct run_evidence *evidence);
void redundant_waits_free(struct redundant_waits *redundant);

/* Processes the next call, before order_step(). */
void redundant_waits_process_call(struct redundant_waits *redundant, struct order *order,
	const struct walk_call *call);

/*
 * Finds operations that were blocked on the device: submitted, and ready by their own stream and
 * all other dependencies, they started when an operation of another stream ended.  Part of the walk
 * over a run, after order_step().  Fills table hold.
 *
 * Reasons are the legacy default stream and synchronous copies between devices, both in either
 * direction, and waits for events.  Excluded are pairs that cannot overlap (kernels of which one
 * fills the device, copies in one direction) and, for the legacy stream, synchronous copies, for
 * which the host waits by intent.
 *
 * Other operations started late although they were ready: their stream's earlier work, events,
 * legacy work and their thread's waits were complete.  The reason is the first that matches the
 * operation that ended just before the start:
 *
 * load      it was running when code was loaded; the next kernel of every stream waits for that
 *           (measured on an H200: lazy loading, by a launch or a query)
 * engine    a copy in the same direction
 * full      a kernel; the operations running with it left too little of the device
 * channel   any, in a program with more streams than CUDA_DEVICE_MAX_CONNECTIONS: "false
 *           dependencies" among streams that share a hardware queue
 * unknown   any other
 * queue     none: the device was idle, so the work itself was submitted late
  */
struct holds;

/* NULL after a message.  evidence: receives them, and is the caller's, as what part is. */
struct holds *holds_new(struct db *db, const struct walk_part *part, struct run_evidence *evidence);
void holds_process_call(struct holds *holds, const struct order *order,
	const struct walk_call *call);
void holds_free(struct holds *holds);

/*
 * Order of work that several threads submit to a legacy stream and to its blocking streams at the
 * same time: the order of the calls' entries does not determine which came first, but the device
 * does.  Work of a legacy stream, and work of it and of a blocking stream of its context, never
 * overlaps and keeps the order of submission (order_legacy.c), so work that ran first was submitted
 * first.  Threads that share a legacy stream are ordered by it as blocking streams are.
 *
 * Processes with one thread are skipped.
 */
/*
 * A call's operation started after the end of another one.  One of the two is legacy work, or both
 * are, of two threads.
 */
struct legacy_pair {
	struct order_state by; /* that one; without its clock */
	/*
	 * When nothing but that kept it: the end of the work before it in its stream, in a legacy
	 * stream of its thread, and of the other thread's that it could not have overlapped.
	 * INT64_MIN: always.
	 */
	int64_t ready;
};

/*
 * Fills an empty map with struct legacy_pair by call, of a part's calls; id_map_release() with
 * free() follows.
 */
void legacy_before_find(struct id_map *pairs, const struct run *run, const struct walk_part *part);

/*
 * Waits that serve a timer: after which the program read a clock before anything else (table
 * wait_clock).  Locks read clocks for their timeouts, and CUDA's libraries for themselves; these do
 * not count.  A wait without a row may serve a timer all the same: not all programs read clocks
 * through the C library.  Fills the table, which must be empty.  Returns 0, or -1 after a message.
 */
int timers_find(struct db *db);

/*
 * Device utilization and overlap: tables stream_use and device_use, so that reports need not read
 * every operation.  Fills both, which must be empty.  Returns 0, or -1 after a message.
 */
int use_measure(struct db *db);

#endif
