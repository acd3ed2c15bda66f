/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The usual duration of a call that waits for nothing: the median of such calls of its type in this
 * run (copies: of similar size), otherwise the value of waits.def.
 */
#ifndef CUFENCE_WAITS_USUAL_H
#define CUFENCE_WAITS_USUAL_H

#include <stddef.h>
#include <stdint.h>

#include "idmap.h"
#include "walk.h"

/* A sample of durations: the first ones, limited by memory. */
struct sample {
	int64_t *value;
	size_t count;
	int sorted;
};
int sample_add(struct sample *sample, int64_t value);

/* Returns the quantile for share (0 to 1).  Sorts the sample, which must not be empty. */
int64_t sample_quantile(struct sample *sample, double share);
void sample_release(struct sample *sample);

/* Zero-initialized is empty. */
struct usual {
	struct idmap classes; /* key -> struct sample */
};

/* Returns the key of a call; calls with the same key are comparable. */
int64_t usual_key(const struct walk_call *call);

/* Returns the key of calls that waited only for their own operation. */
static inline int64_t usual_key_of_own_wait(int64_t key)
{
	return key | (int64_t)1 << 62;
}

/* Returns the key for the time that calls took after the end of their wait. */
static inline int64_t usual_key_afterwards(int64_t key)
{
	return key | (int64_t)1 << 61;
}

/*
 * Adds the duration of a call that had nothing to wait for.  Returns 0, or -1 when out of memory.
 */
int usual_add(struct usual *usual, int64_t key, int64_t duration);

/* Returns the usual duration, ns.  expected is the value of usual_expected() for the call. */
int64_t usual_duration(struct usual *usual, int64_t key, int64_t expected);

/* Returns the value of waits.def for the call, ns. */
int64_t usual_expected(const struct walk_call *call);

void usual_release(struct usual *usual);

#endif
