/* SPDX-License-Identifier: Apache-2.0 */
#include "words.h"

#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "code_frames.h"
#include "constants.h"
#include "format.h"
#include "kernel_names.h"
#include "print.h"
#include "run_columns.h"
#include "stream_sql.h"
#include "work.h"

/* Calls within calls: the recorder makes two or three. */
#define MAX_DEPTH 16

struct words {
	struct db *db;
	struct code_frames *frames;
	sqlite3_stmt *parent, *name, *operation, *kernel, *label, *node, *place, *captured, *script,
		*clock;
};

static const char name_sql[] =
	"SELECT t.name, t.runtime, s.api FROM call c JOIN call_type t ON t.id = c.type "
	"LEFT JOIN site s ON s.id = c.site WHERE c.id = ?";

static const char operation_sql[] =
	"SELECT t.kind, ifnull(" KERNEL_LABEL("k") ", (SELECT " KERNEL_LABEL("k2")
	" FROM work o JOIN kernel k2 "
	" ON k2.id = o.kernel WHERE o.call = c.id)), c.bytes, c.direction, s.kind, "
	STREAM_WORDS("s") ", (SELECT x.device FROM context x WHERE x.id = s.context AND EXISTS "
	" (SELECT 1 FROM context y WHERE y.process = x.process AND y.device <> x.device)) "
	"FROM call c JOIN call_type t ON t.id = c.type LEFT JOIN kernel k ON k.id = c.kernel "
	"LEFT JOIN stream s ON s.id = c.stream WHERE c.id = ?";

struct words *words_open(struct db *db)
{
	struct words *words = calloc(1, sizeof(*words));

	if (!words || work_need(db)) {
		free(words);
		return NULL;
	}
	words->db = db;
	words->frames = code_frames_open(db);
	words->parent = db_prepare(db, "SELECT parent FROM call WHERE id = ?");
	words->name = db_prepare(db, name_sql);
	words->operation = db_prepare(db, operation_sql);
	words->kernel = db_prepare(db,
		"SELECT ifnull(k.name, ko.name) FROM call c "
		"LEFT JOIN kernel k ON k.id = c.kernel LEFT JOIN work o ON o.call = c.id "
		"LEFT JOIN kernel ko ON ko.id = o.kernel WHERE c.id = ?");
	words->label = db_prepare(db,
		"SELECT ifnull(" KERNEL_LABEL("k") ", " KERNEL_LABEL("ko") ") FROM call c "
		"LEFT JOIN kernel k ON k.id = c.kernel LEFT JOIN work o ON o.call = c.id "
		"LEFT JOIN kernel ko ON ko.id = o.kernel WHERE c.id = ?");
	words->node = db_prepare(db,
		"SELECT ifnull((SELECT type FROM graph_change WHERE call = ?1), "
		"(SELECT type FROM graph_node WHERE call = ?1))");
	words->place = db_prepare(db,
		"SELECT s.text FROM call c JOIN site s ON s.id = c.site WHERE c.id = ?");
	words->captured = db_prepare(db,
		"SELECT EXISTS (SELECT 1 FROM call_object WHERE call = ? AND role = 'captured')");
	words->script = db_prepare(db, "SELECT EXISTS (SELECT 1 FROM code WHERE process = ?)");
	words->clock = db_prepare(db,
		"SELECT s.text FROM wait_clock w JOIN site s ON s.id = w.site WHERE w.call = ?");
	if (words->frames && words->parent && words->name && words->operation && words->kernel &&
		words->label && words->node && words->place && words->captured && words->script &&
		words->clock)
		return words;
	words_close(words);
	return NULL;
}

void words_close(struct words *words)
{
	if (!words)
		return;
	code_frames_close(words->frames);
	sqlite3_finalize(words->parent);
	sqlite3_finalize(words->name);
	sqlite3_finalize(words->operation);
	sqlite3_finalize(words->kernel);
	sqlite3_finalize(words->label);
	sqlite3_finalize(words->node);
	sqlite3_finalize(words->place);
	sqlite3_finalize(words->captured);
	sqlite3_finalize(words->script);
	sqlite3_finalize(words->clock);
	free(words);
}

struct db *words_db(const struct words *words)
{
	return words->db;
}

struct code_frames *words_frames(struct words *words)
{
	return words->frames;
}

/* 0: none; -1 after a message. */
static int64_t parent_of(struct words *words, int64_t call)
{
	const struct run *run = words->db->run;
	int64_t parent;

	if (run)
		return run_call(run, call) ? run_link(run, call)->parent : 0;
	if (db_bind(words->parent, "i", call) || db_step(words->parent) < 0)
		return -1;
	parent = sqlite3_column_int64(words->parent, 0);
	sqlite3_reset(words->parent);
	return parent;
}

int64_t words_outermost(struct words *words, int64_t call)
{
	for (int depth = 0; depth < MAX_DEPTH; depth++) {
		int64_t parent = parent_of(words, call);

		if (parent < 0)
			return -1;
		if (!parent)
			break;
		call = parent;
	}
	return call;
}

