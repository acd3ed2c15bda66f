/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a file is the database that cufence would have made.  A database is input like a trace:
 * it may be damaged, or made by somebody else.  What the commands rely on is checked here once,
 * when it is opened: that its tables are those of schema.sql, that every value has its column's
 * type and refers to a row that is there, that times are possible, and that no call is within
 * itself.
 *
 * The declarations of schema.sql are what is checked: types, NOT NULL and REFERENCES.  What SQL
 * cannot declare is in one table in db_check_rows.c.
 */
#ifndef CUFENCE_DB_CHECK_H
#define CUFENCE_DB_CHECK_H

#include "db.h"

/* Says that db is damaged, once for each that is opened, and what to do; -1. */
int db_damaged(struct db *db, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Whether its tables are those of made, an empty database of this version, and no trigger acts on
 * them.  Tables, views and indexes that a user added do not matter.  0, or -1 after a message.
 */
int db_check_schema(struct db *db, struct db *made);

/*
 * Whether of each table the first rows are in order, at most so many; with INT64_MAX all of them,
 * and every page and index as SQLite sees it.  0, or -1 after a message.
 */
int db_check_rows(struct db *db, struct db *made, int64_t most);

#endif
