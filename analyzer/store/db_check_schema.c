/* SPDX-License-Identifier: Apache-2.0 */
#include "db_check.h"

#include <ctype.h>

/* The next character of a declaration that is neither space nor in a comment. */
static const char *skip(const char *at)
{
	for (;;) {
		while (isspace((unsigned char)*at))
			at++;
		if (at[0] != '-' || at[1] != '-')
			return at;
		while (*at && *at != '\n')
			at++;
	}
}

int db_check_same(const char *one, const char *other)
{
	do {
		one = skip(one);
		other = skip(other);
		if (*one != *other)
			return 0;
	} while (*one++ && *other++);
	return 1;
}

static int check_declared(struct db *db, sqlite3_stmt *wanted, sqlite3_stmt *there)
{
	const char *name = db_text(wanted, 0);

	if (db_bind(there, "s", name) || db_step(there) < 0)
		return -1;
	if (!sqlite3_data_count(there))
		return db_damaged(db, "there is no table '%s'", name);
	if (!db_check_same(db_text(wanted, 1), db_text(there, 0)))
		return db_damaged(db, "'%s' does not match the schema of cufence", name);
	return 0;
}

int db_check_schema(struct db *db, struct db *made)
{
	sqlite3_stmt *there = db_prepare(db, "SELECT sql FROM sqlite_master WHERE name = ?"),
		     *wanted = db_prepare(made,
			     "SELECT name, sql FROM sqlite_master "
			     "WHERE type <> 'view' AND sql NOT NULL");
	int rc = there && wanted ? 0 : -1, step = 0;

	while (!rc && (step = db_step(wanted)) > 0)
		rc = check_declared(db, wanted, there);
	if (!rc && !step &&
		db_int(db, "SELECT count(*) FROM sqlite_master WHERE type = 'trigger'", 1))
		rc = db_damaged(db, "it has a trigger");
	sqlite3_finalize(wanted);
	sqlite3_finalize(there);
	return rc || step < 0 ? -1 : 0;
}
