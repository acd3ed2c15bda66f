/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks that a file is a valid cufence database.  A database is untrusted input, like a trace.
 * Properties that the commands rely on are checked once, when it is opened: its tables are those of
 * schema.def, every value has its column's type and refers to an existing row, times are possible,
 * and no call contains itself.
 */
#ifndef CUFENCE_DB_CHECK_H
#define CUFENCE_DB_CHECK_H

#include "db.h"

/* Reports that db is damaged, once per open database, and what to do.  Returns -1. */
int db_damaged(struct db *db, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Whether two declarations are the same but for spaces and comments, which change without a new
 * version of the schema.
 */
int db_check_same(const char *one, const char *other);

/*
 * Checks that its tables and indexes are as schema.def declares them, and that there are no
 * triggers.  Additional tables, views and indexes are ignored.  Returns 0, or -1 after a message.
 */
int db_check_schema(struct db *db);

/*
 * Checks the first rows of each table, at most so many; with INT64_MAX all rows, and all pages and
 * indexes by SQLite's own check.  Returns 0, or -1 after a message.
 */
int db_check_rows(struct db *db, int64_t most);

#endif
