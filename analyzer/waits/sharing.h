/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds whether a copy passes data between two operations, as far as recorded: by the allocations
 * of copy operands and of pointers among launch parameters.  Memory that a kernel reaches in other
 * ways is unknown.
 */
#ifndef CUFENCE_SHARING_H
#define CUFENCE_SHARING_H

#include <stdint.h>

#include "access.h"
#include "db.h"

struct sharing;

/* The reader stays the caller's.  Returns NULL after a message. */
struct sharing *sharing_open(struct db *db, struct access_reader *reader);
void sharing_close(struct sharing *sharing);

/*
 * Returns 1 if both calls may use what the copy (or memset) reads or writes, so that the copy is
 * between them; 0 if one of them does not; -1 after a message.  The extent of a kernel's access is
 * unknown: a pointer below the copy's bytes may reach them, unless the other call has a pointer
 * into them, which shows that the program passes parts.
 */
int sharing_between(struct sharing *sharing, int64_t copy, int64_t call, int64_t other);

#endif
