/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notices other processes that use the GPUs while a program runs.  Their kernels stretch the
 * program's, so that no estimate of savings can be made.
 *
 *	watch_start(&watch, pid, folder);
 *	... the program runs ...
 *	watch_stop(&watch);
 *	... its traces are listed ...
 *	watch_finish(&watch);
 *	watch_store(&watch, db);
 *	watch_release(&watch);
 *
 * A process of our own asks NVML twice a second: NVML takes up to seconds to start, and may hang or
 * crash with a driver in trouble, which neither the program nor "run" waits for.
 */
#ifndef CUFENCE_WATCH_H
#define CUFENCE_WATCH_H

#include <stdint.h>
#include <sys/types.h>

#include "nvml.h"

struct db;

#define WATCH_GPUS 64
#define WATCH_PROCESSES 256

/* A process that NVML names. */
struct watched_process {
	unsigned pid;
	int8_t own;     /* it is of the program's tree, or has a trace of this run */
	int8_t visible; /* it was in /proc when it was first named */
	int8_t computed;
};

/* What was seen of one GPU. */
struct watched_gpu {
	struct nvml_place place;
	int list_error, use_error; /* NVML's last error, 0: it answered */
	unsigned listed;           /* times that NVML listed processes */
	unsigned asked;            /* times that it said what they used, */
	unsigned entries;          /* number of answers then, */
	uint64_t others;           /* sum of the percentages of processes that are not own, */
	uint64_t invisible;        /* and of those that are not visible here */
	uint64_t since;            /* us, CLOCK_REALTIME: end of what they said */
	int own_seen;              /* NVML named a process of the program */
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

/* What was seen of a GPU's other processes; table other_use. */
struct watch_verdict {
	const char *seen;   /* computing, memory, none or unknown */
	unsigned processes; /* their number */
	unsigned busy;      /* percent of the time in which they computed */
	char why[128];      /* why it is unknown, or "" */
};

/* sees_all: process_sees_all(). */
void watch_judge(const struct watch *watch, const struct watched_gpu *gpu, int sees_all,
	struct watch_verdict *verdict);

#endif
