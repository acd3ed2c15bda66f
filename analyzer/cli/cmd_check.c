/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "constants.h"
#include "findings.h"
#include "losses.h"
#include "print.h"
#include "report_finding.h"
#include "rules.h"

#define EXIT_FINDINGS 1

/* 3 high, 2 medium, 1 low, 0: no severity. */
static int severity_rank(const char *name, size_t length)
{
	static const char *const names[] = { "low", "medium", "high" };

	for (int i = 0; i < 3; i++)
		if (strlen(names[i]) == length && !strncmp(names[i], name, length))
			return i + 1;
	return 0;
}

/* What makes it fail: findings from a severity on, and those of rules by name. */
static int fails(const char *list, const char *rule, const char *severity)
{
	while (*list) {
		size_t length = strcspn(list, ",");
		int rank = severity_rank(list, length);
		if (rank && severity_rank(severity, strlen(severity)) >= rank)
			return 1;
		if (!rank && strlen(rule) == length && !strncmp(rule, list, length))
			return 1;
		list += length + (list[length] == ',');
	}
	return 0;
}

/* Findings of low severity are those below the report's threshold. */
static int asks_for_low(const char *list)
{
	return fails(list, "", "low");
}

/* A misspelt rule, or a variable that is not set, would make every check pass. */
static int check_list(const char *list)
{
	char name[128];

	do {
		size_t length = strcspn(list, ",");
		snprintf(name, sizeof(name), "%.*s", (int)length, list);
		if (!severity_rank(list, length) && !rule_find(name)) {
			print(stderr, "cufence check: --fail-on knows no severity or rule '%s'\n",
				name);
			return -1;
		}
		list += length + (list[length] == ',');
	} while (*list);
	return 0;
}

/* One fingerprint a line; empty lines and what begins with # are left out. */
static int read_known(struct db *db, const char *path)
{
	FILE *file = fopen(path, "r");
	sqlite3_stmt *q = NULL;
	char *line = NULL;
	size_t size = 0;
	ssize_t length;
	int rc = -1;

	if (!file) {
		print(stderr, "cufence check: cannot open '%s': %s\n", path, strerror(errno));
		return -1;
	}
	q = db_prepare(db, "INSERT OR IGNORE INTO temp.known VALUES (?)");
	rc = q ? 0 : -1;
	while (!rc && (length = getline(&line, &size, file)) >= 0) {
		while (length && strchr("\r\n \t", line[length - 1]))
			line[--length] = '\0';
		if (length && *line != '#')
			rc = db_bind(q, "s", line) || db_step(q) < 0 ? -1 : 0;
	}
	if (!rc && ferror(file)) {
		print(stderr, "cufence check: cannot read '%s': %s\n", path, strerror(errno));
		rc = -1;
	}
	free(line);
	fclose(file);
	sqlite3_finalize(q);
	return rc;
}

static int prepare_known(struct db *db, const char *path)
{
	if (db_exec(db, "CREATE TEMP TABLE known (fingerprint TEXT PRIMARY KEY)"))
		return -1;
	return path ? read_known(db, path) : 0;
}

static int is_complete(struct db *db, int allow_incomplete)
{
	if (!db_int(db, "SELECT max(id) FROM call", 0)) {
		if (db->failed)
			return 0;
		print(stderr, "cufence: '%s': nothing was traced\n", db->path);
		return 0;
	}
	if (allow_incomplete || !losses_incomplete(db))
		return 1;
	print(stderr,
		"cufence: '%s': the trace is incomplete (--allow-incomplete accepts "
		"it):\n",
		db->path);
	report_summary(db, stderr);
	return 0;
}

/*
 * A finding fails by its places that are not known: by what falls to these of its share.  Its line
 * is the first of them, with the numbers of the whole finding.
 */
static const char new_sql[] =
	"SELECT f.rule, p.message, s.text, iif(n.count = n.places, f.share, n.share), n.count, "
	" n.places, f.shown, iif(f.waited + f.delayed, NULL, f.severity), " REPORT_COST_COLUMNS
	" FROM (SELECT finding, min(id) FILTER (WHERE new) AS first,"
	"  count(*) FILTER (WHERE new) AS count, count(*) AS places,"
	"  sum(share) FILTER (WHERE new) AS share FROM (SELECT *, fingerprint NOT IN"
	"   (SELECT fingerprint FROM temp.known) AS new FROM finding_place)"
	"  GROUP BY finding HAVING max(new)) n"
	" JOIN finding f ON f.id = n.finding JOIN finding_place p ON p.id = n.first"
	" LEFT JOIN site s ON s.id = p.site ORDER BY f.id";
enum new_column {
	NEW_RULE,
	NEW_MESSAGE,
	NEW_PLACE,
	NEW_SHARE,
	NEW_COUNT,
	NEW_OF,
	NEW_SHOWN,
	NEW_SEVERITY, /* of what costs no time; NULL: its share says it */
	NEW_COST
};

static void print_new(sqlite3_stmt *row, const char *severity)
{
	const char *place = (const char *)sqlite3_column_text(row, NEW_PLACE);
	int count = sqlite3_column_int(row, NEW_COUNT), of = sqlite3_column_int(row, NEW_OF);

	print(stdout, "%s: %s: %s: ", place ? place : "?", db_text(row, NEW_RULE),
		db_text(row, NEW_MESSAGE));
	report_print_cost(row, NEW_COST, stdout);
	if (of > 1)
		print(stdout, ", at %d places", of);
	if (count < of)
		print(stdout, ", %d of them new", count);
	print(stdout, " [%s]\n", severity);
}

/* fences: the list for what is in no order, of which only what is certain fails unless told so. */
static int check(struct db *db, const char *list, const char *fences)
{
	sqlite3_stmt *q = db_prepare(db, new_sql);
	int step = -1, found = 0, low = asks_for_low(list);

	while (q && (step = db_step(q)) > 0) {
		double share = sqlite3_column_double(q, NEW_SHARE);
		int is_fence = sqlite3_column_type(q, NEW_SEVERITY) != SQLITE_NULL;
		const char *severity =
			is_fence ? db_text(q, NEW_SEVERITY) : finding_severity(share);

		if (!low &&
			!(sqlite3_column_int(q, NEW_SHOWN) &&
				(is_fence || share >= FINDING_MIN_PERCENT / 100.0)))
			continue;
		if (!fails(is_fence ? fences : list, db_text(q, NEW_RULE), severity))
			continue;
		found = 1;
		print_new(q, severity);
	}
	sqlite3_finalize(q);
	return step < 0 ? EXIT_TROUBLE : found ? EXIT_FINDINGS : 0;
}

int cmd_check(const struct arguments *arguments)
{
	const char *list = option(arguments, "--fail-on"), *fences;
	struct db db;
	int status = EXIT_TROUBLE;

	fences = list ? list : "high";
	list = list ? list : "medium";
	if (check_list(list) || db_open(&db, database_operand(arguments), DB_READ))
		return EXIT_TROUBLE;
	if (is_complete(&db, option(arguments, "--allow-incomplete") != NULL) &&
		!prepare_known(&db, option(arguments, "--known")))
		status = check(&db, list, fences);
	if (db.failed)
		status = EXIT_TROUBLE;
	db_close(&db);
	return status;
}
