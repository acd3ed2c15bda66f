/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence_tables.h"

#include <stdlib.h>
#include <string.h>

#include "id_map.h"
#include "map.h"
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

/* Does the text begin with one of the list, or end with it? */
static int has_one(const char *text, const char *const *list, size_t count, int at_end)
{
	size_t length = strlen(text);

	for (size_t i = 0; i < count; i++) {
		size_t part = strlen(list[i]);

		if (length >= part && !memcmp(text + (at_end ? length - part : 0), list[i], part))
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
 * Returns the reader at a site, of those by site; NULL after a message.  In an interpreter's code
 * the functions up to its loop are looked at: one that was called by an extension reads the clock
 * to take the global lock, whatever its name.
 */
static const struct reader *find_reader(struct db *db, struct id_map *readers, int64_t site)
{
	struct reader *reader = id_map_get(readers, site);
	int step, native = 0, in_loop = 0, in_interpreter = 0;
	sqlite3_stmt *q;

	if (reader)
		return reader;
	reader = id_map_need(readers, site, sizeof(*reader));
	reader->is_program = 1;
	q = db_prepare(db,
		"SELECT f.function, m.path, f.file, f.code NOT NULL, f.address"
		" FROM frame f LEFT JOIN module m ON m.id = f.module WHERE f.site = ?"
		" ORDER BY f.depth");
	step = q ? db_bind(q, "i", site) : -1;
	while (step >= 0 && (step = db_step(q)) > 0) {
		const char *function = db_text(q, 0), *path = db_text(q, 1);
		const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
		int interprets = has_one(file, interpreters, COUNT(interpreters), 0);

		if (sqlite3_column_int64(q, 3)) {
			reader->script = sqlite3_column_int64(q, 4);
			reader->is_program &= !has_one(db_text(q, 2), scripts, COUNT(scripts), 1);
			break;
		}
		in_loop |= strstr(function, "PyEval_EvalFrame") != NULL || native == FRAMES_MOST;
		if (!native++)
			in_interpreter = interprets;
		if (!in_loop &&
			(has_one(file, libraries, COUNT(libraries), 0) ||
				has_one(function, locks, COUNT(locks), 0) ||
				(in_interpreter && !interprets)))
			reader->is_program = 0;
	}
	sqlite3_finalize(q);
	return step < 0 ? NULL : reader;
}

/*
 * Did a function of a library wait and read the clock itself?  Such reads are for statistics of its
 * own: each torch.cuda.synchronize() of PyTorch 2.11 makes one.  The two sites have the frames from
 * its caller outwards in common.  1, 0, or -1 after a message.
 */
static int reads_for_library(struct db *db, struct map *asked, int64_t reader, uint32_t wait)
{
	uint64_t key = map_hash_words((const uint64_t[]){ (uint64_t)reader, wait }, 2);
	uint64_t known = map_get(asked, key, 0);
	sqlite3_stmt *q;
	int step;

	if (known)
		return known == 2;
	q = db_prepare(db,
		"SELECT r.user = 0 AND w.user = 0 AND r.module = w.module AND r.code IS NULL,"
		"  m.path"
		" FROM frame caller JOIN frame same ON same.site = ?2"
		"  AND same.address = caller.address"
		" JOIN frame r ON r.site = caller.site AND r.depth = caller.depth - 1"
		" JOIN frame w ON w.site = same.site AND w.depth = same.depth - 1"
		" LEFT JOIN module m ON m.id = r.module"
		" WHERE caller.site = ?1 AND r.address <> w.address ORDER BY caller.depth LIMIT 1");
	step = q ? db_bind(q, "ii", reader, (int64_t)wait) : -1;
	step = step ? -1 : db_step(q);
	if (step > 0) {
		const char *path = db_text(q, 1), *slash = strrchr(path, '/');

		step = sqlite3_column_int(q, 0) &&
			!has_one(slash ? slash + 1 : path, interpreters, COUNT(interpreters), 0);
	}
	sqlite3_finalize(q);
	if (step >= 0)
		map_set(asked, key, step ? 2 : 1);
	return step;
}

/* The reads of one thread so far. */
struct reading {
	uint32_t thread, wait;
	int is_done;    /* the program's read after that wait was found */
	int64_t locked; /* script frame at which a lock read after that wait, 0: none */
};

int timers_find(struct db *db)
{
	const struct run *run = db->run;
	sqlite3_stmt *reads =
		db_prepare(db, "SELECT thread, time, site FROM clock_read ORDER BY thread, time");
	struct id_map readers = { 0 };
	struct map asked = { 0 };
	struct reading of = { 0 };
	uint32_t at = 0;
	int step = -1;

	while (reads && (step = db_step(reads)) > 0) {
		uint32_t thread = (uint32_t)sqlite3_column_int64(reads, 0);
		int64_t time = sqlite3_column_int64(reads, 1);
		int64_t site = sqlite3_column_int64(reads, 2);
		const struct reader *reader;
		int is_library;

		/* The thread's last outermost call that had returned by then. */
		at = thread == of.thread ? at : run->thread[thread].first;
		for (uint32_t id = at; id && run_call(run, id)->enter <= time;
			id = run_link(run, id)->next)
			if (!run_link(run, id)->parent &&
				run_exit(run, run_call(run, id), id) <= time)
				at = id;
		if (!at || run_exit(run, run_call(run, at), at) > time)
			continue;
		if (at != of.wait)
			of = (struct reading){ .thread = thread, .wait = at };
		if (!site || of.is_done)
			continue;
		reader = find_reader(db, &readers, site);
		/* After a lock, a read at the same place is the lock's, known by name or not. */
		if (reader && !reader->is_program)
			of.locked = reader->script;
		if (reader &&
			(!reader->is_program || (reader->script && reader->script == of.locked)))
			continue;
		is_library =
			reader ? reads_for_library(db, &asked, site, run_link(run, at)->site) : 0;
		if (is_library > 0)
			continue;
		of.is_done = 1;
		if (!reader || is_library < 0 || db_add(db, ROW(wait_clock, of.wait, site))) {
			step = -1;
			break;
		}
	}
	map_release(&asked);
	id_map_release(&readers, free);
	sqlite3_finalize(reads);
	return step;
}
