/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "export.h"
#include "html_timeline.h"
#include "memory.h"
#include "perfetto_fields.h"
#include "perfetto_flows.h"
#include "proto.h"
#include "report_facts.h"
#include "report_internal.h"

/* All packets are in one sequence; its first packet interns the names that the others use. */
enum { SEQUENCE = 1 };

enum category {
	CATEGORY_FINDING = 1,
	CATEGORY_RANGE,
	CATEGORY_ITEM /* and as enum html_category */
};
static const char *const categories[] = { "finding", "range", "kernel", "copy", "memset", "graph",
	"submit", "wait", "call" };

enum annotation {
	ANNOTATION_AT = 1,
	ANNOTATION_BYTES,
	ANNOTATION_HELD,
	ANNOTATION_MESSAGE,
	ANNOTATION_NUMBER,
	ANNOTATION_SEVERITY,
	ANNOTATION_CONFIDENCE,
	ANNOTATION_STATE,
	ANNOTATION_TIMES,
	ANNOTATION_WAITED,
	ANNOTATION_DELAYED,
	ANNOTATION_SAVING,
	ANNOTATION_FIX,
	ANNOTATION_FINGERPRINT,
	ANNOTATION_CONFIRMATION
};
static const char *const annotations[] = { "at", "bytes", "held_ns", "message", "finding",
	"severity", "confidence", "state", "times", "waited_ns", "delayed_ns", "saving_ns", "fix",
	"fingerprint", "confirmation" };

/* Kinds of tracks.  A track's id is a hash of its kind, its object and the run. */
enum track { OF_PROCESS, OF_DEVICE, OF_THREAD, OF_STREAM, OF_FINDINGS, OF_RANGES };

struct trace {
	struct db *db;
	FILE *out;
	struct html_timeline timeline;
	struct flows flows;
	struct proto whole, packet, message, part; /* each within the one before it */
	uint64_t run;
	size_t ends; /* number of flow ends written */
};

/* Rows of a track whose slices overlap; the slices of one row do not. */
struct rows {
	int64_t *end; /* of each row's last slice */
	size_t count;
};

/* --- packets --- */

static uint64_t track_id(const struct trace *trace, enum track of, uint64_t id, uint64_t row)
{
	const uint64_t words[] = { trace->run, of, id, row };
	uint64_t hash = map_hash_words(words, sizeof(words) / sizeof(*words));

	return hash ? hash : 1; /* 0 is the trace's own track */
}

static void put_packet(struct trace *trace, unsigned field, int flags)
{
	proto_message(&trace->packet, field, &trace->message);
	proto_number(&trace->packet, PACKET_SEQUENCE, SEQUENCE);
	if (flags)
		proto_number(&trace->packet, PACKET_SEQUENCE_FLAGS, (uint64_t)flags);
	proto_message(&trace->whole, TRACE_PACKET, &trace->packet);
	if (!trace->whole.failed)
		fwrite(trace->whole.data, 1, trace->whole.length, trace->out);
	trace->whole.length = 0;
}

static void put_time(struct trace *trace, int64_t time)
{
	proto_number(&trace->packet, PACKET_TIMESTAMP, time > 0 ? (uint64_t)time : 0);
}

/* Relates the times of the database to the time of day. */
static void put_clock(struct trace *trace)
{
	int64_t start = db_int(trace->db, "SELECT start_unix_ns FROM run", 0);

	proto_number(&trace->part, CLOCK_ID, CLOCK_IS_BOOTTIME);
	proto_number(&trace->part, CLOCK_TIMESTAMP, 0);
	proto_message(&trace->message, SNAPSHOT_CLOCKS, &trace->part);
	proto_number(&trace->part, CLOCK_ID, CLOCK_IS_REALTIME);
	proto_number(&trace->part, CLOCK_TIMESTAMP, (uint64_t)start);
	proto_message(&trace->message, SNAPSHOT_CLOCKS, &trace->part);
	proto_number(&trace->message, SNAPSHOT_PRIMARY, CLOCK_IS_BOOTTIME);
	put_packet(trace, PACKET_CLOCK_SNAPSHOT, 0);
}

static void add_interned(struct trace *trace, unsigned field, size_t number, const char *text)
{
	proto_number(&trace->part, INTERNED_IID, number);
	proto_text(&trace->part, INTERNED_TEXT, text);
	proto_message(&trace->message, field, &trace->part);
}

