/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the time goes: tables loop and account.
 *
 * The account of a process covers its loop (loop.h), until all has ended that its turns submitted,
 * or without a loop all from the first call that submits an operation to the end of the last
 * operation.  Each nanosecond of a device that ran something meanwhile has one cause: the device
 * was busy, or it idled until an operation began because
 *
 *	outside   no thread was in CUDA: the host had other work between two sites
 *	submit    a thread was in a call that submits work
 *	call      ... in another call
 *	wait      ... in a call that waits: what it waited for had ended
 *	loading   the operation's call loaded code
 *	order     it was submitted, and waited for work elsewhere (table hold)
 *	start     it was submitted, and on its way to the device
 *	unknown   it is not known which call submitted it
 *
 * or it was done: no other operation came.
 *
 * The thread that made the operation's call is asked first, then the busiest others, unless they
 * wait.  Of the host the thread that makes the loop's turns has each nanosecond: held (table wait),
 * submit, call, wait (the rest of calls that waited), outside.
 *
 * The rows of a device, and those of the host, add up to the time covered.
 */
#ifndef CUFENCE_ACCOUNT_H
#define CUFENCE_ACCOUNT_H

#include "db.h"

/* Fills both, which are empty.  Needs waits and holds.  0, or -1 after a message. */
int account_measure(struct db *db);

#endif
