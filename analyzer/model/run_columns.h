/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run in columns: what was recorded, as the analysis reads it again and again.  Load fills it
 * (run_build.h), or it is read from the raw tables in one pass over each, and nothing changes it
 * afterwards; of the derived tables it has the evidence alone (run_evidence.h).  A call or an
 * operation is known by its row id, which is the number of its row here: numbers that no row has
 * are holes.  Row 0, the id that stands for NULL, is empty everywhere.  Tables that say more about
 * calls are in order of call (run_find(), struct run_cursor).
 *
 * It is in db->run until analyze() is done; who works without takes it by run_of().  One thread.
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
#define RUN_LAST_ID (UINT32_MAX - 1) /* the largest that a row may have */

/* run_call.duration and run_work.duration. */
#define DURATION_NEVER UINT32_MAX      /* it did not return, no end is known */
#define DURATION_LONG (UINT32_MAX - 1) /* the end is in a map */

enum {
	CALL_IS_THERE = 1 << 0,
	CALL_RETURNED = 1 << 1, /* its result is known */
};

struct run_call {
	int64_t enter;     /* ns */
	uint32_t duration; /* ns */
	uint16_t type;     /* call_type.id */
	uint8_t kind;      /* enum call_kind; of runtime calls KIND_RUNTIME */
	uint8_t flags;     /* CALL_ */
	uint32_t thread, stream;
	uint32_t last_work; /* of its operations that with the largest id */
	uint32_t payload;
};

/* What calls say besides, each combination once. */
struct run_payload {
	int64_t ptr, bytes;
	int64_t pageable; /* address of the end of a copy in pageable memory, 0: none, or both */
	uint64_t grid, block;
	int32_t result;
	uint32_t process, context, event, kernel;
	uint8_t direction; /* enum copy_direction; COPY_DEFAULT: unknown */
	uint8_t src, dst;  /* enum memory_kind */
	uint8_t has_bytes; /* bytes is not NULL */
};

/* Calls among each other. */
struct run_link {
	uint32_t parent, site;
	uint32_t next;   /* of the same thread */
	uint32_t before; /* of one that puts work into a stream, the one before it there */
};

struct run_work {
	int64_t start;     /* ns, RUN_NEVER: NULL */
	uint32_t duration; /* ns */
	uint32_t call;
	uint32_t next; /* of the same call in order of ids; of the last one the first */
	uint32_t where;
};

/* Where operations ran, each combination once. */
struct run_where {
	uint32_t process, context, stream;
	int32_t device;
	uint8_t kind;      /* enum work_kind */
	uint8_t copy_kind; /* CUPTI's, 0: NULL */
	uint8_t unused[6];
};

/* Equal rows are found by their words. */
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
/* As column kind of table operation has them. */
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
	uint8_t has_parts;       /* 1: others are parts of it, which may outlive it */
	uint8_t has_twins;       /* 1: through its addresses others are used, too */
	uint32_t same; /* the allocation that it is a part of, mapped again or behind, 0: none */
	int64_t shift; /* its first byte in that */
	int64_t span;  /* bytes, those of its parts included */
};