static void put_interned(struct trace *trace)
{
	const struct html_texts *names = &trace->timeline.names, *sites = &trace->timeline.sites;

	for (size_t i = 0; i < sizeof(categories) / sizeof(*categories); i++)
		add_interned(trace, INTERNED_CATEGORIES, i + 1, categories[i]);
	for (size_t i = 0; i < sizeof(annotations) / sizeof(*annotations); i++)
		add_interned(trace, INTERNED_ANNOTATION_NAMES, i + 1, annotations[i]);
	for (size_t i = 0; i < names->count; i++)
		add_interned(trace, INTERNED_NAMES, i + 1, names->text[i]);
	/* Site 0 means no site. */
	for (size_t i = 1; i < sites->count; i++)
		add_interned(trace, INTERNED_STRINGS, i, sites->text[i]);
	put_packet(trace, PACKET_INTERNED_DATA, SEQ_INCREMENTAL_STATE_CLEARED);
}

/* --- tracks --- */

static void begin_track(struct trace *trace, uint64_t id, uint64_t parent, const char *name)
{
	proto_number(&trace->message, TRACK_UUID, id);
	if (parent)
		proto_number(&trace->message, TRACK_PARENT, parent);
	if (name)
		proto_text(&trace->message, TRACK_NAME, name);
}

static void put_track(struct trace *trace, int64_t rank)
{
	if (rank >= 0)
		proto_number(&trace->message, TRACK_RANK, (uint64_t)rank);
	put_packet(trace, PACKET_TRACK_DESCRIPTOR, 0);
}

static int put_processes(struct trace *trace)
{
	sqlite3_stmt *q = db_prepare(trace->db,
		"SELECT p.id, p.pid, coalesce((SELECT value FROM property WHERE process = p.id"
		"  AND name = 'command'), (SELECT command FROM run)) FROM process p ORDER BY p.id");
	int step = -1;

	while (q && (step = db_step(q)) > 0) {
		const char *command = (const char *)sqlite3_column_text(q, 2);

		proto_number(&trace->part, PROCESS_PID, (uint64_t)sqlite3_column_int64(q, 1));
		if (command) {
			proto_text(&trace->part, PROCESS_CMDLINE, command);
			proto_text(&trace->part, PROCESS_NAME, command);
		}
		begin_track(trace,
			track_id(trace, OF_PROCESS, (uint64_t)sqlite3_column_int64(q, 0), 0), 0,
			NULL);
		proto_message(&trace->message, TRACK_PROCESS, &trace->part);
		proto_number(&trace->message, TRACK_CHILD_ORDERING, ORDERING_EXPLICIT);
		put_track(trace, -1);
	}
	sqlite3_finalize(q);
	return step;
}

static uint64_t device_id(const struct trace *trace, int64_t process, int64_t device)
{
	return track_id(trace, OF_DEVICE, (uint64_t)process, (uint64_t)device);
}

/* Tracks of the streams' devices, below those of threads and findings. */
static int put_devices(struct trace *trace)
{
	sqlite3_stmt *q = db_prepare(trace->db,
		"SELECT DISTINCT o.process, o.device, 'GPU ' || o.device || coalesce(': ' || "
		"d.name, '')"
		" FROM operation o LEFT JOIN device d ON d.process = o.process AND d.ordinal = "
		"o.device"
		" ORDER BY o.process, o.device");
	int step = -1;

	while (q && (step = db_step(q)) > 0) {
		int64_t process = sqlite3_column_int64(q, 0), device = sqlite3_column_int64(q, 1);

		begin_track(trace, device_id(trace, process, device),
			track_id(trace, OF_PROCESS, (uint64_t)process, 0), db_text(q, 2));
		proto_number(&trace->message, TRACK_CHILD_ORDERING, ORDERING_EXPLICIT);
		put_track(trace, device >= 0 ? device + 1 : 0);
	}
	sqlite3_finalize(q);
	return step;
}

static int put_threads(struct trace *trace)
{
	sqlite3_stmt *q = db_prepare(trace->db,
		"SELECT t.id, t.process, p.pid, t.tid, t.name FROM thread t"
		" JOIN process p ON p.id = t.process ORDER BY t.id");
	int step = -1;

	while (q && (step = db_step(q)) > 0) {
		const char *name = (const char *)sqlite3_column_text(q, 4);

		proto_number(&trace->part, THREAD_PID, (uint64_t)sqlite3_column_int64(q, 2));
		proto_number(&trace->part, THREAD_TID, (uint64_t)sqlite3_column_int64(q, 3));
		if (name)
			proto_text(&trace->part, THREAD_NAME, name);
		begin_track(trace,
			track_id(trace, OF_THREAD, (uint64_t)sqlite3_column_int64(q, 0), 0),
			track_id(trace, OF_PROCESS, (uint64_t)sqlite3_column_int64(q, 1), 0), NULL);
		proto_message(&trace->message, TRACK_THREAD, &trace->part);
		put_track(trace, -1);
	}
	sqlite3_finalize(q);
	return step;
}

