/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One wait, from candidate to row of table wait: a call that the device may have blocked, what is
 * known of such calls and what blocked it (blocked.c), and what that cost (avoidable.c).
 */
#ifndef CUFENCE_WAIT_H
#define CUFENCE_WAIT_H

#include <stddef.h>
#include <stdint.h>

#include "db.h"
#include "id_map.h"
#include "map.h"
#include "order.h"
#include "run_columns.h"
#include "scope.h"
#include "walk.h"

/* --- usual.c --- */

/*
 * What a run shows of its own noise: the usual duration of calls that wait for nothing, the time in
 * which waiting threads wake up, and the error of the clocks.
 */

/* Times by key, the first ones of each, limited by memory.  Zero-initialized is empty. */
struct samples {
	struct id_map of; /* struct sample */
};

void samples_add(struct samples *samples, int64_t key, int64_t ns);

/* Adds those of later calls. */
void samples_join(struct samples *samples, const struct samples *later);

void samples_release(struct samples *samples);

/* Returns the key of a call; calls with the same key are comparable. */
int64_t usual_key(const struct walk_call *call);

/* Keys of calls that waited only for their own operation ... */
#define USUAL_OWN (INT64_C(1) << 62)
/* ... of the time that calls took after the end of their wait ... */
#define USUAL_AFTERWARDS (INT64_C(1) << 61)
/* ... and of the time in which explicit waits returned, by process. */
#define USUAL_LATENCY (INT64_C(1) << 60)

/* Returns the value of waits.def for the call, ns. */
int64_t usual_expected(const struct walk_call *call);

/*
 * The usual duration of a kind of call that waits for nothing, and how far such a call may be from
 * it: the median of the run's calls with a key, and USUAL_SPREADS times their median absolute
 * deviation.  Without examples: what is expected, ns, and a part of it.
 */
struct usual {
	int64_t ns, spread;
};
struct usual usual_of(struct samples *samples, int64_t key, int64_t expected);

/* Clock error and wake-up time of a process. */
struct wait_timing {
	int64_t clock_error;  /* ns */
	int blocking;         /* cudaDeviceScheduleBlockingSync is set in one of its contexts */
	int64_t wake_up;      /* ns that a thread may wake up late, once settled */
	int64_t usually_late; /* the part of wake_up that any wait has, ns */
	int64_t error;        /* maximum difference of the clocks, ns; 0: not settled */
};

/* Returns the timing of a process, by all explicit waits with samples of USUAL_LATENCY. */
const struct wait_timing *wait_timing_settle(struct id_map *timings, struct samples *samples,
	int64_t process);

/* --- waits --- */

/* A call's operation, or all of them, and where it ran. */
struct wait_operation {
	int64_t call, op;   /* op 0: none */
	int64_t start, end; /* ns */
	int64_t stream, context;
	enum stream_kind kind;
	int device;
};

struct wait {
	int64_t call, process, thread;
	int64_t enter, exit; /* ns */
	enum wait_kind
		kind;    /* at first WAIT_INTERNAL unless it waits for pending work in any case */
	int64_t partner; /* as wait.partner */

	/* What is known of the call. */
	int64_t overhead;             /* OVERHEAD intervals within it, ns */
	int64_t key;                  /* of usual durations */
	int64_t expected;             /* from waits.def, ns */
	int64_t bytes;                /* size of a copy */
	int64_t transfer;             /* start of a copy's operation, or WALK_NEVER */
	int64_t transferred;          /* and its end */
	struct wait_operation before; /* work in scope, submitted before the call */
	struct wait_operation own;    /* its own operation, if it waits for that */
	uint8_t works_after;          /* its own work begins when the device is idle ... */
	uint8_t waits_first;          /* ... and it certainly needs an idle device */
	uint8_t waits_never;          /* it certainly does not wait */
	uint8_t holds_others;         /* it blocks calls of other threads while it waits */
	uint8_t may_be_behind;        /* only another thread's call may have blocked it */
	uint8_t is_quick;             /* if so, it takes microseconds by itself */

	/* What blocked it. */
	struct wait_operation by;
	int64_t held_by; /* the other thread's blocked call that it waited for, 0: none */
	int64_t waited;  /* ns beyond the call's usual duration */
	uint32_t number; /* of its row, 0: none */

	/* What it cost. */
	struct wait_operation itself; /* the call's own operations: first start, last end */
	int stretch;
	uint8_t is_async;   /* an Async copy */
	uint8_t is_copy;    /* any synchronous copy or memset */
	uint8_t on_default; /* that in a default stream */
	uint8_t to_host;    /* a synchronous copy to the host */
	int64_t avoidable;  /* ns */
};

/*
 * The place of a call's operations, the first start, INT64_MAX if none is known, and the one of
 * them that ended last, op 0 and INT64_MIN if none is known to have ended.
 */
struct wait_operation wait_operation_of(const struct run *run, int64_t call);

/* --- pending.c --- */

/* What the device has yet to do, for a walk over the calls.  Zero-initialized is empty. */
struct pending {
	struct id_map contexts;   /* struct pending_context */
	struct in_flight *flight; /* submissions that may not have returned yet */
	size_t flight_count;
	int64_t first_exit; /* the earliest exit of them */
};

