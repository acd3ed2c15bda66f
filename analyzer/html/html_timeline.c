/* SPDX-License-Identifier: Apache-2.0 */
#include "html_timeline.h"

#include <stdlib.h>
#include <string.h>

#include "html_lanes.h"
#include "html_ranges.h"
#include "kernel_names.h"
#include "memory.h"

/* Named as in the timeline of the text report.  A runtime call does what those within it do. */
static const char calls_sql[] =
	"SELECT c.id, c.parent, c.process, c.thread, c.enter,"
	" coalesce(c.exit, (SELECT end FROM process p WHERE p.id = c.process)),"
	" CASE WHEN s.api NOT NULL AND NOT t.runtime THEN s.api"
	"  WHEN t.name LIKE '%LaunchKernel%' THEN 'launch' ELSE t.name END, c.site,"
	" k.work, k.waits <> 'nothing' FROM call c JOIN call_type t ON t.id = c.type"
	" LEFT JOIN call_kind k ON k.name = t.kind LEFT JOIN site s ON s.id = c.site"
	" ORDER BY c.id LIMIT ?1";

enum call_column {
	CALL_ID,
	CALL_PARENT,
	CALL_PROCESS,
	CALL_THREAD,
	CALL_ENTER,
	CALL_EXIT,
	CALL_NAME,
	CALL_SITE,
	CALL_WORK,
	CALL_WAITS
};

static const char operations_sql[] =
	"SELECT o.id, o.process, o.device, o.stream, o.start, o.end, o.kind, o.call, o.bytes,"
	" CASE WHEN k.id NOT NULL THEN " KERNEL_LABEL("k") " END, o.src_memory, o.dst_memory,"
	" o.recorded_end NOT NULL"
	" FROM operation o LEFT JOIN kernel k ON k.id = o.kernel"
	" WHERE o.start NOT NULL AND o.end NOT NULL ORDER BY o.id LIMIT ?1";

enum operation_column {
	OPERATION_ID,
	OPERATION_PROCESS,
	OPERATION_DEVICE,
	OPERATION_STREAM,
	OPERATION_START,
	OPERATION_END,
	OPERATION_KIND,
	OPERATION_CALL,
	OPERATION_BYTES,
	OPERATION_KERNEL,
	OPERATION_SOURCE,
	OPERATION_TARGET,
	OPERATION_END_IS_LIMIT
};

static int64_t number(sqlite3_stmt *q, int column)
{
	return sqlite3_column_type(q, column) == SQLITE_NULL ? DB_NULL
							     : sqlite3_column_int64(q, column);
}

int64_t html_text_number(struct html_texts *texts, const char *text)
{
	uint64_t hash = map_hash(text, strlen(text));
	uint64_t found = map_get(&texts->known, hash, 0);

	if (found)
		return (int64_t)found - 1;
	*array_push(texts->text, texts->count) = xstrdup(text);
	map_set(&texts->known, hash, texts->count);
	return (int64_t)texts->count - 1;
}

struct html_item *html_item_add(struct html_items *items, int64_t lane, int64_t name)
{
	struct html_item *item;

	if (lane < 0 || name < 0)
		return NULL;
	item = array_push(items->item, items->count);
	*item = (struct html_item){ .lane = (uint32_t)lane, .name = (uint32_t)name };
	return item;
}

/* --- calls --- */

/* The place of a call's site, as in the text report. */
static int64_t site_number(struct html_timeline *timeline, sqlite3_stmt *site, int64_t id)
{
	uint64_t known = map_get(&timeline->site_number, (uint64_t)id, 0);
	int64_t made = 0;

	if (known || id == DB_NULL)
		return (int64_t)known;
	if (db_bind(site, "i", id))
		return -1;
	if (db_step(site) > 0)
		made = html_text_number(&timeline->sites, db_text(site, 0));
	if (made >= 0)
		map_set(&timeline->site_number, (uint64_t)id, (uint64_t)made);
	return made;
}

