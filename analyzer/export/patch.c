/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "call_sql.h"
#include "export.h"
#include "memory.h"
#include "patch_file.h"
#include "patch_line.h"
#include "patch_pair.h"
#include "patch_trial.h"
#include "print.h"
#include "report_facts.h"
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

#define HERE AT_LINE("s", "?1", "?2")
/* Calls c of type t and kind k at a line. */
#define CALLS_THERE \
	"FROM main.site s JOIN call c ON c.site = s.id JOIN call_type t ON t.id = c.type" \
	" JOIN call_kind k ON k.name = t.kind WHERE " HERE
#define WAITS_THERE "(SELECT count(*) " CALLS_THERE " AND " IS_WAIT ")"
/* Places p of findings f about needless waits at a line, whatever the rule. */
#define FOUND_THERE \
	"FROM finding_place p JOIN finding f ON f.id = p.finding" \
	" JOIN main.site s ON s.id = p.site WHERE " HERE " AND needs_no_wait(f.rule)"
#define NEEDLESS_THERE "(SELECT sum(p.count) " FOUND_THERE ")"

/*
 * A wait is left out only if none at its line is known to be for anything.  One that is redundant
 * since another wait, at its worst instance, stays if that one goes, and the other way round.
 */
static const char waits_sql[] =
	"SELECT CASE"
	" WHEN EXISTS (SELECT 1 " FOUND_THERE " AND f.reads) THEN 'it reads a value'"
	" WHEN EXISTS (SELECT 1 " FOUND_THERE " AND f.id IN (SELECT finding FROM finding_race))"
	"  OR EXISTS (SELECT 1 FROM hazard h JOIN call c ON c.id = h.via"
	"   JOIN main.site s ON s.id = c.site WHERE " HERE ")"
	"  THEN 'without its wait, operations would not be ordered'"
	" WHEN EXISTS (SELECT 1 FROM wait_clock w JOIN call c ON c.id = w.call"
	"  JOIN main.site s ON s.id = c.site WHERE " HERE ")"
	"  THEN 'a clock is read after it'"
	" WHEN EXISTS (SELECT 1 FROM finding_place p JOIN finding f ON f.id = p.finding"
	"  JOIN main.site a ON a.id = p.site JOIN main.site b ON b.id = p.other_site"
	"  JOIN call c ON c.id = p.other_call JOIN call_type t ON t.id = c.type"
	"  JOIN call_kind k ON k.name = t.kind WHERE needs_no_wait(f.rule) AND " IS_WAIT
	"  AND " IS_PATCHED("a") " AND " IS_PATCHED("b") ")"
	"  THEN 'the patch leaves out another wait for the same work'"
	" WHEN " WAITS_THERE " <> " NEEDLESS_THERE
	"  THEN printf('%d of its %d waits may be needed', " WAITS_THERE " - " NEEDLESS_THERE ", "
	WAITS_THERE ")"
	" END";

/* Nothing else happens there. */
static const char alone_sql[] =
	"SELECT CASE WHEN EXISTS (SELECT 1 " CALLS_THERE " AND k.work) THEN 'it submits work' END";

/* Tensors that the line itself copies to the device, from memory that is not pinned. */
static const char uploads_sql[] =
	"SELECT CASE"
	" WHEN EXISTS (SELECT 1 " CALLS_THERE
	" AND k.work AND NOT (k.family = 'copy'"
	"  AND c.src_memory IS 'pageable' AND c.dst_memory IS 'device'))"
	"  THEN 'it submits other work than copies from pageable memory'"
	" WHEN EXISTS (SELECT 1 FROM main.site s JOIN frame u ON u.site = s.id AND u.depth ="
	"  (SELECT min(depth) FROM frame WHERE site = s.id AND user = 1)"
	"  JOIN frame i ON i.site = s.id AND i.depth < u.depth AND i.code NOT NULL"
	"  WHERE " HERE
	") THEN 'a package copies, not the line itself'"
	" END";

