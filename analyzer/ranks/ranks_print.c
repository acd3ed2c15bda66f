/* SPDX-License-Identifier: Apache-2.0 */
/* The report of a merged database as text, which fits on a screen also with thousands of ranks. */
#include <stdlib.h>
#include <string.h>

#include "constants.h"
#include "format.h"
#include "print.h"
#include "ranks.h"
#include "report_internal.h"

enum { MOST_RANKS = 5, MOST_CAUSES = 3, MOST_SETTINGS = 8, MOST_VALUES = 3, MOST_PIECES = 6 };

/* A rank in words, of member m: by its process if it has no number. */
#define NAME(m) "iif(" m ".rank NOT NULL, 'rank ' || " m ".rank, 'process ' || " m ".pid)"

static void put_piece(FILE *out, int64_t first, int64_t last)
{
	print(out, first == last ? "%lld" : "%lld-%lld", (long long)first, (long long)last);
}

/* Prints "rank 3" or "ranks 3, 5-9 and more", of rows with ascending numbers. */
static int put_ranks(sqlite3_stmt *q, FILE *out)
{
	int64_t first = 0, last = 0, count = 0;
	int pieces = 0, step;
	char *text = NULL;
	size_t size;
	FILE *list = open_memstream(&text, &size);

	while (list && (step = db_step(q)) >= 0) {
		int64_t rank = step ? sqlite3_column_int64(q, 0) : -1;

		if (count && step && rank == last + 1) {
			last = rank;
		} else {
			if (count && ++pieces <= MOST_PIECES) {
				fputs(pieces > 1 ? ", " : "", list);
				put_piece(list, first, last);
			}
			first = last = rank;
		}
		if (!step)
			break;
		count++;
	}
	if (!list || fclose(list) || step < 0) {
		free(text);
		return -1;
	}
	print(out, "rank%s %s%s", count == 1 ? "" : "s", text,
		pieces > MOST_PIECES ? " and more" : "");
	free(text);
	return 0;
}

/* A line "    label  rank 3 rest", if the query has a rank. */
static int print_ranks(struct db *db, const char *label, const char *sql, const char *rest,
	FILE *out)
{
	sqlite3_stmt *q = db_prepare(db, sql);
	int step = q ? db_step(q) : -1;

	if (step > 0) {
		sqlite3_reset(q);
		print(out, "    %-8s ", label);
		step = put_ranks(q, out);
		print(out, "%s\n", rest);
	}
	sqlite3_finalize(q);
	return step;
}

static int print_head(struct db *db, FILE *out)
{
	sqlite3_stmt *q = db_prepare(db,
		"SELECT count(*), count(DISTINCT host), (SELECT count(*) FROM merge_source),"
		" count(*) = count(turns), (SELECT loop FROM member WHERE loop NOT NULL"
		"  GROUP BY loop ORDER BY count(*) DESC, loop LIMIT 1) FROM member");
	sqlite3_stmt *t = db_prepare(db,
		"SELECT (SELECT v FROM turn LIMIT 1 OFFSET (SELECT (count(*) - 1) / 2 FROM turn)),"
		" (SELECT min(v) FROM turn), (SELECT max(v) FROM turn) FROM (SELECT 1)");
	char median[DURATION_SIZE], least[DURATION_SIZE], most[DURATION_SIZE];

	if (!q || !t || db_step(q) <= 0 || db_step(t) <= 0) {
		sqlite3_finalize(q);
		sqlite3_finalize(t);
		return -1;
	}
	int ranks = sqlite3_column_int(q, 0), hosts = sqlite3_column_int(q, 1);
	int sources = sqlite3_column_int(q, 2), loops = sqlite3_column_int(q, 3);

	print(out, "cufence: %d rank%s", ranks, ranks == 1 ? "" : "s");
	if (hosts)
		print(out, " on %d host%s", hosts, hosts == 1 ? "" : "s");
	print(out, ", of %d database%s\n", sources, sources == 1 ? "" : "s");
	print(out, "    %-8s %s, from %s to %s", loops ? "turn" : "run",
		format_duration(median, sqlite3_column_int64(t, 0)),
		format_duration(least, sqlite3_column_int64(t, 1)),
		format_duration(most, sqlite3_column_int64(t, 2)));
	if (loops)
		print(out, ", loop at %s", db_text(q, 4));
	fputc('\n', out);
	sqlite3_finalize(q);
	sqlite3_finalize(t);
	return 0;
}

