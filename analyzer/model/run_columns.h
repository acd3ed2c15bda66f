/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recorded run in columns, for repeated reading by the analysis.  It is filled by load
 * (run_build.h) or read from the raw tables, and does not change afterwards; of the derived data it
 * holds only the evidence (run_evidence.h).  The row id of a call or an operation is its row number
 * here; unused numbers are holes.  Row 0, which stands for NULL, is empty everywhere.  Tables with
 * further data of calls are in order of call (run_find(), struct run_cursor).
 *
 * The run is db->run until analyze() is done; elsewhere use run_of().  Single-threaded.
 */
#ifndef CUFENCE_RUN_COLUMNS_H
#define CUFENCE_RUN_COLUMNS_H

#include "calls.h"
#include "column.h"
#include "db.h"
#include "map.h"
#include "record.h"
#include "run_evidence.h"
#include "stream_kind.h"

#define RUN_NEVER INT64_MAX          /* a time that is NULL */
#define RUN_LAST_ID (UINT32_MAX - 1) /* the largest allowed row id */

/* run_call.duration and run_work.duration. */
#define DURATION_NEVER UINT32_MAX      /* it did not return, or its end is unknown */
#define DURATION_LONG (UINT32_MAX - 1) /* the end is in a map */

enum {
	CALL_IS_THERE = 1 << 0,
	CALL_RETURNED = 1 << 1, /* its result is known */
	CALL_UNKNOWN = 1 << 2,  /* its operation is unknown (unknown.h) */
};

struct run_call {
	int64_t enter;     /* ns */
	uint32_t duration; /* ns */
	uint16_t type;     /* call_type.id */
	uint8_t kind;      /* enum call_kind; KIND_RUNTIME for runtime calls */
	uint8_t flags;     /* CALL_ */
	uint32_t thread, stream;
	uint32_t last_work; /* its operation with the largest id */
	uint32_t payload;
};

/* Further values of calls, each combination stored once. */
struct run_payload {
	int64_t ptr, bytes;
	int64_t pageable; /* address of the copy operand in pageable memory, 0: none, or both */
	uint64_t grid, block;
	int32_t result;
	uint32_t process, context, event, kernel;
	uint8_t direction; /* enum copy_direction; COPY_DEFAULT: unknown */
	uint8_t src, dst;  /* enum memory_kind */
	uint8_t has_bytes; /* bytes is not NULL */
};

/* Is that memory the host's own?  enum memory_kind. */
static inline int memory_is_host(unsigned memory)
{
	return memory == MEMORY_PAGEABLE || memory == MEMORY_PINNED;
}

/* Relations between calls. */
struct run_link {
	uint32_t parent, site;
	uint32_t next;   /* of the same thread */
	uint32_t before; /* preceding call that puts work into the same stream */
};

struct run_work {
	int64_t start;     /* ns, RUN_NEVER: NULL */
	uint32_t duration; /* ns */
	uint32_t call;
	uint32_t next; /* next operation of the same call by id; the last one links to the first */
	uint32_t where;
};

/* The places where operations ran, each combination stored once. */
struct run_where {
	uint32_t process, context, stream;
	int32_t device;
	uint8_t kind;         /* enum work_kind */
	uint8_t copy_kind;    /* CUPTI's, 0: NULL */
	uint8_t end_is_limit; /* 1: it ended at its end at the latest: operation.recorded_end */
	uint8_t unused[5];
};

/* Equality compares all words. */
_Static_assert(sizeof(struct run_payload) == 64 && sizeof(struct run_where) == 24, "words");

enum work_kind {
	WORK_OTHER,
	WORK_KERNEL,
	WORK_MEMCPY,
	WORK_MEMSET,
	WORK_PEER,
	WORK_GRAPH,
	WORK_KINDS
};
/* As in column kind of table operation. */
extern const char *const run_work_names[WORK_KINDS];

enum allocation_memory {
	ALLOCATION_OTHER,
	ALLOCATION_DEVICE,
	ALLOCATION_PINNED,
	ALLOCATION_REGISTERED,
	ALLOCATION_MANAGED,
	ALLOCATION_ASYNC,
	ALLOCATION_VARIABLE,
	ALLOCATION_ARRAY,
	ALLOCATION_GRAPH,
};

struct run_allocation {
	int64_t address, bytes;
	uint32_t created, freed; /* calls */
	uint16_t kind;           /* enum allocation_memory */
	uint8_t has_parts;       /* 1: other allocations are parts of it and may outlive it */
	uint8_t has_twins;       /* 1: its addresses access other memory, too */
	uint32_t same; /* the allocation it is part of, an alias of, or contiguous with, or 0 */
	int64_t shift; /* offset of its first byte in that, bytes */
	int64_t span;  /* bytes, including its parts */
};

