/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CUDA calls that cufence records, as data. calls.def is the only list; this header defines the
 * enumerations used in its rows and a table of what every user of the trace needs to know about a
 * call.  Prototypes stay in calls.def, for code that includes it with CUDA's headers.
 */
#ifndef CUFENCE_CALLS_H
#define CUFENCE_CALLS_H

#include <stdint.h>

/* A query that says no returns cudaErrorNotReady, CUDA_ERROR_NOT_READY. */
#define RESULT_NOT_READY 600

/* Effects of calls.  kinds.def has one row per kind, with everything that depends on the kind. */
enum call_kind {
#define KIND(symbol, name, family, waits, traits) KIND_##symbol,
#include "kinds.def"
	KIND_COUNT
};

/* Groups of kinds with the same effect. */
#define KIND_FAMILIES(X) \
	X(other) \
	X(runtime) /* names the driver calls beneath it */ \
	X(context) \
	X(context_end) \
	X(limit) /* resource limits of a context */ \
	X(allocation) \
	X(stream_allocation) /* stream-ordered */ \
	X(free)              /* of device memory; waits for the device */ \
	X(host_memory)       /* freed or unregistered; waits for the device */ \
	X(stream_free)       /* stream-ordered */ \
	X(copy) \
	X(set) \
	X(stream) \
	X(event_create) \
	X(event)      /* record or destroy an event */ \
	X(event_wait) /* make a stream wait for an event */ \
	X(wait)       /* made in order to wait */ \
	X(query)      /* cudaSuccess means that work is complete */ \
	X(launch) \
	X(callback) /* a host function run in stream order */ \
	X(module) \
	X(code) \
	X(thread) /* no CUDA call */ \
	X(range)  /* NVTX, no CUDA call: ranges, and names of streams */ \
	X(object) \
	X(pool) \
	X(mapping) /* virtual memory management: physical memory and address ranges */ \
	X(interprocess) \
	X(placement)    /* placement of managed memory */ \
	X(memory_value) /* streams wait for values in memory, or write them */ \
	X(capture) \
	X(capture_query) \
	X(external) /* memory and semaphores of other APIs */ \
	X(graph) \
	X(graph_edges) \
	X(node_set) /* sets the parameters of a graph node or executable graph node */ \
	X(exec)     /* executable graphs */ \
	X(graph_launch) \
	X(profiler) \
	X(decompress) \
	X(host_access)  /* access by the program's own code, no CUDA call */ \
	X(communicator) /* NCCL's, no CUDA call, like the next one */ \
	X(collective)

enum kind_family {
#define X(family) FAMILY_##family,
	KIND_FAMILIES(X)
#undef X
		FAMILY_COUNT
};

/* The work that the host waits for during a call; narrower ranges first. */
#define KIND_WAITS(X) \
	X(NOTHING, nothing) \
	X(EVENT, event) \
	X(STREAM, stream)       /* the legacy stream: also all blocking streams */ \
	X(BY_MEMORY, by_memory) /* depends on direction and memory kind of both operands */ \
	X(CONTEXT, context) \
	X(DEVICE, device)   /* the device that owns the object */ \
	X(PROCESS, process) /* all devices */

enum kind_waits {
#define X(symbol, name) WAITS_##symbol,
	KIND_WAITS(X)
#undef X
};

#define KIND_TRAITS(X) \
	X(WORK, work, 0)         /* puts device or host work into a stream */ \
	X(ACCESSES, accesses, 1) /* its work reads or writes device memory */ \
	X(SILENT, silent, 2)     /* has a position in a stream, but no CUPTI record */ \
	X(OUTSIDE, outside, 3)   /* may make its stream wait for values in memory or semaphores */ \
	X(TELLS_HOST, tells_host, 4)         /* the host may react to it without a CUDA call */ \
	X(DEFAULT_STREAM, default_stream, 5) /* names no stream: uses the default stream */ \
	X(ANY_STREAM, any_stream, 6)         /* may put work into streams that it does not name */ \
	X(IDLE, idle, 7)                     /* names a stream or an event, and submits no work */ \
	X(RESOURCE, resource, 8)             /* waits as a side effect of allocating or freeing */ \
	X(ONCE, once, 9)              /* the fixed program calls it once, outside the loop */ \
	X(RELEASES, releases, 10)     /* frees the memory that its ptr names */ \
	X(QUICK, quick, 11)           /* takes less than 50 us by itself (H200) */ \
	X(LOADS_CODE, loads_code, 12) /* loads a kernel at its first use (lazy loading) */ \
	X(UNTIMED, untimed, 13)       /* CUPTI records may not cover all of its work */ \
	X(WINDOWED, windowed, 14)     /* recorded only within a recording window, if any */ \
	X(MARKER, marker, 15)         /* has a position in a stream, and accesses no memory */ \
	X(OUTLIVES, outlives, 16)     /* the memory it allocates outlives its context */ \
	X(NAMES_CONTEXT, names_context, 17) /* applies to all streams of the named context */ \
	X(POLLS, polls, 18)                 /* repeated until it succeeds */ \
	X(SHARES, shares, 19)               /* users that are not recorded may use what it names */

