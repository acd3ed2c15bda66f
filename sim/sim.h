/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exports of the simulated libcuda.so.1 in addition to the CUDA driver API: its virtual clock, and
 * hooks through which the simulated libcupti.so.13 receives calls and device operations. libcupti
 * finds them with dlsym, as it may be loaded without a driver.  One function replaces private
 * tables of NVIDIA's driver for the simulated libcudart.so.13.
 */
#ifndef CUFENCE_SIM_H
#define CUFENCE_SIM_H

#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

/* Virtual time of the first call, ns.  Constant: traces are the same in every run. */
#define SIM_EPOCH 1000000000ull

/* Virtual time in ns; any thread, any time, no lock. */
uint64_t cufence_sim_clock(void);

/* A driver call at entry or exit.  On the caller's stack for the duration of the call. */
struct sim_call {
	int number;         /* enum call_id of calls.def; -1: a call without a row */
	bool per_thread;    /* the _ptsz or _ptds entry point */
	const char *name;   /* exported symbol */
	const void *params; /* NVIDIA's <symbol>_params structure */
	CUresult result;    /* valid at exit */
	CUcontext context;  /* current one */
	uint32_t context_id;
	uint32_t correlation;
	uint64_t correlation_data; /* set by the tool, kept from enter to exit */
};

enum sim_record_kind {
	SIM_NOTHING = 0, /* not an operation for CUPTI */
	SIM_KERNEL,
	SIM_COPY,
	SIM_PEER,
	SIM_SET,
	SIM_LAZY_LOADING, /* overhead */
	SIM_QUEUE_FULL,   /* overhead */
	SIM_GRAPH,        /* a whole launch; its nodes have records too, with graph and node set */
};

/* A completed device operation, or an interval of overhead.  Memory and copy kinds are CUPTI's. */
struct sim_record {
	enum sim_record_kind kind;
	uint32_t correlation;
	uint64_t start, end; /* virtual ns */
	uint32_t device, context, stream;
	const char *name; /* mangled, valid for the life of the process */
	uint32_t grid[3], block[3], shared;
	uint64_t bytes;
	uint32_t value; /* memset */
	uint8_t copy_kind, src_kind, dst_kind;
	bool async;
	uint32_t src_device, dst_device; /* peer copies */
	uint32_t thread;                 /* overhead */
	uint32_t graph;                  /* executable graph; 0: none */
	uint64_t node;
};

/*
 * enter and leave run on the calling thread, without the simulator's lock; record runs with that
 * lock on any thread and must only store the record.
 */
struct sim_tool {
	void (*enter)(struct sim_call *call);
	void (*leave)(struct sim_call *call);
	void (*record)(const struct sim_record *record);
};

/* Installs the only tool, or removes it if NULL. The structure must stay valid. */
void sim_tool_install(const struct sim_tool *tool);

/*
 * The tool is closed: correlation ids start anew.  Returns how many calls of calls.def are in
 * progress.
 */
unsigned sim_tool_finalize(void);

/* Is this driver call of calls.def implemented? Others are in cuda_missing.def. */
bool cufence_sim_supports(const char *symbol);

/*
 * For libraries of tests whose kernels wait for other processes: the duration of the calling
 * thread's next kernel in ns is what length returns when the kernel starts, at that virtual time.
 * NULL: none.  length is called with the simulator's lock held, and may block: time stands still.
 */
void cufence_sim_next_kernel(uint64_t (*length)(void *argument, uint64_t start), void *argument);

/*
 * Returns a device's primary context, which the runtime makes current before it retains it; NULL:
 * no such device.
 */
CUcontext sim_primary_context(int device);

/* CUPTI's id of a context or stream, 0 for an invalid handle. */
uint32_t sim_context_id(CUcontext context);
uint32_t sim_stream_id(CUcontext context, CUstream stream, bool per_thread);

#endif
