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
	X(COPY, copy)                    /* dst, src, bytes; default stream; rows: pitches... */ \
	X(COPY_ASYNC, copy_async)        /* dst, src, bytes, stream */ \
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
	X(THREAD_CREATE, thread_create)  /* birth; if it used CUDA its RECORD_THREAD has it too */ \
	X(THREAD_JOIN, thread_join)      /* birth of the thread that ended */ \
	X(RANGE_PUSH, range_push)        /* string */ \
	X(RANGE_POP, range_pop)          /* ends the thread's innermost pushed range */ \
	X(RANGE_START, range_start)      /* string, value: its id */ \
	X(RANGE_END, range_end)          /* value */ \
	X(MARK, mark)                    /* string */ \
	X(CONTEXT_CREATE, context_create) /* context, device */ \
	X(CONTEXT_DESTROY, context_destroy) /* context, or device: its primary one */ \
	X(CONTEXT_LIMIT, context_limit)  /* type: CUlimit, value; may wait for the device */ \
	X(CONTEXT_RECORD, context_record) /* context, event: all work of a context */ \
	X(CONTEXT_WAIT, context_wait)    /* context, event: all work to come of a context */ \
	X(PEER_ACCESS, peer_access)      /* context, flags 1: allowed from here on, 0: no more */ \
	X(ALLOC_ARRAY, alloc_array)      /* array, width and height in elements, depth, type */ \
	X(FREE_ARRAY, free_array)        /* array */ \
	X(TEXTURE_CREATE, texture_create) /* value: the object; ptr and bytes, or array */ \
	X(TEXTURE_DESTROY, texture_destroy) /* value */ \
	X(POOL_CREATE, pool_create)      /* pool, device */ \
	X(POOL_DESTROY, pool_destroy)    /* pool */ \
	X(POOL, pool)                    /* pool: trimmed, or its attributes set */ \
	X(MEM_CREATE, mem_create)        /* handle, bytes: physical memory */ \
	X(MEM_RELEASE, mem_release)      /* handle */ \
	X(MEM_RESERVE, mem_reserve)      /* ptr, bytes: addresses without memory */ \
	X(MEM_UNRESERVE, mem_unreserve)  /* ptr, bytes */ \
	X(MEM_MAP, mem_map)              /* ptr, bytes, handle */ \
	X(MEM_UNMAP, mem_unmap)          /* ptr, bytes */ \
	X(MEM_ACCESS, mem_access)        /* ptr, bytes */ \
	X(ALLOC_IMPORT, alloc_import)    /* ptr, bytes: another API's or process's; freed alike */ \
	X(IPC_OPEN, ipc_open)            /* ptr, bytes (0: unknown): of another process */ \
	X(IPC_CLOSE, ipc_close)          /* ptr */ \
	X(IPC_EXPORT, ipc_export)        /* ptr, event or pool that others may now use */ \
	X(IPC_EVENT, ipc_event)          /* new_event: of another process */ \
	X(COPY_PEER, copy_peer)          /* as copy; dst_context, src_context */ \
	X(COPY_PEER_ASYNC, copy_peer_async) /* as copy_async; dst_context, src_context */ \
	X(COPY_BATCH, copy_batch)        /* stream, count, more; lists of count: dst, src, bytes; \
					    of more words in all: CUmemcpyAttributes, the first \
					    copy of each.  count 0: CUDA_MEMCPY3D_BATCH_OP */ \
	X(PREFETCH, prefetch)            /* ptr, bytes, device, stream; in a batch as discard */ \
	X(DISCARD, discard)              /* stream, count; lists: ptr, bytes; of more words in \
					    all: CUmemLocation, the first item of each */ \
	X(ADVISE, advise)                /* ptr, bytes, type: CUmem_advise, device */ \
	X(ATTACH, attach)                /* stream, ptr, bytes, flags */ \
	X(STREAM_VALUE_WAIT, stream_value_wait) /* stream, ptr, value, flags */ \
	X(STREAM_VALUE_WRITE, stream_value_write) /* stream, ptr, value, flags */ \
	X(STREAM_MEMOP, stream_memop)    /* stream, count; list: CUstreamBatchMemOpParams */ \
	X(STREAM_ATTRIBUTE, stream_attribute) /* stream, type: CUstreamAttrID */ \
	X(STREAM_CALLBACK, stream_callback) /* stream, callback: later work waits for it */ \
	X(CAPTURE_BEGIN, capture_begin)  /* stream, type: mode; graph, count; nodes, edges */ \
	X(CAPTURE_END, capture_end)      /* stream, new_graph */ \
	X(CAPTURE_UPDATE, capture_update) /* stream, type: flags, count; lists: nodes, edges */ \
	X(CAPTURE_INFO, capture_info)    /* stream, type: status, graph, count; list: nodes */ \
	X(CAPTURE_MODE, capture_mode)    /* type: the mode before */ \
	X(EXTERNAL_IMPORT, external_import) /* handle: memory or semaphore of another API */ \
	X(EXTERNAL_RELEASE, external_release) /* handle */ \
	X(EXTERNAL_SIGNAL, external_signal) /* stream, count; list: what is signalled */ \
	X(EXTERNAL_WAIT, external_wait)  /* stream, count; list: what is waited for */ \
	X(GRAPH_CREATE, graph_create)    /* new_graph */ \
	X(GRAPH_DESTROY, graph_destroy)  /* graph */ \
	X(GRAPH_CLONE, graph_clone)      /* new_graph, graph */ \
	X(GRAPH_ADD_NODE, graph_add_node) /* new_node, graph, type: CUgraphNodeType, count, ...; \
					    lists: the nodes it depends on, edges, bodies */ \
	X(GRAPH_ADD_EDGES, graph_add_edges) /* graph, count; lists: from, to, edges */ \
	X(GRAPH_REMOVE_EDGES, graph_remove_edges) /* as add */ \
	X(GRAPH_NODE_SET, graph_node_set) /* node, type, its parameters */ \
	X(GRAPH_NODE_DESTROY, graph_node_destroy) /* node */ \
	X(GRAPH_QUERY, graph_query)      /* graph or node, count; lists: handles given out */ \
	X(GRAPH_INSTANTIATE, graph_instantiate) /* new_exec, graph, flags */ \
	X(GRAPH_CONDITIONAL, graph_conditional) /* handle, graph */ \
	X(EXEC_UPDATE, exec_update)      /* exec, graph */ \
	X(EXEC_SET, exec_set)            /* exec, node, type, its parameters */ \
	X(EXEC_DESTROY, exec_destroy)    /* exec */ \
	X(GRAPH_UPLOAD, graph_upload)    /* exec, stream */ \
	X(GRAPH_LAUNCH, graph_launch)    /* exec, stream */ \
	X(FUNCTION_QUERY, function_query) /* function or module; may load code */ \
	X(FUNCTION_SET, function_set)    /* function, type: attribute; may load code */ \
	X(PROFILER_START, profiler_start) \
	X(PROFILER_STOP, profiler_stop) \
	X(MODULE_GLOBAL, module_global)  /* ptr, bytes, module: a variable */ \
	X(ARRAY_LEVEL, array_level)      /* array: a part of handle, depth: which */ \
	X(DECOMPRESS, decompress)        /* stream, count; list: CUmemDecompressParams */ \
	X(LAUNCH_MULTI, launch_multi)    /* count; list: CUDA_LAUNCH_PARAMS, one per device */ \
	X(CONTEXT_RETAIN, context_retain) /* context, device: its primary one, of one more user */ \
	X(CONTEXT_RELEASE, context_release) /* device, or context: gone with its last user */