/* Remembers an inner call; the call around it is drawn as submitting or waiting, too. */
static int add_inner(struct html_timeline *timeline, sqlite3_stmt *q, int64_t last)
{
	struct html_items *calls = &timeline->calls;

	*array_push(timeline->inner, timeline->inners) =
		(struct html_inner){ sqlite3_column_int64(q, CALL_ID),
			sqlite3_column_int64(q, CALL_PARENT) };
	/* Calls of threads interleave, but inner calls follow their outer call closely. */
	for (int64_t i = last; i >= 0 && i > last - 64; i--) {
		struct html_item *item = &calls->item[i];

		if (item->id != sqlite3_column_int64(q, CALL_PARENT))
			continue;
		if (sqlite3_column_int(q, CALL_WORK))
			item->category = HTML_SUBMIT;
		else if (sqlite3_column_int(q, CALL_WAITS) && item->category == HTML_CALL)
			item->category = HTML_WAIT;
		break;
	}
	return 0;
}

static int add_call(struct html_lanes *lanes, sqlite3_stmt *q, sqlite3_stmt *site)
{
	struct html_timeline *timeline = lanes->timeline;
	int64_t at = site_number(timeline, site, number(q, CALL_SITE));
	struct html_item *item = at < 0
		? NULL
		: html_item_add(&timeline->calls,
			  html_lane_of_thread(lanes, sqlite3_column_int64(q, CALL_PROCESS),
				  sqlite3_column_int64(q, CALL_THREAD)),
			  html_text_number(&timeline->names, db_text(q, CALL_NAME)));

	if (!item)
		return -1;
	item->id = sqlite3_column_int64(q, CALL_ID);
	item->start = sqlite3_column_int64(q, CALL_ENTER);
	item->end = sqlite3_column_int64(q, CALL_EXIT);
	item->site = (uint32_t)at;
	item->category = sqlite3_column_int(q, CALL_WORK) ? HTML_SUBMIT
		: sqlite3_column_int(q, CALL_WAITS)       ? HTML_WAIT
							  : HTML_CALL;
	return 0;
}

static int read_calls(struct html_lanes *lanes)
{
	struct html_timeline *timeline = lanes->timeline;
	sqlite3_stmt *q = db_prepare(timeline->db, calls_sql);
	sqlite3_stmt *site = db_prepare(timeline->db,
		"SELECT CASE WHEN function NOT NULL THEN function || '  ' ELSE '' END ||"
		" coalesce(text, '') FROM site WHERE id = ?1");
	int step = q && site && html_text_number(&timeline->sites, "") == 0
		? db_bind(q, "i", (int64_t)HTML_CALL_LIMIT)
		: -1;

	while (!step && (step = db_step(q)) > 0)
		step = sqlite3_column_type(q, CALL_PARENT) == SQLITE_NULL
			? add_call(lanes, q, site)
			: add_inner(timeline, q, (int64_t)timeline->calls.count - 1);
	sqlite3_finalize(q);
	sqlite3_finalize(site);
	return step;
}

/* --- operations --- */

static enum html_category category_of(const char *kind)
{
	if (!strcmp(kind, "kernel"))
		return HTML_KERNEL;
	if (!strcmp(kind, "memset"))
		return HTML_MEMSET;
	return !strcmp(kind, "graph") ? HTML_GRAPH : HTML_COPY;
}

/* "copy pinned to device" */
static int64_t name_operation(struct html_timeline *timeline, sqlite3_stmt *q)
{
	const char *kernel = (const char *)sqlite3_column_text(q, OPERATION_KERNEL);
	const char *source = (const char *)sqlite3_column_text(q, OPERATION_SOURCE);
	const char *target = (const char *)sqlite3_column_text(q, OPERATION_TARGET);
	const char *kind = db_text(q, OPERATION_KIND);
	const char *limit =
		sqlite3_column_int(q, OPERATION_END_IS_LIMIT) ? " (its end is not known)" : "";
	char name[256];

	if (kernel && !*limit)
		return html_text_number(&timeline->names, kernel);
	if (!strcmp(kind, "memcpy") || !strcmp(kind, "peer"))
		snprintf(name, sizeof(name), "copy%s%.60s%s%.60s%s", source ? " " : "",
			source ? source : "", target ? " to " : "", target ? target : "", limit);
	else
		snprintf(name, sizeof(name), "%.200s%s", kernel ? kernel : kind, limit);
	return html_text_number(&timeline->names, name);
}

