/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Duration of copies between host and device if they used pinned memory.  Per process: at the rate
 * of the run's fastest large copy of pinned memory, or without one, at the rate of the bus.
 */
#ifndef CUFENCE_PINNED_COPIES_H
#define CUFENCE_PINNED_COPIES_H

#include "id_map.h"
#include "run_columns.h"

struct pinned_rate {
	double seen; /* ns per byte, 0: no such copy */
	double bus;
};

/* Zero-initialized is empty. */
struct pinned_copies {
	struct id_map rates; /* struct pinned_rate, by process */
};

/* For a run in columns.  Returns 0, or -1 after a message; call pinned_release() in both cases. */
int pinned_find(struct pinned_copies *pinned, struct db *db);
void pinned_release(struct pinned_copies *pinned);

struct pinned_rate pinned_rate_of(const struct pinned_copies *pinned, int64_t process);

/*
 * Returns the time by which a copy from pageable memory to the device would be shorter, ns; 0 for
 * other calls.
 */
int64_t pinned_excess(const struct pinned_copies *pinned, const struct run *run, int64_t call);

#endif
