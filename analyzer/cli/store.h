/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a database file.  It is built next to its final name and renamed at the end, so that
 * a failure leaves the previous one.  The previous one is kept as NAME.db.old with its permissions,
 * if that name is free or a database.  A database without calls is discarded: a run that traced
 * nothing does not replace an earlier result.  A killed process leaves NAME.db.tmp-PID, which the
 * next run with that name removes.
 */
#ifndef CUFENCE_STORE_H
#define CUFENCE_STORE_H

#include "analyze.h"

/*
 * Whether a database may be written at path, or at its target (output.h): both that and its
 * NAME.db.old are free or cufence databases.  0, or -1 after a message.
 */
int store_check(const char *path);

/* After a database without calls: names the previous one, if it exists.  Returns 0. */
int store_name_previous(const char *path);

/* Fills an empty database.  0, or -1 after a message. */
typedef int store_fill(struct db *db, const void *argument);

/* Makes a database at path by fill.  0, or -1 after a message. */
int store_make(const char *path, store_fill *fill, const void *argument);

/*
 * All stages of the analysis (analyze.h), into a new database at path.  0, or -1 after a message.
 */
int store_build(const char *path, const struct analyze_input *input);

#endif
