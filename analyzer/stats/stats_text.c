/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "format.h"
#include "print.h"
#include "stats.h"

struct text {
	struct db *db;
	FILE *out;
	int by_loop;
	const struct stats_section *section; /* of the last row, or NULL */
	int64_t left;                        /* its names that have not been printed */
};

/* "-" if unknown. */
static const char *amount(const struct text *text, sqlite3_stmt *q, int column,
	char buffer[DURATION_SIZE])
{
	int64_t value = sqlite3_column_int64(q, column);

	if (sqlite3_column_type(q, column) == SQLITE_NULL)
		return "-";
	return strcmp(text->section->unit, "ns") ? format_bytes(buffer, value)
						 : format_duration(buffer, value);
}

static const char *count_text(sqlite3_stmt *q, int column, char buffer[DURATION_SIZE])
{
	double count = sqlite3_column_double(q, column);
	int whole = count == (double)(int64_t)count;

	sqlite3_snprintf(DURATION_SIZE, buffer,
		whole                 ? "%.0f"
			: count < 100 ? "%.3g"
				      : "%.1f",
		count);
	return buffer;
}

static void end_section(struct text *text)
{
	if (text->section && text->left)
		print(text->out, "%8s and %lld more (--top 0)\n", "", (long long)text->left);
}

/* What the section's names have together, and the head of the columns. */
static int begin_section(struct text *text, const char *name)
{
	char total[DURATION_SIZE], count[DURATION_SIZE];
	sqlite3_stmt *q = db_prepare(text->db,
		"SELECT count(*), sum(total), sum(count) FROM temp.stats WHERE section = ?");
	int step = q && !db_bind(q, "s", name) ? db_step(q) : -1;

	end_section(text);
	fputs(text->section ? "\n" : "", text->out);
	const struct stats_section *section = stats_sections;

	while (section->name && strcmp(section->name, name))
		section++;
	text->section = section;
	if (step > 0) {
		text->left = sqlite3_column_int64(q, 0);
		print(text->out, "%s: %s in %s %s%s\n", name, amount(text, q, 1, total),
			count_text(q, 2, count), text->section->noun,
			text->by_loop && text->section != stats_sections ? " per turn" : "");
		print(text->out, "%8s  %6s  %8s  %8s  %8s  %s\n",
			strcmp(text->section->unit, "ns") ? "bytes" : "time", "share", "count",
			"median", "worst", text->section->title);
	}
	sqlite3_finalize(q);
	return step > 0 ? 0 : -1;
}

static int put_row(struct text *text, sqlite3_stmt *q)
{
	char total[DURATION_SIZE], share[DURATION_SIZE], count[DURATION_SIZE],
		median[DURATION_SIZE], worst[DURATION_SIZE];

	if ((!text->section || strcmp(text->section->name, db_text(q, 0))) &&
		begin_section(text, db_text(q, 0)))
		return -1;
	text->left--;
	print(text->out, "%8s  %6s  %8s  %8s  %8s  %s", amount(text, q, 5, total),
		sqlite3_column_type(q, 6) == SQLITE_NULL
			? "-"
			: format_share(share, sqlite3_column_double(q, 6) / 100),
		count_text(q, 3, count), amount(text, q, 7, median), amount(text, q, 8, worst),
		db_text(q, 1));
	/* The detail, and what only some sections have. */
	char buffer[DURATION_SIZE];

	if (*db_text(q, 2))
		print(text->out, "  (%s)", db_text(q, 2));
	if (sqlite3_column_type(q, 9) != SQLITE_NULL)
		print(text->out, ", %s", format_bytes(buffer, sqlite3_column_int64(q, 9)));
	if (sqlite3_column_double(q, 10) >= 0.05)
		print(text->out, ", %.1f GB/s", sqlite3_column_double(q, 10));
	if (sqlite3_column_type(q, 11) != SQLITE_NULL)
		print(text->out, ", at most %s at once",
			format_bytes(buffer, sqlite3_column_int64(q, 11)));
	fputc('\n', text->out);
	return 0;
}

int stats_text(struct db *db, const struct stats_filter *filter, int top, FILE *out)
{
	struct text text = { .db = db, .out = out, .by_loop = filter->by_loop };
	sqlite3_stmt *q = db_prepare(db, stats_rows_sql);
	int step = q && !db_bind(q, "i", (int64_t)top) ? 0 : -1;

	while (!step && (step = db_step(q)) > 0)
		step = put_row(&text, q);
	if (!step)
		end_section(&text);
	sqlite3_finalize(q);
	return step;
}
