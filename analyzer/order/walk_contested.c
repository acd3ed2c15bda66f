/* SPDX-License-Identifier: Apache-2.0 */
#include "walk_contested.h"

#include <stdlib.h>

#include "array.h"
#include "idmap.h"

/* The last call of each thread on one stream or event. */
struct shared {
	struct last_call {
		int64_t call, thread, exit;
		int changes; /* what the stream or event stands for */
	} * last;
	size_t count;
};

struct finder {
	struct contested *contested;
	struct idmap streams, events;
};

static int note(struct contested *contested, int64_t call, unsigned by)
{
	struct contested_call *more = array_room(contested->list, contested->count, sizeof(*more));

	if (!more)
		return -1;
	contested->list = more;
	more[contested->count++] = (struct contested_call){ .call = call, .by = by };
	return 0;
}

/* Waits and questions change nothing, whatever their order. */
static int changes_stream(enum call_kind kind)
{
	return kind != KIND_STREAM_SYNC && kind != KIND_STREAM_QUERY &&
		kind != KIND_STREAM_CREATE && kind != KIND_STREAM_ATTRIBUTE &&
		kind != KIND_CAPTURE_INFO;
}

static int keep_last(struct shared *shared, const struct last_call *last)
{
	struct last_call *more;

	for (size_t i = 0; i < shared->count; i++) {
		if (shared->last[i].thread == last->thread) {
			shared->last[i] = *last;
			return 0;
		}
	}
	more = array_room(shared->last, shared->count, sizeof(*more));
	if (!more)
		return -1;
	shared->last = more;
	more[shared->count++] = *last;
	return 0;
}

static int see(struct finder *finder, struct idmap *map, int64_t object, int64_t enter,
	const struct last_call *call)
{
	unsigned by = map == &finder->streams ? CONTESTED_STREAM : CONTESTED_EVENT;
	struct shared *shared = object ? idmap_need(map, object, sizeof(*shared)) : NULL;

	if (!shared)
		return object ? -1 : 0;
	for (size_t i = 0; i < shared->count; i++) {
		const struct last_call *other = &shared->last[i];

		if (other->thread == call->thread || other->exit <= enter ||
			(!other->changes && !call->changes))
			continue;
		if (note(finder->contested, other->call, by) ||
			note(finder->contested, call->call, by))
			return -1;
	}
	return keep_last(shared, call);
}

static int compare(const void *a, const void *b)
{
	const struct contested_call *p = a, *q = b;

	return p->call < q->call ? -1 : p->call > q->call;
}

static void put_in_order(struct contested *contested)
{
	size_t kept = 0;

	if (contested->count)
		qsort(contested->list, contested->count, sizeof(*contested->list), compare);
	for (size_t i = 0; i < contested->count; i++) {
		if (kept && contested->list[kept - 1].call == contested->list[i].call)
			contested->list[kept - 1].by |= contested->list[i].by;
		else
			contested->list[kept++] = contested->list[i];
	}
	contested->count = kept;
}

static void free_shared(void *object)
{
	struct shared *shared = object;

	free(shared->last);
	free(shared);
}

static int see_row(struct finder *finder, sqlite3_stmt *q, const enum call_kind *kind,
	size_t kind_count)
{
	int64_t type = sqlite3_column_int64(q, 6);
	enum call_kind k = type >= 0 && (size_t)type < kind_count ? kind[type] : KIND_OTHER;
	struct last_call call = { .call = sqlite3_column_int64(q, 0),
		.thread = sqlite3_column_int64(q, 1),
		.exit = sqlite3_column_type(q, 5) == SQLITE_NULL ? WALK_NEVER
								 : sqlite3_column_int64(q, 5) };
	int64_t enter = sqlite3_column_int64(q, 4);

	if (k == KIND_RUNTIME)
		return 0;
	call.changes = changes_stream(k);
	if (see(finder, &finder->streams, sqlite3_column_int64(q, 2), enter, &call))
		return -1;
	call.changes = k == KIND_EVENT_RECORD || k == KIND_EVENT_DESTROY;
	return see(finder, &finder->events, sqlite3_column_int64(q, 3), enter, &call);
}

int contested_find(struct db *db, const enum call_kind *kind, size_t kind_count,
	struct contested *contested)
{
	struct finder finder = { .contested = contested };
	sqlite3_stmt *q;
	int rc = -1;

	*contested = (struct contested){ 0 };
	if (db_int(db, "SELECT max(n) FROM (SELECT count(*) AS n FROM thread GROUP BY process)",
		    0) < 2)
		return 0;
	q = db_prepare(db,
		"SELECT id, thread, stream, event, enter, exit, type FROM call "
		"WHERE (stream NOT NULL OR event NOT NULL) AND ifnull(result, 0) = 0 ORDER BY id");
	if (!q)
		return -1;
	while ((rc = db_step(q)) > 0 && !see_row(&finder, q, kind, kind_count))
		;
	sqlite3_finalize(q);
	idmap_release(&finder.streams, free_shared);
	idmap_release(&finder.events, free_shared);
	put_in_order(contested);
	return rc ? -1 : 0;
}

unsigned contested_of(struct contested *contested, int64_t call)
{
	while (contested->at < contested->count && contested->list[contested->at].call < call)
		contested->at++;
	if (contested->at < contested->count && contested->list[contested->at].call == call)
		return contested->list[contested->at].by;
	return 0;
}

void contested_release(struct contested *contested)
{
	free(contested->list);
	*contested = (struct contested){ 0 };
}
