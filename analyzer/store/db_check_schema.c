/* SPDX-License-Identifier: Apache-2.0 */
#include "db_check.h"

#include <ctype.h>
#include <string.h>

#include "schema.h"

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

int db_check_schema(struct db *db)
{
	sqlite3_stmt *there = db_prepare(db, "SELECT type, name, sql FROM sqlite_master");
	int rc = there ? 0 : -1, step = 0, has_trigger = 0, seen[SCHEMA_DECLARED] = { 0 };

	while (!rc && (step = db_step(there)) > 0) {
		const char *name = db_text(there, 1);
		int declared = 0; /* the declaration of that name, SCHEMA_DECLARED: none */

		while (declared < SCHEMA_DECLARED && strcmp(name, schema_name(declared)))
			declared++;
		has_trigger |= !strcmp(db_text(there, 0), "trigger");
		if (declared == SCHEMA_DECLARED)
			continue;
		char *wanted = schema_declaration(declared);

		if (!db_check_same(wanted, db_text(there, 2)))
			rc = db_damaged(db, "'%s' does not match the schema of cufence",
				schema_name(declared));
		sqlite3_free(wanted);
		seen[declared] = 1;
	}
	sqlite3_finalize(there);
	if (rc || step < 0)
		return -1;
	for (int i = 0; i < SCHEMA_DECLARED; i++)
		if (!seen[i])
			return db_damaged(db, "there is no %s '%s'",
				i < TABLE_COUNT ? "table" : "index", schema_name(i));
	return has_trigger ? db_damaged(db, "it has a trigger") : 0;
}