static int add_operation(struct html_lanes *lanes, sqlite3_stmt *q)
{
	struct html_timeline *timeline = lanes->timeline;
	struct html_item *item = html_item_add(&timeline->operations,
		html_lane_of_stream(lanes, sqlite3_column_int64(q, OPERATION_PROCESS),
			sqlite3_column_int64(q, OPERATION_DEVICE), number(q, OPERATION_STREAM)),
		name_operation(timeline, q));

	if (!item)
		return -1;
	item->id = sqlite3_column_int64(q, OPERATION_ID);
	item->start = sqlite3_column_int64(q, OPERATION_START);
	item->end = sqlite3_column_int64(q, OPERATION_END);
	item->call = number(q, OPERATION_CALL);
	item->category = category_of(db_text(q, OPERATION_KIND));
	item->amount = sqlite3_column_int64(q, OPERATION_BYTES);
	return 0;
}

static int read_operations(struct html_lanes *lanes)
{
	sqlite3_stmt *q = db_prepare(lanes->timeline->db, operations_sql);
	int step = q ? db_bind(q, "i", (int64_t)HTML_OPERATION_LIMIT) : -1;

	while (!step && (step = db_step(q)) > 0)
		step = add_operation(lanes, q);
	sqlite3_finalize(q);
	return step;
}

/* --- in order --- */

