/* SPDX-License-Identifier: Apache-2.0 */
#include "loop_paths.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "record.h"

/*
 * The program's own frames first: of a script if there is one, else of its files.  Paths with as
 * many frames of scripts as a trace keeps are last: outer ones may be missing.
 */
static const char frames_sql[] =
	"WITH path AS (SELECT s.id, (SELECT count(code) FROM frame WHERE site = s.id) AS scripts,"
	"  (SELECT count(code) FROM frame WHERE site = s.id AND user) AS own"
	"  FROM site s WHERE process = ?1)"
	" SELECT f.site, f.depth, f.address, f.user AND f.code NOT NULL, f.loop,"
	"  scripts >= ?2 OR own >= ?3 AS is_cut"
	" FROM path JOIN frame f ON f.site = path.id"
	" ORDER BY is_cut, f.site, f.user AND (f.code NOT NULL OR NOT scripts) DESC, f.depth DESC";

static int add_node(struct loop_paths *paths, const struct path_node *node)
{
	struct path_node *more = array_room(paths->node, paths->count, sizeof(*more));

	if (!more)
		return -1;
	paths->node = more;
	more[paths->count] = *node;
	if (paths->count) {
		more[paths->count].level = more[node->parent].level + 1;
		more[paths->count].is_below_own = node->is_own || more[node->parent].is_below_own;
	}
	paths->count++;
	return 0;
}

/* Goes from *at to its child of that address. */
static int go_to(struct loop_paths *paths, uint32_t *at, uint64_t address,
	const struct path_node *frame)
{
	const uint64_t words[] = { *at, address };
	uint64_t key = map_hash_words(words, 2);
	uint64_t known = map_get(&paths->children, key, 0);
	struct path_node node = *frame;

	node.parent = *at;
	*at = (uint32_t)(known ? known : paths->count);
	if (known)
		return 0;
	map_set(&paths->children, key, *at);
	return add_node(paths, &node);
}

static int add_leaf(struct loop_paths *paths, uint32_t site, uint32_t at)
{
	size_t end = paths->leaf_end ? paths->leaf_end : 64;
	uint32_t *more = paths->leaf;

	while (end <= site)
		end *= 2;
	if (end != paths->leaf_end) {
		more = realloc(paths->leaf, end * sizeof(*more));
		if (!more) {
			fputs("cufence: out of memory\n", stderr);
			return -1;
		}
		memset(more + paths->leaf_end, 0, (end - paths->leaf_end) * sizeof(*more));
		paths->leaf = more;
		paths->leaf_end = end;
	}
	more[site] = (uint32_t)paths->count;
	return add_node(paths,
		&(struct path_node){ .parent = at, .site = site, .depth = -1, .is_leaf = 1 });
}

uint32_t loop_paths_leaf(struct loop_paths *paths, uint32_t site)
{
	const struct path_node frame = { .site = site, .depth = -1 };
	uint32_t at = 0;

	if (site < paths->leaf_end && paths->leaf[site])
		return paths->leaf[site];
	if (go_to(paths, &at, site, &frame) || add_leaf(paths, site, at))
		return 0;
	return paths->leaf[site];
}

/* Notes the first node of a function of the script. */
static int note_function(struct loop_paths *paths, uint64_t address, uint32_t node)
{
	uint32_t code = SCRIPT_CODE(address);

	if (!map_get(&paths->functions, code, 0))
		map_set(&paths->functions, code, node);
	return 0;
}

/*
 * Where a path begins, given the address of its outermost frame.  If it was cut, that is next to
 * another path's frame of that function.
 */
static uint32_t begin_path(const struct loop_paths *paths, uint64_t address, int is_cut)
{
	uint64_t known = is_cut && IS_SCRIPT_FRAME(address)
		? map_get(&paths->functions, SCRIPT_CODE(address), 0)
		: 0;

	return paths->node[known].parent;
}

static int read_frames(struct loop_paths *paths, sqlite3_stmt *q)
{
	uint32_t site = 0, at = 0;
	int step;

	while ((step = db_step(q)) > 0) {
		uint32_t of = (uint32_t)sqlite3_column_int64(q, 0);
		uint64_t address = (uint64_t)sqlite3_column_int64(q, 2);
		const struct path_node frame = {
			.site = of,
			.depth = sqlite3_column_int(q, 1),
			.is_own = (uint8_t)sqlite3_column_int(q, 3),
			.loop = sqlite3_column_int(q, 4),
		};

		if (of != site) {
			if (site && add_leaf(paths, site, at))
				return -1;
			site = of;
			at = begin_path(paths, address, sqlite3_column_int(q, 5));
		}
		if (go_to(paths, &at, address, &frame) ||
			(frame.is_own && note_function(paths, address, at)))
			return -1;
	}
	return step || (site && add_leaf(paths, site, at)) ? -1 : 0;
}

int loop_paths_read(struct loop_paths *paths, struct db *db, uint32_t process)
{
	sqlite3_stmt *q = db_prepare(db, frames_sql);
	int rc = !q ||
			db_bind(q, "iii", (int64_t)process, (int64_t)SITE_SCRIPT_FRAMES,
				(int64_t)SITE_OWN_FRAMES) ||
			add_node(paths, &(struct path_node){ .depth = -1 })
		? -1
		: read_frames(paths, q);

	sqlite3_finalize(q);
	return rc;
}

void loop_paths_release(struct loop_paths *paths)
{
	free(paths->node);
	free(paths->leaf);
	map_release(&paths->children);
	map_release(&paths->functions);
	*paths = (struct loop_paths){ 0 };
}

uint32_t loop_paths_find_line(const struct loop_paths *paths, uint32_t node, uint32_t below)
{
	uint32_t own = 0;

	for (; node && node != below; node = paths->node[node].parent) {
		if (!paths->node[node].is_own)
			continue;
		if (paths->node[node].loop)
			return node;
		own = own ? own : node;
	}
	return own;
}

/*
 * Of a frame of a script, or of a site: its innermost own frame with a line, else that in the
 * program's file (the lowest in memory), else what names the site.
 */
static const char name_sql[] =
	"WITH own AS (SELECT f.depth, f.file, f.line, m.path,"
	"  f.address - m.start + m.file_offset AS at,"
	"  m.id = (SELECT min(o.id) FROM module o WHERE o.process = m.process) AS is_program"
	"  FROM frame f LEFT JOIN module m ON m.id = f.module WHERE f.site = ?1 AND f.user)"
	" SELECT replace(name, rtrim(name, replace(name, '/', '')), '') || at FROM"
	" (SELECT 0 AS choice, depth, file AS name, ':' || line AS at FROM own"
	"  WHERE ?2 < 0 OR depth = ?2"
	" UNION ALL SELECT 1, depth, path, printf('+0x%x', at) FROM own WHERE is_program AND ?2 < 0"
	" UNION ALL SELECT 2, 0, text, '' FROM site WHERE id = ?1)"
	" WHERE name NOT NULL AND at NOT NULL ORDER BY choice, depth LIMIT 1";

int loop_paths_name(const struct loop_paths *paths, struct db *db, uint32_t node, uint32_t site,
	char *text, size_t size)
{
	const struct path_node *line = &paths->node[node];
	sqlite3_stmt *q = db_prepare(db, name_sql);
	int step = q ? db_bind(q, "ii", (int64_t)(node ? line->site : site),
			       node ? (int64_t)line->depth : -1)
		     : -1;

	if (!step && (step = db_step(q)) > 0)
		snprintf(text, size, "%s", db_text(q, 0));
	sqlite3_finalize(q);
	return step < 0 ? -1 : 0;
}