/* cuMemFree_v2 is written cuMemFree.  The launch syntax has no function name. */
static void write_name(const char *name, int runtime, FILE *out)
{
	size_t length = strlen(name);

	if (!strcmp(name, "__cudaLaunchKernel")) {
		fputs("a launch", out);
		return;
	}
	if (!runtime && length > 3 && name[length - 3] == '_' && name[length - 2] == 'v')
		length -= 3;
	print(out, "%.*s", (int)length, name);
}

int words_call(struct words *words, int64_t call, FILE *out)
{
	int64_t outermost = words_outermost(words, call);
	sqlite3_stmt *q = words->name;
	int rc;

	if (outermost < 0 || db_bind(q, "i", outermost))
		return -1;
	rc = db_step(q);
	if (rc > 0) {
		const char *api = (const char *)sqlite3_column_text(q, 2);
		int runtime = sqlite3_column_int(q, 1);

		if (api && !runtime)
			write_name(api, 1, out);
		else
			write_name((const char *)sqlite3_column_text(q, 0), runtime, out);
	}
	sqlite3_reset(q);
	return rc < 0 ? -1 : 0;
}

/* The work that a call submits.  sized: with the number of bytes. */
struct what {
	const char *text;
	int sized, orders;
};

static struct what what_of(enum call_kind kind)
{
	static const struct what of_family[FAMILY_COUNT] = {
		[FAMILY_copy] = { "a copy between devices", 0, 0 },
		[FAMILY_set] = { "a memset", 1, 0 },
		[FAMILY_stream_allocation] = { "an allocation", 1, 0 },
		[FAMILY_stream_free] = { "a free", 0, 0 },
		[FAMILY_graph_launch] = { "a graph", 0, 0 },
		[FAMILY_event] = { "an event record", 0, 1 },
		[FAMILY_event_wait] = { "a wait for an event", 0, 1 },
		[FAMILY_callback] = { "a host function", 0, 1 },
	};

	if (call_is_copy(kind))
		return (struct what){ "a copy", 1, 0 };
	if (kind == KIND_COPY_BATCH)
		return (struct what){ "a batch of copies", 0, 0 };
	if (kind == KIND_PREFETCH)
		return (struct what){ "a prefetch", 1, 0 };
	if (kind == KIND_STREAM_VALUE_WAIT)
		return (struct what){ "a wait for a value in memory", 0, 0 };
	if (kind == KIND_STREAM_MEMOP)
		return (struct what){ "a batch of memory operations", 0, 0 };
	if (kind == KIND_EXTERNAL_WAIT)
		return (struct what){ "a wait for a semaphore", 0, 0 };
	return of_family[kind_family(kind)];
}

static void write_work(sqlite3_stmt *q, FILE *out)
{
	static const char *const to[] = { " between host buffers", " to the device", " to the host",
		" within the device" };
	enum call_kind kind = call_kind_named((const char *)sqlite3_column_text(q, 0));
	const char *kernel = (const char *)sqlite3_column_text(q, 1);
	struct what what = what_of(kind);
	int64_t direction = sqlite3_column_int64(q, 3);
	char size[DURATION_SIZE];

	if (kind_family(kind) == FAMILY_launch) {
		print(out, kernel ? "kernel '%s'" : "a kernel", kernel);
		return;
	}
	fputs(what.text ? what.text : "an operation", out);
	if (what.sized) {
		fputs(" of ", out);
		fputs(format_bytes(size, sqlite3_column_int64(q, 2)), out);
	}
	if (call_is_copy(kind) && direction >= 0 && direction < 4)
		fputs(to[direction], out);
}

static void write_stream(sqlite3_stmt *q, const char *before, FILE *out)
{
	if (sqlite3_column_type(q, 5) == SQLITE_NULL)
		return;
	print(out, "%s%s", before, db_text(q, 5));
	/* Streams of different devices may have the same number. */
	if (sqlite3_column_type(q, 6) != SQLITE_NULL)
		print(out, " of device %d", sqlite3_column_int(q, 6));
}

int words_operation(struct words *words, int64_t call, FILE *out)
{
	sqlite3_stmt *q = words->operation;
	int rc = db_bind(q, "i", call) ? -1 : db_step(q);

	if (rc > 0) {
		write_work(q, out);
		write_stream(q, " on ", out);
	}
	sqlite3_reset(q);
	return rc < 0 ? -1 : 0;
}

/* The text for a node's type, for nodes whose call does not name an operation. */
static const char *node_of_type(const char *type)
{
	static const char *const types[][2] = { { "copy", "a copy" }, { "set", "a memset" },
		{ "alloc", "an allocation" }, { "free", "a free" } };

	for (size_t i = 0; type && i < sizeof(types) / sizeof(*types); i++)
		if (!strcmp(type, types[i][0]))
			return types[i][1];
	return "a node";
}

