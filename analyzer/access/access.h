/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the operation of a call reads and writes: memory by allocation and bytes, each with what it
 * is known from.  Copies and memsets say it themselves, so do values that streams write and wait
 * for; of kernels it is worked out when a run is loaded (directions.h).
 *
 *	struct access_reader *reader = access_open(db);
 *	const struct accesses *one = access_read(reader, call);
 *	const struct accesses *other = one ? access_read(reader, other_call) : NULL;
 *	if (!other)
 *		...
 *	switch (access_compare(reader, one, other)) ...
 *
 * Addresses here are only compared within an allocation, of which each row is one life.
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
	ACCESS_UNKNOWN, /* the memory was named; what became of it is not known */
};

#define ACCESS_STRIDES 3

struct memory_access {
	int64_t allocation; /* row */
	int64_t low, high;  /* addresses, high excluded; within the allocation */
	/* Pieces of run bytes from start on, at each stride so often; without: all of it. */
	int64_t start, run;
	struct access_stride {
		int64_t bytes, count;
	} stride[ACCESS_STRIDES];
	uint8_t stride_count;
	uint8_t direction, evidence;
	uint8_t sure;  /* 0: this allocation or another one, not known which */
	uint8_t exact; /* 0: some of these bytes, at most */
	uint8_t early; /* before the kernel waits for those before it, if it does */
	uint8_t spins; /* in a loop that ends by what others write there */
	uint8_t loose; /* in no order with what is before it in its stream */
	uint8_t maybe; /* 1: whether it is made, or to this memory, is not known */
	uint32_t node; /* of a graph's launch: the graph_node that it is or is in; 0: of several */
};

struct accesses {
	struct memory_access *access;
	size_t count, room;
	int complete;     /* 1: there are no others to memory of table allocation */
	unsigned reaches; /* known to be besides: enum ptx_reach (ptx/ptx.h) */
	int named;        /* 1: none to allocations that none of these is in, as far as the
		       * words of launches say; 0: that is not known */
	uint64_t number;  /* lists of one reader with one number are the same; 0: it has none */
};

struct access_reader;

/* NULL after a message. */
struct access_reader *access_open(struct db *db);
void access_close(struct access_reader *reader);

/*
 * The accesses of one call's operation.  Those of a graph are its nodes'.  A host function has none
 * and is not complete.  Calls that do the same share a list; it stays at least until two others
 * were read.  NULL after a message.
 */
const struct accesses *access_read(struct access_reader *reader, int64_t call);

enum access_overlap { OVERLAP_NONE, OVERLAP_MAYBE, OVERLAP_SURE };

/* Whether they have a byte in common. */
enum access_overlap access_overlap(const struct memory_access *a, const struct memory_access *b);

/* 1 if a surely touches every byte that b may touch. */
int access_covers(const struct memory_access *a, const struct memory_access *b);

enum access_order { ACCESS_RAW, ACCESS_WAR, ACCESS_WAW }; /* read after write, ... */

/* Whether the order of two accesses matters, and why. */
struct access_conflict {
	enum access_overlap overlap; /* OVERLAP_NONE: it does not */
	enum access_order order;
	uint8_t evidence; /* enum evidence, the weaker one */
	int covered;      /* one side surely touches all that the other one may touch */
};

/*
 * Of an earlier and a later access to one allocation.  Atomics are in any order with each other; an
 * atomic and another operation's plain load or store are not.
 */
struct access_conflict access_conflict(const struct memory_access *earlier,
	const struct memory_access *later);

/*
 * Whether the order of the two operations matters: they have memory in common that one of them
 * writes.  OVERLAP_NONE is certain only if both are complete.
 */
enum access_overlap accesses_conflict(const struct accesses *a, const struct accesses *b);

/* The same of two lists of the reader, which remembers what it has compared. */
enum access_overlap access_compare(struct access_reader *reader, const struct accesses *a,
	const struct accesses *b);

/* 1 if a kernel of the run uses memory that it was not given. */
int access_some_reach(struct db *db);

/*
 * 1 if they may have memory in common that was not given to both: one goes by pointers out of
 * memory, or both use variables or constants of their module, and one of them writes.
 */
int accesses_meet(const struct accesses *a, const struct accesses *b);

#endif
