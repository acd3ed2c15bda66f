/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches of one kernel that are the same to the interpreter: they differ in parameters alone that
 * it did not ask for when it followed one of them, such as those past the end of a table.
 */
#ifndef CUFENCE_ALIKE_H
#define CUFENCE_ALIKE_H

#include "ptx.h"

struct alike {
	struct alike_launch {
		struct ptx_launch launch; /* value, state: its own */
		uint8_t *asked;           /* by byte: 1: the answer depends on it */
		unsigned long steps;      /* as it was asked for */
	} * launch;
	size_t count;
};

/* One that was followed before; NULL: there is none. */
const struct alike_launch *alike_find(const struct alike *alike, const struct ptx_launch *launch);

/*
 * It was followed, with at most so many steps; asked: as ptx_access.scalar, of count bytes.  0, or
 * -1 after a message.
 */
int alike_add(struct alike *alike, const struct ptx_launch *launch, const uint8_t *asked,
	size_t count, unsigned long steps);

void alike_release(struct alike *alike);

#endif
