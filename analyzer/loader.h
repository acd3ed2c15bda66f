/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of load_traces(), shared by load*.c.  A trace is mapped, and its records are visited
 * in this order:
 *
 *	scan     tables (sites, modules, kernels ...) are written, calls and operations listed
 *	calls    put in order of entry, parents found, ids given
 *	resolve  the handles of every call, in that order
 *	device   operations find their call, and tell it what only the device knew
 *	write    calls, operations, and the lives of streams, events and allocations
 *
 * Memory is about a hundred bytes a call, whatever the trace's size.
 */
#ifndef CUFENCE_LOADER_H
#define CUFENCE_LOADER_H

#include "calls.h"
#include "db.h"
#include "lives.h"
#include "load_clock.h"
#include "map.h"
#include "reader.h"

/* One call, returned or not.  Numbers of rows are database ids, 0: none. */
struct loaded_call {
	const struct record *record; /* struct call_record, or enter_record if it never returned */
	uint64_t enter, exit;        /* ticks; exit UINT64_MAX: it never returned */
	uint32_t sequence;           /* in the order of the trace */
	uint32_t parent;             /* index + 1, 0: none */
	uint32_t thread;             /* row */
	uint32_t context;            /* row */
	uint32_t kernel;             /* row */
	uint32_t stream, event;      /* life, index + 1 */
	uint8_t dst_memory, src_memory; /* enum memory_kind */
};

struct file_call_type {
	int64_t id;                  /* row; 0: not defined by this file */
	const struct call_type_record *record;
};

/* What a call's fields say, by enum field_kind. */
struct call_fields {
	uint64_t value[FIELD_KIND_COUNT];
	uint64_t present;            /* bit per field kind */
};
_Static_assert(FIELD_KIND_COUNT <= 64, "a bit per field kind");

enum stream_kind {
	STREAM_KIND_UNKNOWN, STREAM_KIND_LEGACY, STREAM_KIND_PER_THREAD, STREAM_KIND_BLOCKING,
	STREAM_KIND_NON_BLOCKING,
};

/* Beside the life of the same index. */
struct loaded_stream {
	uint64_t handle;
	uint32_t context, thread;    /* rows, 0: none */
	enum stream_kind kind;
	int32_t priority;
	int64_t cupti_id;            /* -1: no operation seen */
};

struct loaded_allocation {
	uint64_t bytes;
	const char *memory;
	enum memory_kind kind;
};

struct loaded_context {
	struct context_record record; /* the last word on it */
	uint32_t row;
};

struct loaded_thread {
	uint32_t tid;
	const struct thread_record *name; /* NULL: not known */
	uint32_t made_by, joined_by; /* calls, index + 1 */
};

enum loader_insert {
	INSERT_PROCESS, INSERT_LOSS, INSERT_PROPERTY, INSERT_THREAD, INSERT_DEVICE, INSERT_CONTEXT,
	INSERT_STREAM, INSERT_EVENT, INSERT_ALLOCATION, INSERT_KERNEL, INSERT_MODULE, INSERT_SITE,
	INSERT_FRAME, INSERT_CALL_TYPE, INSERT_CALL, INSERT_OPERATION, INSERT_OVERHEAD,
	INSERT_CALIBRATION, INSERT_SYMBOL, INSERT_OPERAND, INSERT_POLLING, INSERT_RANGE,
	INSERT_CODE,
	INSERT_RECORDING,
	INSERT_COUNT
};

/* What one trace fills and the next one starts from empty. */
struct loaded_process {
	struct trace_reader reader;
	struct clock clock;
	struct file_call_type *type; /* by call number */
	struct loaded_call *call;
	size_t call_count;
	const struct device_record **device; /* operations and overheads */
	size_t device_count;
	const struct calibration_record **calibration;
	size_t calibration_count;
	const struct window_record **window;
	size_t window_count;
	struct loaded_context *context;
	size_t context_count;
	struct loaded_thread *thread; /* row - threads before this process - 1 */
	size_t thread_count;
	struct map context_numbers, context_handles, context_cupti_ids; /* -> index + 1 */
	struct map threads;          /* tid -> row */
	struct map births;           /* number of the pthread_create -> thread, index + 1 */
	struct map sites;            /* number -> row */
	struct map functions;        /* handle -> kernel row */
	struct map kernels;          /* hash of the mangled name -> kernel row */
	struct map strings;          /* id -> address of the string_record */
	struct map correlations;     /* -> call index + 1 */
	struct map default_streams;  /* context and thread -> stream */
	struct map cupti_streams;    /* CUPTI context and stream -> stream */
	struct lives streams, events, allocations;
	struct loaded_stream *stream; /* beside streams.life */
	uint32_t *event_flags;       /* beside events.life */
	struct loaded_allocation *allocation; /* beside allocations.life */
	struct ranges live_memory;
	uint64_t first_tick;
	int64_t end;                 /* ns: last thing seen */
};

struct loader {
	struct db *db;
	sqlite3_stmt *insert[INSERT_COUNT];
	int64_t origin;              /* CLOCK_REALTIME ns of time 0 */
	/* Rows written so far, so that ids are known before rows are. */
	int64_t process, call, operation, thread, context, stream, event, allocation, kernel, site;
	const char *path;
	struct loaded_process p;
};

/* Each: 0, or -1 after a message. */
int loader_scan(struct loader *loader);
int loader_order_calls(struct loader *loader);
int loader_resolve(struct loader *loader);
int loader_match_device(struct loader *loader);
int loader_write(struct loader *loader);
int loader_write_host(struct loader *loader);
/* The stretches of the process, whose end must be known, and what is lost between them. */
int loader_write_recording(struct loader *loader);
int loader_insert_loss(struct loader *loader, const char *reason, uint64_t count);

/* The fields of a call record; none for a call that never returned. */
struct call_fields loader_fields(const struct loader *loader, const struct loaded_call *call);

/* The memory a call names, as of now in the order of calls: its rows of operand. */
int loader_write_operands(struct loader *loader, const struct loaded_call *call,
	const struct call_fields *fields);

/* What kind of call it is, as an enum call_kind. */
unsigned loader_call_kind(const struct loader *loader, const struct loaded_call *call);

/* Number of the RECORD_CALL_TYPE. */
unsigned loader_call_number(const struct loaded_call *call);

/* A stream life no call created: index + 1, or 0 when out of memory. */
uint32_t loader_add_stream(struct loader *loader, uint64_t key, const struct loaded_stream *stream);

/* Row of the kernel of that name, written if need be; 0 when that failed. */
uint32_t loader_kernel(struct loader *loader, const char *mangled, size_t length);

/* Handles that no driver gives out, as keys of the lives that belong to none. */
#define KEY_DEFAULT_STREAM (UINT64_C(1) << 63)
#define KEY_DEVICE_STREAM (UINT64_C(1) << 62)

#endif
