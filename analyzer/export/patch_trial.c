/* SPDX-License-Identifier: Apache-2.0 */
#include "patch_trial.h"

#include "analyze.h"
#include "print.h"

/* The copy is analyzed, which needs all rows to be checked. */
static int copy_run(struct db *copy, const char *path)
{
	struct db whole;
	sqlite3_backup *backup;
	int rc = -1;

	if (db_open(&whole, path, DB_FOLLOW))
		return -1;
	backup = sqlite3_backup_init(copy->handle, "main", whole.handle, "main");
	if (backup) {
		sqlite3_backup_step(backup, -1);
		rc = sqlite3_backup_finish(backup) == SQLITE_OK ? 0 : -1;
	}
	if (rc)
		print(stderr, "cufence: '%s' cannot be copied: %s\n", path,
			sqlite3_errmsg(copy->handle));
	db_close(&whole);
	return rc;
}

static int copy_lines(struct db *copy, struct db *db)
{
	sqlite3_stmt *from = db_prepare(db, "SELECT file, line FROM temp.patched");
	sqlite3_stmt *to = db_prepare(copy, "INSERT INTO temp.patched VALUES (?, ?)");
	int step = from && to ? 0 : -1;

	while (!step && (step = db_step(from)) > 0)
		step = db_run(to, "si", db_text(from, 0), sqlite3_column_int64(from, 1));
	sqlite3_finalize(from);
	sqlite3_finalize(to);
	return step;
}

static const char begin_sql[] =
	"CREATE TEMP TABLE patched (file TEXT NOT NULL, line INTEGER NOT NULL);"
	"CREATE TEMP TABLE known AS SELECT rule, call, other_call FROM main.hazard";

/* A call that failed has no effect. */
static const char change_sql[] =
	"UPDATE stream SET kind = 'non-blocking' WHERE kind = 'blocking' AND created IN"
	" (SELECT c.id FROM site s JOIN call c ON c.site = s.id WHERE " IS_PATCHED("s") ");"
	"UPDATE call SET result = 1 WHERE id IN (SELECT c.id FROM site s"
	" JOIN call c ON c.site = s.id JOIN call_type t ON t.id = c.type"
	" JOIN call_kind k ON k.name = t.kind WHERE " IS_WAIT " AND " IS_PATCHED("s") ")";

int patch_trial_loses_order(struct db *db)
{
	struct db copy;
	int64_t count = -1;

	if (db_create(&copy, DB_MEMORY))
		return -1;
	if (!copy_run(&copy, db->path) && !db_exec(&copy, begin_sql) && !copy_lines(&copy, db) &&
		!db_exec(&copy, change_sql) && !analyze(&copy))
		count = db_int(&copy,
			"SELECT count(*) FROM hazard WHERE (rule, call, other_call) NOT IN"
			" (SELECT rule, call, other_call FROM temp.known)",
			-1);
	db_close(&copy);
	return count < 0 ? -1 : count > 0;
}