/* Returns the first row that is free at start, a new one if necessary, -1 after a message. */
static int64_t find_row(struct rows *rows, int64_t start, int64_t end)
{
	for (size_t i = 0; i < rows->count; i++)
		if (rows->end[i] <= start) {
			rows->end[i] = end;
			return (int64_t)i;
		}
	*array_push(rows->end, rows->count) = end;
	return (int64_t)rows->count - 1;
}

/* The tracks of a lane: the stream's own, and further rows for overlapping operations. */
static void put_row(struct trace *trace, const struct html_lane *lane, size_t rank, int64_t row)
{
	enum track of = lane->is_stream ? OF_STREAM : OF_THREAD;
	uint64_t own = lane->is_stream ? rank : (uint64_t)lane->id, parent;

	if (!row && !lane->is_stream)
		return; /* put_threads() did */
	parent = !row ? device_id(trace, lane->process, lane->device) : track_id(trace, of, own, 0);
	begin_track(trace, track_id(trace, of, own, (uint64_t)row), parent,
		row ? "at the same time" : lane->label);
	put_track(trace, row ? row : (int64_t)rank);
}

/* --- slices --- */

static void put_flows(struct trace *trace, int64_t event)
{
	const struct flows *flows = &trace->flows;

	for (; trace->ends < flows->count && flows->end[trace->ends].event == event; trace->ends++)
		proto_fixed64(&trace->message,
			flows->end[trace->ends].terminates ? EVENT_TERMINATING_FLOWS : EVENT_FLOWS,
			flows->end[trace->ends].flow);
}

static void add_number(struct trace *trace, enum annotation name, int64_t number)
{
	proto_number(&trace->part, ANNOTATION_NAME_IID, name);
	proto_number(&trace->part, ANNOTATION_INT, (uint64_t)number);
	proto_message(&trace->message, EVENT_ANNOTATIONS, &trace->part);
}

static void add_text(struct trace *trace, enum annotation name, const char *text)
{
	if (!*text)
		return;
	proto_number(&trace->part, ANNOTATION_NAME_IID, name);
	proto_text(&trace->part, ANNOTATION_STRING, text);
	proto_message(&trace->message, EVENT_ANNOTATIONS, &trace->part);
}

static void begin_event(struct trace *trace, enum track_event_type type, uint64_t track,
	int64_t time)
{
	put_time(trace, time);
	proto_number(&trace->message, EVENT_TYPE, type);
	proto_number(&trace->message, EVENT_TRACK, track);
}

static void put_event(struct trace *trace)
{
	put_packet(trace, PACKET_TRACK_EVENT, SEQ_NEEDS_INCREMENTAL_STATE);
}

static void put_item(struct trace *trace, const struct html_item *item, int64_t number,
	uint64_t track)
{
	int is_call = number < (int64_t)trace->timeline.calls.count;

	begin_event(trace, TYPE_SLICE_BEGIN, track, item->start);
	proto_number(&trace->message, EVENT_CATEGORY_IIDS, CATEGORY_ITEM + item->category);
	proto_number(&trace->message, EVENT_NAME_IID, item->name + 1);
	if (item->site) {
		proto_number(&trace->part, ANNOTATION_NAME_IID, ANNOTATION_AT);
		proto_number(&trace->part, ANNOTATION_STRING_IID, item->site);
		proto_message(&trace->message, EVENT_ANNOTATIONS, &trace->part);
	}
	if (item->amount > 0)
		add_number(trace, is_call ? ANNOTATION_HELD : ANNOTATION_BYTES, item->amount);
	put_flows(trace, 2 * number);
	put_event(trace);
	begin_event(trace, TYPE_SLICE_END, track,
		item->end > item->start ? item->end : item->start);
	put_flows(trace, 2 * number + 1);
	put_event(trace);
}

