/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives of the ranks (ranks_collectives.c, ranks_match.c), matched by what all ranks of a
 * communicator have in common and by their number in it.  No rank's kernel ends before all ranks
 * have come, so that the kernels of a collective end together: how long each was in it says how
 * much earlier than the last one it came, whatever the clocks of the hosts say.
 *
 * Each: 0, or -1 after a message.
 */
#ifndef CUFENCE_RANKS_INTERNAL_H
#define CUFENCE_RANKS_INTERNAL_H

#include "db.h"

/* Makes the temporary tables of a merged database, and those of collectives. */
int ranks_begin(struct db *merged);
int ranks_collectives_begin(struct db *merged);

/* Copies the rows of a query, in which ?1 and ?2 are first and second, if it has them. */
struct ranks_copy {
	const char *select, *insert;
};
int ranks_copy(struct db *merged, struct db *run, const struct ranks_copy *copy, int64_t first,
	int64_t second);

/* Adds those of a run whose ranks are in its table temp.ranked. */
int ranks_collectives_add(struct db *merged, struct db *run);

/* After all: a finding for each communicator whose ranks do not call alike; others follow. */
int ranks_match_order(struct db *merged);

/* After table deviation is filled: table straggler. */
int ranks_match_arrivals(struct db *merged);

/* Makes the temporary tables of replays. */
int ranks_replay_begin(struct db *merged);

/* After table merged_finding is filled: what fixes save all ranks, and table merged_replay. */
int ranks_replay(struct db *merged);

#endif