enum call_kind {
#define X(kind, name) KIND_##kind,
	CALL_KINDS(X)
#undef X
	KIND_COUNT
};

/* Calls that are made in order to wait for the device. */
static inline int call_is_wait(enum call_kind kind)
{
	return kind == KIND_STREAM_SYNC || kind == KIND_EVENT_SYNC || kind == KIND_CONTEXT_SYNC;
}

/*
 * Whether memory that such a call made goes with its context: cuCtxDestroy lists what it frees.
 * Mappings of cuMemMap and graphs' memory do not; that of pools is the device's and survives even
 * its reset (memory of the default pool was set and freed after cudaDeviceReset, 580.159).
 */
static inline int call_memory_ends(enum call_kind kind)
{
	return kind != KIND_MEM_MAP && kind != KIND_GRAPH_ADD_NODE && kind != KIND_ALLOC_ASYNC;
}

enum call_trait {
	TRAIT_NONE = 0,
	TRAIT_BLOCKS = 1 << 0, /* may wait for the device: RECORD_ENTER first */
	TRAIT_SUBMITS = 1 << 1, /* puts an operation on a stream: CUPTI gives it a correlation id */
	/* Of a copy without a field for it: none of them is COPY_DEFAULT. */
	TRAIT_H2D = 1 << 2,
	TRAIT_D2H = 1 << 3,
	TRAIT_D2D = 1 << 4,
	TRAIT_ALLOCATES = 1 << 5, /* fields 0 and 1 are address and bytes of memory it gave */
	TRAIT_FREES = 1 << 6,  /* field 0 is the address of memory it takes */
};

