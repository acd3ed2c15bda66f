/* SPDX-License-Identifier: Apache-2.0 */
#include "suppressions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "nearest.h"
#include "policy.h"
#include "print.h"
#include "rules.h"

enum key { KEY_FINGERPRINT, KEY_RULE, KEY_FUNCTION, KEY_FILE, KEY_REASON, KEY_UNTIL, KEYS };
static const char *const keys[KEYS] = { "fingerprint", "rule", "function", "file", "reason",
	"until" };

struct block {
	const char *path;
	int64_t line;  /* the current line */
	int64_t first; /* line of the block, 0: none has begun */
	char *value[KEYS];
};

static int complain(const struct block *block, int64_t line, const char *what, const char *which)
{
	print(stderr, "cufence check: %s:%lld: %s%s%s%s\n", block->path, (long long)line, what,
		*which ? " '" : "", which, *which ? "'" : "");
	return -1;
}

static int complain_of_rule(const struct block *block, const char *rule)
{
	struct nearest nearest = { .word = rule };

	rule_offer_all(&nearest);
	print(stderr,
		"cufence check: %s:%lld: unknown rule '%s'" NEAREST_FORMAT
		" (see \"cufence help rules\")\n",
		block->path, (long long)block->first, rule, NEAREST_PARTS(nearest));
	return -1;
}

static void clear_block(struct block *block)
{
	for (int i = 0; i < KEYS; i++) {
		free(block->value[i]);
		block->value[i] = NULL;
	}
	block->first = 0;
}

