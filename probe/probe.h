/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cufence-probe measures how this system's CUDA synchronizes: which calls wait for which streams,
 * what they serialize on the device, how deep a launch queue is, how fast a waiting thread wakes
 * up.  It prints one JSON object, which "cufence probe" shows and compares.
 *
 * The process that main() runs in never touches CUDA.  It forks a process for each group of
 * items; that one writes a line per result into a pipe (output.c).  An item that hangs,
 * crashes or breaks its context costs its own result: the next process goes on after it.
 *
 * A row of the matrix is one CUDA call, made while a kernel runs on another stream; everything
 * else is an item that reports values of its own.  Both are entries of tables, by theme.
 */
#ifndef CUFENCE_PROBE_H
#define CUFENCE_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cuda_runtime_api.h>

#define PROBE_MS 1000000ull /* ns */
#define PROBE_KIB ((size_t)1024)
#define PROBE_MIB (1024 * PROBE_KIB)

/* How long the kernel lasts that a call may wait for; a call that took half of it waited. */
#define PROBE_BUSY_NS (10 * PROBE_MS)

enum probe_stream {
	PROBE_BLOCKING,
	PROBE_NONBLOCKING,
	PROBE_LEGACY,
	PROBE_PER_THREAD,
	PROBE_STREAMS
};

enum probe_memory { PROBE_PAGEABLE, PROBE_PINNED, PROBE_DEVICE };

/* The resources of a group's process.  Its streams and memory live as long as the process. */
struct bench {
	cudaStream_t busy[PROBE_STREAMS];  /* where background kernels run */
	cudaStream_t call[PROBE_STREAMS];  /* where the measured call goes: other streams */
	cudaStream_t watch[PROBE_STREAMS]; /* idle ones, to see what a call serializes */
	void *memory[3][2];                /* by kind: source and destination, PROBE_BYTES each */
	/* A row's prepare sets these for its call and cleanup. */
	cudaStream_t behind; /* the background's stream, a watched one if there is none */
	cudaStream_t stream;
	cudaEvent_t event;
	void *pointer;
	uint64_t handle, size;
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	unsigned fresh; /* the next kernel that was never used */
};

#define PROBE_BYTES (64 * PROBE_MIB) /* of pageable and device memory */
#define PROBE_PINNED_BYTES PROBE_MIB

/* All but the memory without, which takes a while: 0, or the error that the device gave. */
cudaError_t bench_open(struct bench *bench, bool memory);

/* Real time in ns, or virtual time on the simulated device.  The first for intervals. */
uint64_t probe_now(void);
uint64_t probe_wall(void);

struct probe_row;
typedef cudaError_t probe_step(struct bench *bench, const struct probe_row *row);

/* Steps that two files need: code for bench->pointer, and without it. */
probe_step probe_load_module, probe_unload_module;

/* One call of the matrix.  Steps that are NULL do nothing. */
struct probe_row {
	const char *name;
	probe_step *prepare, *call, *cleanup; /* only call is timed; the device idles before */
	size_t bytes;
	enum probe_stream stream; /* of the call */
	enum probe_memory from, to;
	bool own;             /* the background runs on the call's own stream */
	bool once;            /* an effect of the first time in a process: no repetition */
	unsigned backgrounds; /* a bit for each of enum probe_stream; 0: all but per-thread */
};

/* Anything else: reports its own results.  bench is NULL in groups that are bare. */
struct probe_item {
	const char *name;
	void (*measure)(struct bench *bench, const struct probe_item *item);
	int argument;
};

struct probe_group {
	const char *name;
	const struct probe_row *rows; /* or */
	const struct probe_item *items;
	size_t count;
	bool memory; /* the bench needs its memory */
	bool single; /* a process for each entry */
	bool bare;   /* entries open their device themselves */
};

extern const struct probe_group probe_memory_group, probe_copy_group, probe_call_group,
	probe_first_group, probe_own_group, probe_order_group, probe_queue_group,
	probe_hazard_group, probe_wake_group, probe_cost_group, probe_peer_group;

/* Measures a row against every background and reports it. */
void probe_matrix(struct bench *bench, const struct probe_row *row);

/* --- results: one line each, to where probe_output() says; NAN is JSON's null --------------- */
void probe_output(int fd);
void probe_begin(size_t index);
void probe_system(void);
void probe_fatal(const char *why);
void probe_failed(const char *name, const char *why);
void probe_error(const char *name, cudaError_t error);
void probe_result(const char *name, const char *background, double host_ms, double nonblocking_ms,
	double blocking_ms, const char *class);

/* class, which is what is compared between systems, may be NULL; values of unit. */
void probe_value(const char *name, double value, const char *unit, const char *class);
void probe_spread(const char *name, double *values, size_t count, const char *unit);

double probe_median(double *values, size_t count); /* sorts */

/* A quoted JSON string; the caller frees. */
char *probe_quote(const char *text);

/* Whether the context is still usable. */
bool probe_alive(void);

#endif