enum kind_trait {
	K_NONE = 0,
#define X(symbol, name, bit) K_##symbol = 1 << bit,
	KIND_TRAITS(X)
#undef X
};

/* The three columns of a kind's row; constant-folded where kind is a constant. */
static inline unsigned kind_traits(enum call_kind kind)
{
	switch (kind) {
#define KIND(symbol, name, family, waits, traits) \
	case KIND_##symbol: \
		return traits;
#include "kinds.def"
	case KIND_COUNT:
		break;
	}
	return K_NONE;
}

static inline enum kind_family kind_family(enum call_kind kind)
{
	switch (kind) {
#define KIND(symbol, name, family, waits, traits) \
	case KIND_##symbol: \
		return FAMILY_##family;
#include "kinds.def"
	case KIND_COUNT:
		break;
	}
	return FAMILY_other;
}

static inline enum kind_waits kind_waits(enum call_kind kind)
{
	switch (kind) {
#define KIND(symbol, name, family, waits, traits) \
	case KIND_##symbol: \
		return WAITS_##waits;
#include "kinds.def"
	case KIND_COUNT:
		break;
	}
	return WAITS_NOTHING;
}

static inline int kind_has(enum call_kind kind, unsigned traits)
{
	return (kind_traits(kind) & traits) != 0;
}

/* Calls whose purpose is to wait for the device. */
static inline int call_is_wait(enum call_kind kind)
{
	return kind_family(kind) == FAMILY_wait;
}

/*
 * Copies whose waiting depends on direction and on the memory kinds of both operands; excludes
 * copies between devices.
 */
static inline int call_is_copy(enum call_kind kind)
{
	return kind_family(kind) == FAMILY_copy && kind_waits(kind) == WAITS_BY_MEMORY;
}

/* Copies and memsets without a stream parameter, on the default stream: synchronous by name. */
static inline int call_is_sync(enum call_kind kind)
{
	return kind_waits(kind) == WAITS_BY_MEMORY && kind_has(kind, K_DEFAULT_STREAM);
}

static inline int call_is_sync_copy(enum call_kind kind)
{
	return call_is_copy(kind) && kind_has(kind, K_DEFAULT_STREAM);
}

static inline int call_is_async_copy(enum call_kind kind)
{
	return call_is_copy(kind) && !kind_has(kind, K_DEFAULT_STREAM);
}

static inline int call_is_sync_set(enum call_kind kind)
{
	return kind_family(kind) == FAMILY_set && kind_has(kind, K_DEFAULT_STREAM);
}

/*
 * Returns whether memory allocated by a call of this kind is freed by cuCtxDestroy, which documents
 * what it frees.  Mappings of cuMemMap and graph memory are not.  Pool memory belongs to the device
 * and survives even cudaDeviceReset (measured: memory of the default pool was set and freed after
 * it, 580.159).
 */
static inline int call_memory_ends(enum call_kind kind)
{
	return !kind_has(kind, K_OUTLIVES);
}

/* The call asks for a variable of a module: that is an allocation. */
static inline int kind_is_variable(enum call_kind kind)
{
	return kind == KIND_MODULE_GLOBAL || kind == KIND_MODULE_MANAGED;
}

