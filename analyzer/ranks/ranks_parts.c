/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sources are added in child processes, as many at a time as there are processors: each makes a
 * database of its own, a part, whose rows the merged one takes in the order of the sources.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "interrupt.h"
#include "memory.h"
#include "print.h"
#include "ranks.h"
#include "ranks_internal.h"
#include "workers.h"

/* A child that analyzes a trace of a million calls takes up to 1 GiB. */
enum { CHILDREN_MOST = 8 };

/* Temporary tables end with their connection. */
static const char keep_sql[] =
	"CREATE TABLE part_arrival AS SELECT * FROM temp.arrival;"
	"CREATE TABLE part_part AS SELECT * FROM temp.part;"
	"CREATE TABLE part_joint_rank AS SELECT * FROM temp.joint_rank;"
	"CREATE TABLE part_joint_change AS SELECT * FROM temp.joint_change;";

/* ?1: members so far, ?2: sources. */
static const struct ranks_copy steps[] = {
	{ "SELECT id + ?2, path FROM merge_source WHERE ?1 NOT NULL",
		"INSERT INTO merge_source VALUES (?, ?)" },
	{ "SELECT id + ?1, source + ?2, pid, rank, local_rank, world, host, device, duration,"
	  " turns, loop, closed, incomplete FROM member",
		"INSERT INTO member VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)" },
	{ "SELECT member + ?1, name, value FROM member_setting",
		"INSERT INTO member_setting VALUES (?, ?, ?)" },
	{ "SELECT member + ?1, what, place, time FROM member_time",
		"INSERT INTO member_time VALUES (?, ?, ?, ?)" },
	{ "SELECT member + ?1, fingerprint, rule, severity, place, message, count, cost, shown"
	  " FROM member_place",
		"INSERT INTO member_place VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)" },
	{ "SELECT member + ?1, identity, sequence, what, site, start, end, meets"
	  " FROM part_arrival",
		"INSERT OR IGNORE INTO temp.arrival VALUES (?, ?, ?, ?, ?, ?, ?, ?)" },
	{ "SELECT member + ?1, identity, sequence, what, time, longest, place FROM part_part",
		"INSERT INTO temp.part VALUES (?, ?, ?, ?, ?, ?, ?)" },
	{ "SELECT member + ?1, data FROM part_joint_rank",
		"INSERT INTO temp.joint_rank VALUES (?, ?)" },
	{ "SELECT member + ?1, fingerprint, data FROM part_joint_change",
		"INSERT INTO temp.joint_change VALUES (?, ?, ?)" },
};

/* In a child: makes the part of a source.  0, or -1 after a message. */
static int make_part(const char *part, const char *source, ranks_open *open)
{
	struct db db;
	int rc;

	if (db_create(&db, part))
		return -1;
	rc = db_exec(&db, "BEGIN") || ranks_begin(&db) || open(&db, source) ||
			db_exec(&db, keep_sql) || db_exec(&db, "COMMIT") || db.failed
		? -1
		: 0;
	db_close(&db);
	return rc;
}

static int take_part(struct db *merged, const char *part)
{
	int64_t members = db_int(merged, "SELECT count(*) FROM member", 0);
	int64_t sources = db_int(merged, "SELECT count(*) FROM merge_source", 0);
	struct db db;
	int rc = 0;

	if (db_open(&db, part, DB_OWN))
		return -1;
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps) && !rc; i++)
		rc = ranks_copy(merged, &db, &steps[i], members, sources);
	db_close(&db);
	return rc;
}

static pid_t start(const char *part, const char *source, ranks_open *open)
{
	pid_t parent = getpid(), child;

	fflush(NULL);
	child = fork();
	if (child)
		return child;
	interrupt_child(part);
	/* It ends with its parent, whatever ends that. */
	if (prctl(PR_SET_PDEATHSIG, SIGTERM) || getppid() != parent)
		_exit(1);
	_exit(make_part(part, source, open) ? 1 : 0);
}

/* Waits for a child.  0, or -1 if it failed; after its message, or one that a signal ended it. */
static int finish(pid_t child, const char *source)
{
	int status = 0;

	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		continue;
	if (WIFSIGNALED(status))
		print(stderr, "cufence: a signal ended the process that read '%s': %s\n", source,
			strsignal(WTERMSIG(status)));
	return status ? -1 : 0;
}

int ranks_add_all(struct db *merged, char *const *source, size_t count, ranks_open *open)
{
	size_t most = workers_processors(CHILDREN_MOST), started = 0;
	pid_t *child = xcalloc(count, sizeof(*child));
	char **part = xcalloc(count, sizeof(*part));
	int rc = ranks_begin(merged);

	for (size_t i = 0; i < count; i++)
		part[i] = xprintf("%s.%zu", merged->path, i);
	interrupt_guard_parts(count);
	/* After a failure those that run are waited for. */
	for (size_t i = 0; i < count && (i < started || !rc); i++) {
		for (; started < count && started < i + most && !rc; started++) {
			child[started] = start(part[started], source[started], open);
			if (child[started] > 0)
				continue;
			print(stderr, "cufence: cannot start a process: %s\n", strerror(errno));
			rc = -1;
			break;
		}
		if (i < started && finish(child[i], source[i]))
			rc = -1;
		if (!rc)
			rc = take_part(merged, part[i]);
		unlink(part[i]);
	}
	interrupt_guard_parts(0);
	for (size_t i = 0; i < count; i++)
		free(part[i]);
	free(part);
	free(child);
	return rc;
}
