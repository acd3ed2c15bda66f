/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether operations use the same memory, as far as is recorded: by the allocations that the ends
 * of copies and the pointers among launch parameters lie in.  Memory that a kernel reaches in other
 * ways is not known.
 */
#ifndef CUFENCE_SHARING_H
#define CUFENCE_SHARING_H

#include <stdint.h>

#include "db.h"

struct sharing;

/* NULL after a message. */
struct sharing *sharing_open(struct db *db);
void sharing_close(struct sharing *sharing);

/*
 * 1 if both calls may touch what the copy (or memset) reads or writes, so that it stands between
 * them; 0 if one of them does not; -1 after a message.  How far a kernel goes from a pointer on is
 * not known: one to before the copy's bytes may reach them, unless the other call was given one
 * right into them, which says that the program hands out parts.
 */
int sharing_between(struct sharing *sharing, int64_t copy, int64_t call, int64_t other);

/*
 * 1 if the order of two operations matters, as one of them may write what the other one uses: the
 * same bytes, or both were given the same pointer.  0, or -1 after a message.
 */
int sharing_conflict(struct sharing *sharing, int64_t call, int64_t other);

/*
 * 1 if it is known which memory two operations were given, and nothing found makes their order
 * matter; 0, or -1 after a message.
 */
int sharing_nothing(struct sharing *sharing, int64_t call, int64_t other);

#endif
