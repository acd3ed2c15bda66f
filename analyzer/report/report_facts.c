/* SPDX-License-Identifier: Apache-2.0 */
#include "report_facts.h"

#include <string.h>

#include "constants.h"
#include "disclose.h"
#include "kernel_names.h"
#include "kinds.h"
#include "losses.h"
#include "report_internal.h"
#include "rules.h"
#include "print.h"
#include "shared_frame.h"
#include "source_line.h"
#include "stream_sql.h"
#include "unknown.h"

/* In the order of enum report_run_column.  recorded_ns leaves out the parts of a single process in
 * which no work was recorded. */
static const char run_sql[] =
	"SELECT coalesce(w.whole, 0) AS duration_ns,"
	" coalesce(w.whole, 0) - (SELECT coalesce(sum(end - start), 0) FROM recording"
	"  WHERE NOT work AND w.processes = 1) AS recorded_ns,"
	" coalesce((SELECT c.enter - (SELECT min(first.enter) FROM thread t JOIN call first"
	"   ON first.id = (SELECT min(id) FROM call WHERE thread = t.id)) FROM call c"
	"  WHERE c.id = (SELECT min(call) FROM operation WHERE call NOT NULL)), 0) AS start_ns,"
	" w.processes, u.threads, u.calls, u.inside AS inside_ns,"
	" (SELECT count(*) FROM stream) AS streams,"
	" (SELECT count(DISTINCT stream) FROM stream_use) AS streams_used,"
	" (SELECT count(*) FROM device_use) AS devices_used,"
	" EXISTS (SELECT 1 FROM loss WHERE loss_effect(reason) > 0) AS \"incomplete?\","
	" EXISTS (SELECT 1 FROM loss WHERE loss_effect(reason) > 2) AS \"failed?\","
	" (SELECT command FROM run) AS command, (SELECT tool_version FROM run) AS version"
	" FROM (SELECT max(end) - min(start) AS whole, count(*) AS processes FROM process) w,"
	" (SELECT count(*) FILTER (WHERE calls > 0) AS threads, coalesce(sum(calls), 0) AS calls,"
	"   coalesce(sum(inside), 0) AS inside FROM thread_use) u";

/* The recorded part of the run, and what limited it; no row: all was recorded. */
static const char recording_sql[] =
	"SELECT coalesce(sum(work), 0) AS windows,"
	" coalesce(sum((end - start) * work), 0) AS inside_ns, sum(end - start) AS whole_ns,"
	" replace(group_concat(DISTINCT cause) FILTER (WHERE cause <> 'start'), ',', ', ')"
	"  AS causes"
	" FROM recording WHERE EXISTS (SELECT 1 FROM recording WHERE NOT work)"
	" HAVING sum(end - start) > 0";

static const char processes_sql[] =
	"SELECT id AS process, pid, parent_pid, start AS start_ns, end AS end_ns,"
	" closed AS \"ended_in_order?\", simulated AS \"simulated?\" FROM process ORDER BY id";

static const char windows_sql[] =
	"SELECT process, start AS start_ns, end AS end_ns, cause FROM recording WHERE work"
	" ORDER BY process, start";

/* Each device that a process has or used; its name may be NULL.  since_first_ns: from its first
 * work to the end of the process, without the parts in which work was not recorded or is
 * unknown. */
static const char devices_sql[] =
	"SELECT p.id AS process, p.pid, i.device, d.name, p.simulated AS \"simulated?\","
	" coalesce(u.busy, 0) AS busy_ns, coalesce(u.overlapped, 0) AS overlapped_ns,"
	" p.end - p.start AS process_ns, p.end - u.first - (SELECT coalesce(sum(r.end"
	"   - max(r.start, u.first)), 0) FROM recording r WHERE r.process = p.id AND NOT r.work"
	"   AND r.end > u.first) - coalesce((SELECT l.count FROM loss l WHERE l.process = p.id"
	"   AND l.reason = '" UNKNOWN_LOSS
	"'), 0) AS since_first_ns, u.process NOT NULL AS \"used?\""
	" FROM (SELECT process, ordinal AS device FROM device UNION"
	"  SELECT process, device FROM device_use) i JOIN process p ON p.id = i.process"
	" LEFT JOIN device d ON d.process = i.process AND d.ordinal = i.device"
	" LEFT JOIN device_use u ON u.process = i.process AND u.device = i.device"
	" ORDER BY i.process, i.device";

