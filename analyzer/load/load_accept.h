/* SPDX-License-Identifier: Apache-2.0 */
/* Validation of records: the loader's only place that checks plausibility. */
#ifndef CUFENCE_LOAD_ACCEPT_H
#define CUFENCE_LOAD_ACCEPT_H

#include "loader.h"

/* Each returns 1, or 0 if the record is impossible and must be ignored; p.refused counts those. */
int loader_accept_call(struct loader *loader, const struct record *record);
int loader_accept_device(struct loader *loader, const struct device_record *device);
int loader_accept_window(struct loader *loader, const struct window_record *window);
int loader_accept_host_run(struct loader *loader, const struct host_run_record *run);
int loader_accept_usage(struct loader *loader, const struct usage_record *usage);

/*
 * Operations of a stream whose times contradict each other.  During the scan: notes a call whose
 * operations may overlap with others of their stream.
 */
int loader_note_overlap(struct loaded_process *p, const struct call_record *call);
/* After the scan, once the clock is known: finds operations with impossible times. */
int loader_judge_times(struct loader *loader);
/*
 * Returns 1 if the operation's recorded end was impossible.  end: its latest possible end, ns, or
 * CLOCK_NONE if its start was impossible, too.
 */
int loader_is_impossible(const struct loaded_process *p, const struct device_record *device,
	int64_t *end);

/* Returns 1 if the call stands for several polls, and fills polls. */
int loader_polls(const struct call_record *call, struct call_polls *polls);

/*
 * Upper limit for the size of memory, 256 TiB: a call with more is counted as damaged.  Larger
 * sizes of failed calls are reduced to it.
 */
#define SIZE_MOST ((uint64_t)1 << 48)

/* Returns whether fields of that kind are sizes, at most SIZE_MOST. */
int load_is_size(unsigned kind);

#endif
