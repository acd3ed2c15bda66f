/* SPDX-License-Identifier: Apache-2.0 */
#include "diff.h"

#include <stdlib.h>
#include <string.h>

#include "constants.h"
#include "format.h"
#include "print.h"

#define BY_STATE \
	" ORDER BY CASE state WHEN 'new' THEN 0 WHEN 'worse' THEN 1 WHEN 'gone' THEN 2" \
	" WHEN 'better' THEN 3 ELSE 4 END, max(coalesce(after, 0), coalesce(before, 0)) DESC," \
	" fingerprint"

/* Runs of each side, and how wide their values are. */
struct sides {
	int before, after, width;
};

#define CELL_SIZE (3 * DURATION_SIZE + 8)

static const char *value_text(int64_t value, const char *unit, char text[DURATION_SIZE])
{
	if (!strcmp(unit, "ns"))
		return format_duration(text, value);
	if (!strcmp(unit, "bytes"))
		return format_bytes(text, value);
	snprintf(text, DURATION_SIZE, "%lld", (long long)value);
	return text;
}

/* "1.6 ms (1.5 ms..1.8 ms)" of the median and two further columns; "-" if there is none. */
static const char *cell(sqlite3_stmt *q, int column, const char *unit, char text[CELL_SIZE])
{
	char middle[DURATION_SIZE], least[DURATION_SIZE], most[DURATION_SIZE];

	if (sqlite3_column_type(q, column) == SQLITE_NULL)
		return "-";
	value_text(sqlite3_column_int64(q, column), unit, middle);
	value_text(sqlite3_column_int64(q, column + 1), unit, least);
	value_text(sqlite3_column_int64(q, column + 2), unit, most);
	if (!strcmp(least, most))
		snprintf(text, CELL_SIZE, "%s", middle);
	else
		snprintf(text, CELL_SIZE, "%s (%s..%s)", middle, least, most);
	return text;
}

static struct sides read_sides(struct db *diff)
{
	struct sides sides = {
		.before = (int)db_int(diff, "SELECT count(*) FROM temp.run WHERE NOT after", 0),
		.after = (int)db_int(diff, "SELECT count(*) FROM temp.run WHERE after", 0),
	};

	sides.width = sides.before + sides.after > 2 ? 26 : 8;
	return sides;
}

/* "-33 %", or why there is none. */
static void print_change(sqlite3_stmt *q, const struct sides *sides, FILE *out)
{
	const char *state = db_text(q, 2);
	double before = sqlite3_column_double(q, 3), after = sqlite3_column_double(q, 6);
	int few = sides->before < DIFF_MIN_RUNS || sides->after < DIFF_MIN_RUNS;

	if (!strcmp(state, "spread"))
		fputs("within the spread of the runs", out);
	else if (!strcmp(state, "same") && before == after)
		fputs("none", out);
	else if (!strcmp(state, "same"))
		print(out, "below %d %%", few ? DIFF_WORSE_PERCENT : FINDING_MIN_PERCENT);
	else if (!strcmp(state, "little"))
		print(out, "below %d %% of the loop or run", FINDING_MIN_PERCENT);
	else if (!strcmp(state, "other"))
		fputs("another loop", out);
	else if (!strcmp(state, "unknown"))
		fputs("not in all runs", out);
	else if (before <= 0)
		fputs("from none", out);
	else
		print(out, "%+.*f %%", after < 1.1 * before && after > 0.9 * before ? 1 : 0,
			100 * (after - before) / before);
}

static int print_totals(struct db *diff, const struct sides *sides, FILE *out)
{
	sqlite3_stmt *q = db_prepare(diff,
		"SELECT name, unit, state, before, before_least, before_most, after, after_least,"
		" after_most FROM temp.total_change ORDER BY rank");
	char before[CELL_SIZE], after[CELL_SIZE];
	int step = -1;

	if (sides->before + sides->after > 2)
		print(out, "%d run%s before, %d after: medians (least..most)\n", sides->before,
			sides->before == 1 ? "" : "s", sides->after);
	print(out, "%-11s %*s %*s  change\n", "", sides->width, "before", sides->width, "after");
	while (q && (step = db_step(q)) > 0) {
		print(out, "%-11s %*s %*s  ", db_text(q, 0), sides->width,
			cell(q, 3, db_text(q, 1), before), sides->width,
			cell(q, 6, db_text(q, 1), after));
		print_change(q, sides, out);
		fputc('\n', out);
	}
	sqlite3_finalize(q);
	return step;
}

