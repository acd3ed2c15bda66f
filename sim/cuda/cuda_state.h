/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The objects behind CUDA handles.  A handle is the object's address in an arena at a fixed
 * address, so that runs compare equal; object_check() tells a live handle from anything else.
 * Lock held in every function here.
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

/* A zeroed object from the arena; NULL when it is full. */
void *object_new(enum object_kind kind, size_t bytes);
void object_free(void *object);
bool object_check(const void *object, enum object_kind kind);

/* Calls visit for each object of that kind, which it may free. */
void object_each(enum object_kind kind, void (*visit)(void *object, void *arg), void *arg);

/*
 * What the next op of streams comes after, whatever stream that is in: lazy loading holds kernels
 * and graphs of all streams, a copy of another context's legacy stream from or to this device all
 * ops of the legacy and the blocking ones.
 */
enum barrier_kind { BARRIER_KERNELS, BARRIER_LEGACY, BARRIERS };

struct barrier {
	struct op *op;
	unsigned int number; /* barriers so far */
};

struct context;

/*
 * A context ends, all whose work is done: its streams, events, modules and memory go with it, not
 * memory of its device's pools.
 */
void streams_end(struct context *context);
void events_end(struct context *context);
void modules_end(struct context *context);
void memory_end(struct context *context);

/* Streams: cuda_stream.c.  The two default streams of a context are part of it. */
struct stream {
	struct context *context;
	struct stream *next, **link; /* in context.streams */
	uint32_t id;                 /* CUPTI's */
	unsigned int flags;
	int priority;
	bool blocking; /* ordered with the legacy stream */
	bool legacy, destroyed;
	struct op *tail;             /* when it is done, so is all before it */
	struct op *last;             /* last op submitted */
	unsigned int pending;        /* ops not done */
	unsigned int entries;        /* of them, those that take a place in the launch queue */
	unsigned int seen[BARRIERS]; /* barriers that its ops are ordered after */
	int owner;                   /* per-thread default streams: thread id */
	struct capture *capture;     /* NULL: not capturing */
	struct stream *capture_next; /* in capture.streams */
	struct edges *tips;          /* capturing: what the next node depends on */
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
	unsigned int peers; /* bit per device whose memory its kernels may use */
	CUresult broken;    /* what every call gives after a fatal error */
};

struct device {
	int ordinal;
	struct context *contexts, *primary;
	unsigned int primary_flags, primary_references;
	struct copy_engine to_device, to_host, host;
	unsigned int exclusive; /* calls in progress that hold all submissions */
	size_t used;            /* bytes allocated */
	size_t limits[CU_LIMIT_MAX];
	uint32_t local_bytes; /* stack of a thread that the device has room for */
	bool prints;          /* a kernel that prints was launched */
	struct pool *pool, *default_pool;
};

#define DEVICE_MAX 16

/* Every device, simulated from CUFENCE_SIM_DEVICES; NULL beyond the last. */
struct device *device_get(int ordinal);
int device_count(void);

/* cuInit was called.  Set without the lock, once. */
bool driver_ready(void);
bool driver_gone(void);

/* Nothing of the driver works in a child forked after cuInit: every call is NOT_INITIALIZED. */
bool driver_forked(void);

/* Current context of the calling thread or NULL. */
struct context *context_current(void);
struct context *context_check(CUcontext handle); /* NULL for an invalid handle */

/* The stream a handle stands for in this call, NULL if it is none. */
struct stream *stream_get(CUstream handle);
struct stream *stream_new(struct context *context, unsigned int flags, int priority);

/* What all its work so far is done with, with a reference; NULL: it never had any. */
struct op *stream_end(struct stream *stream);

/* The same as stream_get(), refusing with the error of a call that wants to do something in it. */
CUresult stream_find(CUstream handle, struct stream **stream);
void stream_enqueue(struct stream *stream, struct op *op);
void stream_op_done(struct stream *stream, struct op *op);
struct stream *stream_per_thread(struct context *context);

/* A place in the launch queue for the next op; blocks while the queue is full. */
void stream_reserve(struct stream *stream);

/* Wait until nobody holds submissions to this device. */
void device_gate(struct device *device);

/* Waits for op and meanwhile holds what other threads give the device, as a free does. */
void device_wait(struct device *device, struct op *op, bool (*wait)(struct op *));

/* Wait for all work of a device; with hold, other threads' submissions wait meanwhile. */
void device_drain(struct device *device, bool hold);
void device_drain_all(bool hold);

/* The same for one context only. */
void context_drain(struct context *context);

/* A join of everything submitted in this context so far: reference to the caller. */
struct op *context_join(struct context *context);