/* What the legacy default stream kept in order is known only if all accesses are. */
static const char accesses_sql[] =
	"SELECT CASE"
	" WHEN EXISTS (SELECT 1 FROM loss WHERE loss_effect(reason) > 0) THEN 'the trace has gaps'"
	" WHEN EXISTS (SELECT 1 FROM kernel_use WHERE complete < launches)"
	"  THEN 'not all accesses of kernels are known'"
	" WHEN EXISTS (SELECT 1 FROM stream t JOIN call c ON c.id = t.created"
	"  JOIN main.site s ON s.id = c.site WHERE " HERE
	" AND t.kind <> 'blocking')"
	"  THEN 'it creates other streams, too'"
	" END";

/* Whatever the line submits moves, and the host does not see when it has ended. */
static const char moves_sql[] =
	"SELECT CASE WHEN EXISTS (SELECT 1 " CALLS_THERE
	" AND k.work AND c.stream NOT IN (SELECT id FROM stream WHERE kind = 'legacy'))"
	"  THEN 'it submits work to other streams, too'"
	" WHEN EXISTS (SELECT 1 " CALLS_THERE
	" AND k.work AND c.id IN (SELECT o.call FROM operand o"
	"  JOIN allocation a ON a.id = o.allocation WHERE a.memory NOT IN ('device', 'async')))"
	"  THEN 'the host may use its memory' END";

/* Each query says why the line stays, or nothing; then the change may be tried. */
static const struct {
	const char *sql[2];
	int is_tried;
} evidence[PATCH_FORMS] = {
	[PATCH_LEAVE_OUT] = { { waits_sql, alone_sql }, 0 },
	[PATCH_NO_SYNC] = { { waits_sql }, 0 },
	[PATCH_NON_BLOCKING] = { { waits_sql, uploads_sql }, 0 },
	[PATCH_PIN] = { { uploads_sql }, 0 },
	[PATCH_GIVE_STREAM] = { { moves_sql, accesses_sql }, 1 },
	[PATCH_STREAM] = { { accesses_sql }, 1 },
};

/* --- files --- */

struct patch {
	struct db *db;
	struct sources *sources;
	struct code_frames *frames;
	int64_t start; /* ns since 1970: sources are older */
	struct patch_file *files;
	size_t count;
	int is_newer; /* a source is */
};

static int has_form(const struct rule_info *rule, int (*is)(enum patch_form))
{
	for (size_t i = 0; rule && i < RULE_FORMS; i++)
		if (rule_forms[i].rule == rule - rules && is(rule_forms[i].form))
			return 1;
	return 0;
}

/* It changes waits that nothing needs. */
static int is_of_waits(enum patch_form form)
{
	return evidence[form].sql[0] == waits_sql;
}

/* It changes the line that creates a stream, not that of the finding. */
static int is_of_streams(enum patch_form form)
{
	return evidence[form].is_tried;
}

/* A line is changed for each line of the other operation. */
static int is_of_pairs(enum patch_form form)
{
	return patch_line_is_above(form);
}

static int is_any(enum patch_form form)
{
	return 1;
}

static void needs_no_wait(sqlite3_context *context, int count, sqlite3_value **value)
{
	const char *rule = (const char *)sqlite3_value_text(value[0]);

	sqlite3_result_int(context, has_form(rule_find(rule ? rule : ""), is_of_waits));
}

static void needs_stream(sqlite3_context *context, int count, sqlite3_value **value)
{
	const char *rule = (const char *)sqlite3_value_text(value[0]);

	sqlite3_result_int(context, has_form(rule_find(rule ? rule : ""), is_of_streams));
}

static void needs_fence(sqlite3_context *context, int count, sqlite3_value **value)
{
	const char *rule = (const char *)sqlite3_value_text(value[0]);

	sqlite3_result_int(context, has_form(rule_find(rule ? rule : ""), is_of_pairs));
}

