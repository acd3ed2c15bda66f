/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a query's rows: in columns, separated by tabs, as JSON or as CSV. */
#ifndef CUFENCE_QUERY_ROWS_H
#define CUFENCE_QUERY_ROWS_H

#include <stdio.h>

#include "db.h"

enum query_form {
	QUERY_TABS,    /* plain values between tabs, NULL is empty */
	QUERY_ALIGNED, /* under their names, in columns, shown as print() shows text */
	QUERY_CSV,     /* RFC 4180, with the names in the first line */
	QUERY_JSON,    /* an array of objects */
};

/* Steps through a statement and writes its rows: 0, or -1 after a message.  header: for tabs. */
int query_rows(sqlite3_stmt *stmt, enum query_form form, int header, FILE *out);

#endif
