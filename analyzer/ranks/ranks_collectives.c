/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run adds for the comparison of its collectives with those of other ranks, in temporary
 * tables of the merged database: each collective with its kernel, and what the rank did since the
 * one before, by cause: its threads, by table collective_time, and the device.
 */
#include "ranks.h"

#include <stdlib.h>

#include "map.h"
#include "memory.h"
#include "ranks_internal.h"
#include "remote_kernels.h"

/* Causes as in table member_time. */
enum part { KERNELS, COPIES, PARTS };
static const char *const part_names[PARTS] = { "kernels", "copies" };

struct spent {
	int64_t time, longest; /* ns */
	int64_t kernel;        /* of the longest; 0: none */
};

struct arrival {
	int64_t member, identity, sequence;
	struct spent part[PARTS];
};

struct arrivals {
	struct arrival *row;
	size_t count;
	struct map operations; /* operation -> index + 1 */
};

/*
 * The names of collectives that no rank leaves before all have come: their kernels end together.
 * One kernel may run several collectives; it counts with the first.
 */
static const char select_sql[] =
	"SELECT c.member, m.identity, l.sequence, l.operation,"
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
	" ORDER BY l.id";

static const struct ranks_copy thread_parts = {
	"SELECT c.member, m.identity, l.sequence, e.cause, e.time, e.longest,"
	"  coalesce(f.text || ' to ', '') || coalesce(s.text, '?') FROM collective_time e"
	" JOIN collective l ON l.id = e.collective JOIN communicator m ON m.id = l.communicator"
	" JOIN temp.ranked c ON c.process = l.process LEFT JOIN site f ON f.id = e.from_site"
	" LEFT JOIN site s ON s.id = e.site"
	" WHERE ?1 AND ?2 AND m.identity NOT NULL AND m.ranks > 1",
	"INSERT INTO temp.part VALUES (?, ?, ?, ?, ?, ?, ?)"
};

static int read_arrivals(struct db *merged, struct db *run, struct arrivals *arrivals)
{
	sqlite3_stmt *q = db_prepare(run, select_sql);
	sqlite3_stmt *to = db_prepare(merged,
		"INSERT OR IGNORE INTO temp.arrival VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
	static const int kept[] = { 0, 1, 2, 4, 5, 6, 7, 8 };
	int step = q && to ? 0 : -1;

	while (!step && (step = db_step(q)) > 0) {
		*array_push(arrivals->row, arrivals->count) = (struct arrival){
			.member = sqlite3_column_int64(q, 0),
			.identity = sqlite3_column_int64(q, 1),
			.sequence = sqlite3_column_int64(q, 2),
		};
		map_set(&arrivals->operations, (uint64_t)sqlite3_column_int64(q, 3),
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

static void spend(struct spent *spent, int64_t time, int64_t kernel)
{
	if (time <= 0)
		return;
	spent->time += time;
	if (time <= spent->longest)
		return;
	spent->longest = time;
	spent->kernel = kernel;
}

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
			spend(&sum.part[is_kernel ? KERNELS : COPIES],
				end - (start > ended ? start : ended), sqlite3_column_int64(q, 5));
		}
	}
	sqlite3_finalize(q);
	return step;
}

static int write_device_parts(struct db *merged, struct db *run, const struct arrivals *arrivals)
{
	sqlite3_stmt *to = db_prepare(merged, "INSERT INTO temp.part VALUES (?, ?, ?, ?, ?, ?, ?)");
	sqlite3_stmt *kernel = db_prepare(run,
		"SELECT coalesce(n.label, k.name) FROM kernel k LEFT JOIN kernel_name n"
		" ON n.kernel = k.id WHERE k.id = ?");
	int rc = to && kernel ? 0 : -1;

	for (size_t i = 0; i < arrivals->count && !rc; i++)
		for (int part = 0; part < PARTS && !rc; part++) {
			const struct arrival *arrival = &arrivals->row[i];
			const struct spent *spent = &arrival->part[part];

			if (!spent->time)
				continue;
			rc = db_bind(to, "iiisiis", arrival->member, arrival->identity,
				     arrival->sequence, part_names[part], spent->time,
				     spent->longest, "") ||
					db_bind(kernel, "i", spent->kernel) || db_step(kernel) < 0
				? -1
				: 0;
			if (!rc && sqlite3_data_count(kernel))
				sqlite3_bind_value(to, 7, sqlite3_column_value(kernel, 0));
			if (!rc)
				rc = db_step(to) < 0 ? -1 : 0;
		}
	sqlite3_finalize(to);
	sqlite3_finalize(kernel);
	return rc;
}

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
	rc = read_arrivals(merged, run, &arrivals) || follow_devices(run, &arrivals) ||
			write_device_parts(merged, run, &arrivals) ||
			ranks_copy(merged, run, &thread_parts, 1, 1)
		? -1
		: 0;
	map_release(&arrivals.operations);
	free(arrivals.row);
	return rc;
}
