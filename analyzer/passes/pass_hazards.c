/* SPDX-License-Identifier: Apache-2.0 */
#include "pass_hazards.h"

#include <stddef.h>
#include <string.h>

#include "mistakes.h"
#include "print.h"
#include "stream_code.h"

/*
 * The most certain first: of conflicts with operations of one line the first counts.  Reading the
 * table three times takes less than sorting it.
 */
#define HAZARDS_SQL(confidence) \
	"SELECT h.process, h.call, h.other_call, h.confidence, h.kind, h.why, h.count, h.launch," \
	" h.id, h.via, ifnull(h.gap < 0, 0), h.wait, h.record" \
	" FROM hazard h WHERE h.rule = ? AND h.confidence " confidence " ORDER BY h.id"
static const char *const hazards_sql[] = {
	HAZARDS_SQL("NOT IN ('likely', 'possible')"),
	HAZARDS_SQL("= 'likely'"),
	HAZARDS_SQL("= 'possible'"),
};

/* The verbs for a pair: what the later and the earlier operation do. */
static const struct pair {
	const char *kind, *verb, *other;
} pairs[] = {
	{ "raw", "reads", "writes" },
	{ "war", "overwrites", "reads" },
	{ "waw", "overwrites", "writes" },
};

static const struct pair *find_pair(const char *kind)
{
	size_t i = 0;

	while (i + 1 < sizeof(pairs) / sizeof(*pairs) && strcmp(pairs[i].kind, kind))
		i++;
	return &pairs[i];
}

/* Returns 1 if the same operation conflicts with another one of the same line: counted once. */
static int is_repeated(struct map *counted, struct findings *findings,
	const struct instance *instance)
{
	int64_t other = findings_place(findings, instance->other_call);
	uint64_t key = (uint64_t)instance->call << 32 | (uint32_t)other;

	if (other < 0)
		return -1;
	if (map_get(counted, key, 0))
		return 1;
	map_set(counted, key, 1);
	return 0;
}

int64_t pass_lines(struct findings *findings, int64_t call, int64_t other_call)
{
	int64_t line = findings_line(findings, call);
	int64_t other = findings_line(findings, other_call);

	if (line < 0 || other < 0)
		return -1;
	return line && other ? line << 32 | other : 0;
}

/* Returns 1 if the instance is not to be added. */
static int is_left_out(struct map *counted, struct findings *findings,
	const struct instance *instance, const struct map *except)
{
	int64_t lines = except ? pass_lines(findings, instance->call, instance->other_call) : 0;

	if (lines < 0)
		return -1;
	if (lines && map_get(except, (uint64_t)lines, 0))
		return 1;
	return instance->least ? is_repeated(counted, findings, instance) : 0;
}

static int add_of(const char *sql, struct map *counted, struct db *db, struct findings *findings,
	enum rule rule, int64_t least, const struct map *except)
{
	sqlite3_stmt *q = db_prepare(db, sql);
	int step = q && !db_bind(q, "s", rules[rule].id) ? 0 : -1;

	while (!step && (step = db_step(q)) > 0) {
		struct instance instance = { .rule = rule,
			.process = sqlite3_column_int64(q, 0),
			.call = sqlite3_column_int64(q, 1),
			.other_call = sqlite3_column_int64(q, 2),
			.confidence = confidence_find(db_text(q, 3)),
			.least = least,
			.count = sqlite3_column_int64(q, 6),
			.launch = sqlite3_column_int64(q, 7),
			.hazard = sqlite3_column_int64(q, 8),
			.via = sqlite3_column_int64(q, 9),
			.overlapped = sqlite3_column_int(q, 10),
			.wait = sqlite3_column_int64(q, 11),
			.record = sqlite3_column_int64(q, 12),
			.kind = find_pair(db_text(q, 4))->kind,
			.why = mistakes[mistake_find((const char *)sqlite3_column_text(q, 5))].id };

		step = is_left_out(counted, findings, &instance, except);
		if (!step)
			step = findings_add(findings, &instance);
		else if (step > 0)
			step = 0;
	}
	sqlite3_finalize(q);
	return step;
}

int pass_add_hazards(struct db *db, struct findings *findings, enum rule rule, int64_t least,
	const struct map *except)
{
	const char *id = rules[rule].id;
	struct map counted = { 0 };
	int rc = 0;

	if (!map_get(&db->run->evidence.hazard_rules, map_hash(id, strlen(id)), 0))
		return 0;
	for (size_t i = 0; i < sizeof(hazards_sql) / sizeof(*hazards_sql) && !rc; i++)
		rc = add_of(hazards_sql[i], &counted, db, findings, rule, least, except);
	map_release(&counted);
	return rc;
}

