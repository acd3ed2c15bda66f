/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run shows of its own noise: the usual duration of calls that wait for nothing, the time in
 * which waiting threads wake up, and the error of the clocks.
 */
#ifndef CUFENCE_WAITS_USUAL_H
#define CUFENCE_WAITS_USUAL_H

#include <stddef.h>
#include <stdint.h>

#include "id_map.h"
#include "walk.h"

/* Times by key, the first ones of each, limited by memory.  Zero-initialized is empty. */
struct samples {
	struct id_map of; /* struct sample */
};

void samples_add(struct samples *samples, int64_t key, int64_t ns);

/* Returns the value that a percentage of a key's are below; of fewer than least, otherwise. */
int64_t samples_quantile(struct samples *samples, int64_t key, int percent, size_t least,
	int64_t otherwise);

void samples_release(struct samples *samples);

/* Returns the key of a call; calls with the same key are comparable. */
int64_t usual_key(const struct walk_call *call);

/* Keys of calls that waited only for their own operation ... */
#define USUAL_OWN (INT64_C(1) << 62)
/* ... of the time that calls took after the end of their wait ... */
#define USUAL_AFTERWARDS (INT64_C(1) << 61)
/* ... and of the time in which explicit waits returned, by process. */
#define USUAL_LATENCY (INT64_C(1) << 60)

/* Returns the value of waits.def for the call, ns. */
int64_t usual_expected(const struct walk_call *call);

/* Returns the median of the run's calls with that key, or what is expected without examples, ns. */
int64_t usual_duration(struct samples *samples, int64_t key, int64_t expected);

/* Clock error and wake-up time of a process. */
struct wait_timing {
	int64_t clock_error;  /* ns */
	int blocking;         /* cudaDeviceScheduleBlockingSync is set in one of its contexts */
	int64_t wake_up;      /* ns that a thread may wake up late, once settled */
	int64_t usually_late; /* the part of wake_up that any wait has, ns */
	int64_t error;        /* maximum difference of the clocks, ns; 0: not settled */
};

/* Returns that of a process. */
struct wait_timing *wait_timing_of(struct id_map *timings, int64_t process);

/* Adds an explicit wait that returned latency ns after the operation that it waited for. */
void wait_timing_add(struct samples *samples, int64_t process, int64_t latency);

/* Returns the timing of a process, by all waits that were added. */
const struct wait_timing *wait_timing_settle(struct id_map *timings, struct samples *samples,
	int64_t process);

/* Returns whether a wait, ns, is noise: shorter than least, or within the error of the clocks. */
int wait_is_short(const struct wait_timing *timing, int64_t waited, int64_t least);

#endif
