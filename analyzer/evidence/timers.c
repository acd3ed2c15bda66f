/* SPDX-License-Identifier: Apache-2.0 */
#include "timers.h"

#include <stdlib.h>
#include <string.h>

#include "map.h"
#include "memory.h"
#include "rows.h"
#include "run_columns.h"

/* A reader's frames are followed up to an interpreter's, or for as many as this. */
#define FRAMES_MOST 8

/* Libraries that read clocks for CUDA's own purposes: starts of file names. */
static const char *const libraries[] = { "libcuda.so", "libcudart", "libcupti", "libnvidia",
	"libcufence" };

/*
 * Functions of locks, by the starts of their base names: they read a clock to know how long to
 * wait.  CPython's global lock and its others; the C library's; C++'s; Abseil's (XLA, TensorFlow).
 */
static const char *const locks[] = { "take_gil", "PyEval_RestoreThread", "PyEval_AcquireThread",
	"PyGILState_Ensure", "PyThread_acquire_lock", "_PyThread_cond_after", "_PyDeadline_",
	"acquire_timed", "lock_", "rlock_", "_PyMutex_Lock", "_PyParkingLot_Park",
	"_PySemaphore_Wait", "pthread_", "sem_", "mtx_", "cnd_", "wait_for", "wait_until",
	"__wait_until", "try_lock_for", "try_lock_until", "_M_try_lock_", "KernelTimeout",
	"LockSlow", "AwaitCommon", "WaitCommon" };

/* The same in Python: ends of file names. */
static const char *const scripts[] = { "/threading.py", "/queue.py", "/selectors.py",
	"/multiprocessing/connection.py", "/multiprocessing/synchronize.py",
	"/concurrent/futures/_base.py", "/asyncio/base_events.py" };

/* Starts of the file names of Python's interpreter. */
static const char *const interpreters[] = { "python", "libpython" };
#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int starts_with_one(const char *text, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!strncmp(text, list[i], strlen(list[i])))
			return 1;
	return 0;
}

static int is_lock_script(const char *file)
{
	size_t length = strlen(file);

	for (size_t i = 0; i < COUNT(scripts); i++) {
		size_t end = strlen(scripts[i]);

		if (length >= end && !strcmp(file + length - end, scripts[i]))
			return 1;
	}
	return 0;
}

/* Who reads at a site. */
struct reader {
	int is_program;
	int64_t script; /* address of its innermost script frame, 0: none */
};

/*
 * q: the frames of a site.  In an interpreter's code the functions up to its loop are looked at:
 * one that was called by an extension reads the clock to take the global lock, whatever its name.
 */
static int classify(sqlite3_stmt *q, struct reader *reader)
{
	int step, native = 0, in_loop = 0, in_interpreter = 0;

	*reader = (struct reader){ .is_program = 1 };
	while ((step = db_step(q)) > 0) {
		const char *function = db_text(q, 0), *file = base_of(db_text(q, 1));
		int interprets = starts_with_one(file, interpreters, COUNT(interpreters));

		if (sqlite3_column_int64(q, 3)) {
			reader->script = sqlite3_column_int64(q, 4);
			reader->is_program &= !is_lock_script(db_text(q, 2));
			break;
		}
		in_loop |= strstr(function, "PyEval_EvalFrame") != NULL || native == FRAMES_MOST;
		if (!native++)
			in_interpreter = interprets;
		if (!in_loop &&
			(starts_with_one(file, libraries, COUNT(libraries)) ||
				starts_with_one(function, locks, COUNT(locks)) ||
				(in_interpreter && !interprets)))
			reader->is_program = 0;
	}
	return step < 0 ? -1 : 0;
}

/* Those that are known, by site. */
struct readers {
	struct map number; /* index + 1 */
	struct reader *of;
	size_t count;
};

/* Returns the reader at a site, NULL after a message; valid until the next call. */
static const struct reader *find_reader(struct db *db, struct readers *readers, int64_t site)
{
	uint64_t known = map_get(&readers->number, (uint64_t)site, 0);
	struct reader *reader;
	sqlite3_stmt *q;
	int rc;

	if (known)
		return &readers->of[known - 1];
	reader = array_push(readers->of, readers->count);
	map_set(&readers->number, (uint64_t)site, readers->count);
	q = db_prepare(db,
		"SELECT f.function, m.path, f.file, f.code NOT NULL, f.address"
		" FROM frame f LEFT JOIN module m ON m.id = f.module WHERE f.site = ?"
		" ORDER BY f.depth");
	rc = q && !db_bind(q, "i", site) ? classify(q, reader) : -1;
	sqlite3_finalize(q);
	return rc ? NULL : reader;
}

/* Returns the thread's last outermost call that had returned by then, from one of its calls on. */
static uint32_t find_wait(const struct run *run, uint32_t from, int64_t time)
{
	uint32_t found = from;

	for (uint32_t id = from; id; id = run_link(run, id)->next) {
		const struct run_call *call = run_call(run, id);

		if (call->enter > time)
			break;
		if (!run_link(run, id)->parent && run_exit(run, call, id) <= time)
			found = id;
	}
	return found;
}

/* The reads of one thread so far. */
struct reading {
	uint32_t thread, wait;
	int is_done;    /* the program's read after that wait was found */
	int64_t locked; /* script frame at which a lock read after that wait, 0: none */
};

/* After a lock, a read at the same place of a script is the lock's, known by name or not. */
static int take_read(struct db *db, struct reading *of, const struct reader *reader, int64_t site)
{
	if (!reader->is_program)
		of->locked = reader->script;
	if (!reader->is_program || (reader->script && reader->script == of->locked))
		return 0;
	of->is_done = 1;
	return db_add(db, ROW(wait_clock, of->wait, site));
}

static int find_all(struct db *db, const struct run *run, sqlite3_stmt *reads)
{
	struct readers readers = { 0 };
	struct reading of = { 0 };
	uint32_t at = 0;
	int step;

	while ((step = db_step(reads)) > 0) {
		uint32_t thread = (uint32_t)sqlite3_column_int64(reads, 0);
		int64_t time = sqlite3_column_int64(reads, 1);
		int64_t site = sqlite3_column_int64(reads, 2);
		const struct reader *reader;

		at = find_wait(run, thread == of.thread ? at : run->thread[thread].first, time);
		if (!at || run_exit(run, run_call(run, at), at) > time)
			continue;
		if (at != of.wait)
			of = (struct reading){ .thread = thread, .wait = at };
		if (!site || of.is_done)
			continue;
		reader = find_reader(db, &readers, site);
		if (!reader || take_read(db, &of, reader, site)) {
			step = -1;
			break;
		}
	}
	map_release(&readers.number);
	free(readers.of);
	return step;
}

int timers_find(struct db *db)
{
	struct run *own;
	const struct run *run = run_of(db, &own);
	sqlite3_stmt *reads =
		db_prepare(db, "SELECT thread, time, site FROM clock_read ORDER BY thread, time");
	int rc = run && reads ? find_all(db, run, reads) : -1;

	sqlite3_finalize(reads);
	run_close(own);
	return rc;
}
