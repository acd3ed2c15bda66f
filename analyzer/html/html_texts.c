/* SPDX-License-Identifier: Apache-2.0 */
#include "html_texts.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "disclose.h"
#include "rules.h"
#include "html_json.h"
#include "html_source.h"
#include "report_finding.h"
#include "report_facts.h"
#include "report_internal.h"
#include "report_timeline.h"

/* Places of a finding whose source is included; the page lists all places. */
#define MOST_SOURCES 8

/* The columns where labels of the text report end, in the summary and in a finding. */
enum { SUMMARY_TEXT = 13, FINDING_TEXT = 9 };

struct texts {
	const struct html_timeline *timeline;
	struct db *db;
	FILE *out;
};

/* --- lines of the text report --- */

/* Writes a line as [label, text], with an empty label if the line has none. */
static void put_line(char *line, size_t column, const char *separator, FILE *out)
{
	size_t indent = strspn(line, " "), length = strlen(line);
	char *text = line + indent;
	const char *label = "";

	if (length > column && line[column - 1] == ' ' && line[column] != ' ') {
		size_t end = column;

		while (end > indent && line[end - 1] == ' ')
			end--;
		if (indent < end) {
			line[end] = 0;
			label = text;
		}
		text = line + column;
	}
	fputs(separator, out);
	fputc('[', out);
	json_text(out, label);
	fputc(',', out);
	json_text(out, text);
	fputc(']', out);
}

/* Writes the lines from a number on, 0: the first; empty lines are left out. */
static void put_lines(char *text, size_t column, int from, FILE *out)
{
	const char *separator = "[";
	char *rest = text, *line;

	while ((line = strsep(&rest, "\n"))) {
		if (!*line || from-- > 0)
			continue;
		put_line(line, column, separator, out);
		separator = ",";
	}
	fputs(*separator == '[' ? "[]" : "]", out);
}

/* The output of a print function; NULL after a message. */
static char *printed(struct db *db, int (*function)(struct db *, FILE *))
{
	char *text = NULL;
	size_t size;
	FILE *memory = open_memstream(&text, &size);
	int rc = memory ? function(db, memory) : -1;

	if (!memory || fclose(memory)) {
		fputs("cufence: out of memory\n", stderr);
		rc = -1;
	}
	if (!rc)
		return text;
	free(text);
	return NULL;
}

static int put_printed(const struct texts *texts, const char *name, size_t column,
	int (*function)(struct db *, FILE *))
{
	char *text = printed(texts->db, function);

	if (!text)
		return -1;
	fputs(name, texts->out);
	put_lines(text, column, 0, texts->out);
	free(text);
	return 0;
}

static int put_causes(const struct texts *texts)
{
	sqlite3_stmt *q = db_prepare(texts->db, "SELECT DISTINCT cause FROM account");
	const char *separator = ",\n\"causes\":{";
	int step = -1;

	while (q && (step = db_step(q)) > 0) {
		fputs(separator, texts->out);
		json_text(texts->out, db_text(q, 0));
		fputs(":[", texts->out);
		json_text(texts->out, report_cause_text(db_text(q, 0), 0));
		fputc(',', texts->out);
		json_text(texts->out, report_cause_text(db_text(q, 0), 1));
		fputc(']', texts->out);
		separator = ",";
	}
	fputs(*separator == ',' && separator[1] ? ",\n\"causes\":{}" : "}", texts->out);
	sqlite3_finalize(q);
	return step;
}

/* --- findings --- */

static char *print_finding(struct db *db, int64_t finding)
{
	const struct report_options options = { .level = REPORT_POSSIBLE,
		.finding = finding,
		.undrawn = 1 };
	char *text = NULL;
	size_t size;
	FILE *memory = open_memstream(&text, &size);
	int64_t count = memory ? report_print_findings(db, &options, memory) : -1;

	if (!memory || fclose(memory)) {
		fputs("cufence: out of memory\n", stderr);
		count = -1;
	}
	if (count >= 0)
		return text;
	free(text);
	return NULL;
}

