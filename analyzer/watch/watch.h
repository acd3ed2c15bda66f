/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notices other processes that use the GPUs while a program runs.  Their kernels stretch the
 * program's, so that savings cannot be estimated from their durations.
 *
 *	watch_start(&watch, pid, folder);
 *	... the program runs ...
 *	watch_stop(&watch);
 *	... its traces are listed ...
 *	watch_finish(&watch);
 *	watch_store(&watch, db);
 *	watch_release(&watch);
 *
 * A process of our own asks NVML four times a second.  NVML takes up to seconds to start, and may
 * hang or crash with a driver in trouble: neither the program nor "run" waits for it.
 */
#ifndef CUFENCE_WATCH_H
#define CUFENCE_WATCH_H

#include <stdint.h>
#include <sys/types.h>

#include "nvml.h"

struct db;

#define WATCH_GPUS 64
#define WATCH_PROCESSES 256

/*
 * A process that NVML names.  Its lists have ids of the caller's pid namespace and leave other
 * namespaces out; its answers about use have ids of the first one (H200, driver 580.159).
 */
struct watched_process {
	unsigned pid;
	uint8_t own;    /* it is of the program's tree, or has a trace of this run */
	uint8_t listed; /* it has a context */
	unsigned named; /* times that it was said to compute, */
	double percent; /* and sum of its shares of the GPU then */
};

/* What was seen of one GPU. */
struct watched_gpu {
	struct nvml_place place;
	char error[96];     /* why NVML did not list processes; "": it did, or did not answer */
	int mps;            /* processes share it by MPS: their server computes for them */
	unsigned listed;    /* times that NVML listed processes */
	uint8_t own_listed; /* a process of the run was among them: from then on it is asked */
	unsigned answered;  /* times that NVML said what processes used, */
	unsigned refused;   /* and that it did not */
	uint64_t asked_at;  /* us, CLOCK_REALTIME; 0: not yet */
	uint64_t since;     /* likewise: end of what it said */
	unsigned count;
	struct watched_process process[WATCH_PROCESSES];
};

/* Written by the process that asks, read by "run"; a page that both share. */
struct watched {
	int ready;    /* NVML was started; the rest is valid */
	char why[96]; /* why not; "": it has not yet answered */
	unsigned gpus;
	struct watched_gpu gpu[WATCH_GPUS];
};

struct watch {
	struct watched *watched; /* NULL: nothing is watched */
	pid_t asker;
	int line; /* closed at one end: the other is to end */
};

/*
 * Begins to watch for a program with that process id, which leaves its traces in a folder.  Returns
 * at once.  In trouble nothing is watched.
 */
void watch_start(struct watch *watch, pid_t program, const char *folder);

/* Has the process that asks take a last look and end.  Returns at once. */
void watch_stop(struct watch *watch);

/* Waits for that, at most 100 ms, and ends the process if it hangs. */
void watch_finish(struct watch *watch);

/*
 * Fills table other_use, with a row per process of the run and device in which it has a context:
 * after the traces are loaded.  Returns 0, or -1 after a message.  Nothing watched: no rows.
 */
int watch_store(const struct watch *watch, struct db *db);

void watch_release(struct watch *watch);

/* What was seen of a GPU's other processes: a row of table other_use. */
struct watch_verdict {
	const char *seen;   /* computing, memory, none or unknown */
	unsigned processes; /* their number */
	unsigned busy;      /* percent of the time in which they computed */
	const char *why;    /* why it is unknown, or NULL */
};

/*
 * Judges what was seen.  own: number of processes of the run that have a context on the GPU;
 * sees_all: process_sees_all().
 */
void watch_judge(const struct watched_gpu *gpu, unsigned own, int sees_all,
	struct watch_verdict *verdict);

#endif