/* Writes the items of a lane, which are contiguous from number on. */
static int put_lane(struct trace *trace, size_t rank, const struct html_item *item, int64_t number)
{
	const struct html_lane *lane = &trace->timeline.lane[rank];
	enum track of = lane->is_stream ? OF_STREAM : OF_THREAD;
	uint64_t own = lane->is_stream ? rank : (uint64_t)lane->id;
	struct rows rows = { 0 };
	int rc = 0;

	for (size_t i = 0; !rc && i < lane->count; i++) {
		int64_t end = item[i].end > item[i].start ? item[i].end : item[i].start;
		size_t before = rows.count;
		int64_t row = find_row(&rows, item[i].start, end);

		rc = row < 0 ? -1 : 0;
		if (rows.count > before)
			put_row(trace, lane, rank, row);
		if (!rc)
			put_item(trace, &item[i], number + (int64_t)i,
				track_id(trace, of, own, (uint64_t)row));
	}
	free(rows.end);
	return rc;
}

static int put_items(struct trace *trace)
{
	const struct html_timeline *timeline = &trace->timeline;
	const struct html_item *call = timeline->calls.item;
	const struct html_item *operation = timeline->operations.item;
	int64_t calls = (int64_t)timeline->calls.count;

	for (size_t i = 0; i < timeline->lanes; i++) {
		const struct html_lane *lane = &timeline->lane[i];

		/* Ranges have tracks of their own (put_ranges()). */
		if (lane->depth)
			continue;
		if (put_lane(trace, i, lane->is_stream ? operation : call,
			    lane->is_stream ? calls + (operation - timeline->operations.item)
					    : call - timeline->calls.item))
			return -1;
		if (lane->is_stream)
			operation += lane->count;
		else
			call += lane->count;
	}
	return 0;
}

/* --- the program's own ranges --- */

static int put_ranges(struct trace *trace)
{
	sqlite3_stmt *q = db_prepare(trace->db,
		"SELECT r.thread, r.name, r.start, coalesce(r.end, p.end) FROM range r"
		" JOIN process p ON p.id = r.process ORDER BY r.thread, r.start, r.end DESC");
	int64_t thread = DB_NULL;
	struct rows rows = { 0 };
	int step = q ? 0 : -1;

	while (!step && (step = db_step(q)) > 0) {
		int64_t own = sqlite3_column_int64(q, 0), start = sqlite3_column_int64(q, 2);
		int64_t end = sqlite3_column_int64(q, 3), row;
		size_t before;

		if (own != thread)
			rows.count = 0;
		thread = own;
		before = rows.count;
		row = find_row(&rows, start, end > start ? end : start);
		step = row < 0 ? -1 : 0;
		if (rows.count > before) {
			begin_track(trace, track_id(trace, OF_RANGES, (uint64_t)own, (uint64_t)row),
				track_id(trace, OF_THREAD, (uint64_t)own, 0), "ranges");
			put_track(trace, row);
		}
		begin_event(trace, end > start ? TYPE_SLICE_BEGIN : TYPE_INSTANT,
			track_id(trace, OF_RANGES, (uint64_t)own, (uint64_t)row), start);
		proto_number(&trace->message, EVENT_CATEGORY_IIDS, CATEGORY_RANGE);
		proto_text(&trace->message, EVENT_NAME, db_text(q, 1));
		put_event(trace);
		if (end > start) {
			begin_event(trace, TYPE_SLICE_END,
				track_id(trace, OF_RANGES, (uint64_t)own, (uint64_t)row), end);
			put_event(trace);
		}
	}
	free(rows.end);
	sqlite3_finalize(q);
	return step;
}

/* --- findings --- */

static const char findings_sql[] =
	"SELECT f.process, f.rule, p.call, c.enter, f.id, p.message, v.severity, p.confidence, "
	"v.state,"
	" p.count, p.waited, p.delayed, p.saving, coalesce(p.fix, rule_text(f.rule, 'advice')),"
	" p.fingerprint, " CONFIRMATION("p") " FROM temp.verdict v"
	" JOIN finding_place p ON p.id = v.place"
	" JOIN finding f ON f.id = p.finding JOIN call c ON c.id = p.call"
	" ORDER BY f.process, c.enter, p.id";

enum finding_column {
	FINDING_PROCESS,
	FINDING_RULE,
	FINDING_CALL,
	FINDING_ENTER,
	FINDING_ID,
	FINDING_MESSAGE,
	FINDING_SEVERITY,
	FINDING_CONFIDENCE,
	FINDING_STATE,
	FINDING_COUNT,
	FINDING_WAITED,
	FINDING_DELAYED,
	FINDING_SAVING,
	FINDING_FIX,
	FINDING_FINGERPRINT,
	FINDING_CONFIRMATION
};

