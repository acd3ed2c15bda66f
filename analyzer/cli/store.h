/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a database file: built beside its final name, renamed at the end, the previous one
 * kept as NAME.db.old, with the permissions it had, where that is free or a database; so that a
 * failure leaves what was there.  One without calls is not kept: runs in which nothing was traced
 * do not replace what an earlier one found.  What was killed leaves NAME.db.tmp-PID, which the next
 * one of that name removes.
 */
#ifndef CUFENCE_STORE_H
#define CUFENCE_STORE_H

#include <stddef.h>

#include "annotations.h"

/*
 * Whether a database may be put at path, or where it leads (output.h): nothing is there, or one,
 * and so at its NAME.db.old.  0, or -1 after a message.
 */
int store_check(const char *path);

/* After one without calls: says where the one before it is, if there is one.  0. */
int store_say_kept(const char *path);

/*
 * Loads traces, resolves their sites and analyzes them into a new database at path.  command is
 * what was run, or NULL, annotations what the user says of kernels, or NULL.  0, or -1 after a
 * message.
 */
int store_build(const char *path, char *const *trace, size_t count, const char *command,
	const struct annotations *annotations);

#endif
