/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SIGINT, SIGTERM and SIGHUP while a database is made: each removes the unfinished file and then
 * has its usual effect, at once and even while a library runs; so does exit().
 */
#ifndef CUFENCE_INTERRUPT_H
#define CUFENCE_INTERRUPT_H

#include <signal.h>
#include <stddef.h>

/*
 * From here on these signals remove the file at path, a string that stays until
 * interrupt_unguard().  A signal that was ignored stays so.  A child process removes nothing.
 */
void interrupt_guard(const char *path);
void interrupt_unguard(void);

/* The same of so many files PATH.0, PATH.1 and so on. */
void interrupt_guard_parts(size_t count);

/* In a child process: the same of that file only, without a message. */
void interrupt_child(const char *path);

/* The line that they print then, with its newline, or NULL; the string must stay valid. */
void interrupt_note(const char *line);

/* Block and unblock these signals, around steps that must not be separated. */
void interrupt_hold(sigset_t *before);
void interrupt_restore(const sigset_t *before);

#endif
