/* SPDX-License-Identifier: Apache-2.0 */
#include "report_places.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "demangle_whole.h"
#include "format.h"
#include "kernel_names.h"
#include "operators.h"
#include "print.h"
#include "report_finding.h"
#include "report_internal.h"
#include "shell.h"

#define MOST_ALSO 3
#define MOST_FROM 3 /* callers */

/* Columns, and bytes, of what stands before a place: whole names of kernels are longer. */
#define WIDTH_MAX 120
#define WHAT_MAX (DEMANGLE_WHOLE_MAX + 32)

/* The call of either side is named as the user wrote it: its outermost call, or cudart's name. */
static const char place_sql[] =
	"WITH RECURSIVE up(call, id, parent) AS ("
	" SELECT id, id, parent FROM call WHERE id IN"
	"  (SELECT other_call FROM finding_place WHERE finding = ?1)"
	" UNION SELECT up.call, call.id, call.parent FROM up JOIN call ON call.id = up.parent)"
	" SELECT p.count, p.waited, p.delayed, p.saving, p.site, s.function, "
	WITH_OPERATOR("s.text", "s.id") ", " WITH_OPERATOR("other.function", "other.id") ","
	" other.text, " KERNEL_LABEL("kernel") ","
	"  coalesce(CASE WHEN t.runtime THEN t.name END, other.api, t.name), " REPORT_LINE_OF_PLACE
	", " CONFIRMATION("p") ", s.line, " REPORT_SOURCE("s") ", other.line, "
	REPORT_SOURCE("other") " FROM finding_place p LEFT JOIN site s ON s.id = p.site"
	" LEFT JOIN site other ON other.id = p.other_site"
	" LEFT JOIN call c ON c.id = p.other_call"
	" LEFT JOIN kernel ON kernel.id = c.kernel"
	" LEFT JOIN up ON up.call = p.other_call AND up.parent IS NULL"
	" LEFT JOIN call o ON o.id = up.id"
	" LEFT JOIN call_type t ON t.id = o.type"
	" WHERE p.finding = ?1 AND (p.shown OR ?2) ORDER BY p.id";

enum place_column {
	PLACE_TIMES,
	PLACE_SAVING = PLACE_TIMES + 3,
	PLACE_SITE,
	PLACE_FUNCTION,
	PLACE_TEXT,
	PLACE_OTHER_FUNCTION,
	PLACE_OTHER_TEXT,
	PLACE_OTHER_KERNEL,
	PLACE_OTHER_CALL,
	PLACE_LINE,
	PLACE_CONFIRMATION,
	PLACE_NUMBER, /* of the line in its source, and the line */
	PLACE_SOURCE,
	PLACE_OTHER_NUMBER,
	PLACE_OTHER_SOURCE
};

/* Other places that must change too, named as in place_sql. */
static const char also_sql[] =
	"WITH RECURSIVE up(call, id, parent) AS ("
	" SELECT id, id, parent FROM call WHERE id IN"
	"  (SELECT call FROM finding_also WHERE finding = ?1)"
	" UNION SELECT up.call, call.id, call.parent FROM up JOIN call ON call.id = up.parent)"
	" SELECT coalesce('launch of ' || " KERNEL_LABEL("kernel") ","
	"  CASE WHEN t.runtime THEN t.name END, s.api,"
	"  t.name), s.text, s.function, count(*) OVER () FROM finding_also a"
	" JOIN site s ON s.id = a.site JOIN call c ON c.id = a.call"
	" LEFT JOIN kernel ON kernel.id = c.kernel"
	" JOIN up ON up.call = a.call AND up.parent IS NULL"
	" JOIN call o ON o.id = up.id JOIN call_type t ON t.id = o.type"
	" WHERE a.finding = ?1 AND NOT EXISTS (SELECT 1 FROM finding_place p"
	"  JOIN site at ON at.id = p.site WHERE p.finding = ?1 AND at.text IS s.text)"
	" GROUP BY s.text ORDER BY min(a.call)";

/*
 * The callers of a finding's line, if it has several (a wrapper), or if nobody would change the
 * line itself (in a destructor, in a library without line information).  Covers the finding's own
 * site and the sites of the same line that must change with it.  The table has an index, not views.
 */
