/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accounts for the time of a run: tables loop, turn, inner_loop and account.
 *
 * The account of a process covers its loop (loop.h) until all work of its turns has ended; without
 * a loop it covers the first call that submits an operation to the end of the last operation.  Each
 * nanosecond of a device that ran something meanwhile has one cause: the device was busy with
 * kernels, copies or both, or it was idle before an operation because
 *
 *	outside   no thread was in CUDA: the host had other work between two sites
 *	submit    a thread was in a call that submits work
 *	call      a thread was in another call
 *	wait      a thread was in a call that waits, after the end of what it waited for
 *	loading   the operation's call loaded code
 *	order     it was submitted, and waited for other work (table hold)
 *	start     it was submitted, and on its way to the device
 *	unknown   the call that submitted it is unknown
 *
 * or it was done: no other operation followed.
 *
 * The thread that made the operation's call is considered first, then the busiest other threads,
 * unless they wait.  The host's time is that of the thread that makes the loop's turns.  Each
 * nanosecond has one cause: held (table wait), submit, call, wait (the rest of calls that waited),
 * outside.
 *
 * The rows of a device, and those of the host, add up to the covered time.
 */
#ifndef CUFENCE_ACCOUNT_H
#define CUFENCE_ACCOUNT_H

#include "db.h"

/*
 * Fills the tables, which must be empty.  Needs tables wait and hold.  Returns 0, or -1 after a
 * message.
 */
int account_measure(struct db *db);

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
 *
 * Adds SQL function shared_frame(FROM, TO) of two sites: the depth, in site TO, of that frame; NULL
 * if none is known, such as for calls of two threads, or if either is NULL.  Returns 0, or -1 after
 * a message.
 */
int shared_frame_add_function(struct db *db);

#endif