static const char operations_sql[] =
	"SELECT kind, sum(operations) AS count, sum(busy) AS busy_ns FROM stream_use"
	" GROUP BY kind ORDER BY 2 DESC, kind";

static const char streams_sql[] =
	"SELECT kind, count(*) AS count FROM stream GROUP BY kind ORDER BY kind";

/* As texts call them; number: CUPTI's, which other tools show. */
static const char named_streams_sql[] =
	"SELECT process, cupti_id AS number, kind, name FROM stream WHERE name NOT NULL"
	" ORDER BY process, id";

static const char waits_sql[] =
	"SELECT kind, sum(count) AS count, sum(waited) AS waited_ns FROM wait_use"
	" GROUP BY kind ORDER BY kind";

/* In the order of enum report_loops_column, and so the next three. */
static const char loops_sql[] =
	"SELECT l.process, p.pid, l.place, l.turns, l.start AS start_ns, l.end AS end_ns,"
	" (l.end - l.start - l.paused) / l.turns AS turn_ns, l.warm, l.paused AS paused_ns"
	" FROM loop l"
	" JOIN process p ON p.id = l.process ORDER BY l.process";

/* Turns are those of one turn of the loop, on average. */
static const char inner_loops_sql[] =
	"SELECT i.process, i.place,"
	" (2 * i.turns + l.turns + l.warm) / (2 * (l.turns + l.warm)) AS turns FROM inner_loop i"
	" JOIN loop l ON l.process = i.process ORDER BY i.process, i.number";

/* The account of the loop, or of the run from its first work to its last. */
/*
 * What a turn would take without its waits (table replay), at most what it takes without the
 * findings; busy: of the busiest device.
 */
static const char ceiling_sql[] =
	"SELECT l.process, (l.end - l.start - l.paused) / l.turns AS turn_ns,"
	" max(r.ceiling, iif(EXISTS (SELECT 1 FROM finding f"
	"   WHERE f.process = r.process AND f.shown AND f.reads), 0, coalesce(r.turn_saving, 0)))"
	"  AS saved_ns, r.ceiling_blocked AS blocked_ns,"
	" max(r.ceiling_unread, coalesce(r.turn_saving, 0)) AS unread_saved_ns,"
	" r.ceiling_unread_blocked AS unread_blocked_ns,"
	" (SELECT max(busy) / l.turns FROM (SELECT sum(time) AS busy FROM account a"
	"   WHERE a.process = l.process AND a.device NOT NULL"
	"   AND a.cause IN ('kernels', 'copies', 'both') GROUP BY a.device)) AS busy_ns"
	" FROM replay r JOIN loop l ON l.process = r.process WHERE r.ceiling NOT NULL"
	" ORDER BY l.process";

static const char account_sql[] =
	"SELECT process, device, cause, sum(time) AS time_ns, sum(times) AS times FROM account"
	" GROUP BY process, device, cause ORDER BY process, device IS NULL, device, 4 DESC, cause";

/* The calls between which the host was outside of CUDA and not blocked, the longest time first. */
static const char outside_sql[] =
	"SELECT a.process, a.device, f.text AS \"from\", t.text AS \"to\", sum(a.time) AS time_ns,"
	" sum(a.times) AS times, count(shared_frame(a.from_site, a.site)) > 0 AS \"in_function?\""
	" FROM account a LEFT JOIN site f ON f.id = a.from_site"
	" LEFT JOIN site t ON t.id = a.site WHERE a.cause IN ('outside', 'computing')"
	" GROUP BY a.process, a.device, f.text, t.text ORDER BY 5 DESC, 3, 4 LIMIT 20";

/* The other calls in which the host was while a device was idle, the longest time first. */
static const char other_calls_sql[] =
	"SELECT a.process, a.device, (SELECT y.name FROM call c JOIN call_type y ON y.id = c.type"
	"  WHERE c.site = a.site LIMIT 1) AS call, s.text AS place, sum(a.time) AS time_ns,"
	" sum(a.times) AS times FROM account a JOIN site s ON s.id = a.site"
	" WHERE a.cause = 'call' AND a.device NOT NULL"
	" GROUP BY a.process, a.device, s.text ORDER BY 5 DESC, 4 LIMIT 20";