static const char from_sql[] =
	"WITH own AS (SELECT * FROM main.site WHERE id = ?1),"
	" at AS MATERIALIZED (SELECT s.id, own.line AS line FROM main.site s JOIN own"
	"  ON s.process = own.process AND s.function IS own.function AND s.text IS own.text),"
	" caller AS MATERIALIZED (SELECT f.* FROM at JOIN frame f ON f.site = at.id AND f.depth ="
	"  (SELECT c.depth FROM frame c WHERE c.site = at.id AND c.user = 1"
	"   AND c.function <> '_start' AND (at.line NOT NULL OR c.line NOT NULL) AND c.depth >"
	"    (SELECT min(depth) FROM frame WHERE site = at.id AND user = 1)"
	"   ORDER BY c.depth LIMIT 1))"
	" SELECT function, file, line, count(*) OVER () FROM caller"
	" WHERE (site = ?1 OR site IN (SELECT site FROM finding_also WHERE finding = ?2))"
	" AND ((SELECT count(*) FROM (SELECT DISTINCT function, file, line FROM caller)) > 1"
	"  OR (SELECT line IS NULL OR function LIKE '~%' FROM own))"
	" GROUP BY function, file, line ORDER BY min(site)";

/* --- places --- */

/* cuMemFree_v2 is written cuMemFree. */
static int written_length(const char *name)
{
	int length = (int)strlen(name);

	if (!strncmp(name, "cu", 2) && isupper((unsigned char)name[2]) && length > 3 &&
		!strncmp(name + length - 3, "_v", 2))
		length -= 3;
	return length;
}

/* Layout of a finding's places. */
struct place_layout {
	struct report_places of;
	int width;          /* of the column before the place */
	int columns;        /* of a source line, 0: none is printed */
	char line[512];     /* printed last */
	sqlite3_stmt *from; /* from_sql */
};

static int print_from(sqlite3_stmt *row, const struct place_layout *layout, FILE *out)
{
	sqlite3_stmt *q = layout->from;
	int step = db_bind(q, "ii", sqlite3_column_int64(row, PLACE_SITE), layout->of.finding);

	for (int printed = 0; !step && printed < MOST_FROM && (step = db_step(q)) > 0; printed++) {
		const char *file = (const char *)sqlite3_column_text(q, 1);

		step = 0;
		if (printed == MOST_FROM - 1 && sqlite3_column_int(q, 3) > MOST_FROM) {
			print(out, "    from %d more\n", sqlite3_column_int(q, 3) - printed);
			break;
		}
		if (file)
			print(out, "    from %-*s  %s:%d\n", layout->width, db_text(q, 0),
				strrchr(file, '/') ? strrchr(file, '/') + 1 : file,
				sqlite3_column_int(q, 2));
		else
			print(out, "    from %s\n", db_text(q, 0));
	}
	sqlite3_reset(q);
	return step < 0 ? -1 : 0;
}

static int has_other(sqlite3_stmt *row)
{
	return *db_text(row, PLACE_OTHER_CALL) || *db_text(row, PLACE_OTHER_TEXT);
}

/* The cost of one place of several. */
static void print_part(sqlite3_stmt *row, const struct place_layout *layout, FILE *out)
{
	if (layout->of.places < 2)
		return;
	fputs("  (", out);
	report_print_times(row, PLACE_TIMES, out);
	fputc(')', out);
}

/* "      43 | loss.item()", cut off at the width. */
static void print_source(sqlite3_stmt *row, int number, const struct place_layout *layout,
	FILE *out)
{
	const char *line = db_text(row, number + 1);
	int columns = 0, length = 0;

	if (!*line || !layout->columns)
		return;
	while (line[length] && columns < layout->columns)
		columns += ((unsigned char)line[++length] & 0xc0) != 0x80;
	print(out, "    %4d | %.*s%s\n", sqlite3_column_int(row, number), length, line,
		line[length] ? "..." : "");
}

