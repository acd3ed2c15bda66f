/* SPDX-License-Identifier: Apache-2.0 */
#include "forbidden.h"

#include <fnmatch.h>
#include <string.h>

#include "call_sql.h"
#include "policy.h"
#include "print.h"
#include "script.h"
#include "suppressions.h"
#include "symbols_user.h"

int forbidden_check_list(const char *list)
{
	do {
		size_t length = strcspn(list, ",");

		if (policy_find(list, length) == POLICIES) {
			print(stderr,
				"cufence check: --forbid: no policy '%.*s': it is default-stream, "
				"sync, pageable-copy, free or device-wide\n",
				(int)length, list);
			return -1;
		}
		list += length + (list[length] == ',');
	} while (*list);
	return 0;
}

static unsigned parse_list(const char *list)
{
	unsigned policies = 0;

	while (*list) {
		size_t length = strcspn(list, ",");

		policies |= 1u << policy_find(list, length);
		list += length + (list[length] == ',');
	}
	return policies;
}

/* Libraries that belong to the system, wherever its package manager puts them. */
static int is_of_system(const char *path)
{
	static const char *const folders[] = { "/usr/lib", "/lib" };

	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		size_t length = strlen(folders[i]);

		if (!strncmp(path, folders[i], length) &&
			path[length + strspn(path + length, "3264")] == '/')
			return 1;
	}
	return module_is_system(path);
}

static int matches_any(const char *path, const char *patterns)
{
	char pattern[4096];

	while (*patterns) {
		size_t length = strcspn(patterns, ",");

		snprintf(pattern, sizeof(pattern), "%s%.*s", *patterns == '/' ? "" : "*/",
			(int)length, patterns);
		/* A relative pattern also matches from the beginning of a relative path. */
		if (!fnmatch(pattern, path, 0) ||
			(*patterns != '/' && !fnmatch(pattern + 2, path, 0)))
			return 1;
		patterns += length + (patterns[length] == ',');
	}
	return 0;
}

/* CUDA's own code in a module of the program; in a site with a script nothing else is known. */
static int is_cuda_inline(const char *function, const char *file, int user, int in_script)
{
	return in_script
		? frame_is_library(&(struct source_frame){ .name = function, .file = file })
		: !user;
}

/* is_own(file, module's path, function, frame.user, of a script, site has a script) */
static void is_own(sqlite3_context *context, int count, sqlite3_value **value)
{
	const char *patterns = sqlite3_user_data(context);
	const char *file = (const char *)sqlite3_value_text(value[0]);
	const char *module = (const char *)sqlite3_value_text(value[1]);
	const char *function = (const char *)sqlite3_value_text(value[2]);
	int is_script = sqlite3_value_int(value[4]);
	const char *path = is_script ? file : module;
	int own;

	if (patterns)
		own = (path && matches_any(path, patterns)) ||
			(file && matches_any(file, patterns));
	else
		own = path && script_origin(path, strlen(path)) == SCRIPT_OWN &&
			(is_script || !is_of_system(path));
	if (own && !is_script)
		own = !module_is_runtime(path ? path : "") &&
			!is_cuda_inline(function, file, sqlite3_value_int(value[3]),
				sqlite3_value_int(value[5]));
	sqlite3_result_int(context, own);
}

/* The outermost calls that break policies. */
static const char broken_sql[] =
	"CREATE TEMP TABLE broken AS SELECT DISTINCT u.id AS call,"
	" coalesce(u.site, c.site) AS site,"
	" b.number, b.policy, " CALL_NAME
	" AS name FROM temp.breach b JOIN call c ON c.id = "
	"b.call" FROM_OUTERMOST
	";"
	"CREATE INDEX temp.broken_site ON broken (site)";

/* Suppressions and patterns are about whole paths, whatever the output discloses of them. */
static const char own_sql[] =
	"CREATE TEMP TABLE own_frame AS SELECT f.site, f.depth, f.function, f.line,"
	" coalesce(f.file, m.path) AS path, d.file,"
	" coalesce(d.file || ':' || nullif(f.line, 0), d.file, dm.path || printf('+0x%x',"
	"  f.address - m.start + m.file_offset), '?') AS place"
	" FROM main.frame f JOIN frame d ON d.site = f.site AND d.depth = f.depth"
	" LEFT JOIN main.module m ON m.id = f.module LEFT JOIN module dm ON dm.id = f.module"
	" WHERE f.site IN (SELECT site FROM temp.broken) AND is_own(f.file, m.path, f.function,"
	"  f.user, f.code NOT NULL, EXISTS (SELECT 1 FROM main.frame s WHERE s.site = f.site"
	"  AND s.code NOT NULL)) AND coalesce(f.function, '') <> '_start';"
	"CREATE INDEX temp.own_frame_site ON own_frame (site, depth);"
	"CREATE TEMP TABLE caller AS SELECT site, function, line, path, file, place,"
	" (SELECT group_concat(label, char(10)) FROM (SELECT coalesce(o.function || ' ', '')"
	"   || '(' || o.place || ')' AS label FROM temp.own_frame o WHERE o.site = f.site"
	"   AND o.depth > f.depth ORDER BY o.depth)) AS stack"
	" FROM temp.own_frame f WHERE depth = (SELECT min(depth) FROM temp.own_frame"
	"  WHERE site = f.site);"
	"CREATE INDEX temp.caller_site ON caller (site)";

