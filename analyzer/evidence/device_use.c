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
#include "workers.h"

/* An operation's interval. */
struct use_span {
	int64_t start, end; /* ns */
};

/* A device of a process. */
struct device_use {
	int64_t process, device;
	int64_t first, last;              /* start and end of all operations, ns */
	struct busy_sum busy, overlapped; /* with one or more operations, with two or more */
	struct use_span *span;            /* of each operation */
	size_t span_count;
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
	struct stream_use *stream;
	size_t stream_count;
	struct map streams; /* process, stream, device and kind -> index */
	struct map devices; /* process and device -> index */
};

/* Returns the index of the stream's row for a kind. */
static size_t find_stream(struct use *use, struct stream_use of, const char *kind)
{
	uint64_t what[offsetof(struct stream_use, operations) / sizeof(uint64_t)];
	size_t at;

	strncpy(of.kind, kind, sizeof(of.kind) - 1);
	memcpy(what, &of, sizeof(what));
	at = map_number(&use->streams, map_hash_words(what, sizeof(what) / sizeof(*what)));
	if (at == use->stream_count)
		*array_push(use->stream, use->stream_count) = of;
	return at;
}

/* start and end: RUN_NEVER if unknown. */
static void add_operation(struct use *use, size_t of_stream, int has_call, int64_t start,
	int64_t end)
{
	struct stream_use *stream = &use->stream[of_stream];
	struct device_use *device;
	size_t at;

	stream->operations++;
	stream->unmatched += !has_call;
	if (start == RUN_NEVER || end == RUN_NEVER || end < start)
		return;
	stream->busy += end - start;
	at = map_number(&use->devices, (uint64_t)stream->process << 32 | (uint32_t)stream->device);
	if (at == use->device_count)
		*array_push(use->device, use->device_count) =
			(struct device_use){ .process = stream->process,
				.device = stream->device,
				.first = INT64_MAX,
				.last = INT64_MIN,
				.busy = { INT64_MIN, 0 },
				.overlapped = { INT64_MIN, 0 } };
	device = &use->device[at];
	*large_push(device->span, device->span_count) = (struct use_span){ start, end };
	device->first = at_most(device->first, start);
	device->last = at_least(device->last, end);
}

static void add_works(struct use *use, const struct run *run)
{
	uint32_t *stream = xcalloc(run->where_count + 1, sizeof(*stream)); /* index + 1 */

	for (uint32_t id = 1; id < run_work_end(run); id++) {
		const struct run_work *work = run_work(run, id);
		const struct run_where *where = work ? run_where(run, work) : NULL;

		if (!work)
			continue;
		if (!stream[work->where])
			stream[work->where] = 1 +
				(uint32_t)find_stream(use,
					(struct stream_use){ .process = where->process,
						.stream = where->stream,
						.device = where->device },
					run_work_names[where->kind]);
		add_operation(use, stream[work->where] - 1, work->call != 0, work->start,
			run_busy_end(run, work, id));
	}
	free(stream);
}

/* Adds up the intervals of a device, in order of start. */
static int add_up(void *arg, size_t number)
{
	struct device_use *device = (struct device_use *)arg + number;

	device->span = radix_sort_large(device->span, device->span_count, sizeof(*device->span));
	for (size_t i = 0; i < device->span_count; i++) {
		const struct use_span *span = &device->span[i];

		busy_sum_add(&device->overlapped, span->start,
			at_most(span->end, device->busy.until));
		busy_sum_add(&device->busy, span->start, span->end);
	}
	large_free(device->span);
	return 0;
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
			find_stream(&use,
				(struct stream_use){ .process = sqlite3_column_int64(q, 0),
					.stream = sqlite3_column_int64(q, 1),
					.device = sqlite3_column_int64(q, 2) },
				db_text(q, 3)),
			sqlite3_column_int(q, 4), sqlite3_column_int64(q, 5),
			sqlite3_column_int64(q, 6));
	sqlite3_finalize(q);
	if (run)
		add_works(&use, run);
	rc = rc || workers_run(use.device_count, add_up, use.device) ? -1 : 0;
	for (size_t i = 0; i < use.stream_count && !rc; i++) {
		const struct stream_use *stream = &use.stream[i];

		rc = db_add(db,
			ROW(stream_use, stream->process, cell_id(stream->stream), stream->device,
				cell_text(stream->kind), stream->operations, stream->unmatched,
				stream->busy));
	}
	for (size_t i = 0; i < use.device_count && !rc; i++) {
		const struct device_use *device = &use.device[i];

		rc = db_add(db,
			ROW(device_use, device->process, device->device, device->first,
				device->last, device->busy.time, device->overlapped.time));
	}
	free(use.device);
	free(use.stream);
	map_release(&use.streams);
	map_release(&use.devices);
	return rc;
}
