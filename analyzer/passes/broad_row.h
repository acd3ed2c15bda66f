/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits of one place in a row, as a loop over all devices or streams makes them before anything is
 * submitted: one wait for all of them.  What the host may look at behind the row counts for those,
 * too, behind which alone it could look at nothing.
 */
#ifndef CUFENCE_BROAD_ROW_H
#define CUFENCE_BROAD_ROW_H

#include "broad_places.h"

#define BROAD_ROW 16

/* A narrowed wait behind which the host could look at nothing: it may be about to copy. */
struct fetching {
	const struct broad_wait *wait; /* NULL: none */
	struct broad_place *place;
	int64_t enter;
	int64_t needed_end, needed; /* as of struct search */
};

/* Of a thread; zero-initialized is none. */
struct broad_row {
	const struct broad_place *place;
	int64_t submissions;                 /* of the thread, until it */
	int64_t needed_end, needed;          /* of all its waits; place NULL: nothing */
	struct fetching fetching[BROAD_ROW]; /* those that were held, with nothing to look at */
	size_t count;
};

/* A wait, what it is needed for as in *narrow; ->wait NULL: it was not held. */
void broad_row_add(struct broad_row *row, int64_t submissions, const struct fetching *narrow);

#endif
