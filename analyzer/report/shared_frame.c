/* SPDX-License-Identifier: Apache-2.0 */
#include "shared_frame.h"

#include <string.h>

#include "map.h"
#include "print.h"
#include "record.h"

enum { FRAMES_MOST = 128 };

struct frame {
	uint64_t address, function; /* function: a hash of its name, 0: not known */
	int64_t place;              /* line, of a script the offset of its code; else the address */
	int64_t loop;               /* as in table frame, 0: none */
	int depth, is_own;
};

/* A call path, the outermost frame first. */
struct path {
	struct frame frame[FRAMES_MOST];
	size_t count;
	size_t scripts; /* frames of scripts, which come first */
};

static int read_path(struct db *db, int64_t site, struct path *path)
{
	sqlite3_stmt *q = db_prepare(db,
		"SELECT depth, address, module, function, line, loop, user FROM frame"
		" WHERE site = ? ORDER BY depth DESC LIMIT ?");
	int step = q ? db_bind(q, "ii", site, (int64_t)FRAMES_MOST) : -1;

	path->count = path->scripts = 0;
	while (!step && (step = db_step(q)) > 0) {
		uint64_t address = (uint64_t)sqlite3_column_int64(q, 1);
		int64_t line = sqlite3_column_int64(q, 4);
		int is_script = IS_SCRIPT_FRAME(address) != 0;
		const char *name = db_text(q, 3);
		uint64_t function = is_script ? SCRIPT_CODE(address) : 0;

		if (!is_script && *name)
			function = map_hash_next(map_hash(name, strlen(name)),
				(uint64_t)sqlite3_column_int64(q, 2));
		path->frame[path->count++] = (struct frame){
			.address = address,
			.function = function,
			.place = is_script ? (int64_t)SCRIPT_OFFSET(address)
				: line     ? line
					   : (int64_t)address,
			.loop = sqlite3_column_int64(q, 5),
			.depth = sqlite3_column_int(q, 0),
			.is_own = sqlite3_column_int(q, 6),
		};
		path->scripts += (size_t)is_script;
		step = 0;
	}
	sqlite3_finalize(q);
	return step;
}

static int is_function(const struct frame *a, const struct frame *b)
{
	return a->function == b->function && (a->function || a->address == b->address);
}

static int is_same(const struct frame *a, const struct frame *b)
{
	return is_function(a, b) && a->place == b->place;
}

/* A position in either path. */
struct pair {
	size_t from, to;
};

/* Skips frames of scripts that one of the paths lacks, up to where they agree most. */
static void align(const struct path *from, const struct path *to, struct pair *at)
{
	struct pair best = *at;
	size_t most = 0, lacks_to = from->scripts - at->from, lacks_from = to->scripts - at->to;

	for (size_t i = 0; i < lacks_to + lacks_from; i++) {
		struct pair next = *at;
		size_t count = 0;

		if (i < lacks_to)
			next.from += i;
		else
			next.to += i - lacks_to;
		while (next.from + count < from->scripts && next.to + count < to->scripts &&
			is_same(&from->frame[next.from + count], &to->frame[next.to + count]))
			count++;
		if (count > most) {
			most = count;
			best = next;
		}
	}
	*at = best;
}

/* The pairs of frames that both paths have, the last of which may be two places of a function. */
static size_t find_pairs(const struct path *from, const struct path *to,
	struct pair pairs[FRAMES_MOST])
{
	struct pair at = { 0, 0 };
	size_t count = 0;

	for (int part = 0; part < 2; part++) {
		for (; at.from < from->count && at.to < to->count; at.from++, at.to++) {
			const struct frame *a = &from->frame[at.from], *b = &to->frame[at.to];

			if (!is_function(a, b))
				break;
			pairs[count++] = at;
			if (!is_same(a, b))
				return count;
		}
		if (!part && at.from < from->scripts && at.to < to->scripts)
			align(from, to, &at);
	}
	return count;
}

/*
 * Returns the depth, in the second path, of the innermost frame in which the thread went on, or
 * around a loop of it; -1: none.  In a script it is the innermost frame of the script if that is in
 * a library, and the innermost own frame if there is none.
 */
static int find_depth(const struct path *from, const struct path *to, const struct pair *pairs,
	size_t count)
{
	int is_script = from->scripts && to->scripts, own = -1;

	while (count--) {
		const struct frame *a = &from->frame[pairs[count].from];
		const struct frame *b = &to->frame[pairs[count].to];
		int goes_on = b->place > a->place || (b->loop && a->loop == b->loop);
		int is_in_script = pairs[count].to < to->scripts;

		if (!is_script && goes_on && b->is_own && b->function)
			return b->depth;
		if (is_script && goes_on)
			return is_in_script ? b->depth : to->frame[to->scripts - 1].depth;
		if (is_script && own < 0 && b->is_own && is_in_script)
			own = b->depth;
	}
	return own;
}

static void shared_frame(sqlite3_context *context, int count, sqlite3_value **value)
{
	struct db *db = sqlite3_user_data(context);
	struct pair pairs[FRAMES_MOST];
	struct path from, to;
	int depth;

	for (int i = 0; i < count; i++)
		if (sqlite3_value_type(value[i]) == SQLITE_NULL)
			return;
	if (read_path(db, sqlite3_value_int64(value[0]), &from) ||
		read_path(db, sqlite3_value_int64(value[1]), &to)) {
		sqlite3_result_error(context, "shared_frame", -1);
		return;
	}
	depth = find_depth(&from, &to, pairs, find_pairs(&from, &to, pairs));
	if (depth >= 0)
		sqlite3_result_int(context, depth);
}

int shared_frame_add_function(struct db *db)
{
	if (sqlite3_create_function(db->handle, "shared_frame", 2,
		    SQLITE_UTF8 | SQLITE_DIRECTONLY | SQLITE_DETERMINISTIC, db, shared_frame, NULL,
		    NULL) == SQLITE_OK)
		return 0;
	print(stderr, "cufence: SQLite: %s\n", sqlite3_errmsg(db->handle));
	return -1;
}
