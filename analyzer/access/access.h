/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accesses of the operation of a call: memory by allocation and bytes, with the evidence for each.
 * Copies, memsets, and values that streams write or wait for name their memory; accesses of kernels
 * are derived when a run is loaded (directions.h).  conflict.h compares them.
 *
 * 	struct access_reader *reader = access_open(db);
 * 	const struct accesses *accesses = access_read(reader, call);
 *
 * Addresses are compared only within an allocation; each row of table allocation is one life.
 */
#ifndef CUFENCE_ACCESS_H
#define CUFENCE_ACCESS_H

#include <stddef.h>
#include <stdint.h>

#include "db.h"
#include "evidence.h"
#include "ptx.h"

enum access_direction {
	ACCESS_READ,
	ACCESS_WRITE,
	ACCESS_ATOMIC,  /* read and written, in any order with other atomics */
	ACCESS_UNKNOWN, /* the memory was named, its use is unknown */
};

#define ACCESS_STRIDES 3

struct memory_access {
	int64_t allocation; /* row of table allocation */
	int64_t low, high;  /* addresses within the allocation; high is excluded */
	/*
	 * Pieces of run bytes from start on, repeated at each stride; without strides: all bytes.
	 */
	int64_t start, run;
	struct access_stride {
		int64_t bytes, count;
	} stride[ACCESS_STRIDES];
	uint8_t stride_count;
	uint8_t direction, evidence;
	uint8_t sure;  /* 0: in this allocation or in another one */
	uint8_t exact; /* 0: at most some of these bytes */
	uint8_t early; /* may come before the kernel waits for earlier kernels */
	uint8_t spins; /* in a loop that waits for a value written by others */
	uint8_t loose; /* not ordered after earlier work of its stream */
	uint8_t maybe; /* 1: it may not happen, or not to this memory */
	uint32_t node; /* for a graph launch: its node in the executable's own graph; 0: several */
};

struct accesses {
	struct memory_access *access;
	size_t count, room;
	int complete;     /* 1: there are no other accesses to memory in table allocation */
	unsigned reaches; /* further known memory: enum ptx_reach (ptx/ptx.h) */
	int named;        /* 1: launch words show no access to other allocations; 0: unknown */
	uint64_t number;  /* equal numbers of one reader mean equal lists; 0: no number */
};

struct access_reader;

/* Returns NULL after a message. */
struct access_reader *access_open(struct db *db);

/*
 * Returns the reader of a part of the analysis (walk.h; 0: of all of it, too), for those that read
 * the calls again: what one of them has read is there.  The first of them sets its limits
 * (access_graph_limit) and sees which graphs are new.  Used while the run is analyzed; each user
 * closes it.  It is opened and closed by one thread, and read by the one that has the part.
 */
struct access_reader *access_share(struct db *db, size_t part);
void access_close(struct access_reader *reader);

/*
 * Reads the accesses of one call's operation; for a graph launch, those of all nodes.  A host
 * function has none and is not complete.  Equal calls share a list, which remains valid until at
 * least two others were read.  Returns NULL after a message.
 */
const struct accesses *access_read(struct access_reader *reader, int64_t call);

enum access_overlap { OVERLAP_NONE, OVERLAP_MAYBE, OVERLAP_SURE };

static inline int access_writes(const struct memory_access *access)
{
	return access->direction == ACCESS_WRITE || access->direction == ACCESS_ATOMIC;
}

/* Returns whether the two accesses have a byte in common. */
enum access_overlap access_overlap(const struct memory_access *a, const struct memory_access *b);

/* Returns 1 if a surely accesses every byte that b may access. */
int access_covers(const struct memory_access *a, const struct memory_access *b);

/* Returns 1 if a kernel of the run accesses memory that it was not given. */
int access_some_reach(struct db *db);

#endif
