/* SPDX-License-Identifier: Apache-2.0 */
/* Queries that ship with the program: "cufence query NAME.db NAME". */
#ifndef CUFENCE_QUERIES_H
#define CUFENCE_QUERIES_H

struct query {
	const char *name, *summary, *sql;
};

/* Ends with name NULL. */
extern const struct query queries[];

#endif