int pass_say_operation(struct words *words, const struct instance *worst, int64_t call, FILE *out)
{
	return worst->launch ? words_node(words, call, out) : words_operation(words, call, out);
}

/* Writes a reason's text, with " (a.cu:14)" for {wait} and {record}. */
static int say_text(struct words *words, const struct instance *worst, const char *text, FILE *out)
{
	for (; *text; text++) {
		int64_t call = strncmp(text, "{wait}", 6) ? worst->record : worst->wait;

		if (*text != '{') {
			fputc(*text, out);
			continue;
		}
		text = strchr(text, '}');
		if (call && words_place(words, call, out) < 0)
			return -1;
	}
	return 0;
}

int pass_say_reason(struct words *words, const struct instance *worst, FILE *out)
{
	enum mistake_id mistake = mistake_find(worst->why);

	if (!mistake)
		return 0;
	fputs(": ", out);
	if (worst->alike < worst->total)
		print(out, "in %lld of %lld cases, ", (long long)worst->alike,
			(long long)worst->total);
	return say_text(words, worst, mistakes[mistake].text, out);
}

/* A turn without the load, of the same run, is a hazard of its own, and more certain. */
static int say_load(struct words *words, const struct instance *worst, FILE *out)
{
	fputs("only a load of code, ", out);
	if (words_call(words, worst->via, out) || words_place(words, worst->via, out))
		return -1;
	fputs(", kept them in order; another run may load it earlier", out);
	return pass_say_reason(words, worst, out);
}

int pass_say_hazard(struct words *words, const struct instance *worst, FILE *out)
{
	const struct pair *pair = find_pair(worst->kind);

	if (pass_say_operation(words, worst, worst->call, out))
		return -1;
	print(out, " %s what ", pair->verb);
	if (pass_say_operation(words, worst, worst->other_call, out))
		return -1;
	print(out, " %s, and ", pair->other);
	if (worst->via)
		return say_load(words, worst, out);
	print(out, "%s orders them", worst->launch ? "in their graph no edge" : "nothing");
	return pass_say_reason(words, worst, out);
}

/* --- the fence to add --- */

/* "`fill` (a.cu:31)" */
static int say_step(struct words *words, int64_t call, FILE *out)
{
	const char *kernel = words_kernel_label(words, call);

	fputc('`', out);
	if (*kernel)
		fputs(kernel, out);
	else if (words_call(words, call, out))
		return -1;
	fputc('`', out);
	return words_place(words, call, out);
}

static int say_add_edge(struct words *words, const struct instance *worst, FILE *out)
{
	fputs("add an edge from ", out);
	if (say_step(words, worst->other_call, out))
		return -1;
	fputs(" to ", out);
	return say_step(words, worst->call, out);
}

/* The operation in a default stream belongs in the stream of the other one. */
static int say_give_stream(struct words *words, const struct instance *worst, FILE *out)
{
	int first = words_in_default_stream(words, worst->call);
	int64_t unnamed = first ? worst->call : worst->other_call;
	int64_t named = first ? worst->other_call : worst->call;

	if (first < 0)
		return -1;
	fputs("give ", out);
	if (say_step(words, unnamed, out))
		return -1;
	return words_stream(words, named, " its stream, ", out);
}

/* Both are in one stream, or joined by an edge: the kernel has to wait on the device. */
static int say_wait_on_device(struct words *words, const struct instance *worst, FILE *out)
{
	const char *verb = find_pair(worst->kind)->verb;

	fputs("call cudaGridDependencySynchronize() in ", out);
	if (say_step(words, worst->call, out))
		return -1;
	print(out, " before it %s that", verb);
	return 0;
}

/* Both are in one stream; the copy has to read its source in stream order. */
static int say_read_in_order(struct words *words, const struct instance *worst, FILE *out)
{
	fputs("let ", out);
	if (say_step(words, worst->call, out))
		return -1;
	fputs(" read its sources in stream order: srcAccessOrder cudaMemcpySrcAccessOrderStream",
		out);
	return 0;
}

/*
 * One fence for all conflicts of the two streams over that memory: behind the last operation of the
 * one stream that conflicts with the later one or with one before it, and before the first one of
 * the other stream that comes after that.
 */
static const char fence_sql[] =
	"WITH pair AS MATERIALIZED (SELECT h.call, h.other_call FROM hazard w"
	"  JOIN call l ON l.id = w.call JOIN call e ON e.id = w.other_call"
	"  JOIN hazard h ON h.process = w.process AND h.rule = w.rule"
	"   AND h.allocation IS w.allocation AND h.call <= w.call AND h.launch IS NULL"
	"  JOIN call c ON c.id = h.call AND c.stream IS l.stream"
	"  JOIN call o ON o.id = h.other_call AND o.stream IS e.stream WHERE w.id = ?),"
	" last AS (SELECT max(other_call) AS call FROM pair)"
	" SELECT last.call, (SELECT min(call) FROM pair WHERE call > last.call) FROM last";