int words_node(struct words *words, int64_t call, FILE *out)
{
	sqlite3_stmt *q = words->operation;
	int rc = db_bind(q, "i", call) || db_bind(words->node, "i", call) ? -1 : db_step(q);

	if (rc > 0 && sqlite3_column_type(q, 1) != SQLITE_NULL)
		print(out, "kernel '%s'", (const char *)sqlite3_column_text(q, 1));
	else if (rc > 0 && what_of(call_kind_named((const char *)sqlite3_column_text(q, 0))).text)
		write_work(q, out);
	else if (rc > 0 && (rc = db_step(words->node)) > 0)
		fputs(node_of_type((const char *)sqlite3_column_text(words->node, 0)), out);
	sqlite3_reset(q);
	sqlite3_reset(words->node);
	return rc < 0 ? -1 : 0;
}

int words_stream(struct words *words, int64_t call, const char *before, FILE *out)
{
	sqlite3_stmt *q = words->operation;
	int rc = db_bind(q, "i", call) ? -1 : db_step(q);

	if (rc > 0)
		write_stream(q, before, out);
	sqlite3_reset(q);
	return rc < 0 ? -1 : 0;
}

static uint32_t distance(uint32_t id, int64_t call)
{
	return (uint32_t)(id > call ? id - call : call - id);
}

/* *stream: the stream that uses it; 0: none found yet. */
static int64_t find_user(const struct run *run, int64_t call, uint32_t thread, uint32_t *stream)
{
	uint32_t first = call > ROW_CALLS ? (uint32_t)call - ROW_CALLS : 1;
	int64_t user = 0;

	for (uint32_t id = first; id < call + ROW_CALLS && id < run_call_end(run); id++) {
		const struct run_call *other = run_call(run, id);

		if (!other || !other->stream || (thread && other->thread != thread) ||
			run_stream(run, other->stream)->kind == STREAM_KIND_LEGACY ||
			!run_shares(run, call, id))
			continue;
		if (*stream && *stream != other->stream)
			return 0;
		*stream = other->stream;
		if (!user || distance(id, call) < distance((uint32_t)user, call))
			user = id;
	}
	return user;
}

int64_t words_user_of_memory(struct words *words, int64_t call)
{
	const struct run *run = words->db->run;
	const struct run_call *own = run ? run_call(run, call) : NULL;
	uint32_t stream = 0;
	int64_t user = own ? find_user(run, call, own->thread, &stream) : 0;

	return !own || stream ? user : find_user(run, call, 0, &stream);
}

int words_in_default_stream(struct words *words, int64_t call)
{
	sqlite3_stmt *q = words->operation;
	int rc = db_bind(q, "i", call) ? -1 : db_step(q);

	if (rc > 0) {
		const char *kind = (const char *)sqlite3_column_text(q, 4);

		rc = kind && (!strcmp(kind, "legacy") || !strcmp(kind, "per-thread"));
	}
	sqlite3_reset(q);
	return rc;
}

int words_place(struct words *words, int64_t call, FILE *out)
{
	sqlite3_stmt *q = words->place;
	int rc = db_bind(q, "i", call) ? -1 : db_step(q);

	if (rc > 0 && sqlite3_column_type(q, 0) != SQLITE_NULL)
		print(out, " (%s)", (const char *)sqlite3_column_text(q, 0));
	sqlite3_reset(q);
	return rc < 0 ? -1 : 0;
}

int words_clock(struct words *words, int64_t call, const char *before, FILE *out)
{
	sqlite3_stmt *q = words->clock;
	int rc = db_bind(q, "i", words_outermost(words, call)) ? -1 : db_step(q);

	if (rc > 0)
		print(out, "%s%s", before, db_text(q, 0));
	sqlite3_reset(q);
	return rc < 0 ? -1 : 0;
}

/* The one number that a query returns for an id. */
static int query_number(sqlite3_stmt *q, int64_t id)
{
	int rc = db_bind(q, "i", id) ? -1 : db_step(q);

	if (rc > 0)
		rc = sqlite3_column_int(q, 0);
	sqlite3_reset(q);
	return rc;
}

int words_is_captured(struct words *words, int64_t call)
{
	return query_number(words->captured, call);
}

int words_has_script(struct words *words, int64_t process)
{
	return query_number(words->script, process);
}

int words_only_orders(struct words *words, int64_t call)
{
	sqlite3_stmt *q = words->operation;
	int rc = db_bind(q, "i", call) ? -1 : db_step(q);

	if (rc > 0)
		rc = what_of(call_kind_named((const char *)sqlite3_column_text(q, 0))).orders;
	sqlite3_reset(q);
	return rc;
}

/* The one text that a query returns for a call. */
static const char *query_text(sqlite3_stmt *q, int64_t call)
{
	const char *text = NULL;

	if (!db_bind(q, "i", call) && db_step(q) > 0)
		text = (const char *)sqlite3_column_text(q, 0);
	return text ? text : "";
}

const char *words_kernel(struct words *words, int64_t call)
{
	return query_text(words->kernel, call);
}

const char *words_kernel_label(struct words *words, int64_t call)
{
	return query_text(words->label, call);
}

void words_time(int64_t ns, FILE *out)
{
	char text[DURATION_SIZE];

	fputs(format_duration(text, ns), out);
}
