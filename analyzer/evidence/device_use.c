/* SPDX-License-Identifier: Apache-2.0 */
#include "device_use.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "busy.h"
#include "digits.h"
#include "map.h"
#include "run_columns.h"

/* An operation's interval on the device with that index in struct use. */
struct use_span {
	int64_t start, end; /* ns */
	size_t device;
};

/* A device of a process.  Operations are processed in order of start. */
struct device_use {
	int64_t process, device;
	int64_t first, last; /* start and end of all operations, ns */
	int64_t until;       /* the latest end so far, ns */
	struct busy busy, overlapped;
};

/* Properties of an operation; start and end RUN_NEVER: unknown. */
struct used {
	int64_t process, device, stream; /* stream: DB_NULL if unknown */
	const char *kind;
	int matched; /* its call was recorded */
	int64_t start, end;
};

/* Operations of one kind in a stream. */
struct stream_use {
	int64_t process, stream, device; /* stream: DB_NULL if unknown */
	char kind[16];
	int64_t operations, unmatched, busy;
};

struct use {
	struct device_use *device;
	size_t device_count, last_device;
	struct use_span *span;
	size_t span_count;
	struct stream_use *stream;
	size_t stream_count;
	struct map streams; /* process, stream, device and kind -> index + 1 */
};

/* Finds the index of a device, added if missing. */
static int device_of(struct use *use, int64_t process, int64_t device, size_t *index)
{
	struct device_use *more;

	for (size_t i = 0; i < use->device_count; i++) {
		*index = (use->last_device + i) % use->device_count;
		if (use->device[*index].process == process &&
			use->device[*index].device == device) {
			use->last_device = *index;
			return 0;
		}
	}
	more = array_room(use->device, use->device_count, sizeof(*more));
	if (!more)
		return -1;
	use->device = more;
	*index = use->last_device = use->device_count++;
	more[*index] = (struct device_use){ .process = process,
		.device = device,
		.first = INT64_MAX,
		.last = INT64_MIN,
		.until = INT64_MIN };
	return 0;
}

static struct stream_use *stream_of(struct use *use, const struct stream_use *wanted)
{
	uint64_t what[offsetof(struct stream_use, operations) / sizeof(uint64_t)], key, known;
	struct stream_use *more;

	memcpy(what, wanted, sizeof(what));
	key = map_hash_words(what, sizeof(what) / sizeof(*what));
	known = map_get(&use->streams, key, 0);
	if (known)
		return &use->stream[known - 1];
	more = array_room(use->stream, use->stream_count, sizeof(*more));
	if (!more)
		return NULL;
	use->stream = more;
	more[use->stream_count] = *wanted;
	map_set(&use->streams, key, ++use->stream_count);
	return &more[use->stream_count - 1];
}

static const char operations_sql[] =
	"SELECT process, device, stream, kind, call IS NULL, start,"
	" iif(recorded_end IS NULL, end, start) FROM operation";

static int add_span(struct use *use, int64_t process, int64_t ordinal, int64_t start, int64_t end)
{
	struct use_span *more = array_room(use->span, use->span_count, sizeof(*more));
	struct device_use *device;
	size_t index;

	if (more)
		use->span = more;
	if (!more || device_of(use, process, ordinal, &index))
		return -1;
	more[use->span_count++] = (struct use_span){ start, end, index };
	device = &use->device[index];
	if (start < device->first)
		device->first = start;
	if (end > device->last)
		device->last = end;
	return 0;
}

static int add_operation(struct use *use, const struct used *used)
{
	struct stream_use wanted = { .process = used->process,
		.device = used->device,
		.stream = used->stream };
	struct stream_use *stream;

	strncpy(wanted.kind, used->kind, sizeof(wanted.kind) - 1);
	stream = stream_of(use, &wanted);
	if (!stream)
		return -1;
	stream->operations++;
	stream->unmatched += !used->matched;
	if (used->start == RUN_NEVER || used->end == RUN_NEVER || used->end < used->start)
		return 0;
	stream->busy += used->end - used->start;
	return add_span(use, used->process, used->device, used->start, used->end);
}