/* A finding's second line is its cost; the others say where it is. */
static int put_said(const struct texts *texts, int64_t finding)
{
	char *text = print_finding(texts->db, finding), *cost, *rest;

	if (!text)
		return -1;
	cost = strchr(text + strspn(text, "\n"), '\n');
	rest = cost ? strchr(cost + 1, '\n') : NULL;
	if (rest) {
		*rest++ = 0;
		cost++;
		fputs("\"cost\":", texts->out);
		json_text(texts->out, cost + strspn(cost, " "));
		fputs(",\"lines\":", texts->out);
		put_lines(rest, FINDING_TEXT, 0, texts->out);
	} else {
		fputs("\"cost\":\"\",\"lines\":[]", texts->out);
	}
	free(text);
	return 0;
}

static void put_item(const struct texts *texts, int64_t item, const char **separator)
{
	if (item == HTML_NO_ITEM)
		return;
	json_number(texts->out, *separator, item);
	*separator = ",";
}

/* Its worst instance: when, and the items that it is about, the call at fault first. */
static int put_worst(const struct texts *texts, int64_t finding, int64_t call, int64_t other)
{
	sqlite3_stmt *q = report_timeline_operations(texts->db, finding);
	const char *separator = ",\"items\":[";
	int64_t start, end;
	int step = -1;

	if (report_timeline_span(texts->db, finding, &start, &end)) {
		sqlite3_finalize(q);
		return -1;
	}
	json_number(texts->out, ",\"worst\":{\"start\":", start);
	json_number(texts->out, ",\"end\":", end);
	put_item(texts, html_item_of_call(texts->timeline, call), &separator);
	put_item(texts, html_item_of_call(texts->timeline, other), &separator);
	while (q && (step = db_step(q)) > 0)
		put_item(texts, html_item_of_operation(texts->timeline, sqlite3_column_int64(q, 0)),
			&separator);
	fputs(*separator == ',' && separator[1] ? ",\"items\":[]}" : "]}", texts->out);
	sqlite3_finalize(q);
	return step;
}

static int put_finding(const struct texts *texts, sqlite3_stmt *q)
{
	int64_t id = sqlite3_column_int64(q, 0);

	json_number(texts->out, "\"", id);
	fputs("\":{", texts->out);
	if (put_said(texts, id) ||
		put_worst(texts, id, sqlite3_column_int64(q, 2), sqlite3_column_int64(q, 3)))
		return -1;
	const char *rule = db_text(q, 1);
	const struct fix *fix = fix_find(rule);

	fputs(",\"cpp\":", texts->out);
	json_text(texts->out, fix ? fix->cpp : "");
	fputs(",\"pytorch\":", texts->out);
	json_text(texts->out, fix ? fix->pytorch : "");
	fputc('}', texts->out);
	return 0;
}

static int put_findings(const struct texts *texts, const struct report_options *options)
{
	char *sql = sqlite3_mprintf(
		"SELECT f.id, f.rule, f.call, f.other_call FROM finding f"
		" WHERE %s AND (?1 = 0 OR f.id = ?1) ORDER BY f.id LIMIT ?2",
		report_condition(options->level));
	sqlite3_stmt *q = sql ? db_prepare(texts->db, sql) : NULL;
	const char *separator = ",\n\"findings\":{";
	int step = q ? db_bind(q, "ii", options->finding,
			       options->top ? (int64_t)options->top : (int64_t)-1)
		     : -1;

	while (!step && (step = db_step(q)) > 0) {
		fputs(separator, texts->out);
		separator = ",\n";
		step = put_finding(texts, q);
	}
	fputs(*separator == ',' && separator[2] ? ",\n\"findings\":{}" : "}", texts->out);
	sqlite3_finalize(q);
	sqlite3_free(sql);
	return step;
}

/* --- sources --- */

