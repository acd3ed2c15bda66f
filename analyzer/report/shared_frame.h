/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a thread was between two of its calls: in the innermost function that both call paths lead
 * through.
 *
 * Paths are compared from the outermost frame on.  Frames with the same address may belong to one
 * activation of the function or to two: a call that follows another one at the same address, or at
 * an earlier one, was made by a loop, in this function or in one that called it.  In scripts the
 * source says which lines are in a loop; so the function is that of the innermost frame at which
 * the second call is later in the code, or in the same loop; else that of the innermost own frame.
 * In compiled programs loops are not known: of a call that is not later no function is known.
 *
 * A trace keeps the innermost frames of packages and all of the program's own, so the paths of two
 * calls may lack frames of packages in between: then they are aligned where they agree most.
 */
#ifndef CUFENCE_SHARED_FRAME_H
#define CUFENCE_SHARED_FRAME_H

#include "db.h"

/*
 * Adds SQL function shared_frame(FROM, TO) of two sites: the depth, in site TO, of that frame; NULL
 * if none is known, such as for calls of two threads, or if either is NULL.  Returns 0, or -1 after
 * a message.
 */
int shared_frame_add_function(struct db *db);

#endif