static const char missing_sql[] =
	"WITH RECURSIVE every(rank) AS (SELECT 0 UNION ALL SELECT rank + 1 FROM every"
	"  WHERE rank + 1 < (SELECT min(max(world), 1000000) FROM member))"
	" SELECT rank FROM every WHERE (SELECT max(world) FROM member) NOT NULL"
	" AND rank NOT IN (SELECT rank FROM member WHERE rank NOT NULL) ORDER BY rank";

static int print_gaps(struct db *db, FILE *out)
{
	return print_ranks(db, "missing", missing_sql, "", out) ||
			print_ranks(db, "twice",
				"SELECT rank FROM member WHERE rank NOT NULL GROUP BY rank"
				" HAVING count(*) > 1 ORDER BY rank",
				": databases of one run have each once", out) ||
			print_ranks(db, "killed",
				"SELECT coalesce(rank, pid) FROM member WHERE NOT closed"
				" ORDER BY 1",
				" did not end normally", out) ||
			print_ranks(db, "gaps",
				"SELECT coalesce(rank, pid) FROM member WHERE incomplete"
				" ORDER BY 1",
				": their traces are incomplete", out)
		? -1
		: 0;
}

/* Values of settings that differ, those of most ranks first. */
static const char settings_sql[] =
	"WITH every AS (SELECT m.id, n.name, s.value FROM member m CROSS JOIN"
	"  (SELECT DISTINCT name FROM member_setting) n"
	"  LEFT JOIN member_setting s ON s.member = m.id AND s.name = n.name),"
	" one AS (SELECT name, value, count(*) AS members FROM every GROUP BY name, value)"
	" SELECT name, value, members, row_number() OVER (PARTITION BY name ORDER BY members DESC,"
	"  value) AS nth, count(*) OVER (PARTITION BY name) AS differing FROM one"
	" WHERE name IN (SELECT name FROM one GROUP BY name HAVING count(*) > 1)"
	" ORDER BY name, nth";

static int put_value(struct db *db, const char *name, const char *value, int64_t members, FILE *out)
{
	sqlite3_stmt *q = db_prepare(db,
		"SELECT coalesce(m.rank, m.pid) FROM member m LEFT JOIN member_setting s"
		" ON s.member = m.id AND s.name = ?1 WHERE s.value IS ?2 ORDER BY 1");
	int rc = q ? db_bind(q, "ss", name, value) : -1;

	if (value)
		print(out, "'%s' in ", value);
	else
		fputs("not set in ", out);
	if (!rc && members > MOST_PIECES)
		print(out, "%lld ranks", (long long)members);
	else if (!rc)
		rc = put_ranks(q, out);
	sqlite3_finalize(q);
	return rc;
}

static int print_settings(struct db *db, FILE *out)
{
	sqlite3_stmt *q = db_prepare(db, settings_sql);
	int step = q ? 0 : -1, names = 0;

	while (!step && (step = db_step(q)) > 0) {
		int nth = sqlite3_column_int(q, 3), of = sqlite3_column_int(q, 4);
		const char *value = (const char *)sqlite3_column_text(q, 1);

		names += nth == 1;
		step = 0;
		if (names > MOST_SETTINGS || nth > MOST_VALUES)
			continue;
		if (nth == 1)
			print(out, "    %-8s %s: ", "differ", db_text(q, 0));
		else
			fputs(", ", out);
		step = put_value(db, db_text(q, 0), value, sqlite3_column_int64(q, 2), out);
		if (nth == of)
			fputc('\n', out);
		else if (nth == MOST_VALUES)
			print(out, " and %d other values\n", of - nth);
	}
	if (names > MOST_SETTINGS)
		print(out, "    %-8s and %d other settings\n", "", names - MOST_SETTINGS);
	sqlite3_finalize(q);
	return step;
}

/*
 * Why a rank deviates.  Places explain the sum of which they are a part.  What others impose on a
 * rank, waits and collectives, comes last.
 */
