/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The traces of a small run, kept in table trace of its database.  A cufence of another schema
 * reads that table only, whose declaration stays the same in all versions, and loads the traces
 * again.  What is kept are files and the command line; each is compressed and verified by its hash.
 *
 * Like the rest of a database the table is untrusted: sizes are bounded before memory is taken, and
 * no name of a file comes from it.
 */
#ifndef CUFENCE_KEPT_TRACE_H
#define CUFENCE_KEPT_TRACE_H

#include "db.h"

/*
 * Keeps the traces that were loaded into db, their images that it has (FORMAT.md), and
 * the command, if that is not NULL; or nothing if they take more than TRACE_KEPT_BYTES, or if one
 * cannot be read again.  Returns 0, or -1 after a message if db cannot be written.
 */
int kept_trace_store(struct db *db, char *const *trace, size_t count, const char *command);

/* Whether an open database of any schema has traces.  Prints nothing. */
int kept_trace_exists(struct db *db);

/*
 * Writes the traces of a database of any schema into an empty folder, as NUMBER.cft in the order in
 * which they were loaded, and their images.  command: for the caller to free, NULL if
 * unknown.  Returns 0, or -1 after a message.
 */
int kept_trace_unpack(const char *database, const char *folder, char **command);

#endif
