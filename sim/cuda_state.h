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
};

/* A zeroed object from the arena; NULL when it is full. */
void *object_new(enum object_kind kind, size_t bytes);
void object_free(void *object);
bool object_check(const void *object, enum object_kind kind);

/* Streams: cuda_stream.c.  The two default streams of a context are part of it. */
struct stream {
	struct context *context;
	struct stream *next, **link; /* in context.streams */
	uint32_t id;                 /* CUPTI's */
	unsigned int flags;
	int priority;
	bool blocking;               /* ordered with the legacy stream */
	bool legacy, destroyed;
	struct op *tail;             /* last op submitted, may be done */
	unsigned int pending;        /* ops not done */
	unsigned int entries;        /* of them, those that take a place in the launch queue */
	unsigned int loads;          /* context.loads that its kernels are ordered after */
	struct stream *owner_next;   /* per-thread default streams: of the same thread */
	int owner;
};

struct context {
	struct device *device;
	uint32_t id; /* CUPTI's */
	unsigned int flags, references;
	struct stream *streams;
	struct stream *legacy;
	uint32_t next_stream_id;
	unsigned int loads;     /* lazy loads so far */
	struct op *load;        /* the last one: everything submitted before it */
};

struct device {
	int ordinal;
	struct context *primary;
	unsigned int primary_flags, primary_references;
	struct copy_engine to_device, to_host, host;
	unsigned int exclusive; /* calls in progress that hold all submissions */
	size_t used;            /* bytes allocated */
};

#define DEVICE_MAX 16

/* Every device, simulated from CUFENCE_SIM_DEVICES; NULL beyond the last. */
struct device *device_get(int ordinal);
int device_count(void);

/* cuInit was called.  Set without the lock, once. */
bool driver_ready(void);

/* Current context of the calling thread or NULL. */
struct context *context_current(void);
struct context *context_check(CUcontext handle); /* NULL for an invalid handle */

/* The stream a handle stands for in this call, NULL if it is none. */
struct stream *stream_get(CUstream handle);
struct stream *stream_new(struct context *context, unsigned int flags, int priority);
void stream_enqueue(struct stream *stream, struct op *op);
void stream_op_done(struct stream *stream, struct op *op);
struct stream *stream_per_thread(struct context *context);

/* A place in the launch queue for the next op; blocks while the queue is full. */
void stream_reserve(struct stream *stream);

/* Wait until nobody holds submissions to this device. */
void device_gate(struct device *device);

/* Wait for all work of a device; with hold, other threads' submissions wait meanwhile. */
void device_drain(struct device *device, bool hold);
void device_drain_all(bool hold);

/* A join of everything submitted in this context so far: reference to the caller. */
struct op *context_join(struct context *context);

/* Memory: cuda_memory.c. */
enum memory_place {
	PLACE_PAGEABLE = 1, /* numbers are CUPTI's memory kinds */
	PLACE_PINNED = 2,
	PLACE_DEVICE = 3,
	PLACE_MANAGED = 5,
};

struct memory {
	uintptr_t start;
	size_t bytes;        /* as asked for */
	size_t room;         /* as reserved */
	enum memory_place place;
	struct device *device; /* NULL: host */
	unsigned int flags;
	bool registered;     /* the program's own memory */
	bool async;          /* from the pool */
};

/* What holds this address, NULL: pageable host memory. */
struct memory *memory_find(uintptr_t address);

/* 0: out of memory.  The place decides the address range. */
uintptr_t memory_reserve(struct device *device, enum memory_place place, size_t bytes);
void memory_release(struct memory *memory);

/* Functions and modules: cuda_module.c. */
struct parameter {
	uint16_t offset, size;
};

struct function {
	struct function *next;     /* of the module */
	struct module *module;
	const char *name;          /* mangled, never freed */
	struct parameter *parameters;
	unsigned int parameter_count;
	bool spins;                /* its first parameter is its duration, ns */
	bool loaded;
	int shared_limit;
};

/* First use of a function: the driver loads its code. */
void function_load(struct function *function, struct context *context);

#endif