/* Sources of the findings' places, by their file:line as in the JSON report. */
static const char places_sql[] =
	"SELECT DISTINCT s.file, s.line, (SELECT m.path FROM frame f JOIN module m"
	"  ON m.id = f.module WHERE f.site = s.id AND f.user LIMIT 1) FROM ("
	" SELECT site, finding, row_number() OVER (PARTITION BY finding ORDER BY id) AS number"
	"  FROM finding_place UNION ALL"
	" SELECT other_site, finding, row_number() OVER (PARTITION BY finding ORDER BY id)"
	"  FROM finding_place) p JOIN site s ON s.id = p.site"
	" WHERE s.file NOT NULL AND s.line > 0 AND p.number <= ?1";

static int put_source(const struct texts *texts, struct sources *sources, sqlite3_stmt *q,
	const char *separator)
{
	const struct source *source =
		sources_find(sources, db_text(q, 0), (const char *)sqlite3_column_text(q, 2));
	char *text = NULL;
	size_t size;
	FILE *memory = open_memstream(&text, &size);
	int any = memory ? html_source_write(source, sqlite3_column_int64(q, 1), memory) : 0;

	if (!memory || fclose(memory) || any < 0) {
		fputs("cufence: out of memory\n", stderr);
		any = -1;
	}
	if (any > 0) {
		char *key = sqlite3_mprintf("%s:%lld", db_text(q, 0), sqlite3_column_int64(q, 1));

		fputs(separator, texts->out);
		json_text(texts->out, key ? key : "");
		fputc(':', texts->out);
		fputs(text, texts->out);
		sqlite3_free(key);
	}
	free(text);
	return any;
}

static int put_sources(const struct texts *texts)
{
	int64_t most = disclose_is_least(texts->db) ? 0 : MOST_SOURCES;
	sqlite3_stmt *q = db_prepare(texts->db, places_sql);
	struct sources *sources = sources_new(texts->db);
	const char *separator = "";
	int step = q && sources ? db_bind(q, "i", most) : -1;

	fputs(",\n\"sources\":{", texts->out);
	while (!step && (step = db_step(q)) > 0) {
		int any = put_source(texts, sources, q, separator);

		if (any > 0)
			separator = ",\n";
		step = any < 0 ? -1 : 0;
	}
	fputc('}', texts->out);
	sqlite3_finalize(q);
	sources_free(sources);
	return step;
}

/* --- the timeline's --- */

static void put_list(FILE *out, const char *name, const struct html_texts *list)
{
	fputs(name, out);
	for (size_t i = 0; i < list->count; i++) {
		fputs(i ? ",\n" : "", out);
		json_text(out, list->text[i]);
	}
	fputc(']', out);
}

int html_texts_write(const struct html_timeline *timeline, const struct report_options *options,
	FILE *out)
{
	const struct texts texts = { timeline, timeline->db, out };

	json_number(out, "{\"started\":",
		db_int(timeline->db, "SELECT start_unix_ns / 1000000 FROM run", 0));
	if (put_printed(&texts, ",\n\"summary\":", SUMMARY_TEXT, report_summary) ||
		put_printed(&texts, ",\n\"together\":", SUMMARY_TEXT, report_together) ||
		put_causes(&texts) || put_findings(&texts, options) || put_sources(&texts))
		return -1;
	const char *separator = ",\n\"lanes\":[";

	for (size_t i = 0; i < timeline->lanes; i++) {
		const struct html_lane *lane = &timeline->lane[i];

		if (!lane->count)
			continue;
		fputs(separator, out);
		separator = ",\n";
		json_number(out, "{\"process\":", lane->process);
		json_number(out, ",\"device\":", lane->device);
		fputs(lane->is_stream ? ",\"stream\":true" : ",\"stream\":false", out);
		if (lane->depth)
			fputs(",\"ranges\":true", out);
		json_number(out, ",\"count\":", (int64_t)lane->count);
		fputs(",\"label\":", out);
		json_text(out, lane->label);
		fputc('}', out);
	}
	fputs(separator[2] ? ",\n\"lanes\":[]" : "]", out);
	put_list(out, ",\n\"names\":[", &timeline->names);
	put_list(out, ",\n\"sites\":[", &timeline->sites);
	if (timeline->end != DB_NULL)
		json_number(out, ",\n\"until\":", timeline->end);
	fputs("}\n", out);
	return 0;
}