/* Order join, unsubmitted, after everything submitted in this context, or on this device. */
void join_context(struct op *join, struct context *context);
void join_device(struct op *join, struct device *device);

/* Order the next op of every stream of the context after op. */
void context_barrier(struct context *context, enum barrier_kind kind, struct op *op);

/* May code of this context touch memory of that device? */
bool context_reaches(const struct context *context, const struct device *device);

/* Values of attributes of a stream or kernel node, a list owned by it: cuda_attribute.c. */
CUresult attribute_set(struct attribute **list, int id, const CUlaunchAttributeValue *value);
CUresult attribute_get(const struct attribute *list, int id, CUlaunchAttributeValue *value);
CUresult attributes_copy(struct attribute **to, const struct attribute *from);
void attributes_free(struct attribute **list);

/* Memory: cuda_memory.c. */
enum memory_place {
	PLACE_PAGEABLE = 1, /* numbers are CUPTI's memory kinds */
	PLACE_PINNED = 2,
	PLACE_DEVICE = 3,
	PLACE_ARRAY = 4,
	PLACE_MANAGED = 5,
};

struct memory {
	uintptr_t start;
	size_t bytes; /* as asked for */
	size_t room;  /* as reserved */
	enum memory_place place;
	struct device *device;   /* NULL: host */
	struct context *context; /* it goes with that, NULL: with none */
	unsigned int flags;
	bool registered;   /* the program's own memory */
	struct pool *pool; /* NULL: not stream-ordered */
	bool graph;        /* of a graph's allocation node, which owns the address */
	bool live;         /* graph memory: allocated at the moment, as far as is submitted */
	bool reserved;     /* address range without memory */
	struct physical *physical; /* mapped there */
};

/* What holds this address, NULL: pageable host memory. */
struct memory *memory_find(uintptr_t address);

/* The one that starts there, or NULL. */
struct memory *memory_exact(uintptr_t address);

/* 0: out of memory.  The place decides the address range. */
uintptr_t memory_reserve(struct device *device, enum memory_place place, size_t bytes);
void memory_release(struct memory *memory);

/* Are these bytes inside it?  Pageable memory has no known end. */
bool memory_fits(const struct memory *memory, uintptr_t address, size_t bytes);

/* An allocation from a pool for use in stream; 0: out of memory. */
uintptr_t memory_reserve_async(struct pool *pool, size_t bytes, struct stream *stream);

/* Free pool memory once freed, whose reference is taken over, is done. */
void memory_release_async(struct memory *memory, struct op *freed, struct stream *stream);

/* Describe an address range that is not ours to hand out. */
struct memory *memory_describe(uintptr_t start, size_t bytes, enum memory_place place);
void memory_forget(struct memory *memory);

/* Free memory that a graph allocated: cuda_graph_memory.c. */
CUresult graph_memory_free(struct memory *memory);

/* Pools: cuda_pool.c. */
struct pool {
	struct device *device; /* NULL: host memory */
	struct pool *next;     /* of the device */
	CUmemPoolProps props;
	bool owned;     /* by the device: cannot be destroyed */
	bool destroyed; /* goes when its last allocation does */
	int reuse[3];   /* event dependencies, opportunistic, internal dependencies */
	uint64_t threshold, reserved, reserved_high, used, used_high;
};

struct pool *pool_default(struct device *device);
struct pool *pool_current(struct device *device);
void pool_use(struct pool *pool, size_t bytes);
void pool_unuse(struct pool *pool, size_t bytes);

/* The device was waited for: pools give back what is above their threshold. */
void pools_trim(struct device *device);

/* Arrays: cuda_array.c. */
struct array {
	CUDA_ARRAY3D_DESCRIPTOR shape;
	uintptr_t start;
	size_t pitch, rows; /* bytes of a row, rows of a slice */
	bool is_level;      /* of a mipmapped array, with which it goes */
};

/* Bytes of one channel; 0 for a format that arrays cannot have. */
size_t element_bytes(CUarray_format format);
struct array *array_get(CUarray handle); /* NULL for an invalid handle */

/* Both of a valid handle. */
struct device *array_device(CUarray handle);
void array_free(CUarray handle);

/* Functions and modules: cuda_module.c. */
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
	uint32_t loaded; /* devices on which it was used, a bit each */
	uint32_t local_bytes, shared_bytes;
	int shared_limit;
};

/* First use of a function: the driver loads its code. */
void function_load(struct function *function, struct context *context);

/* The same for its launch, which also needs room for local memory and for what it prints. */
void function_prepare(struct function *function, struct context *context);

#endif
