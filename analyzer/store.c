/* SPDX-License-Identifier: Apache-2.0 */
#include "store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze.h"
#include "db.h"
#include "directions.h"
#include "interrupt.h"
#include "load.h"
#include "symbols.h"

static int give_up(void *arg)
{
	return interrupt_pending();
}

static int fill(const char *path, char *const *trace, size_t count, const char *command)
{
	enum { STEPS = 1 << 20 }; /* of SQLite's machine: some milliseconds */
	struct db db;
	int rc = db_create(&db, path);

	if (rc)
		return -1;
	sqlite3_progress_handler(db.handle, STEPS, give_up, NULL);
	rc = load_traces(&db, trace, count, command) || symbols_resolve(&db) ||
	     directions_resolve(&db) || analyze(&db);
	db_close(&db);
	return rc ? -1 : 0;
}

static int rename_file(const char *from, const char *to)
{
	if (!rename(from, to))
		return 0;
	fprintf(stderr, "cufence: cannot rename '%s' to '%s': %s\n", from, to, strerror(errno));
	return -1;
}

/* At no time is there no database: the old one has two names before it loses one. */
static int put_in_place(const char *temporary, const char *path, const char *old)
{
	unlink(old);
	if (!access(path, F_OK) && link(path, old) && rename_file(path, old))
		return -1;
	return rename_file(temporary, path);
}

int store_build(const char *path, char *const *trace, size_t count, const char *command)
{
	char *temporary = NULL, *old = NULL;
	sigset_t before;
	int rc = -1;

	if (asprintf(&temporary, "%s.tmp-%ld", path, (long)getpid()) < 0 ||
		asprintf(&old, "%s.old", path) < 0) {
		fputs("cufence: out of memory\n", stderr);
		return -1;
	}
	interrupt_hold(&before);
	unlink(temporary);
	rc = fill(temporary, trace, count, command) || put_in_place(temporary, path, old) ? -1 : 0;
	if (rc)
		unlink(temporary);
	interrupt_restore(&before);
	free(temporary);
	free(old);
	return rc;
}
