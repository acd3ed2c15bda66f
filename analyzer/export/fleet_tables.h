/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of an export (fleet.h): exported, then those of schema.def that are exported. */
#ifndef CUFENCE_FLEET_TABLES_H
#define CUFENCE_FLEET_TABLES_H

#include <sqlite3.h>

#include "schema.h"

struct fleet_column {
	const char *name, *note;
	int type; /* SQLITE_INTEGER, ... */
	int null; /* 1: it may be NULL */
};

struct fleet_table {
	const char *name, *note;
	int columns;
	struct fleet_column column[SCHEMA_COLUMNS_MOST]; /* without db, which precedes them */
};

/* Describes the number-th table, from 0 on: 1, or 0 after the last one. */
int fleet_table(int number, struct fleet_table *table);

/* The first line of its files, with names; for the caller to free. */
char *fleet_table_header(const struct fleet_table *table);

/*
 * The SQL of its rows: rank (NULL: of none), time in ns since 1970, then the columns.
 * For the caller to free by sqlite3_free().  Parameters, of table exported only: the run, the
 * commit.
 */
char *fleet_table_sql(int number);

#endif
