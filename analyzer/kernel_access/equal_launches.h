/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds launches of one kernel that are equal for the interpreter: they differ only in parameters
 * that it did not read when it interpreted one of them, such as those past the end of a table.
 */
#ifndef CUFENCE_EQUAL_LAUNCHES_H
#define CUFENCE_EQUAL_LAUNCHES_H

#include "ptx.h"

struct equal_launches {
	struct equal_launch {
		struct ptx_launch launch; /* value, state: copies */
		uint8_t *asked;           /* by byte, 1: the result depends on it */
		unsigned long steps;      /* limit of steps when it was interpreted */
	} * launch;
	size_t count;
};

/* Returns an equal launch that was interpreted before, NULL if there is none. */
const struct equal_launch *equal_launches_find(const struct equal_launches *equal,
	const struct ptx_launch *launch);

/*
 * Adds a launch that was interpreted with this limit of steps; asked: as ptx_access.scalar, of
 * count bytes.
 */
void equal_launches_add(struct equal_launches *equal, const struct ptx_launch *launch,
	const uint8_t *asked, size_t count, unsigned long steps);

void equal_launches_release(struct equal_launches *equal);

#endif