/* Other memory accessed through an allocation's addresses, from shift on, if any. */
struct run_twin {
	uint32_t allocation, other;
	int64_t shift;
	int is_known; /* 1: certain; 0: possible */
};

struct run_stream {
	uint32_t context;
	uint32_t kind;    /* enum stream_kind */
	uint32_t created; /* call */
};

struct run_context {
	int device; /* -1: unknown */
	int green;
};

/* Properties of a device in a process. */
struct run_device {
	uint32_t process;
	int32_t ordinal;
	int64_t sms, threads, blocks; /* threads and blocks: maximum resident per SM */
};

/* Facts about the code of a kernel: rows of kernel_code and kernel_dependence. */
struct run_kernel {
	int32_t reaches; /* 0 if unknown */
	uint8_t knows_parameters, complete;
	uint8_t evidence;        /* enum evidence */
	uint8_t waits, triggers; /* enum code_answer: kernel_dependence */
	uint8_t outside;         /* it waits for memory that it does not store to itself */
};

enum code_answer { CODE_UNKNOWN, CODE_NO, CODE_YES };

/* The same for a shape: rows of shape_code. */
struct run_shape {
	int32_t reaches; /* -1: no row */
	uint8_t complete, outside;
};

enum claim_direction { CLAIM_ATOMIC, CLAIM_LOAD, CLAIM_STORE };

#define CLAIM_STRIDES 3

/* A row of kernel_access, in order of shape, kernel and offset. */
struct run_claim {
	uint32_t shape, kernel; /* shape 0: launches without a known shape */
	uint32_t offset;
	uint8_t direction; /* enum claim_direction */
	uint8_t sure, exact, strides, early, spins;
	uint8_t evidence;  /* EVIDENCE_NONE: that of the kernel */
	int64_t low, high; /* INT64_MIN, INT64_MAX: unbounded */
	int64_t run;       /* bytes per contiguous piece; 0: all from low to high */
	struct {
		int64_t bytes, count;
	} stride[CLAIM_STRIDES];
};

struct run_thread {
	uint32_t process;
	uint32_t first; /* its first call */
};

/* --- in order of call, which is the first member of each --- */

enum object_role {
	OBJECT_OTHER,
	OBJECT_EXEC,
	OBJECT_EVENT,
	OBJECT_DST_CONTEXT,
	OBJECT_SRC_CONTEXT,
	OBJECT_LAUNCH_EVENT,
	OBJECT_COMPLETION_EVENT,
	OBJECT_CAPTURED,
	OBJECT_ATTRIBUTES,
	OBJECT_CONTENT,
	OBJECT_FILL,
};

struct run_object {
	uint32_t call;
	uint32_t role; /* enum object_role */
	int64_t object;
};

enum operand_role {
	OPERAND_OTHER,
	OPERAND_DST,
	OPERAND_SRC,
	OPERAND_SRC_ANY, /* may be read any time after the call (CUDA, srcAccessOrder of a batch) */
	OPERAND_WORD,
	OPERAND_NODE,
	OPERAND_ROLES
};

/* As in tables operand and extent. */
extern const char *const operand_roles[OPERAND_ROLES];

static inline int operand_is_source(uint32_t role)
{
	return role == OPERAND_SRC || role == OPERAND_SRC_ANY;
}

struct run_operand {
	uint32_t call, allocation;
	int64_t address;
	uint32_t offset; /* UINT32_MAX: NULL */
	uint32_t role;   /* enum operand_role */
};

/* Rows of one call are in order of role and item. */
struct run_extent {
	uint32_t call, allocation;
	uint32_t role; /* enum operand_role */
	uint32_t item;
	int64_t address, bytes, pitch, rows, slice, slices, span;
};

/* Rows of one call are in order of start. */
struct run_overhead {
	uint32_t call;
	uint32_t kind; /* enum overhead_kind, 0: other */
	int64_t start, end;
};

/* An object that a call created or ended (allocation or thread), or the shape of its launch. */
struct run_ended {
	uint32_t call;
	uint32_t what;
};

