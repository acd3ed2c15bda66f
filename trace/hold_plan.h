/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of "cufence confirm" and "cufence shake" to libcufence-hold.so and their results, in a
 * file that both map.
 * A call is identified across runs by its function, its call path, and its ordinal among the calls
 * of that function from that path by its thread.  Address space layout does not change these.
 */
#ifndef CUFENCE_HOLD_PLAN_H
#define CUFENCE_HOLD_PLAN_H

#include <stdint.h>
#include <string.h>

#include "byte_hash.h"

#define HOLD_MAGIC UINT64_C(0x33646c6f68667563) /* "cufhold3" */
#define HOLD_TRIES 12                           /* maximum per run */
#define SHAKEN_PROPERTY "CUFENCE_SHAKE" /* of a shaken process, and its variable: the seed */
#define SHAKE_ACTIONS 32                /* likewise */

enum hold_state {
	HOLD_WAITING, /* the producer was not called */
	HOLD_HELD,
	HOLD_DONE,
	HOLD_CROWDED,  /* not delayed: another stream was being delayed */
	HOLD_CAPTURED, /* not delayed: its stream was being captured */
	HOLD_REFUSED,  /* not delayed: the driver refused */
	HOLD_SPENT,    /* not delayed: the time of all holds was spent */
};

/* Calls of one function from one call path. */
struct hold_place {
	uint64_t place; /* hold_place_add() of its frames, innermost first */
	uint32_t call;  /* enum call_id */
	uint32_t unused;
};

/* One instance: the earlier operation is delayed until the later one is complete. */
struct hold_try {
	uint32_t producer, consumer; /* ordinals, from 1; consumer 0: any, by the host */
	_Atomic uint32_t state;      /* enum hold_state */
	_Atomic uint32_t
		submitted;      /* 1: the consumer was submitted while the producer was delayed */
	_Atomic uint32_t first; /* 1: the consumer completed while the producer was delayed */
	uint32_t error;         /* CUresult of HOLD_REFUSED */
	/* The two calls of this run: kernel thread ids, 0: not made; the consumer's ordinal. */
	uint32_t producer_thread, consumer_thread, consumed;
};

/*
 * What "cufence shake" does at one call: the stream is delayed before it, or queries are answered
 * CUDA_ERROR_NOT_READY from it on, where the program cannot know better.
 */
struct shake_action {
	struct hold_place place;
	uint32_t ordinal;       /* among the calls of its thread at that place, from 1 */
	uint32_t answers;       /* so many queries at most; 0: the stream is delayed */
	uint64_t ns;            /* maximum delay */
	_Atomic uint32_t state; /* enum hold_state; of queries: HOLD_HELD once one was answered */
	_Atomic uint32_t given; /* answers */
};

struct hold_plan {
	uint64_t magic;
	uint64_t timeout; /* maximum delay of a stream, ns */
	uint32_t count;
	uint32_t same_thread; /* 1: one thread makes both calls */
	struct hold_place producer, consumer;
	struct hold_try tries[HOLD_TRIES];
	uint64_t budget;        /* maximum of all delays of a shaken run together, ns */
	_Atomic uint64_t spent; /* so far */
	uint32_t actions;       /* 0: the run is not shaken */
	uint32_t unused;
	struct shake_action action[SHAKE_ACTIONS];
};

/*
 * Adds a frame to the hash.  For mapped code: the base name of the mapped file, its build id (20
 * bytes; NULL or zeros: none) and the offset in it.  For a script: "" and the offset in its code
 * object.  For code without a file: "" and 0.
 */
static inline uint64_t hold_place_add(uint64_t place, const char *path, const uint8_t *build_id,
	uint64_t offset)
{
	static const uint8_t none[20];
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	place = byte_hash(place, name, strlen(name));
	place = byte_hash(place, build_id ? build_id : none, sizeof(none));
	return byte_hash(place, &offset, sizeof(offset));
}

#endif
