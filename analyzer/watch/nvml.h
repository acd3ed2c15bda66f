/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks NVML, the driver's library for monitoring, which processes use the GPUs.  It is opened at
 * run time.  The part of its interface that is used is declared here, so that no header of NVIDIA's
 * is needed to build.  Single-threaded.  A call takes up to milliseconds, and hangs if the driver
 * does.
 */
#ifndef CUFENCE_NVML_H
#define CUFENCE_NVML_H

#include <stddef.h>
#include <stdint.h>

#define NVML_LIBRARY "libnvidia-ml.so.1"
#define NVML_ERROR_NONE 0
#define NVML_ERROR_MISSING (-1) /* ours: the library lacks the function */

/* A process that uses a GPU, as nvmlProcessInfo_t (_v2 and later). */
struct nvml_process {
	unsigned pid;
	unsigned long long memory;
	unsigned gpu_instance, compute_instance;
};

/* What a process used of a GPU, as nvmlProcessUtilizationSample_t. */
struct nvml_utilization {
	unsigned pid;
	unsigned long long at;                 /* us, CLOCK_REALTIME */
	unsigned sm, memory, encoder, decoder; /* percent */
};

/* A GPU, by where it sits. */
struct nvml_place {
	unsigned domain, bus, slot;
	int mig; /* 1: it is divided into instances */
};

/* Lists of processes: those with a CUDA context, with graphics, as clients of MPS. */
enum nvml_list { NVML_COMPUTE, NVML_GRAPHICS, NVML_MPS, NVML_LISTS };

struct nvml;

/*
 * Opens and initializes the library.  Returns 0, or -1 and sets *why to a text that stays valid.
 */
int nvml_open(struct nvml **nvml, const char **why);

/* Returns the number of GPUs. */
unsigned nvml_count(const struct nvml *nvml);

/* Finds where a GPU sits.  Returns 0 or NVML's error. */
int nvml_find_place(const struct nvml *nvml, unsigned gpu, struct nvml_place *place);

/* Lists processes; *count is the room, then their number.  Returns 0 or NVML's error. */
int nvml_list(const struct nvml *nvml, unsigned gpu, enum nvml_list list, unsigned *count,
	struct nvml_process *process);

/*
 * Lists what processes used since a time (us, CLOCK_REALTIME), as above.  No process used anything:
 * 0 and none.
 */
int nvml_utilization(const struct nvml *nvml, unsigned gpu, uint64_t since, unsigned *count,
	struct nvml_utilization *used);

/* Returns NVML's text for an error. */
const char *nvml_text(const struct nvml *nvml, int error);

#endif