struct run {
	struct scratch scratch;
	struct column calls, links, payloads, works, allocations;
	struct column objects, operands, extents, overheads, freed, allocated, threads_made,
		launches;
	struct column claims;
	struct column host_runs;           /* in order of exit (host_runs.h) */
	struct column host_run_calls;      /* a call, and its run's number in host_runs */
	struct map long_calls, long_works; /* id -> end */
	struct map polls; /* a query that ended a loop -> entry of the first one (polls.h) */
	/* Indexed by id; the counts include row 0. */
	struct run_where *where;
	struct run_stream *stream;
	struct run_context *context;
	struct run_thread *thread;
	struct run_kernel *kernel;
	struct run_device *device; /* not indexed by id */
	struct run_shape *shape;
	struct run_twin *twin; /* in order of allocation */
	size_t twin_count;
	size_t where_count, stream_count, context_count, thread_count, kernel_count, shape_count;
	size_t device_count;
	struct map gaps; /* processes with missing calls: table loss */
	/* Processes that did not close their trace (unknown.h); died: id -> number + 1. */
	struct map died;
	struct run_death *death;
	size_t death_count;
	struct run_evidence evidence;
	int threads_share;              /* some process has several threads */
	int joined;                     /* works differ from the rows of table operation (work.h) */
	struct run_building *building;  /* NULL: complete */
	struct access_reader *accesses; /* shared while it is analyzed (access.h), or NULL */
};

/* Reads a run from a database; NULL after a message. */
struct run *run_open(struct db *db);
void run_close(struct run *run);

/*
 * Returns db->run if set; else reads the run into *own, which the caller closes.  NULL after a
 * message.
 */
const struct run *run_of(struct db *db, struct run **own);

/* --- rows --- */

/* The largest id + 1. */
static inline uint32_t run_call_end(const struct run *run)
{
	return (uint32_t)run->calls.count;
}

static inline uint32_t run_work_end(const struct run *run)
{
	return (uint32_t)run->works.count;
}

/* NULL if there is no such call. */
static inline const struct run_call *run_call(const struct run *run, int64_t id)
{
	const struct run_call *call = (const struct run_call *)run->calls.rows + id;

	return id > 0 && id < (int64_t)run->calls.count && call->flags & CALL_IS_THERE ? call
										       : NULL;
}

static inline const struct run_payload *run_payload(const struct run *run,
	const struct run_call *call)
{
	return (const struct run_payload *)run->payloads.rows + call->payload;
}

/* For an existing call. */
static inline const struct run_link *run_link(const struct run *run, int64_t id)
{
	return (const struct run_link *)run->links.rows + id;
}

/* Returns the site of a call, or of the outer call that made it; 0: unknown. */
uint32_t run_outer_site(const struct run *run, int64_t call);

/* NULL if there is no such operation. */
static inline const struct run_work *run_work(const struct run *run, int64_t id)
{
	const struct run_work *work = (const struct run_work *)run->works.rows + id;

	return id > 0 && id < (int64_t)run->works.count && work->where ? work : NULL;
}

static inline const struct run_where *run_where(const struct run *run, const struct run_work *work)
{
	return &run->where[work->where];
}

/* An empty row for unused ids: NULL joins nothing. */
static inline const struct run_stream *run_stream(const struct run *run, int64_t id)
{
	return &run->stream[id > 0 && id < (int64_t)run->stream_count ? id : 0];
}

static inline const struct run_context *run_context(const struct run *run, int64_t id)
{
	return &run->context[id > 0 && id < (int64_t)run->context_count ? id : 0];
}

static inline const struct run_kernel *run_kernel(const struct run *run, int64_t id)
{
	return &run->kernel[id > 0 && id < (int64_t)run->kernel_count ? id : 0];
}

/* Returns the facts about a shape; NULL: none. */
static inline const struct run_shape *run_shape(const struct run *run, uint32_t shape)
{
	return shape < run->shape_count && run->shape[shape].reaches >= 0 ? &run->shape[shape]
									  : NULL;
}

/*
 * Memory that launches of a kernel (of a shape if not 0) reach beyond their parameters, as
 * PTX_REACH_ bits, as far as known.
 */
static inline unsigned run_reaches(const struct run *run, int64_t kernel, uint32_t shape)
{
	const struct run_shape *known = run_shape(run, shape);

	return (unsigned)(known ? known->reaches : run_kernel(run, kernel)->reaches);
}

/* 1: such a launch waits for stores of other work. */
static inline int run_waits_outside(const struct run *run, int64_t kernel, uint32_t shape)
{
	const struct run_shape *known = run_shape(run, shape);

	return known ? known->outside : run_kernel(run, kernel)->outside;
}