/* Puts it between these calls. */
static int place_fence(struct words *words, struct instance *fence)
{
	sqlite3_stmt *q = db_prepare(words_db(words), fence_sql);
	int step = q && !db_bind(q, "i", fence->hazard) ? db_step(q) : -1;

	if (step > 0 && sqlite3_column_type(q, 1) != SQLITE_NULL) {
		fence->other_call = sqlite3_column_int64(q, 0);
		fence->call = sqlite3_column_int64(q, 1);
	}
	sqlite3_finalize(q);
	return step < 0 ? -1 : 0;
}

/* --- the streams of a fence --- */

/* Expressions of the program; "": its text shows none, or does not tell the two apart. */
struct fence {
	const struct framework *framework; /* NULL: none */
	int is_written;                    /* both are known, as the framework needs them */
	char later[STREAM_EXPRESSION_SIZE], earlier[STREAM_EXPRESSION_SIZE];
};

/* Default streams have names of their own. */
static int find_code(struct words *words, int64_t call, char text[STREAM_EXPRESSION_SIZE])
{
	int is_default = words_in_default_stream(words, call);

	*text = 0;
	return is_default ? (is_default < 0 ? -1 : 0)
			  : (stream_code(words_frames(words), call, text) < 0 ? -1 : 0);
}

static void set_code(char text[STREAM_EXPRESSION_SIZE], const char *code)
{
	snprintf(text, STREAM_EXPRESSION_SIZE, "%s", code ? code : "");
}

/* A line without a stream of its own uses the current one. */
static int find_fence(struct words *words, const struct instance *worst, struct fence *fence)
{
	const struct framework *framework =
		framework_of_call(words_frames(words), worst->other_call);
	int is_default = words_in_default_stream(words, worst->other_call);

	*fence = (struct fence){ .framework = framework };
	if (is_default < 0 || find_code(words, worst->call, fence->later) ||
		find_code(words, worst->other_call, fence->earlier))
		return -1;
	if (!strcmp(fence->later, fence->earlier))
		*fence->later = *fence->earlier = 0;
	if (framework && is_default)
		set_code(fence->earlier, framework->standard);
	if (framework && *fence->earlier && !*fence->later)
		set_code(fence->later, framework->current);
	fence->is_written = framework && *fence->earlier && *fence->later;
	return 0;
}

/* " on `copies`", or " on stream 14" */
static int say_stream(struct words *words, int64_t call, const char *code, const char *before,
	FILE *out)
{
	if (!*code)
		return words_stream(words, call, before, out);
	print(out, "%s`%s`", before, code);
	return 0;
}

/* Writes code with the expressions of the two streams. */
static void say_code(const char *code, const char *later, const char *earlier, FILE *out)
{
	for (fputc('`', out); *code; code++) {
		if (*code != '{') {
			fputc(*code, out);
			continue;
		}
		print(out, "%s", code[1] == 'l' ? later : earlier);
		code = strchr(code, '}');
	}
	fputc('`', out);
}

static int say_record(struct words *words, const struct instance *worst, const struct fence *fence,
	const struct mistake *fix, FILE *out)
{
	fputs(fix->record, out);
	if (say_stream(words, worst->other_call, fence->earlier, " on ", out))
		return -1;
	fputs(" after ", out);
	if (say_step(words, worst->other_call, out))
		return -1;
	fputs(", ", out);
	return 0;
}

/*
 * Where the library is known: one call lets a stream wait for another one, and PyTorch's allocator
 * keeps memory for streams that were recorded.
 */
static void say_call(const struct fence *fence, FILE *out)
{
	if (fence->is_written)
		say_code(fence->framework->order, fence->later, fence->earlier, out);
	else
		print(out, "with %s", fence->framework->method);
}

static void say_keep(const struct instance *worst, const struct fence *fence, FILE *out)
{
	if (!strcmp(fence->framework->name, "PyTorch") && worst->rule != RULE_host_buffer_reuse)
		fputs(", and tensor.record_stream() where the memory is used", out);
}

/* The call alone says it all. */
static int say_written(struct words *words, const struct instance *worst, const struct fence *fence,
	FILE *out)
{
	fputs("call ", out);
	say_call(fence, out);
	fputs(" after ", out);
	if (say_step(words, worst->other_call, out))
		return -1;
	fputs(" and before ", out);
	if (say_step(words, worst->call, out))
		return -1;
	say_keep(worst, fence, out);
	return 0;
}

