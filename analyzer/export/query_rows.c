/* SPDX-License-Identifier: Apache-2.0 */
#include "query_rows.h"

#include <stdlib.h>
#include <string.h>

#include "print.h"

/* Rows that decide how wide the columns are; a wider value later shifts the rest of its row. */
#define SAMPLE_ROWS 1000
/* A longer value does not widen its column. */
#define WIDEST 60

/* --- values between tabs --- */

static void put_tabs(sqlite3_stmt *stmt, const char *(*text)(sqlite3_stmt *, int), FILE *out)
{
	for (int i = 0; i < sqlite3_column_count(stmt); i++) {
		const char *value = text(stmt, i);

		fputs(i ? "\t" : "", out);
		fputs(value ? value : "", out);
	}
	fputc('\n', out);
}

static const char *value_of(sqlite3_stmt *stmt, int i)
{
	return (const char *)sqlite3_column_text(stmt, i);
}

static const char *name_of(sqlite3_stmt *stmt, int i)
{
	return sqlite3_column_name(stmt, i);
}

static int rows_with_tabs(sqlite3_stmt *stmt, int header, FILE *out)
{
	int step;

	if (header)
		put_tabs(stmt, name_of, out);
	while ((step = db_step(stmt)) > 0)
		put_tabs(stmt, value_of, out);
	return step;
}

/* --- CSV --- */

static void put_csv(sqlite3_stmt *stmt, const char *(*text)(sqlite3_stmt *, int), FILE *out)
{
	for (int i = 0; i < sqlite3_column_count(stmt); i++) {
		const char *value = text(stmt, i);
		int quoted = value && strpbrk(value, ",\"\r\n") != NULL;

		fputs(i ? "," : "", out);
		fputs(quoted ? "\"" : "", out);
		for (; value && *value; value++) {
			if (*value == '"')
				fputc('"', out);
			fputc(*value, out);
		}
		fputs(quoted ? "\"" : "", out);
	}
	fputs("\r\n", out);
}

static int rows_of_csv(sqlite3_stmt *stmt, FILE *out)
{
	int step;

	put_csv(stmt, name_of, out);
	while ((step = db_step(stmt)) > 0)
		put_csv(stmt, value_of, out);
	return step;
}

/* --- JSON --- */

static void put_json_text(const char *text, FILE *out)
{
	fputc('"', out);
	for (const char *c = text; *c; c++) {
		if (*c == '"' || *c == '\\')
			fputc('\\', out);
		if ((unsigned char)*c < ' ')
			print(out, "\\u%s%x", (unsigned char)*c < 16 ? "000" : "00",
				(unsigned char)*c);
		else
			fputc(*c, out);
	}
	fputc('"', out);
}

static void put_json_value(sqlite3_stmt *stmt, int i, FILE *out)
{
	switch (sqlite3_column_type(stmt, i)) {
	case SQLITE_NULL:
		fputs("null", out);
		break;
	case SQLITE_INTEGER:
		fputs(value_of(stmt, i), out);
		break;
	case SQLITE_FLOAT:
		/* JSON has no infinity. */
		fputs(strpbrk(value_of(stmt, i), "IiNn") ? "null" : value_of(stmt, i), out);
		break;
	default:
		put_json_text(value_of(stmt, i) ? value_of(stmt, i) : "", out);
	}
}

static int rows_of_json(sqlite3_stmt *stmt, FILE *out)
{
	const char *separator = "[\n{";
	int step;

	while ((step = db_step(stmt)) > 0) {
		fputs(separator, out);
		separator = ",\n{";
		for (int i = 0; i < sqlite3_column_count(stmt); i++) {
			fputs(i ? "," : "", out);
			put_json_text(name_of(stmt, i), out);
			fputc(':', out);
			put_json_value(stmt, i, out);
		}
		fputc('}', out);
	}
	fputs(*separator == '[' ? "[]\n" : "\n]\n", out);
	return step;
}

/* Names may hold any bytes; the output is UTF-8 nevertheless. */
static int rows_of_clean_json(sqlite3_stmt *stmt, FILE *out)
{
	char *text = NULL;
	size_t size = 0;
	FILE *memory = open_memstream(&text, &size);
	int rc = memory ? rows_of_json(stmt, memory) : -1;

	if (!memory || fclose(memory)) {
		fputs("cufence: out of memory\n", stderr);
		rc = -1;
	}
	if (!rc)
		print_json(out, text, size);
	free(text);
	return rc;
}