/* The simulated device's time is virtual: its database has been made after the run. */
static int64_t start_of(struct db *db)
{
	struct stat about;

	if (!db_int(db, "SELECT 1 FROM process WHERE simulated", 0))
		return db_int(db, "SELECT start_unix_ns FROM run", 0);
	return stat(db->path, &about)
		? 0
		: about.st_mtim.tv_sec * INT64_C(1000000000) + about.st_mtim.tv_nsec;
}

/* Takes over the file unless its path is known; NULL: out of memory. */
static struct patch_file *keep_file(struct patch *patch, struct patch_file *file)
{
	for (size_t i = 0; i < patch->count; i++)
		if (!strcmp(patch->files[i].path, file->path)) {
			patch_file_release(file);
			return &patch->files[i];
		}
	*array_push(patch->files, patch->count) = *file;
	return &patch->files[patch->count - 1];
}

/* Returns NULL, or why the source cannot be changed. */
static const char *find_file(struct patch *patch, const struct source *source,
	struct patch_file **found)
{
	size_t count = patch->count;
	struct patch_file file;
	const char *reason = patch_file_open(&file, source);

	if (reason)
		return reason;
	*found = keep_file(patch, &file);
	if (!*found)
		return "out of memory";
	if (source->changed > patch->start && patch->count > count) {
		print(stderr,
			"cufence: '%s' has changed since the run: run the program again for a "
			"patch\n",
			(*found)->path);
		patch->is_newer = 1;
	}
	return NULL;
}

/* --- findings --- */

static const char no_change[] = "its fix is no mechanical change";

/* The calls that made the blocking streams of places whose fix is there: no other stream uses the
 * memory of the work that keeps them waiting. */
static const char created_sql[] =
	"CREATE TEMP TABLE created AS SELECT v.place, m.id AS call, m.site FROM temp.verdict v"
	" JOIN finding_place p ON p.id = v.place JOIN finding f ON f.id = p.finding"
	" JOIN call c ON c.id IN (p.call, p.other_call)"
	" JOIN stream t ON t.id = c.stream AND t.kind = 'blocking'"
	" JOIN call m ON m.id = t.created WHERE v.state = 'fails' AND needs_stream(f.rule)"
	" AND v.place NOT IN (SELECT place FROM temp.memory_user)";

/*
 * A line of a finding, by its worst place.  Streams come last: whether they need not block is tried
 * with all other changes made.
 */
static const char lines_sql[] =
	"SELECT f.id, f.rule, s.file, s.line, coalesce(s.text, s.function, '?'),"
	" (SELECT " CALL_NAME " FROM call c" FROM_OUTERMOST
	" WHERE c.id = p.call),"
	" (SELECT m.path FROM frame i JOIN module m ON m.id = i.module WHERE i.site = s.id"
	"  AND i.user LIMIT 1), min(p.id)"
	" FROM (SELECT p.id, p.finding, p.call, p.site, 0 AS creates, p.other_site"
	"  FROM temp.verdict v"
	"  JOIN finding_place p ON p.id = v.place JOIN finding f ON f.id = p.finding"
	"  WHERE v.state = 'fails' AND NOT EXISTS (SELECT 1 FROM temp.created m"
	"  WHERE m.place = p.id) UNION ALL SELECT p.id, p.finding, m.call, m.site, 1, NULL"
	"  FROM temp.created m JOIN finding_place p ON p.id = m.place) p"
	" JOIN finding f ON f.id = p.finding LEFT JOIN main.site s ON s.id = p.site"
	" LEFT JOIN main.site o ON o.id = p.other_site AND needs_fence(f.rule)"
	" GROUP BY f.id, s.file, s.line, o.file, o.line ORDER BY max(p.creates), min(p.id)";

