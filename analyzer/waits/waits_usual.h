/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a call takes that waits for nothing: the median of such calls of its type in this run
 * (copies: of about its size), else what waits.def says.
 */
#ifndef CUFENCE_WAITS_USUAL_H
#define CUFENCE_WAITS_USUAL_H

#include <stddef.h>
#include <stdint.h>

#include "idmap.h"
#include "walk.h"

/* A sample of durations: the first ones, which memory allows. */
struct sample {
	int64_t *value;
	size_t count;
	int sorted;
};
int sample_add(struct sample *sample, int64_t value);

/* The value below which share (0 to 1) of the sample lies; sorts.  The sample is not empty. */
int64_t sample_quantile(struct sample *sample, double share);
void sample_release(struct sample *sample);

/* Zero-initialized is empty. */
struct usual {
	struct idmap classes; /* of calls alike -> struct sample */
};

/* Calls are alike if they have the same key. */
int64_t usual_key(const struct walk_call *call);

/* The key of calls that waited for nothing but their own operation. */
static inline int64_t usual_key_with_own(int64_t key)
{
	return key | (int64_t)1 << 62;
}

/* The key of the time that calls which waited took after the end of their wait. */
static inline int64_t usual_key_afterwards(int64_t key)
{
	return key | (int64_t)1 << 61;
}

/* Notes a call that had nothing to wait for; 0, or -1 when out of memory. */
int usual_add(struct usual *usual, int64_t key, int64_t duration);

/* ns; expected is what usual_expected() says of the call. */
int64_t usual_duration(struct usual *usual, int64_t key, int64_t expected);

/* What waits.def says, ns. */
int64_t usual_expected(const struct walk_call *call);

void usual_release(struct usual *usual);

#endif
