/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hold: a library of its own, loaded with the recorder (hold/), by "cufence confirm" only.  It
 * stands between the recorder and the driver, holds the stream of one call back and looks whether
 * another one's work is done meanwhile (trace/hold_plan.h).  The recorder gives it the driver's
 * functions when it looks them up, and tells it which sites there are; a call costs the recorder
 * nothing for that.
 */
#ifndef CUFENCE_HOLD_H
#define CUFENCE_HOLD_H

#include <stdint.h>

#include "calls.h"

/* What the recorder does for the hold. */
struct hold_recorder {
	/* A function of the driver's by its exported name, or NULL. */
	void *(*symbol)(const char *name);
	/* Of the recorded call that this thread is in: id of its site, 0: none. */
	uint32_t (*site)(void);
	/* hold_place_add() of an address of a site. */
	uint64_t (*place_add)(uint64_t place, uint64_t address);
	/* Captures in progress, of all threads. */
	int (*captures)(void);
	/* CUDA calls between the two are not recorded. */
	void (*own_begin)(void);
	void (*own_end)(void);
};

/* What the hold does for the recorder.  On any thread. */
struct hold {
	/* When recording starts: NULL, or why nothing can be held.  path: of the plan. */
	const char *(*start)(const struct hold_recorder *recorder, const char *path);
	/* What is called in place of a driver's function, or that function; before start, too. */
	void *(*wrap)(enum call_id call, int variant, void *real);
	/* A new site: its frames as in RECORD_SITE. */
	void (*site)(uint32_t id, const uint64_t *address, unsigned count);
	/* The program touched memory of a pending copy, at that site. */
	void (*touched)(uint32_t site, enum call_id call);
	/* In a forked child. */
	void (*child)(void);
};

/* There where the library is loaded. */
extern const struct hold cufence_hold __attribute__((weak, visibility("default")));

#endif
