/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over a run: every driver call in order of entry, with the stream it names and the
 * operations it submitted.  Whoever concludes something from the order of calls (order, waits)
 * takes part in the same walk.  The calls come from the run's columns (run_columns.h).
 *
 * Runtime calls are left out: they name the driver calls beneath them and do nothing themselves.
 */
#ifndef CUFENCE_WALK_H
#define CUFENCE_WALK_H

#include <stdint.h>

#include "calls.h"
#include "db.h"
#include "record.h"
#include "stream_kind.h"

/* Row ids are 0 and times WALK_NEVER where the database has NULL. */
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
	int green;                /* the context is made of a green one */
	int64_t op;               /* its operation that ended last, 0: none seen */
	int64_t op_start, op_end; /* first start, last end; WALK_NEVER: unknown */
	int64_t op_busy;          /* ns its operations ran in sum */
	int64_t overhead;         /* ns of OVERHEAD intervals within it */
	/*
	 * The recording window in which it was entered, or STRETCH_NONE (stretches.h): work outside
	 * of it is not known.
	 */
	int stretch;
	/* What matters for the order alone, filled in by walk(); rows again, 0: none. */
	int captured;                           /* it became a part of a graph */
	unsigned contested;                     /* CONTESTED_ */
	unsigned attributes;                    /* enum launch_attribute */
	int64_t launch_event, completion_event; /* of those */
	int64_t event2;                         /* the first event of cuEventElapsedTime */
	int64_t dst_context, src_context;       /* of a copy between devices */
	int64_t exec;                           /* executable graph */
	unsigned content;                       /* content.h */
	int64_t fill;                           /* 1 + the 32 bits that a memset repeats */
	int64_t other_thread;                   /* that it made or joined */
	int owner_device;                       /* of the memory it freed, -1: unknown */
	int freed_async;                        /* that memory was allocated in stream order */
	int outside;      /* a launch that waits for memory which other work stores to */
	int host_visible; /* it names memory that the host may look at meanwhile */
};

/* Calls visit for each; stops and returns -1 if that fails, 0 at the end. */
int walk(struct db *db, int (*visit)(void *arg, const struct walk_call *call), void *arg);

/* The calls of one thread from a place in the run on. */
struct walk_thread;
struct walk_thread *walk_thread_open(struct db *db);
void walk_thread_seek(struct walk_thread *walk, int64_t thread, int64_t after_call);
/* 1 and the next call, 0 at the end; overhead is not filled in. */
int walk_thread_next(struct walk_thread *walk, struct walk_call *call);
void walk_thread_close(struct walk_thread *walk);

/* The call puts an operation on a stream. */
int walk_submits(const struct walk_call *call);

#endif
