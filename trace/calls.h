/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CUDA calls that cufence records, as data.  calls.def is the only list; this header gives
 * the enumerations its rows speak in and a table of what every user of the trace needs to know
 * about a call.  Prototypes stay in calls.def, for whoever includes it with CUDA's headers.
 */
#ifndef CUFENCE_CALLS_H
#define CUFENCE_CALLS_H

#include <stdint.h>

/*
 * What a call does, as far as ordering, memory and waiting are concerned: the analyzer decides
 * by kind and fields, never by name.
 */
#define CALL_KINDS(X) \
	X(OTHER, other) \
	X(RUNTIME, runtime)              /* a cudart call: names the driver calls beneath it */ \
	X(INIT, init) \
	X(CONTEXT, context) \
	X(ALLOC_DEVICE, alloc_device)    /* ptr, bytes */ \
	X(ALLOC_HOST, alloc_host)        /* ptr, bytes, flags */ \
	X(ALLOC_MANAGED, alloc_managed)  /* ptr, bytes, flags */ \
	X(ALLOC_ASYNC, alloc_async)      /* ptr, bytes, stream */ \
	X(REGISTER_HOST, register_host)  /* ptr, bytes, flags */ \
	X(FREE_DEVICE, free_device)      /* ptr */ \
	X(FREE_HOST, free_host)          /* ptr */ \
	X(FREE_ASYNC, free_async)        /* ptr, stream */ \
	X(UNREGISTER_HOST, unregister_host) /* ptr */ \
	X(COPY, copy)                    /* dst, src, bytes, direction; default stream */ \
	X(COPY_ASYNC, copy_async)        /* dst, src, bytes, direction, stream */ \
	X(SET, set)                      /* dst, bytes; default stream */ \
	X(SET_ASYNC, set_async)          /* dst, bytes, stream */ \
	X(STREAM_CREATE, stream_create)  /* new_stream, flags (1: non-blocking), priority */ \
	X(STREAM_DESTROY, stream_destroy) /* stream */ \
	X(STREAM_SYNC, stream_sync)      /* stream */ \
	X(STREAM_QUERY, stream_query)    /* stream */ \
	X(STREAM_WAIT, stream_wait)      /* stream, event */ \
	X(EVENT_CREATE, event_create)    /* new_event, flags */ \
	X(EVENT_DESTROY, event_destroy)  /* event */ \
	X(EVENT_RECORD, event_record)    /* event, stream */ \
	X(EVENT_SYNC, event_sync)        /* event */ \
	X(EVENT_QUERY, event_query)      /* event */ \
	X(EVENT_ELAPSED, event_elapsed)  /* event, event */ \
	X(LAUNCH, launch)                /* function, stream, grid, block */ \
	X(HOST_FUNC, host_func)          /* stream, callback */ \
	X(CONTEXT_SYNC, context_sync)    /* context or none: the current one */ \
	X(MODULE_LOAD, module_load)      /* module */ \
	X(MODULE_UNLOAD, module_unload)  /* module */ \
	X(THREAD_CREATE, thread_create)  /* thread: kernel id of the new one */ \
	X(THREAD_JOIN, thread_join)      /* thread: kernel id of the one that ended */ \
	X(RANGE_PUSH, range_push)        /* string */ \
	X(RANGE_POP, range_pop)          /* ends the thread's innermost pushed range */ \
	X(RANGE_START, range_start)      /* string, value: its id */ \
	X(RANGE_END, range_end)          /* value */ \
	X(MARK, mark)                    /* string */

enum call_kind {
#define X(kind, name) KIND_##kind,
	CALL_KINDS(X)
#undef X
	KIND_COUNT
};

enum call_trait {
	TRAIT_NONE = 0,
	TRAIT_BLOCKS = 1 << 0, /* may wait for the device: RECORD_ENTER first */
	TRAIT_SUBMITS = 1 << 1, /* puts an operation on a stream: CUPTI gives it a correlation id */
};

