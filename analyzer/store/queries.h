/* SPDX-License-Identifier: Apache-2.0 */
/* Predefined queries: "cufence query NAME.db NAME". */
#ifndef CUFENCE_QUERIES_H
#define CUFENCE_QUERIES_H

struct query {
	const char *name, *summary, *sql;
};

/* The last entry has name NULL. */
extern const struct query queries[];

#endif