static int item_order(const void *a, const void *b)
{
	const struct html_item *x = a, *y = b;

	if (x->lane != y->lane)
		return x->lane < y->lane ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

static int id_order(const void *a, const void *b, void *items)
{
	int64_t x = ((const struct html_item *)items)[*(const size_t *)a].id;
	int64_t y = ((const struct html_item *)items)[*(const size_t *)b].id;

	return (x > y) - (x < y);
}

static int inner_order(const void *a, const void *b)
{
	const struct html_inner *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static int sort_items(struct html_items *items, struct html_lane *lane)
{
	items->by_id = calloc(items->count + 1, sizeof(*items->by_id));
	if (!items->by_id) {
		fputs("cufence: out of memory\n", stderr);
		return -1;
	}
	if (items->count)
		qsort(items->item, items->count, sizeof(*items->item), item_order);
	for (size_t i = 0; i < items->count; i++) {
		items->by_id[i] = i;
		lane[items->item[i].lane].count++;
	}
	if (items->count)
		qsort_r(items->by_id, items->count, sizeof(*items->by_id), id_order, items->item);
	return 0;
}

/* Times of a damaged database may be anything: an item ends no earlier than it starts. */
static void limit_items(struct html_items *items, int64_t end)
{
	size_t kept = 0;

	for (size_t i = 0; i < items->count; i++) {
		struct html_item item = items->item[i];

		if (item.start < 0 || (end != DB_NULL && item.start > end))
			continue;
		if (item.end < item.start)
			item.end = item.start;
		items->item[kept++] = item;
	}
	items->count = kept;
}

static int64_t last_start(const struct html_items *items)
{
	int64_t last = 0;

	for (size_t i = 0; i < items->count; i++)
		if (items->item[i].start > last)
			last = items->item[i].start;
	return last;
}

/* A page with a part of the run has calls and operations of the same time. */
static void limit_time(struct html_timeline *timeline)
{
	size_t calls = timeline->calls.count + timeline->inners;
	int64_t end = DB_NULL;

	if (calls == HTML_CALL_LIMIT)
		end = last_start(&timeline->calls);
	if (timeline->operations.count == HTML_OPERATION_LIMIT &&
		(end == DB_NULL || end > last_start(&timeline->operations)))
		end = last_start(&timeline->operations);
	timeline->end = end;
	limit_items(&timeline->calls, end);
	limit_items(&timeline->operations, end);
	limit_items(&timeline->ranges, end);
}

static int64_t find_item(const struct html_items *items, int64_t id)
{
	size_t low = 0, high = items->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (items->item[items->by_id[middle]].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < items->count && items->item[items->by_id[low]].id == id
		? (int64_t)items->by_id[low]
		: HTML_NO_ITEM;
}

int64_t html_item_of_call(const struct html_timeline *timeline, int64_t call)
{
	/* Calls within calls have few levels; a damaged database may make a circle. */
	for (int depth = 0; depth < 8; depth++) {
		const struct html_inner key = { .id = call }, *inner;
		int64_t found = find_item(&timeline->calls, call);

		if (found != HTML_NO_ITEM)
			return found;
		inner = timeline->inners
			? bsearch(&key, timeline->inner, timeline->inners, sizeof(key), inner_order)
			: NULL;
		if (!inner)
			break;
		call = inner->outer;
	}
	return HTML_NO_ITEM;
}

int64_t html_item_of_operation(const struct html_timeline *timeline, int64_t operation)
{
	int64_t found = find_item(&timeline->operations, operation);

	return found == HTML_NO_ITEM ? found : found + (int64_t)timeline->calls.count;
}

static void add_wait(struct html_item *item, int64_t waited)
{
	int64_t rest = item->end - item->start - item->amount;

	item->amount += waited < rest ? waited : rest;
}

static int read_waits(struct html_timeline *timeline)
{
	sqlite3_stmt *q = db_prepare(timeline->db, "SELECT call, waited FROM wait");
	int step = -1;

	while (q && (step = db_step(q)) > 0) {
		int64_t item = html_item_of_call(timeline, sqlite3_column_int64(q, 0));

		int64_t waited = sqlite3_column_int64(q, 1);

		/* Waits within a call's inner calls add up; the sum is at most the call's time. */
		if (item != HTML_NO_ITEM && waited > 0)
			add_wait(&timeline->calls.item[item], waited);
	}
	sqlite3_finalize(q);
	return step;
}

int html_timeline_read(struct html_timeline *timeline, struct db *db)
{
	struct html_lanes lanes;
	int rc;

	*timeline = (struct html_timeline){ .db = db, .end = DB_NULL };
	rc = html_lanes_open(&lanes, timeline);
	if (!rc)
		rc = read_calls(&lanes) || read_operations(&lanes) || html_ranges_read(&lanes) ? -1
											       : 0;
	html_lanes_close(&lanes);
	if (rc)
		return -1;
	limit_time(timeline);
	if (timeline->inners)
		qsort(timeline->inner, timeline->inners, sizeof(*timeline->inner), inner_order);
	return html_lanes_sort(timeline) || sort_items(&timeline->calls, timeline->lane) ||
			sort_items(&timeline->operations, timeline->lane) ||
			sort_items(&timeline->ranges, timeline->lane) || read_waits(timeline)
		? -1
		: 0;
}

static void release_texts(struct html_texts *texts)
{
	for (size_t i = 0; i < texts->count; i++)
		free(texts->text[i]);
	free(texts->text);
	map_release(&texts->known);
}

void html_timeline_release(struct html_timeline *timeline)
{
	for (size_t i = 0; i < timeline->lanes; i++)
		free(timeline->lane[i].label);
	free(timeline->lane);
	free(timeline->calls.item);
	free(timeline->calls.by_id);
	free(timeline->operations.item);
	free(timeline->operations.by_id);
	free(timeline->ranges.item);
	free(timeline->ranges.by_id);
	free(timeline->inner);
	release_texts(&timeline->names);
	release_texts(&timeline->sites);
	map_release(&timeline->site_number);
}
