/* SPDX-License-Identifier: Apache-2.0 */
#include "walk.h"

#include <stdlib.h>
#include <string.h>

#include "walk_order.h"
#include "work.h"

#include "stretches.h"

struct kinds {
	enum call_kind *kind; /* by call_type.id */
	size_t count;
};

/* Three cursors in order of call: calls, their operations, their overhead. */
struct walk {
	sqlite3_stmt *calls, *ops, *overhead;
	int more_ops, more_overhead; /* the cursor stands on a row */
	struct kinds kinds;
	struct stretches stretches;
	struct walk_order order;
};

static enum call_kind kind_of(const char *name)
{
	for (int i = 0; i < KIND_COUNT; i++) {
		if (!strcmp(call_kind_names[i], name))
			return i;
	}
	return KIND_OTHER; /* recorded by a newer cufence: a call without meaning here */
}

static int read_kinds(struct db *db, struct kinds *kinds)
{
	size_t count = (size_t)db_int(db, "SELECT max(id) + 1 FROM call_type", 0);
	sqlite3_stmt *q = db_prepare(db, "SELECT id, kind, runtime FROM call_type WHERE id >= 0");
	int rc = -1;

	if (!q)
		return -1;
	kinds->kind = calloc(count + 1, sizeof(*kinds->kind));
	if (!kinds->kind)
		goto out;
	kinds->count = count;
	while ((rc = db_step(q)) > 0) {
		int runtime = sqlite3_column_int(q, 2);
		const char *name = (const char *)sqlite3_column_text(q, 1);

		kinds->kind[sqlite3_column_int64(q, 0)] = runtime ? KIND_RUNTIME : kind_of(name);
	}
out:
	sqlite3_finalize(q);
	return rc;
}

static int64_t column(sqlite3_stmt *q, int i, int64_t otherwise)
{
	return sqlite3_column_type(q, i) == SQLITE_NULL ? otherwise : sqlite3_column_int64(q, i);
}

static enum memory_kind memory_of(const unsigned char *name)
{
	static const struct {
		const char *name;
		enum memory_kind kind;
	} names[] = {
		{ "pageable", MEMORY_PAGEABLE },
		{ "pinned", MEMORY_PINNED },
		{ "registered", MEMORY_PINNED },
		{ "device", MEMORY_DEVICE },
		{ "async", MEMORY_DEVICE },
		{ "managed", MEMORY_MANAGED },
	};

	for (size_t i = 0; name && i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(names[i].name, (const char *)name))
			return names[i].kind;
	}
	return MEMORY_UNKNOWN;
}

enum stream_kind walk_stream_kind(const char *name)
{
	if (!name)
		return STREAM_KIND_UNKNOWN;
	switch (name[0]) {
	case 'l':
		return STREAM_KIND_LEGACY;
	case 'p':
		return STREAM_KIND_THREAD;
	case 'b':
		return STREAM_KIND_BLOCKING;
	case 'n':
		return STREAM_KIND_NON_BLOCKING;
	}
	return STREAM_KIND_UNKNOWN;
}

/* cudaMemcpyDefault and cuMemcpy: what the memory says, as the driver itself decides. */
static enum copy_direction direction_of(const struct walk_call *call, int64_t recorded)
{
	int from_host = call->src == MEMORY_PAGEABLE || call->src == MEMORY_PINNED;
	int to_host = call->dst == MEMORY_PAGEABLE || call->dst == MEMORY_PINNED;

	if (recorded >= COPY_H2H && recorded < COPY_DEFAULT)
		return (enum copy_direction)recorded;
	if (call->src == MEMORY_UNKNOWN || call->dst == MEMORY_UNKNOWN ||
		call->src == MEMORY_MANAGED || call->dst == MEMORY_MANAGED)
		return COPY_DEFAULT;
	return from_host ? (to_host ? COPY_H2H : COPY_H2D) : (to_host ? COPY_D2H : COPY_D2D);
}