/* What is used through its addresses, too: other's bytes from shift on, or some of them, if any. */
struct run_twin {
	uint32_t allocation, other;
	int64_t shift;
	int is_known; /* 0: whether it is, is not */
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

/* What is known of the code of a kernel, or of a shape: rows of kernel_code and shape_code. */
/* What a process says of a device; processes have few. */
struct run_device {
	uint32_t process;
	int32_t ordinal;
	int64_t sms, threads, blocks; /* threads and blocks: that run on an SM at once */
};

struct run_kernel {
	int32_t reaches; /* 0 without */
	uint8_t knows_parameters, complete;
	uint8_t evidence;        /* enum evidence */
	uint8_t waits, triggers; /* enum code_answer: kernel_dependence */
	uint8_t outside;         /* it waits for memory that it does not write itself */
};

enum code_answer { CODE_UNKNOWN, CODE_NO, CODE_YES };

struct run_shape {
	int32_t reaches; /* -1: there is no row */
	uint8_t complete, outside;
};

enum claim_direction { CLAIM_ATOMIC, CLAIM_LOAD, CLAIM_STORE };

#define CLAIM_STRIDES 3

/* A row of kernel_access; in order of shape, kernel and offset. */
struct run_claim {
	uint32_t shape, kernel; /* shape 0: of launches of no shape that is known */
	uint32_t offset;
	uint8_t direction; /* enum claim_direction */
	uint8_t sure, exact, strides, early, spins;
	uint8_t evidence;  /* enum evidence; EVIDENCE_NONE: that of the kernel */
	int64_t low, high; /* INT64_MIN, INT64_MAX: no bound known */
	int64_t run;       /* 0: all from low to high */
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
	OPERAND_SRC_ANY, /* read at any time from the call on (CUDA, srcAccessOrder of a batch) */
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

/* Of one call in order of role and item. */
struct run_extent {
	uint32_t call, allocation;
	uint32_t role; /* enum operand_role */
	uint32_t item;
	int64_t address, bytes, pitch, rows, slice, slices, span;
};

/* Of one call in order of start. */
struct run_overhead {
	uint32_t call;
	uint32_t kind; /* enum overhead_kind, 0: another */
	int64_t start, end;
};

/* What a call made or ended, an allocation or a thread, or the shape of its launch. */
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
	struct map long_calls, long_works; /* id -> end */
	/* By id, of which there are so many; row 0 included. */
	struct run_where *where;
	struct run_stream *stream;
	struct run_context *context;
	struct run_thread *thread;
	struct run_kernel *kernel;
	struct run_device *device; /* not by id */
	struct run_shape *shape;
	struct run_twin *twin; /* in order of allocation */
	size_t twin_count;
	size_t where_count, stream_count, context_count, thread_count, kernel_count, shape_count;
	size_t device_count;
	struct map gaps; /* processes of which calls were lost: table loss */
	struct run_evidence evidence;
	int threads_share;             /* a process has several */
	int joined;                    /* works are not the rows of table operation (work.h) */
	struct run_building *building; /* NULL: it is complete */
};

/* Reads it from a database; NULL after a message. */
struct run *run_open(struct db *db);
void run_close(struct run *run);

/* db->run, or else it is read into *own, which is the caller's to close.  NULL after a message. */
const struct run *run_of(struct db *db, struct run **own);

/* --- rows --- */

/* One more than the largest id. */
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

/* Of a call that is there. */
static inline const struct run_link *run_link(const struct run *run, int64_t id)
{
	return (const struct run_link *)run->links.rows + id;
}

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

/* Of ids that are not there an empty row: NULL joins nothing. */
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

/* What is known of a shape, NULL: nothing. */
static inline const struct run_shape *run_shape(const struct run *run, uint32_t shape)
{
	return shape < run->shape_count && run->shape[shape].reaches >= 0 ? &run->shape[shape]
									  : NULL;
}

/* What launches of a kernel, of a shape if that is not 0, reach beside what they were given,
 * PTX_REACH_, as far as that is known. */
static inline unsigned run_reaches(const struct run *run, int64_t kernel, uint32_t shape)
{
	const struct run_shape *known = run_shape(run, shape);

	return (unsigned)(known ? known->reaches : run_kernel(run, kernel)->reaches);
}

/* 1: such a launch waits for what other work stores. */
static inline int run_waits_outside(const struct run *run, int64_t kernel, uint32_t shape)
{
	const struct run_shape *known = run_shape(run, shape);

	return known ? known->outside : run_kernel(run, kernel)->outside;
}

/* What launches of that kernel and shape (0: of no shape that is known) do with what the word at
 * that offset points to: the first claim, NULL without one; those that follow are up to end. */
const struct run_claim *run_claims(const struct run *run, uint32_t kernel, uint32_t shape,
	uint32_t offset, const struct run_claim **end);

static inline const struct run_allocation *run_allocation(const struct run *run, int64_t id)
{
	return (const struct run_allocation *)run->allocations.rows +
		(id > 0 && id < (int64_t)run->allocations.count ? id : 0);
}

/* The allocation by which memory is known that is mapped at several addresses, or in pieces. */
static inline uint32_t run_memory(const struct run *run, uint32_t allocation)
{
	uint32_t same = run_allocation(run, allocation)->same;

	return same ? same : allocation;
}

/* The twins of an allocation, up to *end. */
const struct run_twin *run_twins(const struct run *run, uint32_t allocation,
	const struct run_twin **end);

/* When it returned or ended, RUN_NEVER: it did not. */
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

/* The context that a call is about: its own, or its stream's. */
static inline uint32_t run_context_of(const struct run *run, const struct run_call *call)
{
	uint32_t context = run_payload(run, call)->context;

	return context ? context : run_stream(run, call->stream)->context;
}

/* --- tables in order of call --- */

/* The first row of a call, NULL without one; those that follow are up to run_rows_end(). */
const void *run_find(const struct column *rows, int64_t call);

static inline const void *run_rows_end(const struct column *rows)
{
	return rows->rows + rows->count * rows->row_size;
}

/* The call loaded code lazily, or waited for room in a launch queue: enum overhead_kind. */
int run_has_overhead(const struct run *run, int64_t call, uint32_t kind);

/* One call of a site. */
struct run_place {
	uint32_t site, call;
};

/* Adds a call unless its site has one, or in its place if last; of all sites the first most are
 * kept, in order.  How many there are now. */
size_t run_keep_place(struct run_place *place, size_t count, size_t most, struct run_place found,
	int last);

/* Two calls name the same allocation. */
int run_shares(const struct run *run, int64_t call, int64_t other);

/* What table call_object says of a call in that role, 0: nothing. */
int64_t run_object(const struct run *run, int64_t call, enum object_role role);

/* For calls that are asked for in order: the number of the next row. */
struct run_cursor {
	const struct column *rows;
	uint64_t at;
};

/* The next row of the call, NULL without one; the cursor stays there until it is told to go on. */
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