/* The direction that traits say. */
#define TRAITS_DIRECTION(traits) \
	((traits) & TRAIT_H2D ? COPY_H2D : (traits) & TRAIT_D2H ? COPY_D2H : \
	 (traits) & TRAIT_D2D ? COPY_D2D : COPY_DEFAULT)

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
	X(string)          /* RECORD_STRING id */ \
	X(depth)           /* slices */ \
	X(dst_height)      /* rows from one slice to the next */ \
	X(src_height)      /* likewise */ \
	X(dst_array)       /* CUarray, 0: dst is memory */ \
	X(src_array)       /* likewise */ \
	X(dst_position)    /* CALL_GRID(x in bytes, y, z) in dst_array */ \
	X(src_position)    /* likewise */ \
	X(dst_context)     /* CUcontext, 0: of the current device */ \
	X(src_context)     /* likewise */ \
	X(array)           /* CUarray or CUmipmappedArray */ \
	X(pool)            /* CUmemoryPool, 0: the current device's */ \
	X(handle)          /* what no other field is for: opaque */ \
	X(type)            /* an enumerator of cuda.h; the kind says of which type */ \
	X(count)           /* items of the lists behind the fields */ \
	X(more)            /* words of a further list behind those */ \
	X(graph)           /* CUgraph */ \
	X(new_graph) \
	X(node)            /* CUgraphNode */ \
	X(new_node) \
	X(exec)            /* CUgraphExec */ \
	X(new_exec) \
	X(birth)           /* number of a thread in its process, as they were made */ \
	X(image)           /* hash of a RECORD_IMAGE; 0: the code is in a file */

enum field_kind {
#define X(field) FIELD_##field,
	FIELD_KINDS(X)
#undef X
	FIELD_KIND_COUNT
};

_Static_assert(FIELD_KIND_COUNT <= 64, "readers keep a bit per field kind");

/* FIELD_type of cuGraphNodeSetEnabled; value says whether the node is. */
#define NODE_ENABLED 0x10000

/*
 * CUDA_MEMCPY3D_BATCH_OP in 8-byte words: two operands, then width, height and depth.  An operand
 * is its type in the low 32 bits, then of a pointer its address, bytes from row to row and rows
 * from layer to layer, 0 where these follow each other.  preload/fields.c compares with cuda.h.
 */
enum { BATCH_OP_SRC = 0, BATCH_OP_DST = 5, BATCH_OP_EXTENT = 10, BATCH_OP_WORDS = 14 };
enum { BATCH_OPERAND_POINTER = 1 };

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

/* Numbers of the rows, CALL_cuMemAlloc_v2 or CALL_cudaMalloc_11, in the order of calls.def. */
enum call_id {
#define DRIVER(symbol, base, since, params, args, fields, kind, traits) CALL_##symbol,
#define DRIVER_PT(symbol, base, since, suffix, pt_since, params, args, fields, kind, traits) \
	CALL_##symbol,
#define RUNTIME(symbol, first, last, params, args) CALL_##symbol##_##first,
#define RUNTIME_PT(symbol, suffix, first, last, params, args) CALL_##symbol##_##first,
#define HOST(symbol, fields, kind) CALL_##symbol,
#include "calls.def"
	CALL_COUNT
};

#define CALL_MAX_FIELDS 28

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