static const char causes_sql[] =
	"SELECT d.what, d.place, d.time - d.median, d.median, f.rule, f.place, f.members"
	" FROM deviation d LEFT JOIN merged_finding f ON d.what = 'finding'"
	"  AND f.fingerprint = d.place"
	" WHERE d.member = ?1 AND d.what <> 'turn' AND (d.what <> 'finding' OR f.id NOT NULL)"
	" AND (d.place <> '' OR NOT EXISTS (SELECT 1 FROM deviation o WHERE o.member = d.member"
	"  AND o.what = d.what AND o.place <> ''))"
	" ORDER BY d.what IN ('held', 'wait', 'collectives'), d.time < d.median,"
	" abs(d.time - d.median) DESC LIMIT ?2";

static void put_cause(sqlite3_stmt *q, FILE *out)
{
	const char *what = db_text(q, 0), *place = db_text(q, 1), *cause = report_host_cause(what);
	int64_t more = sqlite3_column_int64(q, 2);
	char text[DURATION_SIZE], median[DURATION_SIZE];

	print(out, "    %c%-8s ", more < 0 ? '-' : '+', format_duration(text, llabs(more)));
	format_duration(median, sqlite3_column_int64(q, 3));
	if (!strcmp(what, "finding"))
		print(out, "%s at %s, in %d rank%s", db_text(q, 4), db_text(q, 5),
			sqlite3_column_int(q, 6), sqlite3_column_int(q, 6) == 1 ? "" : "s");
	else if (!strcmp(what, "kernels") && *place)
		print(out, "in kernel '%s', median %s", place, median);
	else if (!strcmp(what, "collectives") && more < 0)
		print(out, "in collectives, median %s: the others wait for this rank", median);
	else
		print(out, "%s%s%s, median %s", *cause ? cause : what, *place ? ": " : "", place,
			median);
	fputc('\n', out);
}

static int print_causes(struct db *db, int64_t member, FILE *out)
{
	sqlite3_stmt *q = db_prepare(db, causes_sql);
	int step = q ? db_bind(q, "ii", member, (int64_t)MOST_CAUSES) : -1;

	while (!step && (step = db_step(q)) > 0) {
		put_cause(q, out);
		step = 0;
	}
	sqlite3_finalize(q);
	return step;
}

/* Those first that are late, by a turn that is longer or by what others do not have. */
static const char members_sql[] =
	"SELECT m.id, " NAME("m") ", m.host, m.device, s.path, (SELECT v FROM turn t"
	"  WHERE t.member = m.id), (SELECT median FROM deviation t WHERE t.member = m.id"
	"  AND t.what = 'turn'), count(*) OVER () FROM member m JOIN merge_source s"
	"  ON s.id = m.source JOIN (SELECT member, max(iif(what IN ('held', 'wait',"
	"   'collectives'), 0, time - median)) AS late FROM deviation GROUP BY member) d"
	"  ON d.member = m.id ORDER BY d.late DESC, m.id LIMIT ?1";

static int print_members(struct db *db, FILE *out)
{
	sqlite3_stmt *q = db_prepare(db, members_sql);
	int step = q ? db_bind(q, "i", (int64_t)MOST_RANKS) : -1, rest = 0;

	while (!step && (step = db_step(q)) > 0) {
		char turn[DURATION_SIZE], median[DURATION_SIZE];

		print(out, "\n%s deviates: turn %s", db_text(q, 1),
			format_duration(turn, sqlite3_column_int64(q, 5)));
		if (sqlite3_column_type(q, 6) != SQLITE_NULL)
			print(out, ", median %s",
				format_duration(median, sqlite3_column_int64(q, 6)));
		fputs(" [", out);
		if (sqlite3_column_type(q, 2) != SQLITE_NULL)
			print(out, "host %s, ", db_text(q, 2));
		if (sqlite3_column_type(q, 3) != SQLITE_NULL)
			print(out, "device %d, ", sqlite3_column_int(q, 3));
		print(out, "%s]\n", db_text(q, 4));
		rest = sqlite3_column_int(q, 7) - MOST_RANKS;
		step = print_causes(db, sqlite3_column_int64(q, 0), out);
	}
	sqlite3_finalize(q);
	if (rest > 0)
		print(out, "\n%d other rank%s deviate%s less\n", rest, rest == 1 ? "" : "s",
			rest == 1 ? "s" : "");
	if (!step && !db_int(db, "SELECT count(*) FROM deviation", 0))
		fputs("\nno rank deviates\n", out);
	return step;
}

