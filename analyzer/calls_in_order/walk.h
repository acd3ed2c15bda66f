/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over a run: every driver call in order of entry, with the stream it names and the
 * operations it submitted.  Analyses of the order of calls (order, waits) share one walk.  The
 * calls come from the run's columns (run_columns.h).
 *
 * Runtime calls are left out: they do nothing besides the driver calls that they make.
 */
#ifndef CUFENCE_WALK_H
#define CUFENCE_WALK_H

#include <stdint.h>

#include "calls.h"
#include "db.h"
#include "record.h"
#include "stream_kind.h"

/* For NULL in the database, row ids are 0 and times are WALK_NEVER. */
#define WALK_NEVER INT64_MAX

/* walk_call.contested: a call of another thread overlapped it in time ... */
enum {
	CONTESTED_STREAM = 1 << 0, /* ... and used the same stream */
	CONTESTED_EVENT = 1 << 1,  /* ... and one of the two recorded the same event */
};

struct walk_call {
	int64_t id, process, thread;
	int64_t enter, exit; /* ns; exit WALK_NEVER: it did not return */
	int64_t result;      /* 0: succeeded, or did not return */
	int64_t context, stream, event;
	int64_t kernel; /* of a launch */
	int64_t ptr, bytes;
	int64_t type; /* call_type.id */
	enum call_kind kind;
	enum copy_direction direction; /* COPY_DEFAULT: unknown */
	enum memory_kind src, dst;
	enum stream_kind stream_kind;
	int64_t stream_context;   /* the context the stream belongs to */
	int device;               /* of the context; -1: unknown */
	int green;                /* the context belongs to a green context */
	int64_t op;               /* its operation that ended last, 0: none recorded */
	int64_t op_start, op_end; /* first start, last end; WALK_NEVER: unknown */
	int end_is_limit;         /* 1: op_end is only a limit: operation.recorded_end */
	int64_t op_busy;          /* sum of its operations' known durations, ns */
	int64_t overhead;         /* OVERHEAD intervals within it, ns */
	int unknown;              /* its operation is unknown (unknown.h) */
	/*
	 * The recording window in which it was entered, or STRETCH_NONE (stretches.h): work outside
	 * of windows is unknown.
	 */
	int stretch;
	/* Members for order only, filled in by walk(); row ids, 0: none. */
	int captured;                           /* it became part of a graph */
	unsigned contested;                     /* mask of CONTESTED_ */
	unsigned attributes;                    /* mask of enum launch_attribute */
	int64_t launch_event, completion_event; /* events of those attributes */
	int64_t event2;                         /* the first event of cuEventElapsedTime */
	int64_t dst_context, src_context;       /* of a copy between devices */
	int64_t exec;                           /* executable graph */
	unsigned content;                       /* unnamed_memory.h */
	int64_t fill;                           /* 1 + the 32 bits that a memset repeats */
	int64_t ran, ran_last; /* entry of its host function; the first and the last one of a graph;
				  WALK_NEVER: unknown */
	int64_t ran_by;        /* the thread that ran the first one, 0: one without calls */
	int64_t other_thread;  /* the thread that it created or joined */
	int owner_device;      /* device of the memory it freed, -1: unknown */
	int freed_async;       /* that memory was allocated in stream order */
	int outside;           /* a launch that waits for memory that other work stores to */
	int host_visible;      /* it names memory that the host may read meanwhile */
	/* Who made the call (callers.h). */
	int is_lazy_load;  /* it loaded a module, for the first use of what is in it */
	uint8_t allocator; /* a query by this allocator, about its own memory; 0: none */
};

/* The context in which it acts: of its stream, or else its own. */
static inline int64_t walk_context(const struct walk_call *call)
{
	return call->stream_context ? call->stream_context : call->context;
}

/* Calls visit for each call.  Returns 0 at the end, or -1 at once if visit fails. */
int walk(struct db *db, int (*visit)(void *arg, const struct walk_call *call), void *arg);

/*
 * The same in parts, each of which has the calls of a process; processes whose calls lie among each
 * other's are one part.  What parts share is read by walk_open() and not changed afterwards, so
 * that several threads may each walk a part.
 */
struct walk_run;
struct walk_part {
	uint32_t first, end; /* calls from first on and before end */
	uint32_t number;     /* from 0 */
};

/* Returns NULL after a message. */
struct walk_run *walk_open(struct db *db);
/* Returns their number, and sets *part, which the caller frees. */
size_t walk_parts(const struct walk_run *walk, struct walk_part **part);
int walk_part(const struct walk_run *walk, const struct walk_part *part,
	int (*visit)(void *arg, const struct walk_call *call), void *arg);
void walk_close(struct walk_run *walk);

/* Iterates over the calls of one thread from a call on. */
struct walk_thread;
struct walk_thread *walk_thread_open(struct db *db);
void walk_thread_seek(struct walk_thread *walk, int64_t thread, int64_t after_call);
/* Returns 1 and the next call, or 0 at the end; overhead is not filled in. */
int walk_thread_next(struct walk_thread *walk, struct walk_call *call);
void walk_thread_close(struct walk_thread *walk);

/* Does the call submit an operation to a stream? */
int walk_submits(const struct walk_call *call);

#endif
