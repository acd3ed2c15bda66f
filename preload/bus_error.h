/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SIGBUS, which a thread gets when it stores to a mapped file that somebody else has cut.  Where
 * the file is the trace, recording ends and the program goes on; in every other case the program
 * gets what it would get without the recorder, and sees none of this: sigaction() and its kin are
 * wrapped.  Not covered are threads that block SIGBUS, programs that ignore it (the kernel ends
 * both), and programs that set their handler past the C library, whose handler it is then.
 */
#ifndef CUFENCE_BUS_ERROR_H
#define CUFENCE_BUS_ERROR_H

/* Handles SIGBUS from here on, in this process; again in a forked child that records. */
void bus_error_watch(void);

/* Leaves it to the program: nothing is recorded. */
void bus_error_leave(void);

#endif
