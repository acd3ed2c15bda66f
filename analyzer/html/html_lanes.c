/* SPDX-License-Identifier: Apache-2.0 */
#include "html_lanes.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "stream_sql.h"

/*
 * A program without names for its threads has its own name for the first; threads of one name have
 * their numbers, too.  Counted once: asking for each thread took a scan of all of them.
 */
static const char label_sql[] =
	"DROP TABLE IF EXISTS temp.thread_label;"
	"CREATE TEMP TABLE thread_label (id INTEGER PRIMARY KEY, label TEXT);"
	"INSERT INTO temp.thread_label SELECT id, ifnull(name, 'thread ' || tid) || CASE"
	" WHEN name NOT NULL AND count(*) OVER (PARTITION BY process, name) > 1"
	" THEN ' ' || tid ELSE '' END FROM thread";
static const char thread_sql[] = "SELECT label, id FROM temp.thread_label WHERE id = ?1";

/* As the text report calls them. */
static const char stream_sql[] =
	"SELECT CASE s.kind WHEN 'legacy' THEN 'legacy stream' WHEN 'per-thread' THEN 'per-thread'"
	" ELSE " STREAM_LABEL("s") " END,"
	" CASE s.kind WHEN 'legacy' THEN -2 WHEN 'per-thread' THEN -1"
	" ELSE ifnull(s.cupti_id, s.id) END FROM stream s WHERE s.id = ?1";

int html_lanes_open(struct html_lanes *lanes, struct html_timeline *timeline)
{
	*lanes = (struct html_lanes){ .timeline = timeline };
	if (db_exec(timeline->db, label_sql))
		return -1;
	lanes->thread = db_prepare(timeline->db, thread_sql);
	lanes->stream = db_prepare(timeline->db, stream_sql);
	return lanes->thread && lanes->stream ? 0 : -1;
}

void html_lanes_close(struct html_lanes *lanes)
{
	map_release(&lanes->known);
	sqlite3_finalize(lanes->thread);
	sqlite3_finalize(lanes->stream);
}

/* "ranges of main", "ranges 2 of main" */
static char *label_of(const struct html_lane *lane, const char *name)
{
	char deeper[24] = "";
	char *label;

	if (lane->depth > 1)
		snprintf(deeper, sizeof(deeper), " %d", lane->depth);
	if (!lane->depth)
		return strdup(name);
	return asprintf(&label, "ranges%s of %s", deeper, name) < 0 ? NULL : label;
}

static int name_lane(struct html_lane *lane, sqlite3_stmt *q)
{
	int step = db_bind(q, "I", lane->id) ? -1 : db_step(q);

	if (step < 0)
		return -1;
	lane->label = label_of(lane,
		step                      ? db_text(q, 0)
			: lane->is_stream ? "no stream"
					  : "no thread");
	lane->order = step ? sqlite3_column_int64(q, 1) : INT64_MAX;
	if (!lane->label)
		fputs("cufence: out of memory\n", stderr);
	return lane->label ? 0 : -1;
}

static int64_t find_lane(struct html_lanes *lanes, const struct html_lane *wanted)
{
	struct html_timeline *timeline = lanes->timeline;
	uint64_t words[] = { (uint64_t)wanted->process, (uint64_t)wanted->is_stream,
		(uint64_t)wanted->device, (uint64_t)wanted->id, (uint64_t)wanted->depth };
	uint64_t hash = map_hash_words(words, sizeof(words) / sizeof(*words));
	uint64_t found = map_get(&lanes->known, hash, 0);
	struct html_lane *lane;

	if (found)
		return (int64_t)found - 1;
	lane = array_push(timeline->lane, timeline->lanes);
	*lane = *wanted;
	if (name_lane(lane, wanted->is_stream ? lanes->stream : lanes->thread))
		return -1;
	map_set(&lanes->known, hash, timeline->lanes);
	return (int64_t)timeline->lanes - 1;
}

int64_t html_lane_of_thread(struct html_lanes *lanes, int64_t process, int64_t thread)
{
	return find_lane(lanes, &(struct html_lane){ .process = process, .id = thread });
}

int64_t html_lane_of_ranges(struct html_lanes *lanes, int64_t process, int64_t thread, int depth)
{
	return find_lane(lanes,
		&(struct html_lane){ .process = process, .id = thread, .depth = depth });
}

int64_t html_lane_of_stream(struct html_lanes *lanes, int64_t process, int64_t device,
	int64_t stream)
{
	return find_lane(lanes,
		&(struct html_lane){ .process = process,
			.is_stream = 1,
			.device = device,
			.id = stream });
}

static int compare(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

static int lane_order(const void *a, const void *b, void *lanes)
{
	const struct html_lane *x = (struct html_lane *)lanes + *(const uint32_t *)a;
	const struct html_lane *y = (struct html_lane *)lanes + *(const uint32_t *)b;
	int order = compare(x->process, y->process);

	order = order ? order : compare(x->is_stream, y->is_stream);
	order = order ? order : compare(x->device, y->device);
	order = order ? order : compare(x->order, y->order);
	order = order ? order : compare(x->id, y->id);
	/* Ranges of a thread stand above its calls, the outermost first. */
	order = order ? order : compare(!x->depth, !y->depth);
	return order ? order : compare(x->depth, y->depth);
}

static void move_items(struct html_items *items, const uint32_t *place)
{
	for (size_t i = 0; i < items->count; i++)
		items->item[i].lane = place[items->item[i].lane];
}

int html_lanes_sort(struct html_timeline *timeline)
{
	size_t count = timeline->lanes;
	uint32_t *order = calloc(count + 1, sizeof(*order));
	uint32_t *place = calloc(count + 1, sizeof(*place));
	struct html_lane *sorted = calloc(count + 1, sizeof(*sorted));
	int rc = order && place && sorted ? 0 : -1;

	if (rc)
		fputs("cufence: out of memory\n", stderr);
	for (size_t i = 0; !rc && i < count; i++)
		order[i] = (uint32_t)i;
	if (!rc && count)
		qsort_r(order, count, sizeof(*order), lane_order, timeline->lane);
	for (size_t i = 0; !rc && i < count; i++) {
		sorted[i] = timeline->lane[order[i]];
		place[order[i]] = (uint32_t)i;
	}
	if (!rc && count) {
		memcpy(timeline->lane, sorted, count * sizeof(*sorted));
		move_items(&timeline->calls, place);
		move_items(&timeline->operations, place);
		move_items(&timeline->ranges, place);
	}
	free(order);
	free(place);
	free(sorted);
	return rc;
}
