/* SPDX-License-Identifier: Apache-2.0 */
#include "store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze.h"
#include "db.h"
#include "load.h"
#include "symbols.h"

static int fill(const char *path, char *const *trace, size_t count, const char *command)
{
	struct db db;
	int rc = db_create(&db, path);

	if (rc)
		return -1;
	/* Nobody else knows the file yet, and after a crash it is garbage anyway. */
	rc = db_exec(&db, "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF") ||
	     load_traces(&db, trace, count, command) || symbols_resolve(&db) || analyze(&db);
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

static int put_in_place(const char *temporary, const char *path, const char *old)
{
	if (!access(path, F_OK) && rename_file(path, old))
		return -1;
	return rename_file(temporary, path);
}

int store_build(const char *path, char *const *trace, size_t count, const char *command)
{
	char *temporary = NULL, *old = NULL;
	int rc = -1;

	if (asprintf(&temporary, "%s.tmp-%ld", path, (long)getpid()) < 0 ||
		asprintf(&old, "%s.old", path) < 0) {
		fputs("cufence: out of memory\n", stderr);
		return -1;
	}
	unlink(temporary);
	rc = fill(temporary, trace, count, command) || put_in_place(temporary, path, old) ? -1 : 0;
	if (rc)
		unlink(temporary);
	free(temporary);
	free(old);
	return rc;
}
