/* SPDX-License-Identifier: Apache-2.0 */
/* What a run adds to a merged database: rows of its own tables, for each of its ranks. */
#include "ranks.h"

#include "constants.h"
#include "print.h"
#include "ranks_internal.h"
#include "remote_kernels.h"
#include "report_facts.h"
#include "report_internal.h"

/*
 * The processes that are ranks, and their numbers in the merged database from ?1 on.  Children of a
 * rank, such as workers that load data, have its variables: the one that used its device for
 * longest is the rank.  In a run without records of devices any process is.
 */
static const char choose_sql[] =
	"CREATE TEMP TABLE ranked AS SELECT ?1 + row_number() OVER (ORDER BY rank, process)"
	"  AS member, process FROM (SELECT p.id AS process, r.rank, row_number() OVER"
	"   (PARTITION BY coalesce(r.rank, -p.id) ORDER BY u.busy DESC, p.id) AS place"
	"  FROM process p LEFT JOIN rank r ON r.process = p.id"
	"  LEFT JOIN (SELECT process, sum(busy) AS busy FROM device_use GROUP BY process) u"
	"   ON u.process = p.id"
	"  WHERE u.busy NOT NULL OR NOT EXISTS (SELECT 1 FROM device_use)) WHERE place = 1";

/* Computed once for each database: the scan of the operations is what takes time.  Operations
 * before and after the loop have nothing to do with its turns. */
static const char work_sql[] =
	"CREATE TEMP TABLE rank_work AS SELECT c.member, CASE o.kind WHEN 'kernel' THEN iif("
	WAITS_FOR_OTHER_DEVICES("k.name") ", 'collectives', 'kernels') ELSE 'copies' END AS what,"
	" CASE o.kind WHEN 'kernel' THEN coalesce(n.label, k.name, '?') ELSE o.kind END AS place,"
	" o.time FROM (SELECT o.process, o.kind, o.kernel, sum(o.end - o.start) AS time"
	"  FROM operation o LEFT JOIN loop l ON l.process = o.process"
	"  WHERE o.recorded_end IS NULL AND o.kind <> 'graph'"
	"  AND (l.process IS NULL OR o.start BETWEEN l.start AND l.end)"
	"  GROUP BY o.process, o.kind, o.kernel HAVING sum(o.end - o.start) NOT NULL) o"
	" JOIN temp.ranked c ON c.process = o.process"
	" LEFT JOIN kernel k ON k.id = o.kernel LEFT JOIN kernel_name n ON n.kernel = o.kernel";

/* A place must have ?2 percent of this time to be kept. */
#define WHOLE(process) \
	"coalesce((SELECT l.end - l.start - l.paused FROM loop l WHERE l.process = " process \
	"), (SELECT p.end - p.start FROM process p WHERE p.id = " process "))"
#define ENOUGH(time, process) time " * 100 >= ?2 * " WHOLE(process)

static const char member_sql[] =
	"SELECT c.member, ?1, p.pid, r.rank, r.local_rank, r.world, r.host, coalesce((SELECT device"
	"   FROM device_use u WHERE u.process = p.id ORDER BY busy DESC LIMIT 1), r.device),"
	" p.end - p.start, l.turns, l.place, p.closed,"
	" EXISTS (SELECT 1 FROM loss s WHERE s.process = p.id AND loss_effect(s.reason) > 0)"
	" FROM temp.ranked c JOIN process p ON p.id = c.process"
	" LEFT JOIN rank r ON r.process = p.id LEFT JOIN loop l ON l.process = p.id";

/* A version is a thousand times the major number, and ten times the minor one. */
#define VERSION(number) "printf('%d.%d', " number " / 1000, " number " % 1000 / 10)"
#define LAUNCHER(name, rank, local_rank, world) "'" rank "', '" local_rank "', '" world "', "
#define PER_RANK(variable) "'" variable "', "
static const char setting_sql[] =
	"SELECT c.member, s.name, s.value FROM (SELECT process,"
	"  iif(name GLOB 'env.*', substr(name, 5), name) AS name, value FROM property"
	"  WHERE name GLOB '[A-Z]*' OR name GLOB 'env.*') s JOIN temp.ranked c USING (process)"
	" WHERE s.name NOT IN ("
#include "launchers.def"
	"'')"
	" UNION ALL SELECT c.member, 'executable', " REPORT_BASE("substr(e.value || ' ', 1,"
	"  instr(e.value || ' ', ' ') - 1)") " FROM property e JOIN temp.ranked c USING (process)"
	"  WHERE e.name = 'command'"
	" UNION ALL SELECT member, 'cufence', tool_version FROM run, temp.ranked"
	" UNION ALL SELECT member, 'simulated', simulated FROM process p"
	"  JOIN temp.ranked c ON c.process = p.id"
	" UNION ALL SELECT member, 'driver', " VERSION("driver_version") " FROM process p"
	"  JOIN temp.ranked c ON c.process = p.id WHERE driver_version > 0"
	" UNION ALL SELECT member, 'CUPTI', cupti || iif(cupti_version, ' ' || cupti_version, '')"
	"  FROM process p JOIN temp.ranked c ON c.process = p.id"
	" UNION ALL SELECT DISTINCT c.member, 'device', d.name || ', ' || d.sm_count || ' SMs, '"
	"  || (d.memory_bytes >> 30) || ' GiB' FROM temp.ranked c JOIN device_use u USING (process)"
	"  JOIN device d ON d.process = u.process AND d.ordinal = u.device";

