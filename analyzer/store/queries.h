/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Predefined queries: "cufence query NAME.db NAME".  They are in the SQL that SQLite shares with
 * other engines, for which "cufence export" writes them.
 */
#ifndef CUFENCE_QUERIES_H
#define CUFENCE_QUERIES_H

struct query {
	const char *name, *summary, *sql;
	int here; /* 1: it has SQL functions of this program, or is for its tests */
};

/* The last entry has name NULL. */
extern const struct query queries[];

#endif
