/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device: queues executed in virtual time.
 *
 * Submitted work is a struct op.  The blockers of an op are the ops it is ordered after; when the
 * last one completes, it becomes ready, starts after the device's latency (and once its copy engine
 * is free), runs for its duration, has its effect and completes, which unblocks others.  End times
 * are never computed in advance.
 *
 * One lock (sim_lock) protects all state.  Time moves only in time_advance() and time_step(), both
 * called with the lock held.  Functions here expect the lock unless stated otherwise.
 */
#ifndef CUFENCE_SIM_ENGINE_H
#define CUFENCE_SIM_ENGINE_H

#include <stddef.h>

#include "sim.h"

struct device;
struct stream;
struct op;

enum op_kind {
	OP_MARKER, /* event record and wait, free, join: takes no time */
	OP_KERNEL,
	OP_COPY,
	OP_SET,
	OP_HOST,  /* a host function */
	OP_VALUE, /* waits until memory has a value */
};

enum op_state {
	OP_BLOCKED,
	OP_READY, /* its start is scheduled, or it waits for a copy engine */
	OP_RUNNING,
	OP_DONE,
};

/* A copy engine runs one operation at a time, in the order in which they became ready. */
struct copy_engine {
	struct op *running;
	struct op *first, *last; /* waiting ops, linked by op.engine_next */
};

/* Box of bytes on both sides of a copy, or on the one side of a memset. */
struct box {
	char *dst;
	const char *src;
	size_t dst_pitch, dst_slice, src_pitch, src_slice; /* bytes */
	size_t width, height, depth;                       /* bytes, rows, slices */
};

/* Second half of an op, which runs on another engine of this or another device. */
struct second_half {
	uint64_t gap, duration; /* virtual ns */
	void (*effect)(struct op *op);
	struct sim_record record;
};

struct op {
	enum op_kind kind;
	enum op_state state;
	unsigned int references;
	struct stream *stream; /* NULL: a join, not in any stream */
	bool loose;            /* in that stream, but not in its order: part of a graph */
	bool graph;            /* begin or end of a graph launch */
	bool programmatic;     /* may start once the preceding kernel of its stream has started */
	struct op *started;    /* completes when this one starts, NULL: not requested */
	struct op **dependents;
	unsigned int dependent_count, blockers;
	bool crossed;                        /* its last blocker was in another stream */
	uint64_t submitted, start, duration; /* virtual ns */
	uint64_t visit;                      /* last visit by op_reaches() */
	uint64_t due, order; /* timer: when; ties are broken by order of submission */
	struct copy_engine *engine;
	struct op *engine_next;
	void (*effect)(struct op *op); /* at completion */
	struct sim_record record;
	struct device *from, *to; /* of a copy between devices, NULL: other ops */
	struct second_half *half; /* NULL: none, or begun; freed with the op */
	struct box box;
	void *staging;      /* freed with the op */
	uint64_t value;     /* memset, value to wait for or to write */
	uint32_t element;   /* its size in bytes */
	unsigned int flags; /* OP_VALUE: CUstreamWaitValue_flags */
	CUhostFn function;
	void *data;
	bool after_error; /* OP_HOST: it runs also if its context has failed */
	/* OP_KERNEL: returns its duration when it starts, NULL: duration is known. */
	uint64_t (*length)(void *data, uint64_t start);
};

void sim_lock(void);
void sim_unlock(void);

/* A new op with one reference, the caller's.  Never NULL.  ENDLESS: it never completes. */
#define ENDLESS UINT64_MAX
struct op *op_new(enum op_kind kind, struct stream *stream, uint64_t duration);
void op_put(struct op *op);

/* Orders op after other; call before op_submit(). */
void op_after(struct op *op, struct op *other);

/* Submits the op, in stream order and under the rules of the legacy stream. */
void op_submit(struct op *op);

/* Returns an op outside of all streams: once submitted, it completes with its last blocker. */
struct op *join_new(void);

/* Returns an op that completes when op starts, without a reference; call before op has started. */
struct op *op_started(struct op *op);

/* Is later ordered after earlier, which is pending, through any chain of ops? */
bool op_reaches(struct op *earlier, const struct op *later);

/* Blocks the calling thread until op is done; false if it was done already. */
bool op_wait(struct op *op);

/* Blocks until everything that op is ordered after is done. */
bool op_wait_ready(struct op *op);

static inline bool op_pending(const struct op *op)
{
	return op && op->state != OP_DONE;
}

/* Advances virtual time, with all events in that interval. */
void time_advance(uint64_t ns);

/* Advances to the next event; false if there is none. */
bool time_step(void);

/* Does an op wait for a value in memory? */
bool time_watches(void);

uint64_t time_now(void);

/*
 * Waits, releasing the lock, until no host function runs and no thread is waking up.  Returns false
 * if the calling thread's own wait ended meanwhile, so that it must not advance time.
 */
bool time_settle(void);

/* Passes a started OP_HOST to the callback thread (host.c), which calls op_finish_host(). */
void host_start(struct op *op);

/* Starts the callback thread if needed, on the caller's behalf, as the driver does. */
void host_prepare(void);
void op_finish_host(struct op *op);

/* Is a host function computing? Time waits for it. */
bool host_awake(void);

/* Is this the thread that runs host functions? These must not call CUDA. */
bool host_is_self(void);

/* Reports a record to the tool, if there is one (entry.c). */
void tool_record(const struct sim_record *record);

#endif