/* "2027-01-31" */
static int is_day(const char *text)
{
	int days[] = { 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	int month, day;

	if (strlen(text) != 10 || strspn(text, "0123456789") != 4 || text[4] != '-' ||
		strspn(text + 5, "0123456789") != 2 || text[7] != '-' ||
		strspn(text + 8, "0123456789") != 2)
		return 0;
	month = atoi(text + 5);
	day = atoi(text + 8);
	return month >= 1 && month <= 12 && day >= 1 && day <= days[month - 1];
}

static int is_policy(const char *name)
{
	return name && policy_find(name, strlen(name)) != POLICIES;
}

static int check_block(const struct block *block)
{
	char *const *value = block->value;
	int has_place = value[KEY_FUNCTION] || value[KEY_FILE];

	if (!value[KEY_REASON])
		return complain(block, block->first, "a suppression needs a \"reason:\" line", "");
	if (!value[KEY_FINGERPRINT] && (!value[KEY_RULE] || !has_place))
		return complain(block, block->first,
			"a suppression needs \"rule:\" and \"function:\" or \"file:\", or "
			"\"fingerprint:\"",
			"");
	if (value[KEY_FINGERPRINT] && (value[KEY_RULE] || has_place))
		return complain(block, block->first,
			"use \"fingerprint:\" without \"rule:\", \"function:\" and \"file:\"", "");
	if (value[KEY_RULE] && !rule_find(value[KEY_RULE]) && !is_policy(value[KEY_RULE]))
		return complain_of_rule(block, value[KEY_RULE]);
	if (value[KEY_UNTIL] && !is_day(value[KEY_UNTIL]))
		return complain(block, block->first, "\"until:\" is a day like 2027-01-31, not",
			value[KEY_UNTIL]);
	return 0;
}

static int end_block(struct block *block, sqlite3_stmt *insert)
{
	char *const *value = block->value;
	char today[16];
	time_t now = time(NULL);
	struct tm utc;
	int rc;

	if (!block->first)
		return 0;
	if (check_block(block))
		return -1;
	strftime(today, sizeof(today), "%Y-%m-%d", gmtime_r(&now, &utc));
	rc = db_run(insert, "issssssii", block->first, value[KEY_FINGERPRINT], value[KEY_RULE],
		value[KEY_FUNCTION], value[KEY_FILE], value[KEY_REASON], value[KEY_UNTIL],
		(int64_t)(value[KEY_UNTIL] && strcmp(value[KEY_UNTIL], today) < 0),
		(int64_t)is_policy(value[KEY_RULE]));
	clear_block(block);
	return rc;
}

/* "rule: blocking-free", without blanks around it. */
static int take_line(struct block *block, char *line)
{
	size_t length = strcspn(line, ":");
	char *value = line + length + (line[length] == ':');
	int key = 0;

	value += strspn(value, " \t");
	while (key < KEYS && (strlen(keys[key]) != length || strncmp(keys[key], line, length)))
		key++;
	if (key == KEYS || line[length] != ':')
		return complain(block, block->line,
			"expected rule, function, file, fingerprint, reason or until and a "
			"colon, not",
			line);
	if (!*value)
		return complain(block, block->line, "a value is missing after", line);
	if (block->value[key])
		return complain(block, block->line, "a second", keys[key]);
	block->value[key] = strdup(value);
	if (!block->value[key])
		fputs("cufence: out of memory\n", stderr);
	block->first = block->first ? block->first : block->line;
	return block->value[key] ? 0 : -1;
}

static int read_blocks(struct block *block, FILE *file, sqlite3_stmt *insert)
{
	char *line = NULL;
	size_t size = 0;
	ssize_t length;
	int rc = 0;

	while (!rc && (length = getline(&line, &size, file)) >= 0) {
		char *text = line + strspn(line, " \t");

		block->line++;
		while (length && strchr("\r\n \t", line[length - 1]))
			line[--length] = '\0';
		if (!*text)
			rc = end_block(block, insert);
		else if (*text != '#')
			rc = take_line(block, text);
	}
	free(line);
	if (!rc && ferror(file)) {
		print(stderr, "cufence check: cannot read '%s': %s\n", block->path,
			strerror(errno));
		rc = -1;
	}
	return rc ? rc : end_block(block, insert);
}

int suppressions_read(struct db *db, const char *path)
{
	struct block block = { .path = path };
	FILE *file = fopen(path, "r");
	sqlite3_stmt *insert;
	int rc = -1;

	if (!file) {
		print(stderr,
			"cufence check: cannot open '%s': %s (\"man cufence\" shows such a file)\n",
			path, strerror(errno));
		return -1;
	}
	insert = db_prepare(db,
		"INSERT INTO temp.suppression (line, fingerprint, rule, function, file, reason,"
		" until, expired, policy) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)");
	if (insert)
		rc = read_blocks(&block, file, insert);
	clear_block(&block);
	sqlite3_finalize(insert);
	fclose(file);
	return rc;
}

static const char use_sql[] =
	"UPDATE temp.suppression AS u SET used = EXISTS (SELECT 1 FROM finding_place p"
	"  JOIN finding f ON f.id = p.finding LEFT JOIN main.site s ON s.id = p.site"
	"  WHERE u.fingerprint = p.fingerprint"
	"   OR u.rule = f.rule AND " SUPPRESSES("u", "s.function", "s.file") ")"
	" WHERE NOT policy";

static const char warn_sql[] =
	"SELECT line, coalesce(rule || ' in ' || coalesce(function || ' of ' || file, function,"
	"  file), fingerprint), until, expired FROM temp.suppression"
	" WHERE used NOT NULL AND (expired OR NOT used) ORDER BY line";

int suppressions_use(struct db *db)
{
	return db_exec(db, use_sql);
}

int suppressions_warn(struct db *db, const char *path, FILE *out)
{
	sqlite3_stmt *q = db_prepare(db, warn_sql);
	int step = -1;

	while (q && (step = db_step(q)) > 0)
		if (sqlite3_column_int(q, 3))
			print(out, "%s:%lld: warning: the suppression of %s ended on %s\n", path,
				(long long)sqlite3_column_int64(q, 0), db_text(q, 1),
				db_text(q, 2));
		else
			print(out, "%s:%lld: warning: unused suppression: this run has no %s\n",
				path, (long long)sqlite3_column_int64(q, 0), db_text(q, 1));
	sqlite3_finalize(q);
	return step;
}
