/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lookup of real functions, and which lookups of the program return a wrapper.
 *
 * Programs reach the driver in three ways: linked to libcuda (our exports come first), by
 * dlsym(libcuda, name), and by cuGetProcAddress.  The last two return a wrapper only if the real
 * address is that of a function with a row in calls.def: the address decides, not the name, so that
 * the prototype is right for any version and flag.
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

/* By call id and variant; defined by the wrappers (driver.c). */
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

/* Returns a function of libcuda by its exported name, NULL if missing. */
void *driver_symbol(const char *name);

/*
 * Looks up all of these and all real driver functions.  Done at the start, because dlsym() blocks
 * while another thread loads a library and runs its constructors, which may wait for this thread.
 */
void driver_look_up(void);

/* Returns a handle of the loaded libcuda, NULL if it is not loaded and cannot be. */
void *driver_library(void);

/* Returns the real runtime function of the next library, or of libcudart of that major. */
void *runtime_resolve(int major, const char *name);

/* The C library's own dlsym. */
void *(*resolve_real_dlsym(void))(void *, const char *);

/* The next dlsym: the C library's, or the hook of another tool after this one. */
void *(*resolve_next_dlsym(void))(void *, const char *);

/* Result of the dlsym hook: a wrapper, or NULL to call the next dlsym. */
void *dlsym_answer(void *handle, const char *name);

#endif
