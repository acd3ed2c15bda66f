/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run adds for the comparison of its collectives with those of other ranks, in temporary
 * tables of the merged database: each collective with its kernel, and what the rank did since the
 * one before, by cause: the thread that called, and the device.
 */
#include "ranks.h"

#include <stdlib.h>

#include "map.h"
#include "memory.h"
#include "ranks_internal.h"
#include "remote_kernels.h"

/* Causes as in table member_time. */
enum part { OUTSIDE, COMPUTING, BLOCKED, CALL, HELD, KERNELS, COPIES, PARTS };
static const char *const part_names[PARTS] = { "outside", "computing", "blocked", "call", "held",
	"kernels", "copies" };

struct spent {
	int64_t time, longest; /* ns */
	int64_t from, at;      /* of the longest: sites, or the kernel; 0: none */
};

struct arrival {
	int64_t member, process, thread, began, identity, sequence, operation;
	struct spent part[PARTS];
};

struct arrivals {
	struct arrival *row; /* by process, thread and time */
	size_t count;
	struct map operations; /* operation -> index + 1 */
};

/*
 * The names of collectives that no rank leaves before all have come: their kernels end together.
 * One kernel may run several collectives; it counts with the first.
 */
static const char select_sql[] =
	"SELECT c.member, l.process, d.thread, l.began, m.identity, l.sequence, l.operation,"
	" printf('%s of %d %s', t.name, l.elements, coalesce(l.type, 'elements'))"
	"  || iif(l.reduction > 0, ', operation ' || l.reduction, '')"
	"  || coalesce(', root ' || l.peer, ''),"
	" coalesce(s.text || coalesce(' ' || s.function, ''), '?'),"
	" o.start + (SELECT start_unix_ns FROM run), o.end + (SELECT start_unix_ns FROM run),"
	" t.name IN (" MEETING_COLLECTIVES
	")"
	"  AND o.recorded_end IS NULL AND (p.process IS NULL OR o.start BETWEEN p.start AND p.end)"
	"  AND row_number() OVER (PARTITION BY l.operation ORDER BY l.id) = 1"
	" FROM collective l JOIN communicator m ON m.id = l.communicator"
	" JOIN temp.ranked c ON c.process = l.process JOIN call d ON d.id = l.call"
	" JOIN call_type t ON t.id = d.type LEFT JOIN operation o ON o.id = l.operation"
	" LEFT JOIN site s ON s.id = d.site LEFT JOIN loop p ON p.process = l.process"
	" WHERE l.sequence NOT NULL AND m.identity NOT NULL AND m.ranks > 1"
	" ORDER BY l.process, d.thread, l.began, l.id";