#define CALLS_SQL \
	"SELECT c.id, c.process, c.thread, c.enter, c.exit, c.result, c.context, c.stream," \
	" c.event, c.bytes, c.type, c.direction, c.src_memory, c.dst_memory, s.kind, s.context," \
	" x.device, c.ptr, x.green, c.kernel " \
	"FROM call c LEFT JOIN stream s ON s.id = c.stream " \
	"LEFT JOIN context x ON x.id = ifnull(c.context, s.context) "

static void read_call(sqlite3_stmt *q, const struct kinds *kinds, struct walk_call *call)
{
	int64_t type = sqlite3_column_int64(q, 10);

	*call = (struct walk_call){
		.id = sqlite3_column_int64(q, 0),
		.process = sqlite3_column_int64(q, 1),
		.thread = sqlite3_column_int64(q, 2),
		.enter = sqlite3_column_int64(q, 3),
		.exit = column(q, 4, WALK_NEVER),
		.result = column(q, 5, 0),
		.context = column(q, 6, 0),
		.stream = column(q, 7, 0),
		.event = column(q, 8, 0),
		.ptr = column(q, 17, 0),
		.green = sqlite3_column_int(q, 18),
		.kernel = column(q, 19, 0),
		.bytes = column(q, 9, 0),
		.type = type,
		.kind = type >= 0 && (size_t)type < kinds->count ? kinds->kind[type] : KIND_OTHER,
		.src = memory_of(sqlite3_column_text(q, 12)),
		.dst = memory_of(sqlite3_column_text(q, 13)),
		.stream_kind = walk_stream_kind((const char *)sqlite3_column_text(q, 14)),
		.stream_context = column(q, 15, 0),
		.device = (int)column(q, 16, -1),
		.op_start = WALK_NEVER,
		.op_end = WALK_NEVER,
	};
	call->direction = direction_of(call, column(q, 11, COPY_DEFAULT));
}

static void add_op(struct walk_call *call, int64_t op, int64_t start, int64_t end)
{
	if (start < call->op_start)
		call->op_start = start;
	if (!call->op ||
		(end != WALK_NEVER && (call->op_end == WALK_NEVER || end > call->op_end))) {
		call->op = op;
		call->op_end = end;
	}
	if (start != WALK_NEVER && end != WALK_NEVER)
		call->op_busy += end - start;
}

static void add_op_row(struct walk_call *call, sqlite3_stmt *q)
{
	add_op(call, sqlite3_column_int64(q, 1), column(q, 2, WALK_NEVER),
		column(q, 3, WALK_NEVER));
}

/* Takes the operations of the call; those of calls passed over (runtime calls) fall away. */
static int read_ops(struct walk *walk, struct walk_call *call)
{
	while (walk->more_ops > 0 && sqlite3_column_int64(walk->ops, 0) <= call->id) {
		if (sqlite3_column_int64(walk->ops, 0) == call->id)
			add_op_row(call, walk->ops);
		walk->more_ops = db_step(walk->ops);
	}
	return walk->more_ops < 0 ? -1 : 0;
}

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
	return value < low ? low : value > high ? high : value;
}

/* Overhead intervals of a call, in order of start; overlapping ones count once. */
static int read_overhead(struct walk *walk, struct walk_call *call)
{
	int64_t covered = call->enter;

	while (walk->more_overhead > 0 && sqlite3_column_int64(walk->overhead, 0) <= call->id) {
		int64_t start = sqlite3_column_int64(walk->overhead, 1);
		int64_t end = sqlite3_column_int64(walk->overhead, 2);

		if (sqlite3_column_int64(walk->overhead, 0) == call->id) {
			start = clamp(start, covered, call->exit);
			end = clamp(end, start, call->exit);
			call->overhead += end - start;
			covered = end;
		}
		walk->more_overhead = db_step(walk->overhead);
	}
	return walk->more_overhead < 0 ? -1 : 0;
}