/* Causes of waiting: what others, or the device, impose on a host. */
#define IS_WAIT(cause) cause " IN ('held', 'wait')"

/*
 * The host's causes as a whole, and by the lines of the calls before and after.  A wait that is
 * left out comes back at the next one, so the lines of waits explain nothing.
 */
static const char time_sql[] =
	"WITH host AS (SELECT c.member, a.process, a.cause, a.time, coalesce(f.text || ' to ', '')"
	"   || coalesce(s.text, 'the end') AS place FROM account a"
	"  JOIN temp.ranked c USING (process)"
	"  LEFT JOIN site f ON f.id = a.from_site LEFT JOIN site s ON s.id = a.site"
	"  WHERE a.device IS NULL)"
	" SELECT member, 'turn', '', " WHOLE("process") " FROM temp.ranked"
	" UNION ALL SELECT member, cause, '', sum(time) FROM host GROUP BY member, cause"
	" UNION ALL SELECT member, cause, place, sum(time) FROM host"
	"  WHERE NOT " IS_WAIT("cause") " GROUP BY member, cause, place"
	"  HAVING " ENOUGH("sum(time)", "process")
	" UNION ALL SELECT member, what, '', sum(time) FROM temp.rank_work GROUP BY member, what"
	" UNION ALL SELECT member, what, place, sum(time) FROM temp.rank_work"
	"  JOIN temp.ranked USING (member)"
	"  GROUP BY member, what, place HAVING " ENOUGH("sum(time)", "process");

/* As "cufence diff" divides a finding's saving. */
#define COST "CAST(coalesce(sum(iif(f.share > 0, f.saving * p.share / f.share, 0)), 0) AS INTEGER)"
static const char place_sql[] =
	"SELECT c.member, p.fingerprint, f.rule, f.severity, coalesce(s.text, '?')"
	"  || coalesce(' ' || s.function, ''), p.message, sum(p.count), " COST
	", max(f.shown)"
	" FROM finding_place p JOIN finding f ON f.id = p.finding"
	" JOIN temp.ranked c ON c.process = f.process LEFT JOIN site s ON s.id = p.site"
	" GROUP BY c.member, p.fingerprint";

/* Replays together with the other ranks (ranks_replay.c). */
static const char replay_sql[] =
	"SELECT c.member, data FROM rank_replay"
	" JOIN temp.ranked c USING (process) WHERE ?1 AND ?2";
static const char change_sql[] =
	"SELECT c.member, fingerprint, data FROM rank_change"
	" JOIN temp.ranked c USING (process) WHERE ?1 AND ?2";

static const struct ranks_copy steps[] = {
	{ member_sql, "INSERT INTO member VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)" },
	{ setting_sql, "INSERT OR IGNORE INTO member_setting VALUES (?, ?, CAST(? AS TEXT))" },
	{ time_sql, "INSERT OR IGNORE INTO member_time VALUES (?, ?, ?, ?)" },
	{ place_sql, "INSERT OR IGNORE INTO member_place VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)" },
	{ replay_sql, "INSERT OR IGNORE INTO temp.joint_rank VALUES (?, ?)" },
	{ change_sql, "INSERT OR IGNORE INTO temp.joint_change VALUES (?, ?, ?)" },
};

int ranks_copy(struct db *merged, struct db *run, const struct ranks_copy *copy, int64_t first,
	int64_t second)
{
	sqlite3_stmt *q = db_prepare(run, copy->select), *to = db_prepare(merged, copy->insert);
	int step = q && to ? 0 : -1;

	/* One that a query does not have is refused, which is no error here. */
	if (!step) {
		sqlite3_bind_int64(q, 1, first);
		sqlite3_bind_int64(q, 2, second);
	}
	while (!step && (step = db_step(q)) > 0) {
		sqlite3_reset(to);
		for (int i = 0; i < sqlite3_column_count(q); i++)
			sqlite3_bind_value(to, i + 1, sqlite3_column_value(q, i));
		step = db_step(to);
	}
	sqlite3_finalize(q);
	sqlite3_finalize(to);
	return step;
}

static int choose(struct db *run, int64_t after)
{
	sqlite3_stmt *q = db_prepare(run, choose_sql);
	int rc = q ? db_run(q, "i", after) : -1;

	sqlite3_finalize(q);
	return rc || db_exec(run, work_sql) ? -1 : 0;
}

int ranks_begin(struct db *merged)
{
	return ranks_collectives_begin(merged) || ranks_replay_begin(merged) ? -1 : 0;
}

int ranks_add(struct db *merged, struct db *run, const char *path)
{
	int64_t source = db_int(merged, "SELECT count(*) FROM merge_source", 0) + 1;
	int64_t members = db_int(merged, "SELECT count(*) FROM member", 0);
	sqlite3_stmt *q;
	int rc;

	if (report_functions(run) || choose(run, members))
		return -1;
	if (!db_int(run, "SELECT count(*) FROM temp.ranked", 0)) {
		print(stderr, "cufence: '%s' has no process that used CUDA: leave it out\n", path);
		return -1;
	}
	q = db_prepare(merged, "INSERT INTO merge_source VALUES (?, ?)");
	rc = q ? db_run(q, "is", source, path) : -1;
	sqlite3_finalize(q);
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps) && !rc; i++)
		rc = ranks_copy(merged, run, &steps[i], source, RANK_PLACE_PERCENT);
	return rc || ranks_collectives_add(merged, run) ? -1 : 0;
}
