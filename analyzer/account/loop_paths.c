/* SPDX-License-Identifier: Apache-2.0 */
#include "loop.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
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

static void add_node(struct loop_paths *paths, const struct path_node *node)
{
	const struct path_node *parent;
	struct path_node *added = array_push(paths->node, paths->count);

	*added = *node;
	if (paths->count == 1)
		return;
	parent = &paths->node[node->parent];
	added->level = parent->level + 1;
	added->is_below_own = node->is_own || parent->is_below_own;
}

/* Returns the child of a node with that address. */
static uint32_t go_to(struct loop_paths *paths, uint32_t parent, uint64_t address,
	struct path_node frame)
{
	const uint64_t words[] = { parent, address };
	uint64_t key = map_hash_words(words, 2), known = map_get(&paths->children, key, 0);

	if (known)
		return (uint32_t)known;
	frame.parent = parent;
	add_node(paths, &frame);
	map_set(&paths->children, key, paths->count - 1);
	return (uint32_t)paths->count - 1;
}

static void add_leaf(struct loop_paths *paths, uint32_t site, uint32_t at)
{
	size_t end = paths->leaf_end ? paths->leaf_end : 64;

	while (end <= site)
		end *= 2;
	if (end != paths->leaf_end) {
		paths->leaf = xrealloc(paths->leaf, end, sizeof(*paths->leaf));
		memset(paths->leaf + paths->leaf_end, 0,
			(end - paths->leaf_end) * sizeof(*paths->leaf));
		paths->leaf_end = end;
	}
	paths->leaf[site] = (uint32_t)paths->count;
	add_node(paths,
		&(struct path_node){ .parent = at, .site = site, .depth = -1, .is_leaf = 1 });
}

uint32_t loop_paths_leaf(struct loop_paths *paths, uint32_t site)
{
	if (site >= paths->leaf_end || !paths->leaf[site])
		add_leaf(paths, site,
			go_to(paths, 0, site, (struct path_node){ .site = site, .depth = -1 }));
	return paths->leaf[site];
}

int loop_paths_read(struct loop_paths *paths, struct db *db, uint32_t process)
{
	sqlite3_stmt *q = db_prepare(db, frames_sql);
	uint32_t site = 0, at = 0;
	uint64_t known;
	int step = q ? db_bind(q, "iii", (int64_t)process, (int64_t)SITE_SCRIPT_FRAMES,
			       (int64_t)SITE_OWN_FRAMES)
		     : -1;

	add_node(paths, &(struct path_node){ .depth = -1 });
	while (!step && (step = db_step(q)) > 0) {
		uint32_t of = (uint32_t)sqlite3_column_int64(q, 0);
		uint64_t address = (uint64_t)sqlite3_column_int64(q, 2);
		const struct path_node frame = {
			.site = of,
			.depth = sqlite3_column_int(q, 1),
			.is_own = (uint8_t)sqlite3_column_int(q, 3),
			.loop = sqlite3_column_int(q, 4),
		};

		if (of != site) {
			if (site)
				add_leaf(paths, site, at);
			site = of;
			/* A cut path begins next to a frame of its outermost function. */
			known = sqlite3_column_int(q, 5) && IS_SCRIPT_FRAME(address)
				? map_get(&paths->functions, SCRIPT_CODE(address), 0)
				: 0;
			at = paths->node[known].parent;
		}
		at = go_to(paths, at, address, frame);
		if (frame.is_own && !map_get(&paths->functions, SCRIPT_CODE(address), 0))
			map_set(&paths->functions, SCRIPT_CODE(address), at);
		step = 0;
	}
	if (site && !step)
		add_leaf(paths, site, at);
	sqlite3_finalize(q);
	return step;
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