enum { SAVING_WIDTH = 34 };

/* What a turn of the job is shorter by: with a fix in all ranks, and in the worst one. */
static void put_saving(sqlite3_stmt *q, int column, FILE *out)
{
	char all[DURATION_SIZE], low[DURATION_SIZE], high[DURATION_SIZE], worst[DURATION_SIZE];
	char text[4 * DURATION_SIZE + 16] = "-";

	if (sqlite3_column_type(q, column) != SQLITE_NULL)
		snprintf(text, sizeof(text), "%s (%s to %s), %s",
			format_duration(all, sqlite3_column_int64(q, column)),
			format_duration(low, sqlite3_column_int64(q, column + 1)),
			format_duration(high, sqlite3_column_int64(q, column + 2)),
			format_duration(worst, sqlite3_column_int64(q, column + 3)));
	print(out, " %-*s", SAVING_WIDTH, text);
}

static int print_findings(struct db *db, int top, FILE *out)
{
	sqlite3_stmt *q = db_prepare(db,
		"SELECT f.members, f.median, f.least, f.most, " NAME("m") ", f.severity, f.place,"
		" f.rule, f.message, (SELECT count(*) FROM member), count(*) OVER (),"
		" f.saving, f.saving_low, f.saving_high, f.saving_worst,"
		" (SELECT count(saving) FROM merged_finding)"
		" FROM merged_finding f JOIN member m ON m.id = f.worst ORDER BY f.id LIMIT ?1");
	int step = q ? db_bind(q, "i", (int64_t)(top ? top : -1)) : -1, all = 0, shown = 0;

	while (!step && (step = db_step(q)) > 0) {
		char least[DURATION_SIZE], most[DURATION_SIZE], median[DURATION_SIZE] = "-";
		char range[2 * DURATION_SIZE + 8] = "-", of[32];
		int is_replayed = sqlite3_column_int(q, 15);

		if (!shown++)
			print(out, "\n%-9s %-10s %-22s %-9s%s%-*s finding\n", "in ranks", "median",
				"least to most", "worst", is_replayed ? " " : "",
				is_replayed ? SAVING_WIDTH : 0,
				is_replayed ? "saved by all, by worst" : "");
		snprintf(of, sizeof(of), "%d of %d", sqlite3_column_int(q, 0),
			sqlite3_column_int(q, 9));
		if (sqlite3_column_int64(q, 3)) {
			snprintf(range, sizeof(range), "%s to %s",
				format_duration(least, sqlite3_column_int64(q, 2)),
				format_duration(most, sqlite3_column_int64(q, 3)));
			format_duration(median, sqlite3_column_int64(q, 1));
		}
		print(out, "%-9s %-10s %-22s %-9s", of, median, range, db_text(q, 4));
		if (is_replayed)
			put_saving(q, 11, out);
		print(out, " %s: %s: %s  [%s]\n", db_text(q, 6), db_text(q, 7), db_text(q, 8),
			db_text(q, 5));
		all = sqlite3_column_int(q, 10);
		step = 0;
	}
	sqlite3_finalize(q);
	if (all > shown)
		print(out, "and %d more\n", all - shown);
	return step;
}

