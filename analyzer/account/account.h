/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accounts for the time of a run: tables loop, turn, inner_loop,
 * account, blocked and collective_time.
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
 * Fills the tables, which must be empty, and the loops of the run.  Needs its waits, holds and
 * handovers.  Returns 0, or -1 after a message.
 */
int account_measure(struct db *db);

#endif
