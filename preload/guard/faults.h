/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fault signals that the recorder handles before the program: SIGBUS, raised by a store to a mapped
 * file that was truncated, and SIGSEGV with a guard.  For faults that are not the recorder's, the
 * program's own handling applies; sigaction() and related functions are wrapped to hide the
 * recorder's handler.  Not covered: threads that block SIGBUS, programs that ignore it (the kernel
 * ends both), and programs that bypass the C library to set a handler, which then replaces ours.
 */
#ifndef CUFENCE_FAULTS_H
#define CUFENCE_FAULTS_H

#include <signal.h>

/* Returns 1 if the instruction can be repeated.  Not called for signals that were sent. */
typedef int (*fault_handler)(const siginfo_t *info, void *context);

/*
 * Handles SIGBUS or SIGSEGV from now on, in this process; call again in a forked child that
 * records.  Returns 0, or -1 if the program ignores the signal.
 */
int faults_watch(int number, fault_handler handler);

/* Restores the program's handling. */
void faults_leave(int number);

#endif