static int print_place(sqlite3_stmt *row, struct place_layout *layout, FILE *out)
{
	int length = (int)strlen(db_text(row, PLACE_FUNCTION));
	const char *call = db_text(row, PLACE_OTHER_CALL);
	char what[WHAT_MAX];

	if (*db_text(row, PLACE_OTHER_KERNEL))
		snprintf(what, sizeof(what), "launch of %s", db_text(row, PLACE_OTHER_KERNEL));
	else
		snprintf(what, sizeof(what), "%.*s", written_length(call), call);
	if ((int)strlen(what) > length)
		length = (int)strlen(what);
	if (length > layout->width && length <= WIDTH_MAX)
		layout->width = length;
	if (strncmp(layout->line, db_text(row, PLACE_LINE), sizeof(layout->line) - 1)) {
		char saving[DURATION_SIZE];

		if (*db_text(row, PLACE_TEXT))
			print(out, "    at   %-*s  %s", layout->width,
				*db_text(row, PLACE_FUNCTION) ? db_text(row, PLACE_FUNCTION) : "?",
				db_text(row, PLACE_TEXT));
		else
			fputs("    at   a place that was not recorded", out);
		if (layout->of.lines > 1 && sqlite3_column_type(row, PLACE_SAVING) != SQLITE_NULL)
			print(out, "  (alone about %s)",
				format_duration(saving, sqlite3_column_int64(row, PLACE_SAVING)));
		if (!has_other(row))
			print_part(row, layout, out);
		fputc('\n', out);
		print_source(row, PLACE_NUMBER, layout, out);
		if (print_from(row, layout, out))
			return -1;
		snprintf(layout->line, sizeof(layout->line), "%s", db_text(row, PLACE_LINE));
	}
	if (has_other(row)) {
		print(out, "    for  %-*s  %s%s%s", layout->width, what,
			db_text(row, PLACE_OTHER_TEXT),
			*db_text(row, PLACE_OTHER_FUNCTION) ? " in " : "",
			db_text(row, PLACE_OTHER_FUNCTION));
		print_part(row, layout, out);
		fputc('\n', out);
		if (strcmp(db_text(row, PLACE_OTHER_TEXT), db_text(row, PLACE_TEXT)) != 0)
			print_source(row, PLACE_OTHER_NUMBER, layout, out);
	}
	if (*db_text(row, PLACE_CONFIRMATION))
		print(out, "    test %s\n", db_text(row, PLACE_CONFIRMATION));
	return 0;
}

static int print_more(struct db *db, const struct place_layout *layout, int printed, FILE *out)
{
	int more = layout->of.places - printed;
	char *name = shell_word(db->path);

	if (!name)
		return -1;
	print(out, "    and  %d more place%s: cufence report --finding %lld %s\n", more,
		more == 1 ? "" : "s", (long long)layout->of.finding, name);
	free(name);
	return 0;
}

/* What stands before the text of a source line, and after one that is cut off. */
#define SOURCE_INDENT 11
#define SOURCE_CUT 3
#define SOURCE_COLUMNS 100 /* of it, where a terminal sets no width */

static int columns_of_source(const struct report_options *options)
{
	int columns = options->width ? options->width - SOURCE_INDENT - SOURCE_CUT : SOURCE_COLUMNS;

	return options->undrawn || columns < 0 ? 0 : columns;
}

int report_print_places(struct db *db, const struct report_places *places,
	const struct report_options *options, FILE *out)
{
	int all = options->finding || options->all;
	struct place_layout layout = { .of = *places,
		.width = 20,
		.columns = columns_of_source(options),
		.from = db_prepare(db, from_sql) };
	sqlite3_stmt *q = layout.from ? db_prepare(db, place_sql) : NULL;
	int step = q ? db_bind(q, "ii", places->finding, (int64_t)all) : -1, printed = 0;

	while (!step && (all || printed < REPORT_PLACES) && (step = db_step(q)) > 0) {
		step = print_place(q, &layout, out);
		printed++;
	}
	sqlite3_finalize(q);
	sqlite3_finalize(layout.from);
	if (!step && printed < places->places)
		return print_more(db, &layout, printed, out);
	return step < 0 ? -1 : 0;
}

int report_print_also(struct db *db, int64_t finding, FILE *out)
{
	sqlite3_stmt *q = db_prepare(db, also_sql);
	int step = q ? db_bind(q, "i", finding) : -1;

	for (int printed = 0; !step && printed < MOST_ALSO && (step = db_step(q)) > 0; printed++) {
		const char *name = db_text(q, 0);
		const char *function = (const char *)sqlite3_column_text(q, 2);

		step = 0;
		if (printed == MOST_ALSO - 1 && sqlite3_column_int(q, 3) > MOST_ALSO) {
			print(out, "    also %d more\n", sqlite3_column_int(q, 3) - printed);
			break;
		}
		print(out, "    also %-20.*s  %s%s%s\n", written_length(name), name,
			(const char *)sqlite3_column_text(q, 1), function ? " in " : "",
			function ? function : "");
	}
	sqlite3_finalize(q);
	return step < 0 ? -1 : 0;
}
