/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The objects that CUDA handles refer to.  A handle is the object's address in an arena at a fixed
 * address, so that runs are comparable; object_check() recognizes live handles.  All functions here
 * expect the lock.
 */
#ifndef CUFENCE_SIM_STATE_H
#define CUFENCE_SIM_STATE_H

#include <cuda.h>

#include "cuda_engine.h"
#include "cuda_thread.h"

enum object_kind {
	OBJECT_CONTEXT = 1,
	OBJECT_STREAM,
	OBJECT_EVENT,
	OBJECT_MODULE,
	OBJECT_FUNCTION,
	OBJECT_ARRAY,
	OBJECT_MIPMAP,
	OBJECT_TEXTURE,
	OBJECT_SURFACE,
	OBJECT_POOL,
	OBJECT_GRAPH,
	OBJECT_NODE,
	OBJECT_EXEC,
	OBJECT_CONDITION,
	OBJECT_USER,
	OBJECT_PHYSICAL,
	OBJECT_GREEN,
	OBJECT_LINK,
};

/* Returns a zeroed object from the arena; NULL if it is full. */
void *object_new(enum object_kind kind, size_t bytes);
void object_free(void *object);
bool object_check(const void *object, enum object_kind kind);

/* Calls visit for each object of that kind; visit may free it. */
void object_each(enum object_kind kind, void (*visit)(void *object, void *arg), void *arg);

/*
 * Barriers that the next op of every stream comes after: lazy loading blocks kernels and graphs of
 * all streams; a copy of another context's legacy stream from or to this device blocks all ops of
 * the legacy and the blocking streams.
 */
enum barrier_kind { BARRIER_KERNELS, BARRIER_LEGACY, BARRIERS };

struct barrier {
	struct op *op;
	unsigned int number; /* barriers so far */
};

struct context;

/*
 * Ends a context whose work is done: frees its streams, events, modules and memory, except memory
 * of its device's pools.
 */
void streams_end(struct context *context);
void events_end(struct context *context);
void modules_end(struct context *context);
void memory_end(struct context *context);

/* Streams: stream.c.  A context contains its two default streams. */
struct stream {
	struct context *context;
	struct stream *next, **link; /* in context.streams */
	uint32_t id;                 /* CUPTI's */
	unsigned int flags;
	int priority;
	bool blocking; /* ordered with the legacy stream */
	bool legacy, destroyed;
	struct op *tail;             /* when it is done, so are all previous ops */
	struct op *last;             /* last op submitted */
	unsigned int pending;        /* ops not done */
	unsigned int entries;        /* pending ops that occupy an entry of the launch queue */
	unsigned int seen[BARRIERS]; /* number of barriers that its ops are ordered after */
	int owner;                   /* per-thread default streams: thread id */
	struct capture *capture;     /* NULL: not capturing */
	struct stream *capture_next; /* in capture.streams */
	struct edges *tips;          /* while capturing: dependencies of the next node */
	struct attribute *attributes;
	struct green *green;
};

struct context {
	struct context *next; /* of the device */
	struct device *device;
	uint32_t id; /* CUPTI's */
	unsigned int flags;
	bool destroyed;
	struct stream *streams;
	struct stream *legacy;
	uint32_t next_stream_id;
	struct barrier barrier[BARRIERS];
	unsigned int peers; /* bit per device whose memory its kernels may access */
	CUresult broken;    /* result of every call after a fatal error */
};

struct device {
	int ordinal;
	struct context *contexts, *primary;
	unsigned int primary_flags, primary_references;
	struct copy_engine to_device, to_host, host;
	unsigned int exclusive; /* calls in progress that block all submissions */
	size_t used;            /* bytes allocated */
	size_t limits[CU_LIMIT_MAX];
	uint32_t local_bytes; /* stack bytes per thread that the device has memory for */
	bool prints;          /* a kernel that prints was launched */
	struct pool *pool, *default_pool;
};

#define DEVICE_MAX 16

/*
 * Maps addresses that nothing uses, place if possible: another link namespace may have a driver of
 * its own.  Returns NULL if there are none.
 */
void *sim_reserve(uintptr_t place, size_t bytes, int protection);

/* Devices, CUFENCE_SIM_DEVICES of them; NULL for others. */
struct device *device_get(int ordinal);
int device_count(void);

/* Was cuInit called? Set once, without the lock. */
bool driver_ready(void);
bool driver_unloaded(void);

/* In a child forked after cuInit every driver call returns NOT_INITIALIZED. */
bool driver_forked(void);

/* Current context of the calling thread or NULL. */
struct context *context_current(void);
struct context *context_check(CUcontext handle); /* NULL for an invalid handle */

/* Returns the stream of a handle in this call, NULL if invalid. */
struct stream *stream_get(CUstream handle);
struct stream *stream_new(struct context *context, unsigned int flags, int priority);

/* Returns the op that completes all work of the stream so far, with a reference; NULL: no work. */
struct op *stream_end(struct stream *stream);

/* As stream_get(), with an error if work cannot be submitted to the stream. */
CUresult stream_find(CUstream handle, struct stream **stream);
void stream_enqueue(struct stream *stream, struct op *op);
void stream_op_done(struct stream *stream, struct op *op);
struct stream *stream_per_thread(struct context *context);

/* Takes an entry of the launch queue for the next op; blocks while the queue is full. */
void stream_reserve(struct stream *stream);

/* Blocks while submissions to this device are blocked. */
void device_gate(struct device *device);