static int read_arrivals(struct db *merged, struct db *run, struct arrivals *arrivals)
{
	sqlite3_stmt *q = db_prepare(run, select_sql);
	sqlite3_stmt *to = db_prepare(merged,
		"INSERT OR IGNORE INTO temp.arrival VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
	static const int kept[] = { 0, 4, 5, 7, 8, 9, 10, 11 };
	int step = q && to ? 0 : -1;

	while (!step && (step = db_step(q)) > 0) {
		*array_push(arrivals->row, arrivals->count) = (struct arrival){
			.member = sqlite3_column_int64(q, 0),
			.process = sqlite3_column_int64(q, 1),
			.thread = sqlite3_column_int64(q, 2),
			.began = sqlite3_column_int64(q, 3),
			.identity = sqlite3_column_int64(q, 4),
			.sequence = sqlite3_column_int64(q, 5),
			.operation = sqlite3_column_int64(q, 6),
		};
		map_set(&arrivals->operations, (uint64_t)sqlite3_column_int64(q, 6),
			arrivals->count);
		sqlite3_reset(to);
		for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
			sqlite3_bind_value(to, (int)i + 1, sqlite3_column_value(q, kept[i]));
		step = db_step(to);
	}
	sqlite3_finalize(q);
	sqlite3_finalize(to);
	return step;
}

static void spend(struct arrival *arrival, enum part part, int64_t time, int64_t from, int64_t at)
{
	struct spent *spent = &arrival->part[part];

	if (time <= 0)
		return;
	spent->time += time;
	if (time <= spent->longest)
		return;
	spent->longest = time;
	spent->from = from;
	spent->at = at;
}

/* --- the thread --- */

/* How long the thread was off its processor in a gap; the next reading is in q, if step > 0. */
static int64_t off_in(sqlite3_stmt *q, int *step, int64_t start, int64_t end)
{
	int64_t off = 0;

	while (*step > 0 && sqlite3_column_int64(q, 0) < end) {
		if (sqlite3_column_int64(q, 0) >= start)
			off += sqlite3_column_int64(q, 1);
		*step = db_step(q);
	}
	return off < end - start ? off : end - start;
}

/* The thread of arrival[0] to arrival[count - 1]; time belongs to the next collective. */
static int follow_thread(struct db *run, struct arrival *arrival, size_t count)
{
	sqlite3_stmt *calls = db_prepare(run,
		"SELECT c.enter, coalesce(c.exit, c.enter), c.site, h.waited FROM call c"
		" LEFT JOIN temp.rank_held h ON h.call = c.id WHERE c.thread = ?"
		" AND c.parent IS NULL ORDER BY c.id");
	sqlite3_stmt *usage =
		db_prepare(run, "SELECT since, off FROM usage WHERE thread = ? ORDER BY since");
	int step = calls && usage && !db_bind(calls, "i", arrival->thread) &&
			!db_bind(usage, "i", arrival->thread)
		? 0
		: -1;
	int used = step ? -1 : db_step(usage);
	enum part pace = used > 0 ? COMPUTING : OUTSIDE;
	int64_t last = INT64_MAX, site = 0;
	size_t at = 0;

	while (!step && used >= 0 && at < count && (step = db_step(calls)) > 0) {
		int64_t enter = sqlite3_column_int64(calls, 0);
		int64_t exit = sqlite3_column_int64(calls, 1),
			here = sqlite3_column_int64(calls, 2);
		int64_t held = sqlite3_column_int64(calls, 3), off;

		step = 0;
		if (last < enter) {
			while (at < count && arrival[at].began < last)
				at++;
			off = off_in(usage, &used, last, enter);
			if (at < count)
				spend(&arrival[at], BLOCKED, off, site, here);
			if (at < count)
				spend(&arrival[at], pace, enter - last - off, site, here);
		}
		while (at < count && arrival[at].began < enter)
			at++;
		if (held > exit - enter)
			held = exit - enter;
		if (at < count)
			spend(&arrival[at], HELD, held, 0, here);
		if (at < count)
			spend(&arrival[at], CALL, exit - enter - held, 0, here);
		last = exit;
		site = here;
	}
	sqlite3_finalize(calls);
	sqlite3_finalize(usage);
	return step < 0 || used < 0 ? -1 : 0;
}

/* --- the devices --- */

/* What ran since the last collective of the device had ended. */
static int follow_devices(struct db *run, struct arrivals *arrivals)
{
	sqlite3_stmt *q = db_prepare(run,
		"SELECT o.id, o.process, o.device, o.start, o.end, o.kernel FROM operation o"
		" WHERE o.start NOT NULL AND o.end NOT NULL AND o.process IN"
		"  (SELECT process FROM collective) ORDER BY o.process, o.device, o.start");
	int64_t process = 0, device = 0, ended = INT64_MIN;
	struct arrival sum = { 0 };
	int step = q ? 0 : -1;

	while (!step && (step = db_step(q)) > 0) {
		uint64_t at =
			map_get(&arrivals->operations, (uint64_t)sqlite3_column_int64(q, 0), 0);
		int64_t start = sqlite3_column_int64(q, 3), end = sqlite3_column_int64(q, 4);
		int is_kernel = sqlite3_column_type(q, 5) != SQLITE_NULL;

		step = 0;
		if (sqlite3_column_int64(q, 1) != process || sqlite3_column_int64(q, 2) != device) {
			process = sqlite3_column_int64(q, 1);
			device = sqlite3_column_int64(q, 2);
			ended = INT64_MIN;
			sum = (struct arrival){ 0 };
		}
		if (at) {
			arrivals->row[at - 1].part[KERNELS] = sum.part[KERNELS];
			arrivals->row[at - 1].part[COPIES] = sum.part[COPIES];
			sum = (struct arrival){ 0 };
			ended = end;
		} else {
			spend(&sum, is_kernel ? KERNELS : COPIES,
				end - (start > ended ? start : ended), 0,
				sqlite3_column_int64(q, 5));
		}
	}
	sqlite3_finalize(q);
	return step;
}

/* --- rows --- */

/* Binds "A to B" of sites, or the name of a kernel. */
static int bind_place(sqlite3_stmt *to, sqlite3_stmt *q, const struct spent *spent)
{
	int step = db_bind(q, "ii", spent->from, spent->at) ? -1 : db_step(q);

	if (step > 0)
		sqlite3_bind_value(to, 7, sqlite3_column_value(q, 0));
	return step < 0 ? -1 : 0;
}

static int write_parts(struct db *merged, struct db *run, const struct arrivals *arrivals)
{
	sqlite3_stmt *to = db_prepare(merged, "INSERT INTO temp.part VALUES (?, ?, ?, ?, ?, ?, ?)");
	sqlite3_stmt *lines = db_prepare(run,
		"SELECT coalesce((SELECT text FROM site WHERE id = ?1) || ' to ', '')"
		" || coalesce((SELECT text FROM site WHERE id = ?2), '?')");
	sqlite3_stmt *kernel = db_prepare(run,
		"SELECT coalesce(n.label, k.name) FROM kernel k LEFT JOIN kernel_name n"
		" ON n.kernel = k.id WHERE k.id = ?2 AND ?1 = 0");
	int rc = to && lines && kernel ? 0 : -1;

	for (size_t i = 0; i < arrivals->count && !rc; i++)
		for (int part = 0; part < PARTS && !rc; part++) {
			const struct arrival *arrival = &arrivals->row[i];
			const struct spent *spent = &arrival->part[part];

			if (!spent->time)
				continue;
			rc = db_bind(to, "iiisiis", arrival->member, arrival->identity,
				arrival->sequence, part_names[part], spent->time, spent->longest,
				"");
			if (!rc && part != COPIES)
				rc = bind_place(to, part == KERNELS ? kernel : lines, spent);
			if (!rc)
				rc = db_step(to) < 0 ? -1 : 0;
		}
	sqlite3_finalize(to);
	sqlite3_finalize(lines);
	sqlite3_finalize(kernel);
	return rc;
}

static const char held_sql[] =
	"CREATE TEMP TABLE rank_held (call INTEGER PRIMARY KEY, waited INTEGER);"
	"INSERT INTO temp.rank_held SELECT coalesce(p.parent, i.parent, i.id), sum(w.waited)"
	" FROM wait w JOIN call i ON i.id = w.call LEFT JOIN call p ON p.id = i.parent GROUP BY 1";

int ranks_collectives_begin(struct db *merged)
{
	return db_exec(merged,
		"CREATE TEMP TABLE arrival (member, identity, sequence, what, site, start, end,"
		"  meets, PRIMARY KEY (identity, sequence, member)) WITHOUT ROWID;"
		"CREATE TEMP TABLE part (member, identity, sequence, what, time, longest, place)");
}

int ranks_collectives_add(struct db *merged, struct db *run)
{
	struct arrivals arrivals = { 0 };
	int rc = 0;

	if (!db_int(run, "SELECT EXISTS (SELECT 1 FROM collective)", 0))
		return 0;
	rc = read_arrivals(merged, run, &arrivals) || db_exec(run, held_sql) ? -1 : 0;
	for (size_t i = 0, first = 0; i < arrivals.count && !rc; i++)
		if (i + 1 == arrivals.count ||
			arrivals.row[i + 1].thread != arrivals.row[first].thread) {
			rc = follow_thread(run, &arrivals.row[first], i + 1 - first);
			first = i + 1;
		}
	rc = rc || follow_devices(run, &arrivals) || write_parts(merged, run, &arrivals) ? -1 : 0;
	map_release(&arrivals.operations);
	free(arrivals.row);
	return rc;
}
