/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device: queues that are executed in virtual time.
 *
 * Everything submitted is a struct op.  An op has blockers, the ops it is ordered after; when the
 * last one completes it becomes ready, starts after the gap a device needs (and once its copy
 * engine is free), runs for its duration, has its effect and completes, which unblocks others.
 * No end time is ever computed ahead: what happens is whatever the queue does.
 *
 * One lock (sim_lock) protects all state.  Time moves only in time_advance() and time_step(), both
 * called with the lock held.  Functions here expect the lock unless they say otherwise.
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
	OP_VALUE, /* waits until memory holds a value */
};

enum op_state {
	OP_BLOCKED,
	OP_READY, /* its start is scheduled, or it queues for a copy engine */
	OP_RUNNING,
	OP_DONE,
};

/* A copy engine runs one operation at a time, in the order in which they got ready. */
struct copy_engine {
	struct op *running;
	struct op *first, *last; /* waiting, linked by op.engine_next */
};

/* A box of bytes on both sides of a copy, or the one side of a memset. */
struct box {
	char *dst;
	const char *src;
	size_t dst_pitch, dst_slice, src_pitch, src_slice; /* bytes */
	size_t width, height, depth;                       /* bytes, rows, slices */
};

/* What an op goes on with when it has run, on another engine of the device or of another one. */
struct second_half {
	uint64_t gap, duration; /* virtual ns */
	void (*effect)(struct op *op);
	struct sim_record record;
};

struct op {
	enum op_kind kind;
	enum op_state state;
	unsigned int references;
	struct stream *stream; /* NULL: a join, outside every stream */
	bool loose;            /* of that stream, but not in its order: a graph's */
	bool graph;            /* begins or ends the launch of a graph */
	bool programmatic;     /* may start once the kernel before it in the stream has */
	struct op *started;    /* completes when this one starts, NULL: nobody asked */
	struct op **dependents;
	unsigned int dependent_count, blockers;
	bool crossed;                        /* what it waited for last was in another stream */
	uint64_t submitted, start, duration; /* virtual ns */
	uint64_t visit;                      /* op_reaches() was here */
	uint64_t due, order; /* timer: when, and the order of submission breaks ties */
	struct copy_engine *engine;
	struct op *engine_next;
	void (*effect)(struct op *op); /* at completion */
	struct sim_record record;
	struct device *from, *to; /* a copy between devices, NULL: any other op */
	struct second_half *half; /* NULL: none, or it has begun; freed with the op */
	struct box box;
	void *staging;      /* freed with the op */
	uint64_t value;     /* memset, value to wait for or to write */
	uint32_t element;   /* its size in bytes */
	unsigned int flags; /* OP_VALUE: CUstreamWaitValue_flags */
	CUhostFn function;
	void *data;
};

void sim_lock(void);
void sim_unlock(void);

/* A new op with one reference, the caller's.  Never NULL. */
struct op *op_new(enum op_kind kind, struct stream *stream, uint64_t duration);
void op_put(struct op *op);

/* Order op after other; before op_submit(). */
void op_after(struct op *op, struct op *other);

/* Hand over, in stream order and under the rules of the legacy stream. */
void op_submit(struct op *op);

/* An op outside every stream, after nothing yet: submitted, it completes with its last blocker. */
struct op *join_new(void);

/* What completes when op starts; no reference to the caller.  Before op has started. */
struct op *op_started(struct op *op);

/* Is later ordered after earlier, which is pending, through any chain of ops? */
bool op_reaches(struct op *earlier, const struct op *later);

/* Block the calling thread until op is done; false if it was done already. */
bool op_wait(struct op *op);

/* The same, until everything op is ordered after is done. */
bool op_wait_ready(struct op *op);

static inline bool op_pending(const struct op *op)
{
	return op && op->state != OP_DONE;
}

/* Let virtual time pass, with everything that happens meanwhile. */
void time_advance(uint64_t ns);

/* Go to the next thing that happens; false if there is nothing. */
bool time_step(void);

/* Something waits for memory to change. */
bool time_watches(void);

uint64_t time_now(void);

/*
 * Wait, releasing the lock, until no host function runs and no thread is being woken; false if
 * meanwhile what the calling thread waits for happened, so that it must not move time.
 */
bool time_settle(void);

/* Hand a started OP_HOST to the callback thread (cuda_host.c), which calls op_finish_host(). */
void host_start(struct op *op);

/* Such an op is made: its thread is one of the caller's, as the driver's is. */
void host_prepare(void);
void op_finish_host(struct op *op);

/* Does a host function compute at the moment?  Time waits for it. */
bool host_awake(void);

/* Is this the thread that runs host functions?  They must not call CUDA. */
bool host_is_self(void);

/* Report to the tool, if there is one (cuda_entry.c). */
void tool_record(const struct sim_record *record);

#endif
