/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence_tables.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "busy.h"
#include "large.h"
#include "radix_sort.h"
#include "map.h"
#include "memory.h"
#include "rows.h"
#include "run_columns.h"

/* An operation's interval on the device with that index in struct use. */
struct use_span {
	int64_t start, end; /* ns */
	size_t device;
};

/* A device of a process. */
struct device_use {
	int64_t process, device;
	int64_t first, last;              /* start and end of all operations, ns */
	struct busy_sum busy, overlapped; /* with one or more operations, with two or more */
};

/* Operations of one kind in a stream. */
struct stream_use {
	int64_t process, stream, device; /* stream: 0 if unknown */
	char kind[16];
	int64_t operations, unmatched, busy; /* unmatched: their call was not recorded */
};

struct use {
	struct device_use *device;
	size_t device_count;
	struct use_span *span;
	size_t span_count;
	struct stream_use *stream;
	size_t stream_count;
	struct map streams; /* process, stream, device and kind -> index */
	struct map devices; /* process and device -> index */
};

/* start and end: RUN_NEVER if unknown. */
static void add_operation(struct use *use, struct stream_use of, const char *kind, int has_call,
	int64_t start, int64_t end)
{
	uint64_t what[offsetof(struct stream_use, operations) / sizeof(uint64_t)];
	struct stream_use *stream;
	struct device_use *device;
	size_t at;

	strncpy(of.kind, kind, sizeof(of.kind) - 1);
	memcpy(what, &of, sizeof(what));
	at = map_number(&use->streams, map_hash_words(what, sizeof(what) / sizeof(*what)));
	if (at == use->stream_count)
		*array_push(use->stream, use->stream_count) = of;
	stream = &use->stream[at];
	stream->operations++;
	stream->unmatched += !has_call;
	if (start == RUN_NEVER || end == RUN_NEVER || end < start)
		return;
	stream->busy += end - start;
	at = map_number(&use->devices, (uint64_t)of.process << 32 | (uint32_t)of.device);
	if (at == use->device_count)
		*array_push(use->device, use->device_count) =
			(struct device_use){ .process = of.process,
				.device = of.device,
				.first = INT64_MAX,
				.last = INT64_MIN,
				.busy = { INT64_MIN, 0 },
				.overlapped = { INT64_MIN, 0 } };
	*large_push(use->span, use->span_count) = (struct use_span){ start, end, at };
	device = &use->device[at];
	device->first = at_most(device->first, start);
	device->last = at_least(device->last, end);
}

int use_measure(struct db *db)
{
	struct use use = { 0 };
	const struct run *run = db->run && !db->run->joined ? db->run : NULL;
	/* For a run with joined launches, or one that is not in memory. */
	sqlite3_stmt *q = run ? NULL
			      : db_prepare(db,
					"SELECT process, ifnull(stream, 0), device, kind,"
					" call IS NOT NULL, ifnull(start, ?1),"
					" coalesce(iif(recorded_end IS NULL, end, start), ?1)"
					" FROM operation");
	int rc = run ? 0 : q ? db_bind(q, "i", RUN_NEVER) : -1;

	while (q && rc >= 0 && (rc = db_step(q)) > 0)
		add_operation(&use,
			(struct stream_use){ .process = sqlite3_column_int64(q, 0),
				.stream = sqlite3_column_int64(q, 1),
				.device = sqlite3_column_int64(q, 2) },
			db_text(q, 3), sqlite3_column_int(q, 4), sqlite3_column_int64(q, 5),
			sqlite3_column_int64(q, 6));
	sqlite3_finalize(q);
	for (uint32_t id = 1; run && id < run_work_end(run); id++) {
		const struct run_work *work = run_work(run, id);
		const struct run_where *where = work ? run_where(run, work) : NULL;

		if (work)
			add_operation(&use,
				(struct stream_use){ .process = where->process,
					.stream = where->stream,
					.device = where->device },
				run_work_names[where->kind], work->call != 0, work->start,
				run_busy_end(run, work, id));
	}
	use.span = radix_sort_large(use.span, use.span_count, sizeof(*use.span));
	for (size_t i = 0; i < use.span_count; i++) {
		const struct use_span *span = &use.span[i];
		struct device_use *device = &use.device[span->device];

		busy_sum_add(&device->overlapped, span->start,
			at_most(span->end, device->busy.until));
		busy_sum_add(&device->busy, span->start, span->end);
	}
	rc = rc ? -1 : 0;
	for (size_t i = 0; i < use.stream_count && !rc; i++) {
		const struct stream_use *stream = &use.stream[i];

		rc = db_add(db,
			ROW(stream_use, stream->process, stream->stream ? stream->stream : DB_NULL,
				stream->device, cell_text(stream->kind), stream->operations,
				stream->unmatched, stream->busy));
	}
	for (size_t i = 0; i < use.device_count && !rc; i++) {
		const struct device_use *device = &use.device[i];

		rc = db_add(db,
			ROW(device_use, device->process, device->device, device->first,
				device->last, device->busy.time, device->overlapped.time));
	}
	free(use.device);
	large_free(use.span);
	free(use.stream);
	map_release(&use.streams);
	map_release(&use.devices);
	return rc;
}
