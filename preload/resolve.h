/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the real functions are, and who gets a wrapper instead.
 *
 * Programs reach the driver in three ways: linked to libcuda (our exports come first), by
 * dlsym(libcuda, name), and by what cuGetProcAddress returns.  The last two are answered with a
 * wrapper only if the real address is that of a function with a row in calls.def: the address
 * decides, not the name, so that any version and flag gives the right prototype.
 */
#ifndef CUFENCE_RESOLVE_H
#define CUFENCE_RESOLVE_H

#include "calls.h"

enum { VARIANT_LEGACY, VARIANT_PER_THREAD, VARIANT_COUNT };
enum { RUNTIME_11, RUNTIME_12, RUNTIME_13, RUNTIME_COUNT };

struct driver_entry {
	const char *name; /* exported symbol, NULL: no such variant */
	void *wrapper;
};

/* By call id and variant; the wrappers define it (driver.c). */
extern const struct driver_entry driver_entries[CALL_COUNT][VARIANT_COUNT];

/* Addresses of libcuda's functions, NULL where not found or not yet looked up. */
extern void *driver_reals[CALL_COUNT][VARIANT_COUNT];

/* The real driver function of a row; NULL if libcuda has none. */
void *driver_resolve(enum call_id id, int variant);
static inline void *driver_real(enum call_id id, int variant)
{
	void *real = __atomic_load_n(&driver_reals[id][variant], __ATOMIC_RELAXED);

	return real ? real : driver_resolve(id, variant);
}

/* Any function of libcuda by its exported name (the allow-list of DESIGN), NULL if missing. */
void *driver_symbol(const char *name);

/*
 * Finds all of these and all real driver functions.  At the start, because dlsym() waits for
 * whoever loads a library, as long as its constructors take: they may wait for this thread.
 */
void driver_look_up(void);

/* A handle of the loaded libcuda, NULL if it is not loaded and cannot be. */
void *driver_library(void);

/* The real runtime function that the next library, or libcudart of that major, exports. */
void *runtime_resolve(int major, const char *name);

/* The C library's own dlsym. */
void *(*resolve_real_dlsym(void))(void *, const char *);

/* The dlsym that is asked next: the C library's, or the hook of another tool behind this one. */
void *(*resolve_next_dlsym(void))(void *, const char *);

/* What the dlsym hook answers: our wrapper, or NULL for "ask the next dlsym". */
void *dlsym_answer(void *handle, const char *name);

/* Counts in the trace, now open, what was handed out unwrapped before it was. */
void resolve_count_early(void);

#endif
