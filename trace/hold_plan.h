/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What "cufence confirm" asks of libcufence-hold.so, and what came of it: a file that both map.
 * The program is found again by call and place: the ordinal of a call among those that its thread
 * makes of that function from that place, which no address space layout changes.
 */
#ifndef CUFENCE_HOLD_PLAN_H
#define CUFENCE_HOLD_PLAN_H

#include <stdint.h>
#include <string.h>

#include "byte_hash.h"

#define HOLD_MAGIC UINT64_C(0x31646c6f68667563) /* "cufhold1" */
#define HOLD_TRIES 12                           /* at most, in one run */

enum hold_state {
	HOLD_WAITING, /* its producer did not come */
	HOLD_HELD,
	HOLD_DONE,
	HOLD_CROWDED,  /* not held: another stream was held at that time */
	HOLD_CAPTURED, /* not held: its stream was being captured */
	HOLD_REFUSED,  /* not held: the driver refused */
};

/* Calls of one function from one place. */
struct hold_place {
	uint64_t place; /* hold_place_add() of its frames, innermost first */
	uint32_t call;  /* enum call_id */
	uint32_t unused;
};

/* One instance: the earlier operation is held until the later one is complete. */
struct hold_try {
	uint32_t producer, consumer; /* ordinals, from 1; consumer 0: any, by the host */
	_Atomic uint32_t state;      /* enum hold_state */
	_Atomic uint32_t submitted;  /* 1: the consumer was, while the producer was held */
	_Atomic uint32_t first;      /* 1: it was complete while the producer was held */
	uint32_t error;              /* CUresult of HOLD_REFUSED */
};

struct hold_plan {
	uint64_t magic;
	uint64_t timeout; /* ns that a stream is held, at most */
	uint32_t count;
	uint32_t same_thread; /* 1: one thread makes both calls */
	struct hold_place producer, consumer;
	struct hold_try tries[HOLD_TRIES];
};

/*
 * One more frame: the name of the file that is mapped there, without its folder, and the offset in
 * it; of a script "" and the offset in its code; of code that no file has "" and 0.
 */
static inline uint64_t hold_place_add(uint64_t place, const char *path, uint64_t offset)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	return byte_hash(byte_hash(place, name, strlen(name)), &offset, sizeof(offset));
}

#endif