static void say_framework(const struct instance *worst, const struct fence *fence, FILE *out)
{
	if (!fence->framework)
		return;
	print(out, "; in %s ", fence->framework->name);
	say_call(fence, out);
	say_keep(worst, fence, out);
}

/* The allocator waits for streams that were recorded, whenever the memory is released. */
static int say_record_stream(struct words *words, const struct instance *worst,
	const struct fence *fence, FILE *out)
{
	if (*fence->earlier)
		print(out, "; in PyTorch `tensor.record_stream(%s)`", fence->earlier);
	else if (fputs("; in PyTorch tensor.record_stream() with ", out) < 0 ||
		words_stream(words, worst->other_call, "", out))
		return -1;
	fputs(" for the tensor that ", out);
	if (say_step(words, worst->other_call, out))
		return -1;
	fputs(" uses", out);
	return 0;
}

/* "wait for `copies` after `load` (a.cu:31), before "; stream: its expression, "": not known. */
static int say_host_wait(struct words *words, const struct instance *worst,
	char stream[STREAM_EXPRESSION_SIZE], FILE *out)
{
	fputs("wait", out);
	if (find_code(words, worst->other_call, stream) ||
		say_stream(words, worst->other_call, stream, " for ", out))
		return -1;
	fputs(" after ", out);
	if (say_step(words, worst->other_call, out))
		return -1;
	fputs(", before ", out);
	return 0;
}

/* The later one is cudaFree. */
static int say_free_in_order(struct words *words, const struct instance *worst, FILE *out)
{
	char stream[STREAM_EXPRESSION_SIZE];

	if (say_host_wait(words, worst, stream, out) || say_step(words, worst->call, out))
		return -1;
	fputs(", or free it with cudaFreeAsync", out);
	return say_stream(words, worst->other_call, stream, " on ", out);
}

typedef int saying(struct words *words, const struct instance *worst, FILE *out);

/* NULL: the fix is a fence between two streams. */
static saying *const other_fixes[MISTAKE_COUNT] = {
	[MISTAKE_early_launch] = say_wait_on_device,
	[MISTAKE_source_order] = say_read_in_order,
	[MISTAKE_no_stream] = say_give_stream,
	[MISTAKE_host_free] = say_free_in_order,
};

static int say_fence(struct words *words, const struct instance *worst, FILE *out)
{
	enum mistake_id mistake = mistake_find(worst->why);
	const struct mistake *fix = &mistakes[mistake];
	struct fence fence;

	if (find_fence(words, worst, &fence))
		return -1;
	if (fence.is_written && !fix->is_changed && !worst->launch &&
		mistake != MISTAKE_reused_block)
		return say_written(words, worst, &fence, out);
	if (worst->launch)
		fputs("during capture, ", out);
	if (fix->record && say_record(words, worst, &fence, fix, out))
		return -1;
	fputs("let ", out);
	if (say_stream(words, worst->call, fence.later, "", out))
		return -1;
	fputs(fix->record ? " wait for it before " : " wait for the event before ", out);
	if (say_step(words, worst->call, out))
		return -1;
	if (fix->rest && say_text(words, worst, fix->rest, out))
		return -1;
	if (mistake == MISTAKE_reused_block)
		return say_record_stream(words, worst, &fence, out);
	if (!worst->launch)
		say_framework(worst, &fence, out);
	return 0;
}

int pass_fix_hazard(struct words *words, const struct instance *worst, FILE *out)
{
	saying *say = other_fixes[mistake_find(worst->why)];
	int captured = worst->launch && !say ? words_is_captured(words, worst->call) : 1;
	struct instance fence = *worst;

	if (say)
		return say(words, worst, out);
	if (captured <= 0)
		return captured ? -1 : say_add_edge(words, worst, out);
	if (!worst->launch && place_fence(words, &fence))
		return -1;
	return say_fence(words, &fence, out);
}

/* --- accesses of the host --- */

int pass_say_host_access(struct words *words, const struct instance *worst, FILE *out)
{
	const struct pair *pair = find_pair(worst->kind);

	print(out, "the host %s what ", pair->verb);
	if (words_operation(words, worst->other_call, out))
		return -1;
	print(out, " %s, without having waited for it", pair->other);
	return 0;
}

int pass_fix_host_access(struct words *words, const struct instance *worst, FILE *out)
{
	const struct framework *framework =
		framework_of_call(words_frames(words), worst->other_call);
	char earlier[STREAM_EXPRESSION_SIZE];

	if (say_host_wait(words, worst, earlier, out))
		return -1;
	fputs("the host goes on", out);
	if (words_place(words, worst->call, out) < 0)
		return -1;
	if (framework && *earlier) {
		print(out, "; in %s ", framework->name);
		say_code(framework->wait, "", earlier, out);
	}
	return 0;
}
