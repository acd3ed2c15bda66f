/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorder's side of the hold (hold.h).  All of it is behind shim.hold, which is NULL in a
 * process without one, on paths that few calls take.
 */
#ifndef CUFENCE_HOLDING_H
#define CUFENCE_HOLDING_H

#include "hold.h"
#include "shim.h"

/* When recording starts, before there is any site; and in a forked child. */
void holding_start(struct thread_state *thread);
void holding_child(void);

/* Of a site that is new: its own frames, then those of a script. */
void holding_site(uint32_t id, const uint64_t *address, unsigned count, const uint64_t *script,
	unsigned scripts);

#endif
