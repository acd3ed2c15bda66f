/* SPDX-License-Identifier: Apache-2.0 */
#include "perfetto_flows.h"

#include <stdlib.h>

#include "html_arrows.h"
#include "kinds.h"
#include "memory.h"

enum edge { BEGIN = 0, END = 1 };

/* Pairs of an event wait and the record that it saw. */
static const char records_sql[] =
	"SELECT w.record, w.call FROM event_wait w JOIN call c ON c.id = w.call"
	" JOIN call_type t ON t.id = c.type WHERE w.record NOT NULL"
	" AND " KIND_WHERE("t", "family IN ('event_wait', 'wait')") " ORDER BY w.call";

static const struct html_item *item_of(const struct html_timeline *timeline, int64_t item)
{
	int64_t calls = (int64_t)timeline->calls.count;

	return item < calls ? &timeline->calls.item[item]
			    : &timeline->operations.item[item - calls];
}

static int64_t time_of(const struct html_timeline *timeline, int64_t item, enum edge edge)
{
	const struct html_item *found = item_of(timeline, item);

	return edge == END && found->end > found->start ? found->end : found->start;
}

static int add_end(struct flows *flows, int64_t event, int terminates)
{
	*array_push(flows->end, flows->count) = (struct flow_end){ event, flows->last, terminates };
	return 0;
}

/* Events at one time are ordered by the order of packets. */
static int add_flow(struct flows *flows, const struct html_timeline *timeline, int64_t from,
	enum edge from_edge, int64_t to, enum edge to_edge)
{
	int64_t first, second;

	if (from == HTML_NO_ITEM || to == HTML_NO_ITEM || from == to)
		return 0;
	first = time_of(timeline, from, from_edge);
	second = time_of(timeline, to, to_edge);
	if (first > second || (first == second && 2 * from + from_edge > 2 * to + to_edge))
		return 0;
	flows->last++;
	return add_end(flows, 2 * from + from_edge, 0) || add_end(flows, 2 * to + to_edge, 1) ? -1
											      : 0;
}

static int add_submissions(struct flows *flows, const struct html_timeline *timeline)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < timeline->operations.count; i++) {
		int64_t call = timeline->operations.item[i].call;

		if (call != DB_NULL)
			rc = add_flow(flows, timeline, html_item_of_call(timeline, call), BEGIN,
				(int64_t)(timeline->calls.count + i), BEGIN);
	}
	return rc;
}

static int add_records(struct flows *flows, const struct html_timeline *timeline)
{
	sqlite3_stmt *q = db_prepare(timeline->db, records_sql);
	int step = q ? 0 : -1;

	while (!step && (step = db_step(q)) > 0)
		step = add_flow(flows, timeline,
			html_item_of_call(timeline, sqlite3_column_int64(q, 0)), BEGIN,
			html_item_of_call(timeline, sqlite3_column_int64(q, 1)), BEGIN);
	sqlite3_finalize(q);
	return step;
}

static int add_arrows(struct flows *flows, const struct html_timeline *timeline,
	int (*read)(const struct html_timeline *, struct html_arrows *), enum edge to_edge)
{
	struct html_arrows arrows;
	int rc = read(timeline, &arrows);

	for (size_t i = 0; !rc && i < arrows.count; i++)
		rc = add_flow(flows, timeline, arrows.arrow[i].from, END, arrows.arrow[i].to,
			to_edge);
	free(arrows.arrow);
	return rc;
}

int flows_read(struct flows *flows, const struct html_timeline *timeline)
{
	*flows = (struct flows){ 0 };
	return add_submissions(flows, timeline) || add_records(flows, timeline) ||
			add_arrows(flows, timeline, html_arrows_fences, BEGIN) ||
			add_arrows(flows, timeline, html_arrows_waits, END) ||
			add_arrows(flows, timeline, html_arrows_holds, BEGIN)
		? -1
		: 0;
}

void flows_release(struct flows *flows)
{
	free(flows->end);
	*flows = (struct flows){ 0 };
}

uint64_t flows_add_to(struct flows *flows, int64_t item)
{
	flows->last++;
	return add_end(flows, 2 * item, 1) ? 0 : flows->last;
}

static int end_order(const void *a, const void *b)
{
	const struct flow_end *x = a, *y = b;

	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	return (x->flow > y->flow) - (x->flow < y->flow);
}

void flows_sort(struct flows *flows)
{
	if (flows->count)
		qsort(flows->end, flows->count, sizeof(*flows->end), end_order);
}
