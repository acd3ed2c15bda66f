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
#include <sys/statvfs.h>
#include <unistd.h>

#include "db.h"
#include "interrupt.h"
#include "output.h"
#include "print.h"

static int create(const char *path, store_fill *fill, const void *argument)
{
	struct db db;
	int rc = db_create(&db, path);

	if (rc)
		return -1;
	rc = fill(&db, argument);
	db_close(&db);
	return rc;
}

static int rename_file(const char *from, const char *to)
{
	if (!rename(from, to))
		return 0;
	print(stderr, "cufence: cannot rename '%s' to '%s': %s\n", from, to, strerror(errno));
	return -1;
}

/* Whether the database has no call; 0 also if it cannot be read. */
static int is_without_calls(const char *path)
{
	sqlite3 *handle = NULL;
	sqlite3_stmt *q = NULL;
	int none = !sqlite3_open_v2(path, &handle, SQLITE_OPEN_READONLY, NULL) &&
		!sqlite3_prepare_v2(handle, "SELECT 1 FROM call", -1, &q, NULL) &&
		sqlite3_step(q) == SQLITE_DONE;

	sqlite3_finalize(q);
	sqlite3_close(handle);
	return none;
}

/*
 * A database exists at all times: the old one gets the name NAME.db.old before it loses its own.  A
 * database without calls does not replace NAME.db.old.
 */
static int put_in_place(const char *temporary, const char *path, const char *old)
{
	if (db_recognize(path) && !is_without_calls(path)) {
		unlink(old);
		if (link(path, old) && rename_file(path, old))
			return -1;
	}
	return rename_file(temporary, path);
}

/*
 * A database reveals as much of a program as its trace, so it too is readable by its owner only.
 * The file is locked while it is made, as the process id of another container is meaningless here.
 * Returns the file's descriptor, or -1 after a message.
 */
static int create_temporary(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0)
		print(stderr, "cufence: cannot create '%s': %s; use -o to write elsewhere\n", path,
			strerror(errno));
	else
		flock(fd, LOCK_EX | LOCK_NB);
	return fd;
}

/*
 * Whether the name is prefix followed by the id of a process that has ended, or by our own id (this
 * process has not created one yet), or a temporary file of SQLite for such a database.
 */
static int is_abandoned(int folder, const char *name, const char *prefix)
{
	size_t length = strlen(prefix);
	char *end;
	long pid;
	int fd, rc;

	if (strncmp(name, prefix, length))
		return 0;
	pid = strtol(name + length, &end, 10);
	if (end == name + length || (*end && *end != '.') || pid <= 0 ||
		(pid != getpid() && (!kill((pid_t)pid, 0) || errno != ESRCH)))
		return 0;
	fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return 0;
	rc = !flock(fd, LOCK_EX | LOCK_NB);
	close(fd);
	return rc;
}

/* Removes the unfinished databases of this name that killed processes left. */
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

static char *name_old(const char *path)
{
	char *old = NULL;

	if (asprintf(&old, "%s.old", path) >= 0)
		return old;
	fputs("cufence: out of memory\n", stderr);
	return NULL;
}

/* Whether path is free or holds a cufence database. */
static int may_replace(const char *path, const char *wanted)
{
	struct stat there;

	if (lstat(path, &there) ? errno == ENOENT
				: S_ISREG(there.st_mode) && (!there.st_size || db_recognize(path)))
		return 1;
	print(stderr,
		"cufence: '%s' exists but is not a cufence database%s; use -o to write "
		"elsewhere\n",
		path, wanted);
	return 0;
}

/* The same for a path that is not a link. */
static int check_target(const char *path)
{
	char *old;
	int rc;

	if (!may_replace(path, ""))
		return -1;
	if (!db_recognize(path))
		return 0;
	old = name_old(path);
	rc = old && may_replace(old, ", which the previous one would replace") ? 0 : -1;
	free(old);
	return rc;
}

int store_check(const char *path)
{
	char *target = output_target(path);
	int rc = target ? check_target(target) : -1;

	free(target);
	return rc;
}

int store_name_previous(const char *path)
{
	char *target = output_target(path), *old = target ? name_old(target) : NULL;

	if (old && db_recognize(old))
		print(stderr, "cufence: the last database with calls is kept as %s\n", old);
	free(target);
	free(old);
	return 0;
}

/*
 * After a failure, while the unfinished database still takes its space; that of an empty one was
 * given back.
 */
static void say_if_full(int fd, const char *path)
{
	enum { LEAST = 1 << 20 }; /* bytes: an empty database takes half of that */
	struct statvfs disk;

	if (!fstatvfs(fd, &disk) && disk.f_bavail * disk.f_frsize < LEAST)
		print(stderr,
			"cufence: the disk of '%s' is full: free some space, or use -o to write "
			"elsewhere\n",
			path);
}

static int build(const char *path, const char *temporary, const char *old, store_fill *fill,
	const void *argument)
{
	sigset_t before;
	int fd, rc;

	remove_abandoned(path);
	interrupt_hold(&before);
	fd = create_temporary(temporary);
	if (fd >= 0)
		interrupt_guard(temporary);
	interrupt_restore(&before);
	if (fd < 0)
		return -1;
	rc = create(temporary, fill, argument);
	if (rc)
		say_if_full(fd, path);
	interrupt_hold(&before);
	if (!rc)
		rc = put_in_place(temporary, path, old);
	if (rc)
		unlink(temporary);
	interrupt_unguard();
	interrupt_restore(&before);
	close(fd);
	return rc;
}

int store_make(const char *path, store_fill *fill, const void *argument)
{
	/* A link stays a link: its target is replaced. */
	char *target = output_target(path), *temporary = NULL, *old = NULL;
	int rc = -1;

	if (!target || check_target(target) || !(old = name_old(target)))
		goto out;
	if (asprintf(&temporary, "%s.tmp-%ld", target, (long)getpid()) < 0) {
		fputs("cufence: out of memory\n", stderr);
		goto out;
	}
	rc = build(target, temporary, old, fill, argument);
out:
	free(target);
	free(temporary);
	free(old);
	return rc;
}

static int fill_from_traces(struct db *db, const void *input)
{
	return analyze_traces(db, input);
}

int store_build(const char *path, const struct analyze_input *input)
{
	return store_make(path, fill_from_traces, input);
}