static int64_t column_or(sqlite3_stmt *row, int column, int64_t otherwise)
{
	return sqlite3_column_type(row, column) == SQLITE_NULL ? otherwise
							       : sqlite3_column_int64(row, column);
}

/* For a run with joined launches, or one that is not in memory. */
static int add_rows(struct use *use, struct db *db)
{
	sqlite3_stmt *q = db_prepare(db, operations_sql);
	int step = -1;

	while (q && (step = db_step(q)) > 0) {
		struct used used = { sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1),
			column_or(q, 2, DB_NULL), (const char *)sqlite3_column_text(q, 3),
			!sqlite3_column_int64(q, 4), column_or(q, 5, RUN_NEVER),
			column_or(q, 6, RUN_NEVER) };

		if (add_operation(use, &used)) {
			step = -1;
			break;
		}
	}
	sqlite3_finalize(q);
	return step;
}

static int add_works(struct use *use, const struct run *run)
{
	for (uint32_t id = 1; id < run_work_end(run); id++) {
		const struct run_work *work = run_work(run, id);
		const struct run_where *where = work ? run_where(run, work) : NULL;
		struct used used;

		if (!work)
			continue;
		used = (struct used){ where->process, where->device,
			where->stream ? where->stream : DB_NULL, run_work_names[where->kind],
			work->call != 0, work->start, run_busy_end(run, work, id) };
		if (add_operation(use, &used))
			return -1;
	}
	return 0;
}

static int follow_span(struct device_use *use, const struct use_span *span)
{
	int64_t both = span->end < use->until ? span->end : use->until;

	busy_add(&use->busy, span->start, span->end);
	busy_add(&use->overlapped, span->start, both);
	if (span->end > use->until)
		use->until = span->end;
	return 0;
}

static int follow_spans(struct use *use)
{
	int rc = 0;

	use->span = digits_sort(use->span, use->span_count, sizeof(*use->span));
	for (size_t i = 0; i < use->span_count && !rc; i++)
		rc = follow_span(&use->device[use->span[i].device], &use->span[i]);
	for (size_t i = 0; i < use->device_count; i++) {
		busy_join(&use->device[i].busy);
		busy_join(&use->device[i].overlapped);
	}
	return rc;
}

static int store_streams(struct db *db, const struct use *use)
{
	sqlite3_stmt *insert = db_prepare(db, "INSERT INTO stream_use VALUES (?,?,?,?,?,?,?)");
	int rc = insert ? 0 : -1;

	for (size_t i = 0; i < use->stream_count && !rc; i++) {
		const struct stream_use *stream = &use->stream[i];

		rc = db_run(insert, "iIisiii", stream->process, stream->stream, stream->device,
			stream->kind, stream->operations, stream->unmatched, stream->busy);
	}
	sqlite3_finalize(insert);
	return rc;
}

static int store_devices(struct db *db, const struct use *use)
{
	sqlite3_stmt *insert = db_prepare(db, "INSERT INTO device_use VALUES (?,?,?,?,?,?)");
	int rc = insert ? 0 : -1;

	for (size_t i = 0; i < use->device_count && !rc; i++) {
		const struct device_use *device = &use->device[i];

		rc = db_run(insert, "iiiiii", device->process, device->device, device->first,
			device->last, busy_total(&device->busy), busy_total(&device->overlapped));
	}
	sqlite3_finalize(insert);
	return rc;
}

int use_measure(struct db *db)
{
	struct use use = { 0 };
	int step = db->run && !db->run->joined ? add_works(&use, db->run) : add_rows(&use, db);

	if (!step && (follow_spans(&use) || store_streams(db, &use) || store_devices(db, &use)))
		step = -1;
	for (size_t i = 0; i < use.device_count; i++) {
		busy_release(&use.device[i].busy);
		busy_release(&use.device[i].overlapped);
	}
	free(use.device);
	free(use.span);
	free(use.stream);
	map_release(&use.streams);
	return step;
}
