/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The streams that use each allocation, and the work that each thread submits, over a whole run.
 * This is found before calls are processed, so that memory used by a single stream needs no
 * history. Takes 16 bytes for each allocation of the run; histories exist for live allocations
 * only.
 */
#ifndef CUFENCE_USAGE_H
#define CUFENCE_USAGE_H

#include "history.h"
#include "id_map.h"
#include "run_columns.h"
#include "users.h"
#include "walk.h"

/* Several kinds, or several streams. */
#define USAGE_SEVERAL UINT32_MAX

/* The streams that use an allocation. */
struct use {
	uint32_t first;    /* 1 + the stream that uses it first, 0: none */
	uint32_t named;    /* the only stream that is no default stream, 0: none */
	uint32_t users;    /* if shared: 1 + index in usage.users */
	uint8_t is_shared; /* by several streams, a graph, a kernel that begins early, the host */
};

/* Shared memory in use. */
struct shared {
	struct history history;
	struct use use;
	struct users *users;
	int on_host;
};

struct usage {
	const struct run *run;
	struct walk_part part;
	struct use *use;      /* by allocation */
	struct id_map shared; /* allocation -> struct shared */
	struct users *users;  /* of shared allocations */
	uint32_t users_count;
	struct id_map threads; /* thread -> struct thread_work */
};

/* Of a part's calls.  Returns 0, or -1 after a message; usage_release() in both cases. */
int usage_find(struct usage *usage, const struct run *run, const struct walk_part *part);

/* Returns 1 if cudaFree frees memory that was allocated in stream order: it has no stream. */
int usage_frees_on_host(const struct run *run, uint32_t allocation);

static inline int usage_is_shared(const struct usage *usage, int64_t allocation)
{
	return (uint64_t)allocation < usage->run->allocations.count &&
		usage->use[allocation].is_shared;
}

/* Returns 1 if its memory, or memory that its addresses access, is shared. */
int usage_is_shared_through(const struct usage *usage, uint32_t allocation);

/* Returns the entry of an allocation, added if missing. */
struct shared *usage_need(const struct usage *usage, struct id_map *map, int64_t allocation);

/* Releases a map of struct shared. */
void usage_free_shared(struct id_map *map);

/* Removes the accesses to a freed allocation. */
void usage_forget(struct usage *usage, uint32_t allocation);

/*
 * Returns 1 if a call looks as if its stream argument had been forgotten: it is in a default
 * stream, where its thread submits only this kernel or type of call (by calls that can name a
 * stream), and the thread submits different work to other streams.
 */
int usage_lacks_stream(const struct usage *usage, const struct operation_point *call);

void usage_release(struct usage *usage);

#endif
