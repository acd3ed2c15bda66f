/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of a run leaves the machine.  Reports in formats for other programs are uploaded and kept,
 * and a command line may hold passwords and tokens.  Temporary views, which SQLite finds before the
 * tables of the same name, let all reports and exports of a connection read less.
 */
#ifndef CUFENCE_DISCLOSE_H
#define CUFENCE_DISCLOSE_H

#include "db.h"

enum disclosure {
	DISCLOSE_ALL,     /* everything that the database has */
	DISCLOSE_PROGRAM, /* of command lines, the program's name only */
	DISCLOSE_LEAST,   /* and no environment, and of paths the last part only */
};

/* For a connection that writes one report.  Returns 0, or -1 after a message. */
int disclose(struct db *db, enum disclosure disclosure);

/* Whether folders of this machine are left out. */
int disclose_is_least(struct db *db);

#endif
