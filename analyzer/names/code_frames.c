/* SPDX-License-Identifier: Apache-2.0 */
#include "code_frames.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call_sql.h"

struct code_frames {
	sqlite3_stmt *frame, *called;
	struct sources *sources;
};

static const char frame_sql[] =
	"SELECT f.function, f.file, m.path, f.line, f.code NOT NULL, f.user FROM call c"
	" JOIN frame f ON f.site = c.site LEFT JOIN module m ON m.id = f.module"
	" WHERE c.id = ? ORDER BY f.depth";

static const char called_sql[] = "SELECT " CALL_NAME ", k.name FROM call c" FROM_OUTERMOST
				 " LEFT JOIN kernel k ON k.id = c.kernel WHERE c.id = ?";

struct code_frames *code_frames_open(struct db *db)
{
	struct code_frames *frames = calloc(1, sizeof(*frames));

	if (!frames)
		return NULL;
	frames->frame = db_prepare(db, frame_sql);
	frames->called = db_prepare(db, called_sql);
	frames->sources = sources_new(db);
	if (frames->frame && frames->called && frames->sources)
		return frames;
	code_frames_close(frames);
	return NULL;
}

void code_frames_close(struct code_frames *frames)
{
	if (!frames)
		return;
	sqlite3_finalize(frames->frame);
	sqlite3_finalize(frames->called);
	sources_free(frames->sources);
	free(frames);
}

int code_frames_called(struct code_frames *frames, int64_t call, struct code_called *called)
{
	sqlite3_stmt *q = frames->called;
	int step = db_bind(q, "i", call) ? -1 : db_step(q);
	const char *kernel = step > 0 ? db_text(q, 1) : "", *scope;

	while ((scope = strstr(kernel, "::")))
		kernel = scope + 2;
	snprintf(called->call, CODE_NAME_SIZE, "%s", step > 0 ? db_text(q, 0) : "");
	snprintf(called->kernel, CODE_NAME_SIZE, "%s", kernel);
	sqlite3_reset(q);
	return step < 0 ? -1 : 0;
}

int code_frames_visit(struct code_frames *frames, int64_t call,
	int (*see)(const struct code_frame *frame, void *data), void *data)
{
	sqlite3_stmt *q = frames->frame;
	int step = db_bind(q, "i", call), seen = 0;

	while (!step && !seen && (step = db_step(q)) > 0) {
		struct code_frame frame = { .function = db_text(q, 0),
			.file = db_text(q, 1),
			.module = db_text(q, 2),
			.line = sqlite3_column_int64(q, 3),
			.script = sqlite3_column_int(q, 4),
			.user = sqlite3_column_int(q, 5) };

		const struct source *source = *frame.file && (frame.script || frame.user)
			? sources_find(frames->sources, frame.file,
				  *frame.module ? frame.module : NULL)
			: NULL;
		frame.source = source && !source->newer ? source : NULL;
		seen = see(&frame, data);
		step = 0;
	}
	sqlite3_reset(q);
	return step < 0 ? -1 : seen;
}
