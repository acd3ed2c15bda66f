/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CUDA calls that cufence records, as data.  calls.def is the only list; this header gives
 * the enumerations its rows speak in and a table of what every user of the trace needs to know
 * about a call.  Prototypes stay in calls.def, for whoever includes it with CUDA's headers.
 */
#ifndef CUFENCE_CALLS_H
#define CUFENCE_CALLS_H

#include <stdint.h>

/* What a call does: the rows of kinds.def, which see for all that depends on the kind. */
enum call_kind {
#define KIND(symbol, name, family, waits, traits) KIND_##symbol,
#include "kinds.def"
	KIND_COUNT
};

/* Kinds that do the same in different ways. */
#define KIND_FAMILIES(X) \
	X(other) \
	X(runtime) /* names the driver calls beneath it */ \
	X(context) \
	X(context_end) \
	X(limit) /* how much of the device a context sets aside */ \
	X(allocation) \
	X(stream_allocation) /* in stream order */ \
	X(free)              /* of device memory; waits for the device */ \
	X(host_memory)       /* freed or unregistered; waits for the device */ \
	X(stream_free)       /* in stream order */ \
	X(copy) \
	X(set) \
	X(stream) \
	X(event_create) \
	X(event)      /* recorded, or ended */ \
	X(event_wait) /* streams wait for an event */ \
	X(wait)       /* made in order to wait */ \
	X(query)      /* success says that work is complete */ \
	X(launch) \
	X(callback) /* a function of the host in stream order */ \
	X(module) \
	X(code) \
	X(thread) /* no CUDA call */ \
	X(range)  /* NVTX, no CUDA call */ \
	X(object) \
	X(pool) \
	X(mapping) /* physical memory and addresses apart */ \
	X(interprocess) \
	X(placement)    /* where managed memory lies */ \
	X(memory_value) /* streams that wait for values in memory, or write them */ \
	X(capture) \
	X(capture_query) \
	X(external) /* memory and semaphores of other programming interfaces */ \
	X(graph) \
	X(graph_edges) \
	X(node_set) /* what a node of a graph or of an executable one does */ \
	X(exec)     /* executable graphs */ \
	X(graph_launch) \
	X(profiler) \
	X(decompress) \
	X(host_access) /* by the program's own code, no CUDA call */

enum kind_family {
#define X(family) FAMILY_##family,
	KIND_FAMILIES(X)
#undef X
		FAMILY_COUNT
};

/* What the host waits for in a call; a narrower range before a wider one. */
#define KIND_WAITS(X) \
	X(NOTHING, nothing) \
	X(EVENT, event) \
	X(STREAM, stream)       /* the legacy stream: also all blocking streams */ \
	X(BY_MEMORY, by_memory) /* by direction, and by the kind of memory at either end */ \
	X(CONTEXT, context) \
	X(DEVICE, device)   /* the one that owns what the call is about */ \
	X(PROCESS, process) /* all devices */

enum kind_waits {
#define X(symbol, name) WAITS_##symbol,
	KIND_WAITS(X)
#undef X
};

#define KIND_TRAITS(X) \
	X(WORK, work, 0)         /* puts work into a stream, of the device or of the host */ \
	X(ACCESSES, accesses, 1) /* that work reads or writes memory of the device */ \
	X(SILENT, silent, 2)     /* has a place in a stream, and no record of CUPTI */ \
	X(OUTSIDE, outside, 3)   /* may make its stream wait for values in memory or semaphores */ \
	X(TELLS_HOST, tells_host, 4)         /* the host may act on it without a CUDA call */ \
	X(DEFAULT_STREAM, default_stream, 5) /* names no stream: the default one */ \
	X(ANY_STREAM, any_stream, 6)         /* may give work to streams that it does not name */ \
	X(IDLE, idle, 7)              /* names a stream or an event, and gives it no work */ \
	X(RESOURCE, resource, 8)      /* waits as a side effect of getting or giving back */ \
	X(ONCE, once, 9)              /* the fixed program does it once, outside the loop */ \
	X(RELEASES, releases, 10)     /* ends the life of the memory that its ptr names */ \
	X(QUICK, quick, 11)           /* takes less than 50 us by itself (H200) */ \
	X(LOADS_CODE, loads_code, 12) /* loads a kernel at its first use (lazy loading) */ \
	X(UNTIMED, untimed, 13)       /* records of CUPTI need not cover all of its work */ \
	X(WINDOWED, windowed, \
		14)           /* recorded only within a recording window, where there is one */ \
	X(MARKER, marker, 15) /* has a place in a stream, and touches no memory there */ \
	X(OUTLIVES, outlives, 16)           /* the memory that it makes outlives its context */ \
	X(NAMES_CONTEXT, names_context, 17) /* about all streams of the context that it names */ \
	X(POLLS, polls, 18)                 /* asked again until it succeeds */ \
	X(SHARES, shares, 19)               /* others, of whom nothing is seen, use what it names */

enum kind_trait {
	K_NONE = 0,
#define X(symbol, name, bit) K_##symbol = 1 << bit,
	KIND_TRAITS(X)
#undef X
};

/* The three columns of a kind's row.  Constants where the kind is one. */
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

/* Calls that are made in order to wait for the device. */
static inline int call_is_wait(enum call_kind kind)
{
	return kind_family(kind) == FAMILY_wait;
}