/*
 * Returns the operation in that scope of a call that ended last, of those submitted before the call
 * was entered; its end shows whether it was pending.  Its op is ORDER_OP_UNKNOWN if one of those is
 * unknown.
 */
struct order_state pending_find(struct pending *pending, const struct order *order,
	const struct walk_call *call, enum scope scope);

/* Adds what the call submits, and notes that all work in a context, or more, has ended. */
void pending_add(struct pending *pending, const struct walk_call *call);
void pending_clear(struct pending *pending, const struct walk_call *call, enum scope scope);
void pending_release(struct pending *pending);

/*
 * Finds launches for which the driver enlarges memory shared by all kernels, for which it drains
 * the device.  Measured on an H200 (driver 580.159): local memory is enlarged by a launch whose
 * kernel needs more of it (CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES) than the context's stack limit and
 * than every kernel launched in the context before, and it is never reduced.  The printf buffer is
 * allocated by the first launch in a context of a kernel that calls printf.
 */
struct resizes {
	struct map local, prints; /* of kernels, if known: bytes of local memory; 1: it prints */
	struct id_map contexts;   /* struct sized_context */
	struct map launched;      /* context and kernel */
};

enum resize {
	RESIZE_UNKNOWN, /* some property of this kernel, or of an earlier one, is unknown */
	RESIZE_NO,
	RESIZE_YES,
};

/* Returns 0, or -1 after a message; resizes_release() in both cases. */
int resizes_read(struct resizes *resizes, struct db *db);
void resizes_release(struct resizes *resizes);

/* Processes the next call of a run: RESIZE_UNKNOWN unless it launched a kernel. */
enum resize resizes_process_call(struct resizes *resizes, const struct walk_call *call);

/*
 * Finds memory that a stream-ordered pool gave back in a wait and mapped again later.  "When more
 * than the release threshold bytes of memory are held by the memory pool, the allocator will try to
 * release memory back to the OS on the next call to stream, event or device synchronize", and the
 * threshold is 0 by default (CUDA runtime API, cudaMemPoolAttrReleaseThreshold).  Such a wait
 * returns late, after the device has finished, and the cudaMallocAsync that maps the memory again
 * takes longer than usual.  Fills run_evidence.trim and .trimmed.
 *
 * Pools of a device are not distinguished, and after a process has raised the threshold of any pool
 * nothing counts as trimmed.
 */
struct pool_trims {
	struct id_map pools; /* struct pool, by process and device */
	struct map keeps;    /* processes that raised a threshold */
	struct samples usual;
	/* The part of a call's time in which a pool may have given back or mapped memory. */
	struct pool_part {
		uint32_t call;
		size_t trim; /* number of its row in run_evidence.trim */
		int64_t key; /* of comparable calls */
		int64_t time, expected, bytes;
	} * part;
	size_t part_count;
};

/*
 * Processes the next call of a run with such pools.  end: of the work that it waits for, or after
 * which it frees memory, ns.  Returns 1 if its time may have such a part.
 */
int pool_trims_process_call(struct pool_trims *trims, const struct run *run,
	struct run_evidence *evidence, const struct walk_call *call, int64_t end);

/* Adds those of a later part; trims: the rows of run_evidence.trim before that part's. */
void pool_trims_join(struct pool_trims *trims, const struct pool_trims *later, size_t rows);
void pool_trims_finish(struct pool_trims *trims, struct run *run);
void pool_trims_release(struct pool_trims *trims);

/* --- all of a run --- */

/* A row of table wait_use, by process and kind. */
struct wait_use {
	int64_t count, waited;
};

struct waits {
	struct db *db;
	struct run_evidence *evidence; /* of the part that is walked */
	struct pending pending;
	struct samples samples;
	struct id_map timings; /* struct wait_timing, by process */
	struct id_map copies;  /* struct copy_back, by thread */
	struct resizes resizes;
	struct pool_trims trims;
	int has_pools;     /* memory is allocated in stream order */
	struct wait *wait; /* candidates, then those with a row */
	size_t count;
	struct id_map uses; /* struct wait_use, by process and kind */
};

/* Sets wait.avoidable of implicit waits.  Returns 0, or -1 after a message. */
int waits_find_avoidable(struct waits *waits);

/* Adds its row to table wait. */
void wait_add_row(struct waits *waits, struct wait *wait);

/* --- other_waits.c --- */

/*
 * Returns the time of a pageable Async copy during its own transfer, ns; 0 for other calls.  Adds a
 * wait for it from the second copy of an address (in seen) on.
 */
int64_t waits_add_staged(struct waits *waits, uint32_t call, struct map *seen);

/*
 * Adds rows of submissions that were blocked because a queue of the device was full.  A stream has
 * room for about 1020 pending operations (measured, H200); the next submission waits until the
 * device has begun another of them, and CUPTI reports it (OVERHEAD, COMMAND_BUFFER_FULL).
 */
void waits_find_queue(struct waits *waits);

#endif