/* Waits for op and blocks submissions of other threads to the device meanwhile, as a free does. */
void device_wait(struct device *device, struct op *op, bool (*wait)(struct op *));

/* Waits for all work of a device; hold: submissions of other threads are blocked meanwhile. */
void device_drain(struct device *device, bool hold);
void device_drain_all(bool hold);

/* The same for one context only. */
void context_drain(struct context *context);

/* Returns a join of everything submitted in this context so far, with a reference. */
struct op *context_join(struct context *context);

/* Orders join, not yet submitted, after everything submitted in this context, or on this device. */
void join_context(struct op *join, struct context *context);
void join_device(struct op *join, struct device *device);

/* Orders the next op of every stream of the context after op. */
void context_barrier(struct context *context, enum barrier_kind kind, struct op *op);

/* May code of this context access memory of that device? */
bool context_reaches(const struct context *context, const struct device *device);

/* Attributes of a stream or kernel node, a list owned by it: attribute.c. */
CUresult attribute_set(struct attribute **list, int id, const CUlaunchAttributeValue *value);
CUresult attribute_get(const struct attribute *list, int id, CUlaunchAttributeValue *value);
CUresult attributes_copy(struct attribute **to, const struct attribute *from);
void attributes_free(struct attribute **list);

/* Memory: memory.c. */
enum memory_place {
	PLACE_PAGEABLE = 1, /* numbers are CUPTI's memory kinds */
	PLACE_PINNED = 2,
	PLACE_DEVICE = 3,
	PLACE_ARRAY = 4,
	PLACE_MANAGED = 5,
};

struct memory {
	uintptr_t start;
	size_t bytes; /* as requested */
	size_t room;  /* as reserved */
	enum memory_place place;
	struct device *device;   /* NULL: host */
	struct context *context; /* the context it is freed with, NULL: none */
	unsigned int flags;
	bool registered;           /* the program's own memory */
	struct pool *pool;         /* NULL: not stream-ordered */
	bool graph;                /* of a graph's allocation node, which owns the address */
	bool live;                 /* graph memory: allocated by the work submitted so far */
	bool reserved;             /* address range without memory */
	struct physical *physical; /* mapped there */
};

/* The memory that contains this address, NULL: pageable host memory. */
struct memory *memory_find(uintptr_t address);

/* The memory that starts at this address, or NULL. */
struct memory *memory_exact(uintptr_t address);

/* Returns 0 when out of memory.  The place determines the address range. */
uintptr_t memory_reserve(struct device *device, enum memory_place place, size_t bytes);
void memory_release(struct memory *memory);

/* Are these bytes inside the memory? Pageable memory has no known end. */
bool memory_fits(const struct memory *memory, uintptr_t address, size_t bytes);

/* Allocates from a pool for use in stream; 0: out of memory. */
uintptr_t memory_reserve_async(struct pool *pool, size_t bytes, struct stream *stream);

/* Frees pool memory once freed is done; takes over the reference to freed. */
void memory_release_async(struct memory *memory, struct op *freed, struct stream *stream);

/* The bytes of a pool whose free has not completed. */
size_t memory_pending(const struct pool *pool);

/* Describes an address range that the simulator does not own. */
struct memory *memory_describe(uintptr_t start, size_t bytes, enum memory_place place);
void memory_forget(struct memory *memory);

/* Free memory that a graph allocated: graph_memory.c. */
CUresult graph_memory_free(struct memory *memory);

/* Pools: pool.c. */
struct pool {
	struct device *device; /* NULL: host memory */
	struct pool *next;     /* of the device */
	CUmemPoolProps props;
	bool owned;     /* owned by the device: cannot be destroyed */
	bool destroyed; /* freed with its last allocation */
	int reuse[3];   /* event dependencies, opportunistic, internal dependencies */
	uint64_t threshold, reserved, reserved_high, used, used_high;
};

struct pool *pool_default(struct device *device);
struct pool *pool_current(struct device *device);
void pool_use(struct pool *pool, size_t bytes);
void pool_unuse(struct pool *pool, size_t bytes);

/*
 * Called when a stream, an event or the device was synchronized: pools give back memory above their
 * threshold, which takes the call's time.
 */
void pools_trim(struct device *device);

/* Arrays: array.c. */
struct array {
	CUDA_ARRAY3D_DESCRIPTOR shape;
	uintptr_t start;
	size_t pitch, rows; /* bytes per row, rows per slice */
	bool is_level;      /* level of a mipmapped array, freed with it */
};

/* Returns the bytes of one channel; 0 for formats that arrays cannot have. */
size_t element_bytes(CUarray_format format);
struct array *array_get(CUarray handle); /* NULL for an invalid handle */

/* For a valid handle. */
struct device *array_device(CUarray handle);
void array_free(CUarray handle);

/* Functions and modules: module.c. */
struct parameter {
	uint16_t offset, size;
};

struct function {
	struct function *next; /* of the module */
	struct module *module;
	const char *name; /* mangled, never freed */
	struct parameter *parameters;
	unsigned int parameter_count, parameter_bytes;
	bool spins;      /* its first parameter is its duration, ns */
	bool prints;     /* calls printf */
	uint32_t loaded; /* bit per device on which it was used */
	uint32_t local_bytes, shared_bytes;
	int shared_limit;
};

/* First use of a function: loads its code. */
void function_load(struct function *function, struct context *context);

/* The same for its launch, which also needs local memory and a printf buffer. */
void function_prepare(struct function *function, struct context *context);

#endif