enum call_trait {
	TRAIT_NONE = 0,
	TRAIT_BLOCKS = 1 << 0,  /* may wait for the device: RECORD_ENTER is written first */
	TRAIT_SUBMITS = 1 << 1, /* puts an operation on a stream: CUPTI gives it a correlation id */
	/* Direction of a copy without a direction field; none of them: COPY_DEFAULT. */
	TRAIT_H2D = 1 << 2,
	TRAIT_D2H = 1 << 3,
	TRAIT_D2D = 1 << 4,
	TRAIT_ALLOCATES = 1 << 5, /* fields 0 and 1 are address and bytes of the new allocation */
	TRAIT_FREES = 1 << 6,     /* field 0 is the address of the freed memory */
	TRAIT_SELDOM = 1 << 7,    /* counted only, if it succeeds in less than 2 us */
};

/* The copy direction encoded in traits. */
#define TRAITS_DIRECTION(traits) \
	((traits)&TRAIT_H2D                  ? COPY_H2D \
			: (traits)&TRAIT_D2H ? COPY_D2H \
			: (traits)&TRAIT_D2D ? COPY_D2D \
					     : COPY_DEFAULT)

/* The contents of a record's field.  Times are never fields. */
#define FIELD_KINDS(X) \
	X(none) \
	X(ptr) /* address of an allocation, device or host */ \
	X(bytes) \
	X(dst)       /* address */ \
	X(src)       /* address */ \
	X(direction) /* enum copy_direction */ \
	X(stream)    /* CUstream as passed: 0, 1 and 2 are the default streams */ \
	X(new_stream) \
	X(event) \
	X(new_event) \
	X(flags) \
	X(priority) \
	X(value) \
	X(function)     /* CUfunction or CUkernel */ \
	X(grid)         /* CALL_GRID() */ \
	X(block)        /* CALL_BLOCK() */ \
	X(callback)     /* address of a host function */ \
	X(context)      /* CUcontext */ \
	X(device)       /* ordinal */ \
	X(module)       /* CUmodule or CUlibrary */ \
	X(dst_pitch)    /* bytes */ \
	X(src_pitch)    /* bytes */ \
	X(width)        /* bytes */ \
	X(height)       /* rows */ \
	X(thread)       /* kernel thread id */ \
	X(string)       /* RECORD_STRING id */ \
	X(depth)        /* slices */ \
	X(dst_height)   /* rows from one slice to the next */ \
	X(src_height)   /* as dst_height */ \
	X(dst_array)    /* CUarray, 0: dst is memory */ \
	X(src_array)    /* as dst_array */ \
	X(dst_position) /* CALL_GRID(x in bytes, y, z) in dst_array */ \
	X(src_position) /* as dst_position */ \
	X(dst_context)  /* CUcontext, 0: that of the current device */ \
	X(src_context)  /* as dst_context */ \
	X(array)        /* CUarray or CUmipmappedArray */ \
	X(pool)         /* CUmemoryPool, 0: the current device's */ \
	X(handle)       /* opaque; used where no other field fits */ \
	X(type)         /* an enumerator of cuda.h; its type depends on the kind */ \
	X(count)        /* items in the lists after the fields */ \
	X(more)         /* words of a further list after those */ \
	X(graph)        /* CUgraph */ \
	X(new_graph) \
	X(node) /* CUgraphNode */ \
	X(new_node) \
	X(exec) /* CUgraphExec */ \
	X(new_exec) \
	X(birth) /* number of a thread in its process, in order of creation */ \
	X(image) /* hash of RECORD_IMAGE or RECORD_IMAGE_FILE; 0: not recorded */ \
	X(name)  /* image_hash() of a variable's name; 0: not recorded */ \
	X(memory) \
	X(offset) /* bytes into the physical memory in handle */ \
	X(send)   /* address of what a rank sends */ \
	X(send_bytes) \
	X(receive) /* address of what a rank receives */ \
	X(receive_bytes) \
	X(elements) /* of a collective, or collectives of a group */ \
	X(peer)     /* a rank: the root, or who a message is from or for; -1: none */ \
	X(ranks)    /* of a communicator */ \
	X(began)    /* ticks at entry, where the record is written at the return */

enum field_kind {
#define X(field) FIELD_##field,
	FIELD_KINDS(X)
#undef X
		FIELD_KIND_COUNT
};

_Static_assert(FIELD_KIND_COUNT <= 64, "readers keep a bit per field kind");

/* The operand of an enter record is the call's last field of these. */
static inline int field_is_operand(unsigned kind)
{
	return kind == FIELD_stream || kind == FIELD_event;
}

/* FIELD_handle of registered memory: the page index in its file, below a hash of the file. */
#define FILE_PAGE_BITS 40

