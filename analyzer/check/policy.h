/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Policies: what a program or library may forbid itself to call, whatever it costs.  A call breaks
 * one by what CUDA documents about it, or what "cufence probe" measured (scope.h); times play no
 * part, so that traces without device operations and of the simulated device are judged as well.
 */
#ifndef CUFENCE_POLICY_H
#define CUFENCE_POLICY_H

#include <stddef.h>

#include "db.h"

enum policy {
	/* Work, an event or a wait on the legacy or a per-thread default stream, named or not. */
	POLICY_DEFAULT_STREAM,
	/* The host waits for an event, a stream or a context, or in a copy or memset. */
	POLICY_SYNC,
	/* A copy to or from pageable host memory. */
	POLICY_PAGEABLE_COPY,
	/* Freeing or unregistering memory, which waits for the device; not in stream order. */
	POLICY_FREE,
	/* A wait for all streams of a context, a device or the process, also as a side effect. */
	POLICY_DEVICE_WIDE,
	POLICIES
};

extern const char *const policy_names[POLICIES];

/* Returns the policy of that name, POLICIES: there is none. */
enum policy policy_find(const char *name, size_t length);

/*
 * Fills temp.breach: call, number (enum policy), policy (its name); a row for each driver call and
 * each of policies (bits) that it breaks.  captured: calls that became nodes of a graph count too;
 * they submit nothing where they stand.  db->run must be open.  Returns 0, or -1 after a message.
 */
int policy_collect(struct db *db, unsigned policies, int captured);

#endif
