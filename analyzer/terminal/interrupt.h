/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SIGINT, SIGTERM and SIGHUP while a database is made: each removes the unfinished file and then
 * does what it always does, at once and wherever the program is, in a library too.
 */
#ifndef CUFENCE_INTERRUPT_H
#define CUFENCE_INTERRUPT_H

#include <signal.h>

/*
 * From here on these signals remove the file at path, a string that stays until
 * interrupt_unguard().  A signal that was ignored stays so.  A child process removes nothing.
 */
void interrupt_guard(const char *path);
void interrupt_unguard(void);

/* A line that they say then, a string that stays, or NULL; with its newline. */
void interrupt_note(const char *line);

/* Between the two these signals wait, for the few steps that belong together. */
void interrupt_hold(sigset_t *before);
void interrupt_restore(const sigset_t *before);

#endif