/*
 * The functions in which the host was outside of CUDA while a device was idle, or the looping
 * thread was: with what they called, and by themselves, of which in long gaps.  A function that
 * calls itself counts once.
 */
static const char functions_sql[] =
	"WITH gap AS MATERIALIZED (SELECT process, device, from_site, site,"
	"  shared_frame(from_site, site) AS depth, sum(time) AS time, sum(times) AS times"
	"  FROM account WHERE cause IN ('outside', 'computing')"
	"  GROUP BY process, device, from_site, site),"
	" inside AS (SELECT g.process, g.device, g.time, g.times, f.function, f.file, f.module,"
	"  f.line, f.user, min(f.depth) = g.depth AS is_self FROM gap g"
	"  JOIN frame f ON f.site = g.site AND f.depth >= g.depth"
	"  WHERE " REPORT_IS_NAMED
	"  GROUP BY g.process, g.device, g.from_site, g.site, f.function, f.file, f.module),"
	" line AS (SELECT process, device, function, file, module, line, user, sum(time) AS time,"
	"  sum(iif(is_self, time, 0)) AS self, sum(iif(is_self, times, 0)) AS times,"
	"  sum(iif(is_self AND is_long_gap(time, times), time, 0)) AS long FROM inside"
	"  GROUP BY process, device, function, file, module, line, user)"
	" SELECT process, device, function, " REPORT_FILE
	" || coalesce(':' || line, '') AS place,"
	" user AS \"own?\", time AS time_ns, self AS self_ns, long AS long_ns, times"
	" FROM (SELECT process, device, function, file, module, line, max(time), user,"
	"  sum(time) AS time, sum(self) AS self, sum(long) AS long, sum(times) AS times FROM line"
	"  GROUP BY process, device, function, file, module) f"
	" WHERE NOT is_small(time, (SELECT sum(time) FROM gap"
	"  WHERE process = f.process AND device IS f.device))"
	" ORDER BY process, device IS NULL, device, time DESC, self, function";

/* Where the looping thread was blocked outside of CUDA, and until what, the longest time first. */
static const char blocked_sql[] =
	"SELECT b.process, f.text AS \"from\", t.text AS \"to\", b.ended AS until, b.stream,"
	" " STREAM_WORDS("w") " AS stream_name, h.tid AS thread, o.text AS place,"
	" sum(b.time) AS time_ns, sum(b.times) AS times"
	" FROM blocked b LEFT JOIN site f ON f.id = b.from_site LEFT JOIN site t ON t.id = b.site"
	" LEFT JOIN thread h ON h.id = b.by_thread LEFT JOIN site o ON o.id = b.by_site"
	" LEFT JOIN stream w ON w.id = b.stream"
	" GROUP BY b.process, f.text, t.text, b.ended, b.stream, h.tid, o.text"
	" ORDER BY 9 DESC, 1, 2, 3 LIMIT 20";

/* In the order of enum report_coverage_column. */
static const char coverage_sql[] =
	"SELECT s.operations, s.operations - s.unmatched AS operations_matched,"
	" u.calls, u.placed AS calls_placed,"
	" k.kernels, k.known AS kernels_with_parameters"
	" FROM (SELECT coalesce(sum(operations), 0) AS operations,"
	"   coalesce(sum(unmatched), 0) AS unmatched FROM stream_use) s,"
	" (SELECT coalesce(sum(calls), 0) AS calls, coalesce(sum(placed), 0) AS placed"
	"   FROM thread_use) u,"
	" (SELECT count(*) AS kernels, count(parameter_count) AS known FROM kernel"
	"   WHERE handle NOT NULL) k";

/* Kernels of a graph that was not read are launched with it. */
static const char accesses_sql[] =
	"SELECT coalesce(sum(launches), 0) + (SELECT coalesce(sum(count), 0) FROM loss"
	"  WHERE reason = 'graph_launches_not_read') AS launches,"
	" coalesce(sum(complete), 0) AS launches_complete,"
	" count(*) FILTER (WHERE complete < launches) AS kernels_incomplete FROM kernel_use";

/* Kernels some of whose accesses are not known, those with most such launches first. */
static const char unseen_sql[] =
	"SELECT " KERNEL_LABEL("kernel") " AS kernel, u.launches - u.complete AS launches,"
	" coalesce((SELECT s.why FROM shape_code s JOIN shape h ON h.id = s.shape"
	"  WHERE h.kernel = kernel.id AND NOT s.complete LIMIT 1), c.why) AS why"
	" FROM kernel_use u JOIN kernel ON kernel.id = u.kernel"
	" LEFT JOIN kernel_code c ON c.kernel = kernel.id WHERE u.complete < u.launches"
	" ORDER BY 2 DESC, u.kernel LIMIT 20";