/* Copies that wait by direction and by the memory at both ends: not those between devices. */
static inline int call_is_copy(enum call_kind kind)
{
	return kind_family(kind) == FAMILY_copy && kind_waits(kind) == WAITS_BY_MEMORY;
}

/* Copies and memsets that name no stream, of the default one: synchronous by name. */
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
 * Whether memory that such a call made goes with its context: cuCtxDestroy lists what it frees.
 * Mappings of cuMemMap and graphs' memory do not; that of pools is the device's and survives even
 * its reset (memory of the default pool was set and freed after cudaDeviceReset, 580.159).
 */
static inline int call_memory_ends(enum call_kind kind)
{
	return !kind_has(kind, K_OUTLIVES);
}

enum call_trait {
	TRAIT_NONE = 0,
	TRAIT_BLOCKS = 1 << 0,  /* may wait for the device: RECORD_ENTER first */
	TRAIT_SUBMITS = 1 << 1, /* puts an operation on a stream: CUPTI gives it a correlation id */
	/* Of a copy without a field for it: none of them is COPY_DEFAULT. */
	TRAIT_H2D = 1 << 2,
	TRAIT_D2H = 1 << 3,
	TRAIT_D2D = 1 << 4,
	TRAIT_ALLOCATES = 1 << 5, /* fields 0 and 1 are address and bytes of memory it gave */
	TRAIT_FREES = 1 << 6,     /* field 0 is the address of memory it takes */
};

/* The direction that traits say. */
#define TRAITS_DIRECTION(traits) \
	((traits)&TRAIT_H2D                  ? COPY_H2D \
			: (traits)&TRAIT_D2H ? COPY_D2H \
			: (traits)&TRAIT_D2D ? COPY_D2D \
					     : COPY_DEFAULT)

/* What a field of a record holds.  Times never are fields. */
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
	X(src_height)   /* likewise */ \
	X(dst_array)    /* CUarray, 0: dst is memory */ \
	X(src_array)    /* likewise */ \
	X(dst_position) /* CALL_GRID(x in bytes, y, z) in dst_array */ \
	X(src_position) /* likewise */ \
	X(dst_context)  /* CUcontext, 0: of the current device */ \
	X(src_context)  /* likewise */ \
	X(array)        /* CUarray or CUmipmappedArray */ \
	X(pool)         /* CUmemoryPool, 0: the current device's */ \
	X(handle)       /* what no other field is for: opaque */ \
	X(type)         /* an enumerator of cuda.h; the kind says of which type */ \
	X(count)        /* items of the lists behind the fields */ \
	X(more)         /* words of a further list behind those */ \
	X(graph)        /* CUgraph */ \
	X(new_graph) \
	X(node) /* CUgraphNode */ \
	X(new_node) \
	X(exec) /* CUgraphExec */ \
	X(new_exec) \
	X(birth) /* number of a thread in its process, as they were made */ \
	X(image) /* hash of RECORD_IMAGE or RECORD_IMAGE_FILE; 0: not recorded */ \
	X(name)  /* image_hash() of a variable's name; 0: not recorded */ \
	X(memory) \
	X(offset) /* bytes into that physical memory, which has a handle */

enum field_kind {
#define X(field) FIELD_##field,
	FIELD_KINDS(X)
#undef X
		FIELD_KIND_COUNT
};

_Static_assert(FIELD_KIND_COUNT <= 64, "readers keep a bit per field kind");

/* FIELD_handle of memory that is registered: the page in its file, below a hash of that. */
#define FILE_PAGE_BITS 40

/* FIELD_type of cuGraphNodeSetEnabled; value says whether the node is. */
#define NODE_ENABLED 0x10000

/*
 * CUDA_MEMCPY3D_BATCH_OP in 8-byte words: two operands, then width, height and depth.  An operand
 * is its type in the low 32 bits, then of a pointer its address, bytes from row to row and rows
 * from layer to layer, 0 where these follow each other.  preload/fields.c compares with cuda.h.
 */
enum { BATCH_OP_SRC = 0, BATCH_OP_DST = 5, BATCH_OP_EXTENT = 10 };
enum { BATCH_OP_ORDER = 13, BATCH_OP_WORDS = 14 };
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
	((uint64_t)((x)&0xfff) | (uint64_t)((y)&0xfff) << 12 | (uint64_t)((z)&0xff) << 24 | \
		(uint64_t)(uint32_t)(shared) << 32)
#define BLOCK_X(block) ((uint32_t)((block)&0xfff))
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
	const char *name;   /* the exported symbol, without _ptsz or _ptds */
	const char *suffix; /* of the per-thread entry point, NULL: none */
	uint8_t kind;       /* enum call_kind */
	uint8_t traits;     /* enum call_trait */
	uint8_t runtime;    /* a cudart call */
	uint8_t field_count;
	uint8_t field[CALL_MAX_FIELDS]; /* enum field_kind */
};

extern const struct call_type call_types[CALL_COUNT];
extern const char *const field_names[FIELD_KIND_COUNT];
extern const char *const call_kind_names[KIND_COUNT];
/* The kind of that name; KIND_OTHER: none, as of a newer cufence's trace. */
enum call_kind call_kind_named(const char *name);
extern const char *const kind_family_names[FAMILY_COUNT];
extern const char *const kind_waits_names[];

#endif
