/* SPDX-License-Identifier: Apache-2.0 */
#include "report_possible.h"

#include <stdlib.h>
#include <string.h>

#include "constants.h"
#include "format.h"
#include "print.h"
#include "report_finding.h"
#include "shell.h"

/*
 * What only happens to be ordered is no race in this run, and confirm cannot make it one.  A share
 * is of the loop, if there is one.  Findings are numbered by worth, bounds after replayed savings.
 */
#define IS_RACE \
	"(f.rule <> 'accidental-order' AND EXISTS (SELECT 1 FROM finding_place p" \
	"  WHERE p.finding = f.id AND p.hazard NOT NULL))"
#define HAS_WEIGHT "(f.share >= ?1 AND f.saving >= ?2)"

static const char possible_sql[] =
	"SELECT count(*) OVER (), sum(race) OVER (), f.id, f.race, f.message,"
	" coalesce(s.text, '?'), coalesce(s.function, ''), " REPORT_COST_COLUMNS
	" FROM (SELECT f.*, " IS_RACE
	" AS race FROM finding f WHERE NOT f.shown) f"
	" LEFT JOIN site s ON s.id = f.site"
	" WHERE (f.race OR " HAS_WEIGHT
	") AND (%s)"
	" ORDER BY f.race, f.id LIMIT 1";

enum possible_column {
	COL_COUNT,
	COL_RACES,
	COL_ID,
	COL_RACE,
	COL_MESSAGE,
	COL_PLACE,
	COL_FUNCTION,
	COL_COST
};

static int print_line(struct db *db, const char *condition, const char *database,
	struct report_possible *possible, FILE *out)
{
	char *sql = sqlite3_mprintf(possible_sql, condition);
	sqlite3_stmt *q = sql ? db_prepare(db, sql) : NULL;
	int step = -1;

	if (q && !db_bind(q, "di", HIGH_PERCENT / 100.0, (int64_t)SHOWN_MIN_NS))
		step = db_step(q);
	if (step > 0) {
		*possible = (struct report_possible){ sqlite3_column_int64(q, COL_COUNT),
			sqlite3_column_int64(q, COL_RACES), sqlite3_column_int64(q, COL_ID) };
		const char *what = possible->races == possible->count ? "race" : "finding";
		const char *function = db_text(q, COL_FUNCTION);

		print(out, "%lld possible %s%s", (long long)possible->count, what,
			possible->count == 1 ? "" : "s");
		if (possible->races && possible->races < possible->count)
			print(out, " (%lld race%s)", (long long)possible->races,
				possible->races == 1 ? "" : "s");
		print(out, "%s %s%s%s: %s",
			possible->count == 1   ? ":"
				: *what == 'r' ? ", the first at"
					       : ", the largest at",
			db_text(q, COL_PLACE), *function ? " in " : "", function,
			db_text(q, COL_MESSAGE));
		fputs("; ", out);
		report_print_cost(q, COL_COST, out);
		const char *blank = *database ? " " : "";

		if (possible->races == 1 && possible->count == 1)
			print(out, ": cufence confirm%s%s %lld -- CMD...", blank, database,
				(long long)possible->finding);
		else
			print(out, ": cufence report --level possible%s%s", blank, database);
	}
	sqlite3_finalize(q);
	sqlite3_free(sql);
	return step < 0 ? -1 : 0;
}

char *report_possible(struct db *db, const char *condition, int named,
	struct report_possible *possible)
{
	char *text = NULL, *database = named ? shell_word(db->path) : strdup("");
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int rc = -1;

	*possible = (struct report_possible){ 0 };
	if (out && database)
		rc = print_line(db, condition, database, possible, out);
	free(database);
	if (out && !fclose(out) && !rc)
		return text;
	free(text);
	return NULL;
}

/* --- hidden ones --- */

/* By the first reason that hides them, without those of the line above. */
static const char hidden_sql[] =
	"SELECT CASE WHEN f.shown THEN 0 WHEN f.waited + f.delayed = 0 THEN 1"
	" WHEN f.share < ?3 THEN 2 WHEN f.saving < ?2 THEN 3 ELSE 1 END AS why, count(*)"
	" FROM finding f"
	" WHERE NOT (%s) AND (f.shown OR NOT (" IS_RACE " OR " HAS_WEIGHT
	"))"
	" GROUP BY why ORDER BY why";

/* Prints a reason of that many findings. */
static void print_why(int why, int64_t count, FILE *out)
{
	char most[DURATION_SIZE];

	print(out, "%lld ", (long long)count);
	switch (why) {
	case 0:
		fputs("likely, not certain", out);
		break;
	case 1:
		fputs("only possible", out);
		break;
	case 2:
		print(out, "would save less than %d %%", FINDING_MIN_PERCENT);
		break;
	default:
		print(out, "would save less than %s", format_duration(most, SHOWN_MIN_NS));
	}
}

int64_t report_hidden(struct db *db, enum report_level level, FILE *out)
{
	char *sql = sqlite3_mprintf(hidden_sql, report_condition(level)), *why = NULL;
	sqlite3_stmt *q = sql ? db_prepare(db, sql) : NULL;
	size_t size;
	FILE *memory = open_memstream(&why, &size);
	int64_t sum = 0;
	int reasons = 0;
	int step = q && memory &&
			!db_bind(q, "did", HIGH_PERCENT / 100.0, (int64_t)SHOWN_MIN_NS,
				FINDING_MIN_PERCENT / 100.0)
		? 0
		: -1;

	while (!step && (step = db_step(q)) > 0) {
		fputs(reasons++ ? ", " : "", memory);
		print_why(sqlite3_column_int(q, 0), sqlite3_column_int64(q, 1), memory);
		sum += sqlite3_column_int64(q, 1);
		step = 0;
	}
	if (!memory || fclose(memory))
		step = -1;
	if (!step && sum)
		print(out, "%lld hidden: %s", (long long)sum,
			reasons == 1 ? why + strcspn(why, " ") + 1 : why);
	sqlite3_finalize(q);
	sqlite3_free(sql);
	free(why);
	return step ? -1 : sum;
}