/* The calls by which memory is shared with other processes or APIs. */
static const char shared_sql[] =
	"SELECT CASE WHEN name GLOB '*_v[0-9]' THEN substr(name, 1, length(name) - 3)"
	"  ELSE name END AS call, count(*) AS calls FROM (SELECT coalesce((SELECT o.name"
	"   FROM call p JOIN call_type o ON o.id = p.type WHERE p.id = c.parent), s.api, t.name)"
	"  AS name FROM call c CROSS JOIN call_type t ON t.id = c.type"
	"  LEFT JOIN site s ON s.id = c.site WHERE c.type IN (SELECT k.id FROM call_type k WHERE "
	KIND_WHERE("k", "shares") ") AND c.result = 0 AND c.event IS NULL)"
	" GROUP BY 1 ORDER BY 2 DESC, 1";

static const char settings_sql[] =
	"SELECT DISTINCT name, value, setting_meaning(name, value) AS meaning FROM property"
	" WHERE name GLOB '[A-Z]*' ORDER BY name";

/* The last call of a thread that never returned from it, as the user wrote it. */
static const char hung_sql[] =
	"SELECT coalesce(CASE WHEN t.runtime THEN t.name END, s.api, t.name) AS call,"
	"  s.function, s.text AS place, p.pid, h.tid FROM call c JOIN call_type t ON t.id = c.type"
	" JOIN process p ON p.id = c.process JOIN thread h ON h.id = c.thread"
	" LEFT JOIN site s ON s.id = c.site"
	" WHERE c.exit IS NULL AND c.parent IS NULL AND NOT p.closed AND NOT EXISTS ("
	"  SELECT 1 FROM call l WHERE l.thread = c.thread AND l.parent IS NULL AND l.id > c.id)"
	" ORDER BY c.id";

static const char losses_sql[] =
	"SELECT l.process, p.pid, l.reason, l.count, loss_effect(l.reason) > 0 AS"
	" \"incomplete?\", loss_text(l.reason, l.count, p.cupti, p.cupti_error, (SELECT value"
	"  FROM property WHERE property.process = p.id AND name = 'cupti.holder')) AS text"
	" FROM loss l JOIN process p ON p.id = l.process ORDER BY l.process, l.reason";

const struct report_fact_info report_facts[FACT_COUNT] = {
	[FACT_RUN] = { "run", FACT_OBJECT, run_sql },
	[FACT_RECORDING] = { "recording", FACT_OBJECT, recording_sql },
	[FACT_PROCESSES] = { "processes", FACT_ROWS, processes_sql },
	[FACT_WINDOWS] = { "windows", FACT_ROWS, windows_sql },
	[FACT_DEVICES] = { "devices", FACT_ROWS, devices_sql },
	[FACT_OPERATIONS] = { "operations", FACT_ROWS, operations_sql },
	[FACT_STREAMS] = { "streams", FACT_ROWS, streams_sql },
	[FACT_NAMED_STREAMS] = { "named_streams", FACT_ROWS, named_streams_sql },
	[FACT_WAITS] = { "waits", FACT_ROWS, waits_sql },
	[FACT_LOOPS] = { "loops", FACT_ROWS, loops_sql },
	[FACT_INNER_LOOPS] = { "inner_loops", FACT_ROWS, inner_loops_sql },
	[FACT_CEILING] = { "ceiling", FACT_ROWS, ceiling_sql },
	[FACT_ACCOUNT] = { "account", FACT_ROWS, account_sql },
	[FACT_OUTSIDE] = { "outside", FACT_ROWS, outside_sql },
	[FACT_FUNCTIONS] = { "host_functions", FACT_ROWS, functions_sql },
	[FACT_OTHER_CALLS] = { "other_calls", FACT_ROWS, other_calls_sql },
	[FACT_BLOCKED] = { "blocked", FACT_ROWS, blocked_sql },
	[FACT_COVERAGE] = { "coverage", FACT_OBJECT, coverage_sql },
	[FACT_ACCESSES] = { "accesses", FACT_OBJECT, accesses_sql },
	[FACT_UNSEEN] = { "unseen", FACT_ROWS, unseen_sql },
	[FACT_SHARED] = { "shared", FACT_ROWS, shared_sql },
	[FACT_SETTINGS] = { "settings", FACT_ROWS, settings_sql },
	[FACT_NOTES] = { "notes", FACT_VALUES, report_notes_sql },
	[FACT_HUNG] = { "hung", FACT_ROWS, hung_sql },
	[FACT_LOSSES] = { "losses", FACT_ROWS, losses_sql },
};