/* What all findings save together, or why that is unknown: of ranks with collectives. */
static int print_replay(struct db *db, FILE *out)
{
	sqlite3_stmt *q = db_prepare(db,
		"SELECT saving, saving_low, saving_high, refusal,"
		" (SELECT count(*) = count(turns) FROM member), saving * 100 / max(1, (SELECT v"
		"  FROM turn LIMIT 1 OFFSET (SELECT (count(*) - 1) / 2 FROM turn)))"
		" FROM merged_replay WHERE EXISTS (SELECT 1 FROM merged_finding WHERE most > 0)");
	int step = q ? db_step(q) : -1;
	char saving[DURATION_SIZE], low[DURATION_SIZE], high[DURATION_SIZE];

	if (step > 0 && sqlite3_column_type(q, 3) != SQLITE_NULL)
		print(out, "\nwhat fixes save all ranks is unknown: %s\n", db_text(q, 3));
	else if (step > 0 && sqlite3_column_type(q, 0) != SQLITE_NULL)
		print(out,
			"\nall of them, fixed in all ranks, save about %s (%s to %s)"
			" of %s (%d %%)\n",
			format_duration(saving, sqlite3_column_int64(q, 0)),
			format_duration(low, sqlite3_column_int64(q, 1)),
			format_duration(high, sqlite3_column_int64(q, 2)),
			sqlite3_column_int(q, 4) ? "each turn" : "the run",
			sqlite3_column_int(q, 5));
	sqlite3_finalize(q);
	return step < 0 ? -1 : 0;
}

/* The rank for which the others wait in collectives, if that is worth a search, and why. */
static const char late_sql[] =
	"SELECT " NAME("m") ", s.last, s.collectives, s.caused / d.turns, s.caused * 100 / t.time,"
	" s.error, s.cause, coalesce(f.place, s.place, ''), s.more / d.turns, f.rule"
	" FROM straggler s JOIN member m ON m.id = s.member JOIN member_time t ON t.member = m.id"
	"  AND t.what = 'turn' AND t.place = '' JOIN (SELECT id,"
	"   iif((SELECT count(*) = count(turns) FROM member), turns, 1) AS turns FROM member) d"
	"  ON d.id = m.id"
	" LEFT JOIN merged_finding f ON s.cause = 'finding' AND f.fingerprint = s.place"
	" WHERE s.caused * 100 > ?1 * t.time AND s.caused > s.error * s.last"
	" ORDER BY s.caused DESC, s.member LIMIT 1";

static void put_late(sqlite3_stmt *q, FILE *out)
{
	const char *cause = db_text(q, 6), *place = db_text(q, 7),
		   *words = report_host_cause(cause);
	char caused[DURATION_SIZE], error[DURATION_SIZE], more[DURATION_SIZE];

	print(out,
		"    %-8s %s comes last to %lld of %lld collectives, and the others wait %s for it"
		" (%d %%; their ends agree within %s): ",
		"late", db_text(q, 0), (long long)sqlite3_column_int64(q, 1),
		(long long)sqlite3_column_int64(q, 2),
		format_duration(caused, sqlite3_column_int64(q, 3)), sqlite3_column_int(q, 4),
		format_duration(error, sqlite3_column_int64(q, 5)));
	if (!*cause) {
		fputs("the cause is not in its calls and kernels\n", out);
		return;
	}
	if (!strcmp(cause, "finding"))
		print(out, "%s at %s", db_text(q, 9), place);
	else if (!strcmp(cause, "kernels"))
		print(out, "in kernel '%s'", place);
	else
		print(out, "%s%s%s", *words ? words : cause, *place ? ": " : "", place);
	print(out, ", %s more than they\n", format_duration(more, sqlite3_column_int64(q, 8)));
}

static int print_late(struct db *db, FILE *out)
{
	sqlite3_stmt *q = db_prepare(db, late_sql);
	int step = q && !db_bind(q, "i", (int64_t)RANK_DEVIATION_PERCENT) ? db_step(q) : -1;

	if (step > 0)
		put_late(q, out);
	sqlite3_finalize(q);
	return step < 0 ? -1 : 0;
}

int ranks_print(struct db *db, int top, FILE *out)
{
	return db_exec(db,
		       "CREATE TEMP VIEW turn AS SELECT member, time / iif((SELECT count(*)"
		       "  = count(turns) FROM member), m.turns, 1) AS v FROM member_time t"
		       " JOIN member m ON m.id = t.member WHERE what = 'turn' ORDER BY v") ||
			print_head(db, out) || print_late(db, out) || print_gaps(db, out) ||
			print_settings(db, out) || print_members(db, out) ||
			print_findings(db, top, out) || print_replay(db, out)
		? -1
		: 0;
}
