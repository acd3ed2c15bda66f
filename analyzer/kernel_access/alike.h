/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds launches of one kernel that are equal for the interpreter: they differ only in parameters
 * that it did not read when it interpreted one of them, such as those past the end of a table.
 */
#ifndef CUFENCE_ALIKE_H
#define CUFENCE_ALIKE_H

#include "ptx.h"

struct alike {
	struct alike_launch {
		struct ptx_launch launch; /* value, state: copies */
		uint8_t *asked;           /* by byte, 1: the result depends on it */
		unsigned long steps;      /* limit of steps when it was interpreted */
	} * launch;
	size_t count;
};

/* Returns an equal launch that was interpreted before, NULL if there is none. */
const struct alike_launch *alike_find(const struct alike *alike, const struct ptx_launch *launch);

/*
 * Adds a launch that was interpreted with this limit of steps; asked: as ptx_access.scalar, of
 * count bytes.
 */
void alike_add(struct alike *alike, const struct ptx_launch *launch, const uint8_t *asked,
	size_t count, unsigned long steps);

void alike_release(struct alike *alike);

#endif
