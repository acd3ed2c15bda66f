/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Libraries that wrap driver functions below the recorder, loaded with it on request only: the hold
 * (delay/, "cufence confirm") delays the stream of one call and checks whether another call's work
 * completes meanwhile (trace/hold_plan.h); the fix (fix/, "cufence try") makes calls as a finding
 * advises (trace/fix_plan.h).  One of them is in use.  The recorder passes them the driver's
 * functions when it looks them up, and each new site; this adds no cost to calls.
 */
#ifndef CUFENCE_HOLD_H
#define CUFENCE_HOLD_H

#include <stdint.h>
#include <sys/mman.h>

#include "calls.h"
#include "system.h"

/* Functions of the recorder for them. */
struct hold_recorder {
	/* Returns a driver function by its exported name, or NULL. */
	void *(*symbol)(const char *name);
	/* Returns the site id of the recorded call in progress on this thread, 0: none. */
	uint32_t (*site)(void);
	/* hold_place_add() for an address of a site. */
	uint64_t (*place_add)(uint64_t place, uint64_t address);
	/* Number of captures in progress, on all threads. */
	int (*captures)(void);
	/* ns: of the simulated device's clock, else of CLOCK_MONOTONIC. */
	uint64_t (*now)(void);
	/* CUDA calls between these two are not recorded. */
	void (*own_begin)(void);
	void (*own_end)(void);
};

/* Their functions for the recorder; NULL: nothing to do.  On any thread. */
struct hold {
	/*
	 * Called when recording starts.  Returns NULL, or why nothing can be done. path: the
	 * plan.
	 */
	const char *(*start)(const struct hold_recorder *recorder, const char *path);
	/* Returns the function to call in place of a driver function; called before start, too. */
	void *(*wrap)(enum call_id call, int variant, void *real);
	/* Called for a new site: its frames as in RECORD_SITE. */
	void (*site)(uint32_t id, const uint64_t *address, unsigned count);
	/* The program accessed memory of a pending copy, at that site. */
	void (*touched)(uint32_t site, enum call_id call);
	/* Called in a forked child. */
	void (*child)(void);
	/* Returns 1 if this thread's last call of that function was not made. */
	int (*changed)(enum call_id call);
	/* Called at the process's end, while the driver can still be called. */
	void (*end)(void);
};

/* Maps a plan of so many bytes, which is the caller's to check; NULL: it cannot be read. */
static inline void *hold_map_plan(const char *path, size_t bytes)
{
	int fd = system_open(path, O_RDWR, 0);
	void *mapped =
		fd < 0 ? MAP_FAILED : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (fd >= 0)
		system_close(fd);
	return mapped == MAP_FAILED ? NULL : mapped;
}

/* Defined if the library is loaded. */
extern const struct hold cufence_hold __attribute__((weak, visibility("default")));
extern const struct hold cufence_fix __attribute__((weak, visibility("default")));

#endif
