/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What copies between host and device would take with pinned memory.  By process: as fast as the
 * fastest large one of the run that had pinned memory, or, without one, as the bus can do.
 */
#ifndef CUFENCE_PINNED_COPIES_H
#define CUFENCE_PINNED_COPIES_H

#include "idmap.h"
#include "run_columns.h"

struct pinned_rate {
	double seen; /* ns per byte, 0: no such copy */
	double bus;
};

/* Zero-initialized is empty. */
struct pinned_copies {
	struct idmap rates; /* struct pinned_rate, by process */
};

/* While the run is in columns; 0, or -1 after a message; pinned_release() in both cases. */
int pinned_find(struct pinned_copies *pinned, struct db *db);
void pinned_release(struct pinned_copies *pinned);

struct pinned_rate pinned_rate_of(const struct pinned_copies *pinned, int64_t process);

/* ns by which the operation of a copy from pageable memory to the device would have been shorter;
 * 0 for other calls. */
int64_t pinned_excess(const struct pinned_copies *pinned, const struct run *run, int64_t call);

#endif
