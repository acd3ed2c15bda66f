/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorder's side of the hold and the fix (hold.h).  Everything depends on shim.hold, which is
 * NULL in a process without them, on paths that few calls take.
 */
#ifndef CUFENCE_HOLDING_H
#define CUFENCE_HOLDING_H

#include "hold.h"
#include "shim.h"

/* Call when recording starts, before there is any site; and in a forked child. */
void holding_start(struct thread_state *thread);
void holding_child(void);

/* Call at the end of the process, before the last records. */
void holding_end(void);

/* Returns 1 if the call that has just returned was not made: what it waits for is not complete. */
int holding_changed(enum call_id call);

/* Call for a new site: its native frames, then those of a script. */
void holding_site(uint32_t id, const uint64_t *address, unsigned count, const uint64_t *script,
	unsigned scripts);

#endif