/* Those that are left, by policy, call and place; a call's policies in the order of the enum. */
static const char forbidden_sql[] =
	"CREATE TEMP TABLE allowed AS SELECT k.site, k.policy, (SELECT u.id FROM temp.suppression u"
	"  WHERE NOT u.expired AND u.rule = k.policy AND " SUPPRESSES("u", "a.function", "a.path")
	"  ORDER BY u.id LIMIT 1) AS suppression"
	" FROM (SELECT DISTINCT site, policy FROM temp.broken) k"
	" JOIN temp.caller a ON a.site = k.site;"
	"CREATE UNIQUE INDEX temp.allowed_site ON allowed (site, policy);"
	"CREATE TEMP TABLE forbidden AS SELECT k.name, k.policies, count(*) AS count,"
	" a.file, a.line, a.function, a.place, a.stack"
	" FROM (SELECT call, site, name, group_concat(policy, ', ')"
	"  AS policies FROM (SELECT b.* FROM temp.broken b JOIN temp.allowed p ON p.site = b.site"
	"   AND p.policy = b.policy WHERE p.suppression IS NULL ORDER BY b.call, b.number)"
	"  GROUP BY call) k JOIN temp.caller a ON a.site = k.site"
	" GROUP BY a.place, a.function, k.name, k.policies, a.stack ORDER BY min(k.call)";

/* Suppressions of policies that this check does not ask for are not unused. */
static const char used_sql[] =
	"UPDATE temp.suppression AS u SET used = EXISTS (SELECT 1 FROM temp.allowed p"
	"  JOIN temp.caller a ON a.site = p.site WHERE p.policy = u.rule"
	"  AND " SUPPRESSES("u", "a.function", "a.path") ")"
	" WHERE instr(',' || ?1 || ',', ',' || u.rule || ',')";

int forbidden_read(struct db *db, const struct forbidden_request *request)
{
	sqlite3_stmt *q = NULL;
	int rc = -1;

	if (sqlite3_create_function(db->handle, "is_own", 6, SQLITE_UTF8 | SQLITE_DIRECTONLY,
		    (void *)request->own, is_own, NULL, NULL) != SQLITE_OK) {
		print(stderr, "cufence: %s\n", sqlite3_errmsg(db->handle));
		return -1;
	}
	if (policy_collect(db, parse_list(request->policies), request->captured) ||
		db_exec(db, broken_sql) || db_exec(db, own_sql) || db_exec(db, forbidden_sql))
		return -1;
	q = db_prepare(db, used_sql);
	rc = q ? db_run(q, "s", request->policies) : -1;
	sqlite3_finalize(q);
	return rc;
}

/* Prints lines of callers, indented. */
static void print_stack(const char *stack, FILE *out)
{
	while (*stack) {
		size_t length = strcspn(stack, "\n");

		print(out, "    called by %.*s\n", (int)length, stack);
		stack += length + (stack[length] == '\n');
	}
}

int forbidden_text(struct db *db, FILE *out)
{
	sqlite3_stmt *q = db_prepare(db,
		"SELECT place, function, name, policies, count, stack FROM temp.forbidden");
	int step = -1;

	while (q && (step = db_step(q)) > 0) {
		const char *function = db_text(q, 1);
		int64_t count = sqlite3_column_int64(q, 4);

		print(out, "%s: %s%s%s: %s, %lld time%s\n", db_text(q, 0), db_text(q, 3),
			*function ? " in " : "", function, db_text(q, 2), (long long)count,
			count == 1 ? "" : "s");
		print_stack(db_text(q, 5), out);
	}
	sqlite3_finalize(q);
	return step;
}

static int print_reasons(struct db *db, FILE *out)
{
	sqlite3_stmt *q = db_prepare(db,
		"SELECT DISTINCT u.rule || ': ' || u.reason FROM temp.allowed p"
		" JOIN temp.suppression u ON u.id = p.suppression ORDER BY u.id");
	int step = -1;

	for (const char *label = "allowed"; q && (step = db_step(q)) > 0; label = "")
		print(out, "    %-10s  %s\n", label, db_text(q, 0));
	sqlite3_finalize(q);
	return step;
}

static const char counts_sql[] =
	"SELECT count(DISTINCT place || coalesce(function, '')), coalesce(sum(count), 0),"
	" (SELECT count(DISTINCT a.place || coalesce(a.function, '')) FROM temp.allowed p"
	"  JOIN temp.caller a ON a.site = p.site WHERE p.suppression NOT NULL),"
	" (SELECT count(DISTINCT call) FROM temp.broken WHERE site IS NULL"
	"  OR site NOT IN (SELECT site FROM temp.caller)) FROM temp.forbidden";

int forbidden_summary(struct db *db, FILE *out)
{
	sqlite3_stmt *q = db_prepare(db, counts_sql);
	int step = q ? db_step(q) : -1;

	if (step > 0) {
		int64_t places = sqlite3_column_int64(q, 0), calls = sqlite3_column_int64(q, 1);

		print(out, "cufence check: %s: ", db->path);
		if (places)
			print(out, "%lld forbidden call%s from %lld place%s", (long long)calls,
				calls == 1 ? "" : "s", (long long)places, places == 1 ? "" : "s");
		else
			print(out, "no forbidden call");
		print(out, "; places allowed: %lld; calls without code of the program: %lld\n",
			(long long)sqlite3_column_int64(q, 2),
			(long long)sqlite3_column_int64(q, 3));
	}
	sqlite3_finalize(q);
	return step < 0 || print_reasons(db, out) ? -1 : 0;
}