/*
 * Finds accesses through the pointer at that offset, in launches of that kernel and shape (0: no
 * known shape).  Returns the first claim, NULL if none; further ones follow up to end.
 */
const struct run_claim *run_claims(const struct run *run, uint32_t kernel, uint32_t shape,
	uint32_t offset, const struct run_claim **end);

static inline const struct run_allocation *run_allocation(const struct run *run, int64_t id)
{
	return (const struct run_allocation *)run->allocations.rows +
		(id > 0 && id < (int64_t)run->allocations.count ? id : 0);
}

/* A variable of a module, which kernels use by its name, too. */
int run_is_variable(const struct run *run, int64_t allocation);

/* The allocation that represents memory mapped at several addresses, or in pieces. */
static inline uint32_t run_memory(const struct run *run, uint32_t allocation)
{
	uint32_t same = run_allocation(run, allocation)->same;

	return same ? same : allocation;
}

/* Returns the twins of an allocation, up to *end. */
const struct run_twin *run_twins(const struct run *run, uint32_t allocation,
	const struct run_twin **end);

/* Return time of a call or end of an operation, RUN_NEVER: unknown. */
int64_t run_long_end(const struct map *ends, int64_t id);

static inline int64_t run_exit(const struct run *run, const struct run_call *call, int64_t id)
{
	if (call->duration < DURATION_LONG)
		return call->enter + call->duration;
	return call->duration == DURATION_NEVER ? RUN_NEVER : run_long_end(&run->long_calls, id);
}

static inline int64_t run_end(const struct run *run, const struct run_work *work, int64_t id)
{
	if (work->duration < DURATION_LONG)
		return work->start + work->duration;
	return work->duration == DURATION_NEVER ? RUN_NEVER : run_long_end(&run->long_works, id);
}

/*
 * The end of the time in which an operation is known to have run; its duration is measured by it.
 * If only a limit of its end is known, it is its start.
 */
static inline int64_t run_busy_end(const struct run *run, const struct run_work *work, int64_t id)
{
	return run_where(run, work)->end_is_limit ? work->start : run_end(run, work, id);
}

/*
 * The operations of a call in turn, for (uint32_t id = 0; (id = run_next_work(run, call, id));):
 * returns the one after an operation, the first one for 0, and 0 after the last one.
 */
static inline uint32_t run_next_work(const struct run *run, const struct run_call *call,
	uint32_t id)
{
	if (!call->last_work || id == call->last_work)
		return 0;
	return run_work(run, id ? id : call->last_work)->next;
}

/* The context of a call: its own, or that of its stream. */
static inline uint32_t run_context_of(const struct run *run, const struct run_call *call)
{
	uint32_t context = run_payload(run, call)->context;

	return context ? context : run_stream(run, call->stream)->context;
}

/* --- tables in order of call --- */

/* The first row of a call, NULL if none. */
const void *run_find(const struct column *rows, int64_t call);

/* The first row of that call or a later one, run_rows_end() if there is none. */
const void *run_rows_from(const struct column *rows, uint32_t call);

static inline const void *run_rows_end(const struct column *rows)
{
	return rows->rows + rows->count * rows->row_size;
}

/* The row after that one, NULL if it is none of the same call. */
static inline const void *run_next(const struct column *rows, const void *row)
{
	const unsigned char *next = (const unsigned char *)row + rows->row_size;

	return next < (const unsigned char *)run_rows_end(rows) &&
			*(const uint32_t *)(const void *)next == *(const uint32_t *)row
		? next
		: NULL;
}

/*
 * Returns whether the call loaded code lazily, or waited for space in a launch queue: enum
 * overhead_kind.
 */
int run_has_overhead(const struct run *run, int64_t call, uint32_t kind);

/* Returns whether two calls name the same allocation. */
int run_shares(const struct run *run, int64_t call, int64_t other);

/* The object of a call in that role (table call_object), 0: none. */
int64_t run_object(const struct run *run, int64_t call, enum object_role role);

/* Iterates over rows of ascending calls: number of the next row. */
struct run_cursor {
	const struct column *rows;
	uint64_t at;
};

/* Returns the next row of the call, NULL if none; does not advance the cursor. */
static inline const void *run_cursor_at(struct run_cursor *cursor, int64_t call)
{
	const struct column *rows = cursor->rows;

	for (; cursor->at < rows->count; cursor->at++) {
		const unsigned char *row = rows->rows + cursor->at * rows->row_size;
		uint32_t of = *(const uint32_t *)(const void *)row;

		if (of >= call)
			return of == call ? row : NULL;
	}
	return NULL;
}

#endif