/* What a field of a record holds.  Times never are fields. */
#define FIELD_KINDS(X) \
	X(none) \
	X(ptr)             /* address of an allocation, device or host */ \
	X(bytes) \
	X(dst)             /* address */ \
	X(src)             /* address */ \
	X(direction)       /* enum copy_direction */ \
	X(stream)          /* CUstream as passed: 0, 1 and 2 are the default streams */ \
	X(new_stream) \
	X(event) \
	X(new_event) \
	X(flags) \
	X(priority) \
	X(value) \
	X(function)        /* CUfunction or CUkernel */ \
	X(grid)            /* CALL_GRID() */ \
	X(block)           /* CALL_BLOCK() */ \
	X(callback)        /* address of a host function */ \
	X(context)         /* CUcontext */ \
	X(device)          /* ordinal */ \
	X(module)          /* CUmodule or CUlibrary */ \
	X(dst_pitch)       /* bytes */ \
	X(src_pitch)       /* bytes */ \
	X(width)           /* bytes */ \
	X(height)          /* rows */ \
	X(thread)          /* kernel thread id */ \
	X(string)          /* RECORD_STRING id */

enum field_kind {
#define X(field) FIELD_##field,
	FIELD_KINDS(X)
#undef X
	FIELD_KIND_COUNT
};

/* FIELD_direction; the numbers are cudaMemcpyKind's. */
enum copy_direction { COPY_H2H = 0, COPY_H2D, COPY_D2H, COPY_D2D, COPY_DEFAULT };

/* FIELD_grid: x in the low 32 bits, then y and z in 16 bits each. */
#define CALL_GRID(x, y, z) \
	((uint64_t)(x) | (uint64_t)(uint16_t)(y) << 32 | (uint64_t)(uint16_t)(z) << 48)
#define GRID_X(grid) ((uint32_t)(grid))
#define GRID_Y(grid) ((uint32_t)((grid) >> 32 & 0xffff))
#define GRID_Z(grid) ((uint32_t)((grid) >> 48))

/* FIELD_block: x, y in 12 bits each, z in 8, dynamic shared memory bytes in the upper 32. */
#define CALL_BLOCK(x, y, z, shared) \
	((uint64_t)((x) & 0xfff) | (uint64_t)((y) & 0xfff) << 12 | \
	 (uint64_t)((z) & 0xff) << 24 | (uint64_t)(uint32_t)(shared) << 32)
#define BLOCK_X(block) ((uint32_t)((block) & 0xfff))
#define BLOCK_Y(block) ((uint32_t)((block) >> 12 & 0xfff))
#define BLOCK_Z(block) ((uint32_t)((block) >> 24 & 0xff))
#define BLOCK_SHARED(block) ((uint32_t)((block) >> 32))

/* The default-stream handles of CUDA. */
#define STREAM_NULL 0
#define STREAM_LEGACY 1
#define STREAM_PER_THREAD 2

/* Numbers of the rows, CALL_cuMemAlloc_v2 and so on, in the order of calls.def. */
enum call_id {
#define DRIVER(symbol, base, since, params, args, fields, kind, traits) CALL_##symbol,
#define DRIVER_PT(symbol, base, since, suffix, pt_since, params, args, fields, kind, traits) \
	CALL_##symbol,
#define RUNTIME(symbol, first, last, params, args) CALL_##symbol,
#define RUNTIME_PT(symbol, suffix, first, last, params, args) CALL_##symbol,
#define HOST(symbol, fields, kind) CALL_##symbol,
#include "calls.def"
	CALL_COUNT
};

#define CALL_MAX_FIELDS 10

struct call_type {
	const char *name;      /* the exported symbol, without _ptsz or _ptds */
	const char *suffix;    /* of the per-thread entry point, NULL: none */
	uint8_t kind;          /* enum call_kind */
	uint8_t traits;        /* enum call_trait */
	uint8_t runtime;       /* a cudart call */
	uint8_t field_count;
	uint8_t field[CALL_MAX_FIELDS]; /* enum field_kind */
};

extern const struct call_type call_types[CALL_COUNT];
extern const char *const field_names[FIELD_KIND_COUNT];
extern const char *const call_kind_names[KIND_COUNT];

#endif
