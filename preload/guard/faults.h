/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals of faults that the recorder handles before the program does: SIGBUS, which a thread gets
 * when it stores to a mapped file that somebody else has cut, and with a guard SIGSEGV.  Where the
 * fault is not the recorder's the program gets what it would get without it, and sees none of
 * this: sigaction() and its kin are wrapped.  Not covered are threads that block SIGBUS, programs
 * that ignore it (the kernel ends both), and programs that set their handler past the C library,
 * whose handler it is then.
 */
#ifndef CUFENCE_FAULTS_H
#define CUFENCE_FAULTS_H

#include <signal.h>

/* 1: the instruction can be repeated now.  Of a signal that was sent it is not asked. */
typedef int (*fault_handler)(const siginfo_t *info, void *context);

/*
 * Handles SIGBUS or SIGSEGV from here on, in this process; again in a forked child that records.
 * 0, or -1: the program ignores it.
 */
int faults_watch(int number, fault_handler handler);

/* Leaves it to the program. */
void faults_leave(int number);

#endif