static void add_finding(struct trace *trace, sqlite3_stmt *q)
{
	add_number(trace, ANNOTATION_NUMBER, sqlite3_column_int64(q, FINDING_ID));
	add_text(trace, ANNOTATION_MESSAGE, db_text(q, FINDING_MESSAGE));
	add_text(trace, ANNOTATION_SEVERITY, db_text(q, FINDING_SEVERITY));
	add_text(trace, ANNOTATION_CONFIDENCE, db_text(q, FINDING_CONFIDENCE));
	add_text(trace, ANNOTATION_STATE, db_text(q, FINDING_STATE));
	add_number(trace, ANNOTATION_TIMES, sqlite3_column_int64(q, FINDING_COUNT));
	add_number(trace, ANNOTATION_WAITED, sqlite3_column_int64(q, FINDING_WAITED));
	add_number(trace, ANNOTATION_DELAYED, sqlite3_column_int64(q, FINDING_DELAYED));
	if (sqlite3_column_type(q, FINDING_SAVING) != SQLITE_NULL)
		add_number(trace, ANNOTATION_SAVING, sqlite3_column_int64(q, FINDING_SAVING));
	add_text(trace, ANNOTATION_FIX, db_text(q, FINDING_FIX));
	add_text(trace, ANNOTATION_FINGERPRINT, db_text(q, FINDING_FINGERPRINT));
	if (*db_text(q, FINDING_CONFIRMATION))
		add_text(trace, ANNOTATION_CONFIRMATION, db_text(q, FINDING_CONFIRMATION));
}

/* An instant where the worst instance is, with a flow to its call. */
static int put_finding(struct trace *trace, sqlite3_stmt *q, uint64_t track)
{
	int64_t item = html_item_of_call(&trace->timeline, sqlite3_column_int64(q, FINDING_CALL));
	int64_t time = item == HTML_NO_ITEM ? sqlite3_column_int64(q, FINDING_ENTER)
					    : trace->timeline.calls.item[item].start;
	uint64_t flow = item == HTML_NO_ITEM ? 0 : flows_add_to(&trace->flows, item);

	if (item != HTML_NO_ITEM && !flow)
		return -1;
	begin_event(trace, TYPE_INSTANT, track, time);
	proto_number(&trace->message, EVENT_CATEGORY_IIDS, CATEGORY_FINDING);
	proto_text(&trace->message, EVENT_NAME, db_text(q, FINDING_RULE));
	if (flow)
		proto_fixed64(&trace->message, EVENT_FLOWS, flow);
	add_finding(trace, q);
	put_event(trace);
	return 0;
}

static int put_findings(struct trace *trace)
{
	sqlite3_stmt *q = db_prepare(trace->db, findings_sql);
	int64_t process = DB_NULL;
	int step = q ? 0 : -1;

	while (!step && (step = db_step(q)) > 0) {
		int64_t own = sqlite3_column_int64(q, FINDING_PROCESS);
		uint64_t track = track_id(trace, OF_FINDINGS, (uint64_t)own, 0);

		if (own != process) {
			begin_track(trace, track, track_id(trace, OF_PROCESS, (uint64_t)own, 0),
				"findings");
			put_track(trace, 0);
		}
		process = own;
		step = put_finding(trace, q, track);
	}
	sqlite3_finalize(q);
	return step;
}

static int put_trace(struct trace *trace)
{
	if (report_functions(trace->db) || html_timeline_read(&trace->timeline, trace->db) ||
		flows_read(&trace->flows, &trace->timeline))
		return -1;
	put_clock(trace);
	put_interned(trace);
	if (put_processes(trace) || put_devices(trace) || put_threads(trace) || put_findings(trace))
		return -1;
	flows_sort(&trace->flows);
	return put_ranges(trace) || put_items(trace) ? -1 : 0;
}

int export_perfetto(struct db *db, FILE *out)
{
	struct trace trace = { .db = db, .out = out };
	int rc;

	trace.run = (uint64_t)db_int(db, "SELECT start_unix_ns FROM run", 0);
	rc = put_trace(&trace);
	if (trace.whole.failed)
		rc = -1;
	proto_release(&trace.whole);
	proto_release(&trace.packet);
	proto_release(&trace.message);
	proto_release(&trace.part);
	flows_release(&trace.flows);
	html_timeline_release(&trace.timeline);
	return rc;
}
