/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which streams use which memory, and what threads submit to them, over a whole run: found before
 * its calls are followed, so that no history is kept of memory that one stream alone uses.  Of each
 * allocation of the run there are 12 bytes; histories are of those alive.
 */
#ifndef CUFENCE_USAGE_H
#define CUFENCE_USAGE_H

#include "history.h"
#include "idmap.h"
#include "run_columns.h"

/* In place of the only one of its kind. */
#define USAGE_SEVERAL UINT32_MAX

/* By whom an allocation is used. */
struct use {
	uint32_t first;    /* 1 + the stream that uses it first, 0: none does */
	uint32_t named;    /* the only one that is no default stream, 0: there is none */
	uint8_t is_shared; /* by several streams, by a graph, or by a kernel that begins early */
};

/* Such memory, once it was used. */
struct shared {
	struct history history;
	struct use use;
	int on_host;
};

struct usage {
	const struct run *run;
	struct use *use;      /* by allocation */
	struct idmap shared;  /* allocation -> struct shared */
	struct idmap threads; /* thread -> what it submits */
};

/* 0, or -1 after a message; usage_release() in both cases. */
int usage_find(struct usage *usage, const struct run *run);

static inline int usage_is_shared(const struct usage *usage, int64_t allocation)
{
	return (uint64_t)allocation < usage->run->allocations.count &&
		usage->use[allocation].is_shared;
}

/* So is its memory, or what is used through its addresses. */
int usage_is_shared_through(const struct usage *usage, uint32_t allocation);

/* That of an allocation, made if there is none; NULL when out of memory. */
struct shared *usage_need(const struct usage *usage, struct idmap *map, int64_t allocation);

/* Releases such a map. */
void usage_free_shared(struct idmap *map);

/* The allocation is no more. */
void usage_forget(struct usage *usage, uint32_t allocation);

/*
 * 1 if a call looks as if it were left without a stream by mistake: it is in a default stream,
 * where its thread has no work but this kernel or type of call, by calls that can name a stream,
 * and the thread gives different work to other streams.
 */
int usage_lacks_stream(const struct usage *usage, const struct operation_point *call);

void usage_release(struct usage *usage);

#endif