static int prepare(struct db *db, struct walk *walk)
{
	if (work_need(db))
		return -1;
	walk->calls = db_prepare(db, CALLS_SQL "ORDER BY c.id");
	walk->ops = db_prepare(db,
		"SELECT call, id, start, end FROM work "
		"WHERE call IS NOT NULL ORDER BY call, id");
	walk->overhead = db_prepare(db,
		"SELECT call, start, end FROM overhead "
		"WHERE call IS NOT NULL ORDER BY call, start");
	if (!walk->calls || !walk->ops || !walk->overhead || read_kinds(db, &walk->kinds) ||
		stretches_load(&walk->stretches, db) ||
		walk_order_open(&walk->order, db, walk->kinds.kind, walk->kinds.count))
		return -1;
	walk->more_ops = db_step(walk->ops);
	walk->more_overhead = db_step(walk->overhead);
	return walk->more_ops < 0 || walk->more_overhead < 0 ? -1 : 0;
}

int walk(struct db *db, int (*visit)(void *arg, const struct walk_call *call), void *arg)
{
	struct walk w = { 0 };
	struct walk_call call;
	int rc = prepare(db, &w);

	while (!rc && (rc = db_step(w.calls)) > 0) {
		rc = 0;
		read_call(w.calls, &w.kinds, &call);
		if (call.kind == KIND_RUNTIME)
			continue;
		call.stretch = stretches_find(&w.stretches, call.process, call.enter);
		rc = read_ops(&w, &call) || read_overhead(&w, &call) ||
			walk_order_fill(&w.order, &call) || visit(arg, &call);
	}
	sqlite3_finalize(w.calls);
	sqlite3_finalize(w.ops);
	sqlite3_finalize(w.overhead);
	free(w.kinds.kind);
	stretches_release(&w.stretches);
	walk_order_close(&w.order);
	return rc ? -1 : 0;
}

struct walk_thread {
	sqlite3_stmt *calls, *ops;
	struct kinds kinds;
	struct stretches stretches;
};

struct walk_thread *walk_thread_open(struct db *db)
{
	struct walk_thread *walk = calloc(1, sizeof(*walk));

	if (!walk)
		return NULL;
	walk->calls = db_prepare(db, CALLS_SQL "WHERE c.thread = ? AND c.id > ? ORDER BY c.id");
	walk->ops = db_prepare(db, "SELECT call, id, start, end FROM work WHERE call = ?");
	if (walk->calls && walk->ops && !read_kinds(db, &walk->kinds) &&
		!stretches_load(&walk->stretches, db))
		return walk;
	walk_thread_close(walk);
	return NULL;
}

int walk_thread_seek(struct walk_thread *walk, int64_t thread, int64_t after_call)
{
	return db_bind(walk->calls, "ii", thread, after_call);
}

int walk_thread_next(struct walk_thread *walk, struct walk_call *call)
{
	int rc;

	while ((rc = db_step(walk->calls)) > 0) {
		read_call(walk->calls, &walk->kinds, call);
		if (call->kind == KIND_RUNTIME)
			continue;
		call->stretch = stretches_find(&walk->stretches, call->process, call->enter);
		if (!walk_submits(call))
			return 1;
		if (db_bind(walk->ops, "i", call->id))
			return -1;
		while ((rc = db_step(walk->ops)) > 0)
			add_op_row(call, walk->ops);
		return rc ? rc : 1;
	}
	return rc;
}

void walk_thread_close(struct walk_thread *walk)
{
	if (!walk)
		return;
	sqlite3_finalize(walk->calls);
	sqlite3_finalize(walk->ops);
	free(walk->kinds.kind);
	stretches_release(&walk->stretches);
	free(walk);
}

int walk_submits(const struct walk_call *call)
{
	return kind_has(call->kind, K_WORK);
}
