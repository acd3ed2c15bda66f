/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "call_sql.h"
#include "export.h"
#include "patch_file.h"
#include "patch_line.h"
#include "print.h"
#include "rules.h"
#include "script.h"

static const struct rule_form {
	enum rule rule;
	enum patch_form form;
} rule_forms[] = {
#define PATCH(symbol, form) { RULE_##symbol, PATCH_##form },
#include "patches.def"
};

#define RULE_FORMS (sizeof(rule_forms) / sizeof(*rule_forms))

/* --- what the run says about a line --- */

/* Calls c of type t and kind k at a line. */
#define CALLS_THERE \
	"FROM main.site s JOIN call c ON c.site = s.id JOIN call_type t ON t.id = c.type" \
	" JOIN call_kind k ON k.name = t.kind WHERE s.file = ?1 AND s.line = ?2"
#define IS_WAIT "k.family IN ('wait', 'event_wait')"
/* Places of a finding's rule and others about needless calls, at the same line. */
#define FOUND_THERE \
	"(SELECT sum(p.count) FROM finding_place p JOIN finding f ON f.id = p.finding" \
	" JOIN main.site s ON s.id = p.site WHERE s.file = ?1 AND s.line = ?2" \
	" AND needs_no_wait(f.rule) AND NOT f.reads)"

/* A wait is left out only if none at its line is known to be for anything. */
static const char waits_sql[] =
	"SELECT CASE"
	" WHEN (SELECT reads FROM finding WHERE id = ?3) THEN 'it reads a value'"
	" WHEN EXISTS (SELECT 1 FROM finding_race WHERE finding = ?3) OR EXISTS"
	"  (SELECT 1 FROM hazard h JOIN call c ON c.id = h.via JOIN main.site s ON s.id = c.site"
	"  WHERE s.file = ?1 AND s.line = ?2)"
	"  THEN 'without its wait, operations would not be ordered'"
	" WHEN EXISTS (SELECT 1 FROM wait_clock w JOIN call c ON c.id = w.call"
	"  JOIN main.site s ON s.id = c.site WHERE s.file = ?1 AND s.line = ?2)"
	"  THEN 'a clock is read after it'"
	" WHEN (SELECT count(*) " CALLS_THERE " AND " IS_WAIT ") <> " FOUND_THERE
	"  THEN printf('%d of its %d waits may be needed', (SELECT count(*) " CALLS_THERE
	"  AND " IS_WAIT ") - " FOUND_THERE ", (SELECT count(*) " CALLS_THERE " AND " IS_WAIT "))"
	" END";

/* Nothing else happens there. */
static const char alone_sql[] = "SELECT CASE WHEN EXISTS (SELECT 1 " CALLS_THERE
				" AND k.work) THEN 'it submits work' END";

/* Tensors that the line itself copies to the device, from memory that is not pinned. */
static const char uploads_sql[] =
	"SELECT CASE"
	" WHEN EXISTS (SELECT 1 " CALLS_THERE " AND k.work AND NOT (k.family = 'copy'"
	"  AND c.src_memory IS 'pageable' AND c.dst_memory IS 'device'))"
	"  THEN 'it submits other work than copies from pageable memory'"
	" WHEN EXISTS (SELECT 1 FROM main.site s JOIN frame u ON u.site = s.id AND u.depth ="
	"  (SELECT min(depth) FROM frame WHERE site = s.id AND user = 1)"
	"  JOIN frame i ON i.site = s.id AND i.depth < u.depth AND i.code NOT NULL"
	"  WHERE s.file = ?1 AND s.line = ?2) THEN 'a package copies, not the line itself'"
	" END";

/* Each of them says why the line stays, or nothing. */
static const char *const evidence[PATCH_FORMS][2] = {
	[PATCH_LEAVE_OUT] = { waits_sql, alone_sql },
	[PATCH_NO_SYNC] = { waits_sql },
	[PATCH_NON_BLOCKING] = { waits_sql, uploads_sql },
	[PATCH_PIN] = { uploads_sql },
};

/* --- files --- */

struct patch {
	struct db *db;
	int64_t start; /* ns since 1970: sources are older */
	struct patch_file *files;
	size_t count;
	int is_newer; /* a source is */
};

/* Rules with a form that changes waits which nothing needs. */
static void needs_no_wait(sqlite3_context *context, int count, sqlite3_value **value)
{
	const struct rule_info *rule = rule_find((const char *)sqlite3_value_text(value[0]));
	int any = 0;

	for (size_t i = 0; rule && i < RULE_FORMS; i++)
		any |= rule_forms[i].rule == rule - rules &&
			evidence[rule_forms[i].form][0] == waits_sql;
	sqlite3_result_int(context, any);
}

/* The simulated device's time is virtual: its database has been made after the run. */
static int64_t start_of(struct db *db)
{
	struct stat about;

	if (!db_int(db, "SELECT 1 FROM process WHERE simulated", 0))
		return db_int(db, "SELECT start_unix_ns FROM run", 0);
	return stat(db->path, &about) ? 0
				      : about.st_mtim.tv_sec * INT64_C(1000000000) +
			about.st_mtim.tv_nsec;
}

/* Returns NULL, or why the source of that name cannot be changed. */
static const char *find_file(struct patch *patch, const char *name, struct patch_file **found)
{
	struct patch_file file, *files;
	const char *reason = patch_file_open(&file, name);

	if (reason)
		return reason;
	for (size_t i = 0; i < patch->count; i++)
		if (!strcmp(patch->files[i].path, file.path)) {
			patch_file_release(&file);
			*found = &patch->files[i];
			return NULL;
		}
	files = realloc(patch->files, (patch->count + 1) * sizeof(*files));
	if (!files) {
		patch_file_release(&file);
		return "out of memory";
	}
	patch->files = files;
	if (file.modified_ns > patch->start) {
		print(stderr,
			"cufence: '%s' has changed since the run: run the program again for a "
			"patch\n",
			file.path);
		patch->is_newer = 1;
	}
	*found = &files[patch->count++];
	**found = file;
	return NULL;
}