/* --- columns --- */

struct table {
	FILE *out;
	int columns, rows;
	int *width;   /* of each column */
	int *numbers; /* whether a column holds numbers only */
	char **cell;  /* the sample's values as text */
};

/* The text as print() shows it; malloc'ed. */
static char *shown(const char *text)
{
	char *copy = NULL;
	size_t size;
	FILE *memory = open_memstream(&copy, &size);

	if (memory)
		print(memory, "%s", text ? text : "");
	if (memory && fclose(memory)) {
		free(copy);
		return NULL;
	}
	return copy;
}

static int columns_of(const char *text)
{
	int count = 0;

	for (; *text; text++)
		count += ((unsigned char)*text & 0xc0) != 0x80;
	return count;
}

/* Takes ownership of text. */
static int keep(struct table *table, int i, char *text)
{
	int wide = text ? columns_of(text) : 0;

	table->cell[table->rows * table->columns + i] = text;
	if (wide > table->width[i] && wide <= WIDEST)
		table->width[i] = wide;
	return text ? 0 : -1;
}

static void put_cell(const struct table *table, int i, const char *text)
{
	int blanks = table->width[i] - columns_of(text);
	int left = table->numbers[i] ? blanks : 0;
	int last = i + 1 == table->columns;

	print(table->out, "%s%*s%s%*s", i ? "  " : "", left > 0 ? left : 0, "", text,
		last || table->numbers[i] || blanks < 0 ? 0 : blanks, "");
}

static int keep_row(struct table *table, sqlite3_stmt *stmt)
{
	int rc = 0;

	for (int i = 0; i < table->columns; i++) {
		int type = sqlite3_column_type(stmt, i);

		table->numbers[i] &=
			type == SQLITE_INTEGER || type == SQLITE_FLOAT || type == SQLITE_NULL;
		rc |= keep(table, i, shown(value_of(stmt, i)));
	}
	table->rows++;
	return rc;
}

/* The rows after the sample. */
static int put_rest(const struct table *table, sqlite3_stmt *stmt, int step)
{
	for (; step > 0; step = db_step(stmt)) {
		for (int i = 0; i < table->columns; i++) {
			char *text = shown(value_of(stmt, i));

			put_cell(table, i, text ? text : "");
			free(text);
		}
		fputc('\n', table->out);
	}
	return step;
}

static int rows_in_columns(sqlite3_stmt *stmt, FILE *out)
{
	size_t columns = (size_t)sqlite3_column_count(stmt);
	struct table table = { .out = out,
		.columns = (int)columns,
		.width = calloc(columns + 1, sizeof(int)),
		.numbers = calloc(columns + 1, sizeof(int)),
		.cell = calloc(columns * SAMPLE_ROWS + 1, sizeof(char *)) };
	int rc = table.width && table.numbers && table.cell ? 0 : -1, step = -1;

	for (int i = 0; i < table.columns && !rc; i++) {
		table.numbers[i] = 1;
		rc = keep(&table, i, shown(name_of(stmt, i)));
	}
	if (!rc)
		table.rows = 1;
	while (!rc && (step = db_step(stmt)) > 0 && table.rows < SAMPLE_ROWS)
		rc = keep_row(&table, stmt);
	if (rc)
		fputs("cufence: out of memory\n", stderr);
	else {
		for (int row = 0; row < table.rows; row++) {
			for (int i = 0; i < table.columns; i++)
				put_cell(&table, i, table.cell[row * table.columns + i]);
			fputc('\n', table.out);
		}
	}
	if (!rc)
		rc = put_rest(&table, stmt, step);
	for (size_t i = 0; table.cell && i < columns * (size_t)SAMPLE_ROWS; i++)
		free(table.cell[i]);
	free(table.cell);
	free(table.numbers);
	free(table.width);
	return rc;
}

int query_rows(sqlite3_stmt *stmt, enum query_form form, int header, FILE *out)
{
	switch (form) {
	case QUERY_ALIGNED:
		return rows_in_columns(stmt, out);
	case QUERY_CSV:
		return rows_of_csv(stmt, out);
	case QUERY_JSON:
		return rows_of_clean_json(stmt, out);
	default:
		return rows_with_tabs(stmt, header, out);
	}
}
