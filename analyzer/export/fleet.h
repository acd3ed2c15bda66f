/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Databases of many runs and ranks in one folder that engines for large data read: there is no
 * format and no engine of our own.  doc/EXPORT.md describes the folder for its users.
 *
 *	DIR/TABLE/in_run=RUN/in_rank=RANK/in_hour=YYYYMMDDHH/DATABASE.csv.gz
 *	DIR/duckdb/, DIR/clickhouse/, DIR/spark/	statements that make the tables, and queries
 *	DIR/manifest.json				the version of the schema
 *
 * The tables are those of schema.def with two columns more at the front: db, which identifies the
 * database, and table exported, a row for each process.  Ids are those of the database, so tables
 * are joined by db and id.  Kept traces are left out.  A database that is there is replaced, and
 * others stay; a file is complete as soon as it has its name, so several may be added at once.
 *
 * CSV is RFC 4180's with "\n" at ends of lines: the first line has names; NULL is \N without
 * quotes, text is always in quotes; bytes are hexadecimal digits; a real number has all its digits.
 * Bytes of text that are not UTF-8 become U+FFFD, since engines refuse them.
 */
#ifndef CUFENCE_FLEET_H
#define CUFENCE_FLEET_H

#include "db.h"

struct fleet {
	const char *folder;
	const char *run;    /* NULL: when the first database began, set by fleet_add() */
	const char *commit; /* NULL: not known */
	char began[32];
};

/* Each: 0, or -1 after a message. */

/* Makes the folder, or accepts one of this schema, and writes the statements. */
int fleet_open(struct fleet *fleet);

/* Adds a database, which is not a merged one. */
int fleet_add(struct fleet *fleet, struct db *db);

#endif
