/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SQL functions that the formats share:
 *
 *	source_path(file)   relative to the current folder where it is below that, else as it is
 *	source_uri(file)    the same as a URI, whose other characters are escaped (RFC 3986)
 *	source_base(file)   SRCROOT where source_uri() is relative, else NULL
 *	submitted_by(call)  "kernel 'stencil' on stream 14"
 *	call_name(call)     "cudaFree", as the program wrote it
 *	rule_number(rule)   from 0 on, in the order of rules.def; NULL: there is none of that name
 *	cost_text(finding)  "29 times, 86 ms host wait; about 46 ms ... would be saved"
 *	shown(text)         as print() shows it
 */
#ifndef CUFENCE_EXPORT_SQL_H
#define CUFENCE_EXPORT_SQL_H

#include "db.h"
#include "words.h"

/* State of the functions; must outlive the statements that use them. */
struct export_sql {
	struct db *db;
	struct words *words;
	sqlite3_stmt *cost;
	char folder[4096]; /* the current one, with '/' at its end; "": not known */
};

/* Adds them: 0, or -1 after a message; export_sql_close() in both cases. */
int export_sql_open(struct export_sql *sql, struct db *db);
void export_sql_close(struct export_sql *sql);

/* Returns the URI of SRCROOT; to be freed by sqlite3_free(). */
char *export_sql_root(const struct export_sql *sql);

#endif
