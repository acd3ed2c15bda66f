/* SPDX-License-Identifier: Apache-2.0 */
/* Packed replays and changes (joint.h), private to this room. */
#ifndef CUFENCE_REPLAY_PACKED_H
#define CUFENCE_REPLAY_PACKED_H

#include <stddef.h>
#include <stdint.h>

#include "replay.h"

struct packed_replay {
	struct replay *replay;
	struct set_ups *set_ups; /* their number of lines only */
	int64_t from;            /* start of the loop, or of the run, ns */
};

/*
 * Unpacks at most so many steps.  Returns 0, or -1 if the data are damaged: each number is in the
 * range that a replay needs.  Call packed_release() in any case.
 */
int packed_read(struct packed_replay *packed, const void *data, size_t size, size_t most);

/* Adds changes to those of the replay, also if it has fewer steps.  Returns as packed_read(). */
int packed_change(struct packed_replay *packed, const void *data, size_t size);

void packed_release(struct packed_replay *packed);

#endif