/* Arguments of SQL functions are NULL where a value of the database is. */
static const char *text(sqlite3_value *value)
{
	const char *text = (const char *)sqlite3_value_text(value);

	return text ? text : "";
}

/* rule_text(rule, 'advice') and so on, so that rules.def stays the only list. */
static void rule_text(sqlite3_context *context, int count, sqlite3_value **value)
{
	const struct rule_info *rule = rule_find(text(value[0]));
	const char *what = text(value[1]), *found = NULL;

	if (rule && !strcmp(what, "title"))
		found = rule->title;
	else if (rule && !strcmp(what, "advice"))
		found = rule->advice;
	else if (rule && !strcmp(what, "link"))
		found = rule->link;
	if (found)
		sqlite3_result_text(context, found, -1, SQLITE_STATIC);
}

static void effect_of_loss(sqlite3_context *context, int count, sqlite3_value **value)
{
	sqlite3_result_int(context, (int)loss_effect(text(value[0])));
}

/* loss_text(reason, count, CUPTI's state, its error, its holder): NULL if nothing is printed. */
static void loss_text(sqlite3_context *context, int count, sqlite3_value **value)
{
	const char *reason = text(value[0]);
	const struct loss *loss = loss_find(reason);
	int64_t times = sqlite3_value_int64(value[1]);
	const char *wording = loss ? loss_wording(loss, times) : reason;
	char *said = wording ? report_loss_text(wording, times) : NULL;

	if (said && !strcmp(reason, "host_only"))
		said = report_cupti_text(said, text(value[2]), sqlite3_value_int(value[3]),
			(const char *)sqlite3_value_text(value[4]));
	if (said)
		sqlite3_result_text(context, said, -1, sqlite3_free);
}

static void setting_meaning(sqlite3_context *context, int count, sqlite3_value **value)
{
	const char *meaning =
		report_setting_meaning(sqlite3_user_data(context), text(value[0]), text(value[1]));

	if (meaning)
		sqlite3_result_text(context, meaning, -1, SQLITE_STATIC);
}

/* Gaps of one kind, of that total time and number, are too long for the host's work of a call. */
static void is_long_gap(sqlite3_context *context, int count, sqlite3_value **value)
{
	(void)count;
	sqlite3_result_int(context,
		sqlite3_value_int64(value[0]) > HOST_GAP_LONG_NS * sqlite3_value_int64(value[1]));
}

/* A time is not worth a line, of that whole. */
static void is_small(sqlite3_context *context, int count, sqlite3_value **value)
{
	(void)count;
	sqlite3_result_int(context,
		ACCOUNT_SMALL_PART * sqlite3_value_int64(value[0]) < sqlite3_value_int64(value[1]));
}

int report_functions(struct db *db)
{
	static const struct {
		const char *name;
		int arguments;
		void (*function)(sqlite3_context *, int, sqlite3_value **);
	} functions[] = {
		{ "rule_text", 2, rule_text },
		{ "loss_effect", 1, effect_of_loss },
		{ "loss_text", 5, loss_text },
		{ "setting_meaning", 2, setting_meaning },
		{ "is_long_gap", 2, is_long_gap },
		{ "is_small", 2, is_small },
	};

	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
		if (sqlite3_create_function(db->handle, functions[i].name, functions[i].arguments,
			    SQLITE_UTF8 | SQLITE_DIRECTONLY, db, functions[i].function, NULL,
			    NULL) != SQLITE_OK) {
			print(stderr, "cufence: SQLite: %s\n", sqlite3_errmsg(db->handle));
			return -1;
		}
	return sources_add_function(db, disclose_is_least(db)) ? -1 : shared_frame_add_function(db);
}

sqlite3_stmt *report_fact(struct db *db, enum report_fact fact)
{
	return db_prepare(db, report_facts[fact].sql);
}