/* --- findings --- */

/* A line of a finding, by its worst place. */
static const char lines_sql[] =
	"SELECT f.id, f.rule, s.file, s.line, coalesce(s.text, s.function, '?'),"
	" (SELECT " CALL_NAME " FROM call c" FROM_OUTERMOST " WHERE c.id = p.call), min(p.id)"
	" FROM temp.verdict v JOIN finding_place p ON p.id = v.place"
	" JOIN finding f ON f.id = v.finding LEFT JOIN main.site s ON s.id = p.site"
	" WHERE v.state = 'fails' GROUP BY f.id, s.file, s.line ORDER BY min(p.id)";

enum lines_column { LINE_FINDING, LINE_RULE, LINE_FILE, LINE_NUMBER, LINE_PLACE, LINE_CALL };

/* Returns 1 and the reason in words why the run forbids the change; 0, or -1 after a message. */
static int is_forbidden(struct patch *patch, sqlite3_stmt *row, enum patch_form form, char **reason)
{
	int step = 0;

	*reason = NULL;
	for (size_t i = 0; i < 2 && !step && !*reason && evidence[form][i]; i++) {
		sqlite3_stmt *q = db_prepare(patch->db, evidence[form][i]);

		step = q ? db_bind(q, "si", db_text(row, LINE_FILE),
				   sqlite3_column_int64(row, LINE_NUMBER))
			 : -1;
		if (!step && sqlite3_bind_parameter_count(q) > 2)
			sqlite3_bind_int64(q, 3, sqlite3_column_int64(row, LINE_FINDING));
		step = step || db_step(q) < 0 ? -1 : 0;
		if (!step && sqlite3_column_type(q, 0) != SQLITE_NULL)
			*reason = strdup(db_text(q, 0));
		sqlite3_finalize(q);
	}
	return step ? step : *reason != NULL;
}

static int is_script(const char *name)
{
	size_t length = strlen(name);

	return length > 3 && !strcmp(name + length - 3, ".py");
}

static int change_line(struct patch *patch, sqlite3_stmt *row, const struct rule_info *rule,
	const char **reason, char **said)
{
	const char *name = db_text(row, LINE_FILE);
	int64_t line = sqlite3_column_int64(row, LINE_NUMBER);
	struct patch_place place = { .is_script = is_script(name), .call = db_text(row, LINE_CALL) };
	struct patch_file *file;
	size_t i = 0;
	char *changed;
	int rc;

	*reason = !*name || line < 1 ? "its line is not known"
		: script_origin(name, strlen(name)) != SCRIPT_OWN
		? "a package's code"
		: find_file(patch, name, &file);
	if (!*reason && (size_t)line > file->count)
		*reason = "its source has no such line";
	if (*reason)
		return 0;
	place.lines = file->lines;
	place.count = file->count;
	place.at = (size_t)line - 1;
	while (i < RULE_FORMS && (rule_forms[i].rule != rule - rules ||
					 !patch_line_fits(rule_forms[i].form, &place)))
		i++;
	if (i == RULE_FORMS) {
		*reason = "the line does not show what to change";
		return 0;
	}
	*reason = patch_line(rule_forms[i].form, &place, &changed);
	if (*reason)
		return 0;
	rc = is_forbidden(patch, row, rule_forms[i].form, said);
	*reason = *said;
	if (rc)
		free(changed);
	else
		patch_file_change(file, place.at, changed);
	return rc < 0 ? -1 : 0;
}

static int has_form(const struct rule_info *rule)
{
	for (size_t i = 0; i < RULE_FORMS; i++)
		if (rule_forms[i].rule == rule - rules)
			return 1;
	return 0;
}

static int change_lines(struct patch *patch)
{
	sqlite3_stmt *q = db_prepare(patch->db, lines_sql);
	int step = -1;

	while (q && (step = db_step(q)) > 0) {
		const struct rule_info *rule = rule_find(db_text(q, LINE_RULE));
		const char *reason = "a fix of this rule is no mechanical change";
		char *said = NULL;

		if (rule && has_form(rule) && change_line(patch, q, rule, &reason, &said)) {
			step = -1;
			break;
		}
		if (reason)
			print(stderr, "cufence: no patch for finding %lld at %s: %s\n",
				(long long)sqlite3_column_int64(q, LINE_FINDING),
				db_text(q, LINE_PLACE), reason);
		free(said);
	}
	sqlite3_finalize(q);
	return step;
}

static int compare_paths(const void *a, const void *b)
{
	return strcmp(((const struct patch_file *)a)->path, ((const struct patch_file *)b)->path);
}

int export_patch(struct db *db, FILE *out)
{
	struct patch patch = { .db = db, .start = start_of(db) };
	int rc = -1;

	if (sqlite3_create_function(db->handle, "needs_no_wait", 1, SQLITE_UTF8 | SQLITE_DIRECTONLY,
		    NULL, needs_no_wait, NULL, NULL) == SQLITE_OK)
		rc = change_lines(&patch);
	if (!rc && patch.is_newer)
		rc = -1;
	if (patch.count)
		qsort(patch.files, patch.count, sizeof(*patch.files), compare_paths);
	for (size_t i = 0; i < patch.count; i++) {
		if (!rc)
			patch_file_print(&patch.files[i], out);
		patch_file_release(&patch.files[i]);
	}
	free(patch.files);
	return rc;
}
