/* SPDX-License-Identifier: Apache-2.0 */
#include "store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
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

/*
 * The file is locked while it is made: a process id alone says nothing about what is made in
 * another container.  The file's descriptor, or -1 after a message.
 */
static int create_temporary(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	if (fd < 0)
		fprintf(stderr, "cufence: cannot create '%s': %s\n", path, strerror(errno));
	else
		flock(fd, LOCK_EX | LOCK_NB);
	return fd;
}

/* Whether it is prefix and the id of a process that is gone, or of this one, which has none yet. */
static int is_abandoned(int folder, const char *name, const char *prefix)
{
	size_t length = strlen(prefix);
	char *end;
	long pid;
	int fd, rc;

	if (strncmp(name, prefix, length))
		return 0;
	pid = strtol(name + length, &end, 10);
	if (end == name + length || *end || pid <= 0 ||
		(pid != getpid() && (!kill((pid_t)pid, 0) || errno != ESRCH)))
		return 0;
	fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return 0;
	rc = !flock(fd, LOCK_EX | LOCK_NB);
	close(fd);
	return rc;
}

/* Removes what processes left that were killed while they made a database of this name. */
static void remove_abandoned(const char *path)
{
	char *copy = strdup(path), *again = strdup(path), *prefix = NULL;
	DIR *folder = copy ? opendir(dirname(copy)) : NULL;
	const struct dirent *entry;

	if (folder && again && asprintf(&prefix, "%s.tmp-", basename(again)) > 0)
		while ((entry = readdir(folder)))
			if (is_abandoned(dirfd(folder), entry->d_name, prefix))
				unlinkat(dirfd(folder), entry->d_name, 0);
	if (folder)
		closedir(folder);
	free(prefix);
	free(again);
	free(copy);
}

int store_check(const char *path)
{
	struct stat there;

	if (stat(path, &there) ? errno == ENOENT
			       : S_ISREG(there.st_mode) && (!there.st_size || db_recognize(path)))
		return 0;
	fprintf(stderr, "cufence: '%s' is there and is no cufence database: name another (-o)\n",
		path);
	return -1;
}

static int build(const char *path, const char *temporary, const char *old, char *const *trace,
	size_t count, const char *command)
{
	int fd, rc;

	remove_abandoned(path);
	fd = create_temporary(temporary);
	if (fd < 0)
		return -1;
	rc = fill(temporary, trace, count, command) || put_in_place(temporary, path, old) ? -1 : 0;
	if (rc)
		unlink(temporary);
	close(fd);
	return rc;
}

int store_build(const char *path, char *const *trace, size_t count, const char *command)
{
	char *target = realpath(path, NULL), *temporary = NULL, *old = NULL;
	sigset_t before;
	int rc = -1;

	/* A link stays one: what it leads to is replaced. */
	path = target ? target : path;
	if (store_check(path))
		goto out;
	if (asprintf(&temporary, "%s.tmp-%ld", path, (long)getpid()) < 0 ||
		asprintf(&old, "%s.old", path) < 0) {
		fputs("cufence: out of memory\n", stderr);
		goto out;
	}
	interrupt_hold(&before);
	rc = build(path, temporary, old, trace, count, command);
	interrupt_restore(&before);
out:
	free(target);
	free(temporary);
	free(old);
	return rc;
}