enum lines_column {
	LINE_FINDING,
	LINE_RULE,
	LINE_FILE,
	LINE_NUMBER,
	LINE_PLACE,
	LINE_CALL,
	LINE_PROGRAM,
	LINE_FINDING_PLACE
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* stream: of which the line's work becomes part, 0: as it is. */
static int set_patched(struct patch *patch, sqlite3_stmt *row, int64_t stream, const char *sql)
{
	sqlite3_stmt *q = db_prepare(patch->db, sql);
	int rc = q ? db_run(q, "sii", base_name(db_text(row, LINE_FILE)),
			     sqlite3_column_int64(row, LINE_NUMBER), stream)
		   : -1;

	sqlite3_finalize(q);
	return rc;
}

/*
 * Sets *reason to why the run forbids the change, in words, which free() frees; NULL: it does not.
 * Returns 0, or -1 after a message.
 */
static int find_evidence(struct patch *patch, sqlite3_stmt *row, enum patch_form form,
	int64_t stream, char **reason)
{
	const char *name = base_name(db_text(row, LINE_FILE));
	int64_t line = sqlite3_column_int64(row, LINE_NUMBER);
	int step = set_patched(patch, row, form == PATCH_GIVE_STREAM ? stream : 0,
		"INSERT OR IGNORE INTO temp.patched VALUES (?1, ?2, nullif(?3, 0))");

	for (size_t i = 0; i < 2 && !step && !*reason && evidence[form].sql[i]; i++) {
		sqlite3_stmt *q = db_prepare(patch->db, evidence[form].sql[i]);

		step = !q || db_bind(q, "si", name, line) || db_step(q) < 0 ? -1 : 0;
		if (!step && sqlite3_column_type(q, 0) != SQLITE_NULL)
			*reason = strdup(db_text(q, 0));
		sqlite3_finalize(q);
	}
	if (!step && !*reason && evidence[form].is_tried) {
		step = patch_trial_loses_order(patch->db);
		if (step > 0)
			*reason = strdup("operations would no longer be ordered");
		step = step < 0 ? -1 : 0;
	}
	if (step || !*reason)
		return step;
	return set_patched(patch, row, 0,
		"DELETE FROM temp.patched WHERE file = ?1 AND line = ?2 AND ?3 = 0");
}

static int is_script(const char *name)
{
	size_t length = strlen(name);

	return length > 3 && !strcmp(name + length - 3, ".py");
}

struct change {
	struct patch_place place;
	struct patch_pair pair;
	struct patch_file *file;
};

/* Returns NULL, or why the place of a row has no line that can be changed. */
static const char *find_place(struct patch *patch, sqlite3_stmt *row, struct change *change)
{
	const char *name = db_text(row, LINE_FILE), *reason;
	const char *program = (const char *)sqlite3_column_text(row, LINE_PROGRAM);
	int64_t line = sqlite3_column_int64(row, LINE_NUMBER);
	const struct source *source;

	if (!*name || line < 1)
		return "its line is not known";
	if (script_origin(name, strlen(name)) != SCRIPT_OWN)
		return "it is a package's";
	source = sources_find(patch->sources, name, program);
	reason = find_file(patch, source, &change->file);
	if (reason)
		return reason;
	change->place = (struct patch_place){ .lines = change->file->lines,
		.count = change->file->count,
		.at = (size_t)line - 1,
		.is_script = is_script(name),
		.call = db_text(row, LINE_CALL) };
	if (change->place.at >= change->place.count)
		return "its source has no such line";
	return patch_pair_read(patch->db, patch->frames, source,
		sqlite3_column_int64(row, LINE_FINDING_PLACE), &change->pair, &change->place);
}

/* The first form for that line, NULL: none. */
static const struct rule_form *find_form(enum rule rule, const struct patch_place *place)
{
	for (size_t i = 0; i < RULE_FORMS; i++)
		if (rule_forms[i].rule == rule && patch_line_fits(rule_forms[i].form, place))
			return &rule_forms[i];
	return NULL;
}

/* Takes over the text. */
static int set_change(struct change *change, enum patch_form form, char *text)
{
	int rc;

	if (!patch_line_is_above(form)) {
		patch_file_change(change->file, change->place.at, text);
		return 0;
	}
	rc = patch_file_insert(change->file, change->place.at, text);
	free(text);
	if (rc)
		print(stderr, "cufence: out of memory\n");
	return rc;
}

/*
 * Changes the line of a row, or sets *reason to why it stays, which is free()d by the caller if it
 * is *own.  Returns 0, or -1 after a message.
 */
static int change_line(struct patch *patch, sqlite3_stmt *row, enum rule rule, const char **reason,
	char **own)
{
	const struct rule_form *form = NULL;
	struct change change;
	char *text = NULL;
	int rc = 0;

	*reason = find_place(patch, row, &change);
	if (!*reason) {
		form = find_form(rule, &change.place);
		if (form)
			change.place.at = patch_line_at(form->form, &change.place);
		if (form && !patch_line_is_above(form->form) &&
			change.file->edits[change.place.at].is_set)
			return 0;
		*reason = form             ? patch_line(form->form, &change.place, &text)
			: *change.pair.why ? no_change
					   : "the line does not show what to change";
	}
	if (*reason)
		return 0;
	if (!patch_line_is_above(form->form))
		rc = find_evidence(patch, row, form->form, change.pair.stream, own);
	*reason = *own;
	if (!rc && !*own)
		return set_change(&change, form->form, text);
	free(text);
	return rc;
}

static int change_lines(struct patch *patch)
{
	sqlite3_stmt *q = db_prepare(patch->db, lines_sql);
	int64_t last = 0;
	int step = -1;

	while (q && (step = db_step(q)) > 0) {
		const struct rule_info *rule = rule_find(db_text(q, LINE_RULE));
		int64_t id = sqlite3_column_int64(q, LINE_FINDING);
		const char *reason = id == last ? NULL : no_change;
		char *said = NULL;

		last = id;
		if (has_form(rule, is_any) &&
			change_line(patch, q, (enum rule)(rule - rules), &reason, &said)) {
			step = -1;
			break;
		}
		if (reason)
			print(stderr, "cufence: no patch for finding %lld at %s: %s\n",
				(long long)id, db_text(q, LINE_PLACE), reason);
		free(said);
	}
	sqlite3_finalize(q);
	return step;
}

static int compare_paths(const void *a, const void *b)
{
	return strcmp(((const struct patch_file *)a)->path, ((const struct patch_file *)b)->path);
}

static int begin(struct patch *patch)
{
	sqlite3 *handle = patch->db->handle;
	int flags = SQLITE_UTF8 | SQLITE_DIRECTONLY;

	patch->sources = sources_new(patch->db);
	patch->frames = code_frames_open(patch->db);
	if (!patch->sources || !patch->frames || report_functions(patch->db))
		return -1;
	if (sqlite3_create_function(handle, "needs_no_wait", 1, flags, NULL, needs_no_wait, NULL,
		    NULL) != SQLITE_OK ||
		sqlite3_create_function(handle, "needs_stream", 1, flags, NULL, needs_stream, NULL,
			NULL) != SQLITE_OK ||
		sqlite3_create_function(handle, "needs_fence", 1, flags, NULL, needs_fence, NULL,
			NULL) != SQLITE_OK) {
		print(stderr, "cufence: %s\n", sqlite3_errmsg(handle));
		return -1;
	}
	return patch_pair_begin(patch->db) || db_exec(patch->db, created_sql) ||
			db_exec(patch->db,
				"CREATE TEMP TABLE patched (file TEXT NOT NULL,"
				" line INTEGER NOT NULL, stream INTEGER, PRIMARY KEY (file, line))")
		? -1
		: 0;
}

int export_patch(struct db *db, FILE *out)
{
	struct patch patch = { .db = db, .start = start_of(db) };
	int rc = begin(&patch) || change_lines(&patch) || patch.is_newer ? -1 : 0;

	if (patch.count)
		qsort(patch.files, patch.count, sizeof(*patch.files), compare_paths);
	for (size_t i = 0; i < patch.count; i++) {
		if (!rc)
			patch_file_print(&patch.files[i], out);
		patch_file_release(&patch.files[i]);
	}
	free(patch.files);
	code_frames_close(patch.frames);
	sources_free(patch.sources);
	return rc;
}