/* Costs of 0 are not printed: those of missing fences, or of what a run lacks. */
static int print_changes(struct db *diff, const struct sides *sides, FILE *out)
{
	sqlite3_stmt *q = db_prepare(diff,
		"SELECT state, per, iif(before > 0, before, NULL), before_least, before_most,"
		" iif(after > 0, after, NULL), after_least, after_most, rule, place, message"
		" FROM temp.change WHERE state NOT IN ('same', 'spread')" BY_STATE);
	char before[CELL_SIZE], after[CELL_SIZE];
	int step = -1, any = 0;

	while (q && (step = db_step(q)) > 0) {
		if (!any++)
			print(out, "\n%-7s %*s %*s  %-5s %s\n", "", sides->width, "before",
				sides->width, "after", "of a", "finding");
		print(out, "%-7s %*s %*s  %-5s %s: %s: %s\n", db_text(q, 0), sides->width,
			cell(q, 2, "ns", before), sides->width, cell(q, 5, "ns", after),
			db_text(q, 1), db_text(q, 9), db_text(q, 8), db_text(q, 10));
	}
	sqlite3_finalize(q);
	print(out, "\n%s", any ? "" : "no finding changed; ");
	return step;
}

int diff_print(struct db *diff, FILE *out)
{
	const struct sides sides = read_sides(diff);

	/* What makes two programs of them, or two machines. */
	sqlite3_stmt *q =
		db_prepare(diff, "SELECT what, before, after FROM temp.other ORDER BY rank");
	int step = -1;

	while (q && (step = db_step(q)) > 0)
		print(out, "not the same %s: %s before, %s after\n", db_text(q, 0), db_text(q, 1),
			db_text(q, 2));
	sqlite3_finalize(q);
	if (step || print_totals(diff, &sides, out) || print_changes(diff, &sides, out))
		return -1;
	long long same = db_int(diff, "SELECT count(*) FROM temp.change WHERE state = 'same'", 0);
	long long spread =
		db_int(diff, "SELECT count(*) FROM temp.change WHERE state = 'spread'", 0);

	print(out, "%lld place%s of findings as before", same, same == 1 ? "" : "s");
	if (spread)
		print(out, ", %lld within the spread of the runs", spread);
	fputc('\n', out);
	return 0;
}

/* Arguments may be private (disclose.h): that they differ is said. */
#define TEXTS(side) \
	"(SELECT json_group_array(text) FROM (SELECT DISTINCT text FROM temp.trait t" \
	" WHERE t.what = other.what AND " side " AND t.what <> 'arguments' ORDER BY text))"

int diff_json(struct db *diff, FILE *out)
{
	return db_print_json(diff,
		"SELECT json_object('tool', 'cufence',"
		" 'runs_before', (SELECT count(*) FROM temp.run WHERE NOT after),"
		" 'runs_after', (SELECT count(*) FROM temp.run WHERE after),"
		" 'not_the_same', (SELECT json_group_array(json_object('what', what,"
		"  'before', json(" TEXTS("NOT t.after") "), 'after', json(" TEXTS("t.after") ")))"
		"  FROM (SELECT * FROM temp.other ORDER BY rank) other),"
		" 'totals', (SELECT json_group_array(json_object('name', name, 'unit', unit,"
		"  'state', state, 'before', before, 'before_least', before_least,"
		"  'before_most', before_most, 'after', after, 'after_least', after_least,"
		"  'after_most', after_most))"
		"  FROM (SELECT * FROM temp.total_change ORDER BY rank)),"
		" 'worse', (SELECT count(*) FROM temp.change WHERE state IN ('new', 'worse')),"
		" 'changes', json_group_array(json_object("
		"  'state', state, 'rule', rule, 'place', place, 'message', message,"
		"  'fingerprint', fingerprint, 'per', per, 'before_ns', before, 'after_ns', after,"
		"  'before_least_ns', before_least, 'before_most_ns', before_most,"
		"  'after_least_ns', after_least, 'after_most_ns', after_most,"
		"  'before_count', before_count, 'after_count', after_count)))"
		" FROM (SELECT * FROM temp.change" BY_STATE ")",
		out);
}
