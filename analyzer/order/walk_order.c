/* SPDX-License-Identifier: Apache-2.0 */
#include "walk_order.h"

#include <string.h>

int walk_cursor_open(struct walk_cursor *cursor, struct db *db, const char *sql)
{
	cursor->rows = db_prepare(db, sql);
	return cursor->rows ? walk_cursor_step(cursor) : -1;
}

int walk_cursor_step(struct walk_cursor *cursor)
{
	cursor->row = db_step(cursor->rows);
	return cursor->row < 0 ? -1 : 0;
}

int walk_cursor_at(struct walk_cursor *cursor, int64_t call)
{
	while (cursor->row > 0 && sqlite3_column_int64(cursor->rows, 0) < call)
		if (walk_cursor_step(cursor))
			return -1;
	return cursor->row > 0 && sqlite3_column_int64(cursor->rows, 0) == call;
}

void walk_cursor_close(struct walk_cursor *cursor)
{
	sqlite3_finalize(cursor->rows);
	cursor->rows = NULL;
}

static void take_object(struct walk_call *call, const char *role, int64_t object)
{
	const struct {
		const char *role;
		int64_t *to;
	} roles[] = {
		{ "exec", &call->exec },
		{ "event", &call->event2 },
		{ "dst_context", &call->dst_context },
		{ "src_context", &call->src_context },
		{ "launch_event", &call->launch_event },
		{ "completion_event", &call->completion_event },
	};

	if (!strcmp(role, "captured"))
		call->captured = 1;
	else if (!strcmp(role, "attributes"))
		call->attributes = (unsigned)object;
	else if (!strcmp(role, "content"))
		call->content = (unsigned)object;
	for (size_t i = 0; i < sizeof(roles) / sizeof(*roles); i++)
		if (!strcmp(role, roles[i].role))
			*roles[i].to = object;
}

static int fill_objects(struct walk_cursor *cursor, struct walk_call *call)
{
	int rc;

	while ((rc = walk_cursor_at(cursor, call->id)) > 0) {
		take_object(call, (const char *)sqlite3_column_text(cursor->rows, 1),
			sqlite3_column_int64(cursor->rows, 2));
		if (walk_cursor_step(cursor))
			return -1;
	}
	return rc;
}

static int fill_freed(struct walk_cursor *cursor, struct walk_call *call)
{
	int rc = walk_cursor_at(cursor, call->id);

	if (rc <= 0)
		return rc;
	call->freed_async = sqlite3_column_int(cursor->rows, 1);
	if (sqlite3_column_type(cursor->rows, 2) != SQLITE_NULL)
		call->owner_device = sqlite3_column_int(cursor->rows, 2);
	return 0;
}

int walk_order_fill(struct walk_order *order, struct walk_call *call)
{
	int visible = walk_cursor_at(&order->visible, call->id);
	int thread = walk_cursor_at(&order->threads, call->id);

	call->owner_device = -1;
	call->host_visible = visible > 0;
	if (thread > 0)
		call->other_thread = sqlite3_column_int64(order->threads.rows, 1);
	call->contested = contested_of(&order->contested, call->id);
	return visible < 0 || thread < 0 || fill_objects(&order->objects, call) ||
			fill_freed(&order->freed, call)
		? -1
		: 0;
}

int walk_order_open(struct walk_order *order, struct db *db, const enum call_kind *kind,
	size_t kind_count)
{
	*order = (struct walk_order){ .contested = { 0 } };
	return walk_cursor_open(&order->objects, db,
		       "SELECT call, role, object FROM call_object ORDER BY call") ||
			walk_cursor_open(&order->freed, db,
				"SELECT a.freed, a.memory = 'async', x.device FROM allocation a "
				"LEFT JOIN call c ON c.id = a.created "
				"LEFT JOIN context x ON x.id = c.context "
				"WHERE a.freed NOT NULL ORDER BY a.freed") ||
			/* Mapped host memory that a kernel was given, managed memory written. */
			walk_cursor_open(&order->visible, db,
				"SELECT o.call FROM operand o "
				"JOIN allocation a ON a.id = o.allocation "
				"WHERE (o.role IN ('word', 'node') "
				"AND a.memory IN ('pinned', 'registered', 'managed')) "
				"OR (o.role = 'dst' AND a.memory = 'managed') ORDER BY o.call") ||
			walk_cursor_open(&order->threads, db,
				"SELECT made_by, id FROM thread WHERE made_by NOT NULL UNION ALL "
				"SELECT joined_by, id FROM thread WHERE joined_by NOT NULL "
				"ORDER BY 1") ||
			contested_find(db, kind, kind_count, &order->contested)
		? -1
		: 0;
}

void walk_order_close(struct walk_order *order)
{
	walk_cursor_close(&order->objects);
	walk_cursor_close(&order->freed);
	walk_cursor_close(&order->visible);
	walk_cursor_close(&order->threads);
	contested_release(&order->contested);
}