/* FIELD_type of cuGraphNodeSetEnabled; value is 1 if the node is enabled. */
#define NODE_ENABLED 0x10000

/*
 * CUDA_MEMCPY3D_BATCH_OP in 8-byte words: two operands, then width, height and depth.  An operand
 * is its type in the low 32 bits and, for a pointer, its address, bytes per row and rows per layer,
 * 0 where these are contiguous. preload/fields.c checks this against cuda.h.
 */
enum { BATCH_OP_SRC = 0, BATCH_OP_DST = 5, BATCH_OP_EXTENT = 10 };
enum { BATCH_OP_ORDER = 13, BATCH_OP_WORDS = 14 };
enum { BATCH_OPERAND_POINTER = 1 };

/* FIELD_direction; numbers as in cudaMemcpyKind. */
enum copy_direction { COPY_H2H = 0, COPY_H2D, COPY_D2H, COPY_D2D, COPY_DEFAULT };

/* FIELD_grid: x in the low 32 bits, then y and z in 16 bits each. */
#define CALL_GRID(x, y, z) \
	((uint64_t)(x) | (uint64_t)(uint16_t)(y) << 32 | (uint64_t)(uint16_t)(z) << 48)
#define GRID_X(grid) ((uint32_t)(grid))
#define GRID_Y(grid) ((uint32_t)((grid) >> 32 & 0xffff))
#define GRID_Z(grid) ((uint32_t)((grid) >> 48))

/* FIELD_block: x, y in 12 bits each, z in 8, dynamic shared memory bytes in the upper 32. */
#define CALL_BLOCK(x, y, z, shared) \
	((uint64_t)((x)&0xfff) | (uint64_t)((y)&0xfff) << 12 | (uint64_t)((z)&0xff) << 24 | \
		(uint64_t)(uint32_t)(shared) << 32)
#define BLOCK_X(block) ((uint32_t)((block)&0xfff))
#define BLOCK_Y(block) ((uint32_t)((block) >> 12 & 0xfff))
#define BLOCK_Z(block) ((uint32_t)((block) >> 24 & 0xff))
#define BLOCK_SHARED(block) ((uint32_t)((block) >> 32))

/* FIELD_flags of a collective: its ncclRedOp_t, and whether ncclGroupEnd submits it. */
#define COLLECTIVE_REDUCTION(flags) ((uint16_t)(flags))
#define COLLECTIVE_GROUPED (1u << 16)

/* The default-stream handles of CUDA. */
#define STREAM_NULL 0
#define STREAM_LEGACY 1
#define STREAM_PER_THREAD 2

/* Row numbers, CALL_cuMemAlloc_v2 or CALL_cudaMalloc_11, in the order of calls.def. */
enum call_id {
#define DRIVER(symbol, base, since, params, args, fields, kind, traits) CALL_##symbol,
#define DRIVER_PT(symbol, base, since, suffix, pt_since, params, args, fields, kind, traits) \
	CALL_##symbol,
#define RUNTIME(symbol, first, last, params, args) CALL_##symbol##_##first,
#define RUNTIME_PT(symbol, suffix, first, last, params, args) CALL_##symbol##_##first,
#define HOST(symbol, fields, kind) CALL_##symbol,
#define NCCL(symbol, params, args, fields, kind) CALL_##symbol,
#include "calls.def"
	CALL_COUNT
};

#define CALL_MAX_FIELDS 28

struct call_type {
	const char *name;   /* the exported symbol, without _ptsz or _ptds */
	const char *suffix; /* of the per-thread entry point, NULL: none */
	uint8_t kind;       /* enum call_kind */
	uint8_t traits;     /* enum call_trait */
	uint8_t runtime;    /* a cudart call */
	uint8_t field_count;
	uint8_t field[CALL_MAX_FIELDS]; /* enum field_kind */
};

extern const struct call_type call_types[CALL_COUNT];

/* Returns the driver's function of that name, CALL_COUNT: there is none. */
enum call_id call_named(const char *name);
extern const char *const field_names[FIELD_KIND_COUNT];
extern const char *const call_kind_names[KIND_COUNT];
/* The kind with that name; KIND_OTHER if unknown, as in a trace of a newer cufence. */
enum call_kind call_kind_named(const char *name);
extern const char *const kind_family_names[FAMILY_COUNT];
extern const char *const kind_waits_names[];

#endif
