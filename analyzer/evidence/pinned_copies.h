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

/*
 * Fills an empty map with struct pinned_rate by process, for a run in columns.  Returns 0, or -1
 * after a message; id_map_release() with free() follows in both cases.
 */
int pinned_find(struct id_map *rates, struct db *db);

struct pinned_rate pinned_rate_of(const struct id_map *rates, int64_t process);

/*
 * Returns the time by which a copy from pageable memory to the device would be shorter, ns; 0 for
 * other calls.
 */
int64_t pinned_excess(const struct id_map *rates, const struct run *run, int64_t call);

#endif
