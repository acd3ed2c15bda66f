/* SPDX-License-Identifier: Apache-2.0 */
#include "places.h"

#include <stdlib.h>
#include <string.h>

#include "map.h"
#include "print.h"
#include "run_columns.h"

struct places {
	struct db *db;
	struct words *words;
	const struct run *run;
	struct run *own;
	sqlite3_stmt *process, *frames, *line, *say;
	struct map by_site; /* site -> the site that stands for its place */
	struct map by_text; /* hash of the frames -> that site */
	struct map by_line; /* hash of the line -> the site that stands for it */
	struct map lines;   /* site -> that site */
	int has_types;      /* temp.site_type is filled */
};

/* Frames are compared by line if they have one, else by address. */
static const char frames_sql[] =
	"SELECT group_concat(text, '|') FROM (SELECT CASE WHEN line IS NULL THEN address "
	" ELSE ifnull(function, '') || '@' || ifnull(file, '') || ':' || line END AS text "
	" FROM frame WHERE site = ?1 AND user = 1 ORDER BY depth)";

/* The printed text: without a line it is an address, which is unique. */
static const char line_sql[] =
	"SELECT process || '|' || ifnull(function, '') || '@' || "
	"CASE WHEN line IS NULL THEN text ELSE file || ':' || line END FROM site WHERE id = ?";

/* The frame that names a site, and its offset in the file. */
/* clang-format off */
#define FRAME_OF(site) \
	"(SELECT f.rowid FROM frame f WHERE f.site = " site " ORDER BY f.user DESC," \
	" CASE WHEN f.user THEN f.depth ELSE -f.depth END LIMIT 1)"
/* clang-format on */
#define OFFSET_OF(frame, module) \
	frame ".address - ifnull(" module ".start - " module ".file_offset, 0)"

/*
 * The ordinal counts lines of the function; without lines, calls in order of address.  A place that
 * never made such a call comes after the last one before it that did.
 */
static const char say_sql[] =
	"SELECT s.function, ifnull((SELECT r.number FROM temp.place_number r"
	" WHERE r.process = s.process AND r.function = s.function"
	" AND r.has_line = (s.line NOT NULL) AND r.type = c.type AND r.place < p.place"
	" ORDER BY r.place DESC LIMIT 1), 0) + 1,"
	" m.path, substr(m.build_id, 1, 12), " OFFSET_OF("f", "m") " "
	"FROM site s JOIN call c ON c.id = ? LEFT JOIN temp.site_place p ON p.site = s.id "
	"LEFT JOIN frame f ON f.rowid = " FRAME_OF("s.id") " LEFT JOIN module m ON m.id = f.module "
	"WHERE s.id = ?";

struct places *places_open(struct db *db, struct words *words)
{
	struct places *places = calloc(1, sizeof(*places));

	if (!places)
		return NULL;
	places->db = db;
	places->words = words;
	places->run = run_of(db, &places->own);
	places->process = db_prepare(db, "SELECT process FROM site WHERE id = ?");
	places->frames = db_prepare(db, frames_sql);
	places->line = db_prepare(db, line_sql);
	if (places->run && places->process && places->frames && places->line)
		return places;
	places_close(places);
	return NULL;
}

void places_close(struct places *places)
{
	if (!places)
		return;
	run_close(places->own);
	sqlite3_finalize(places->process);
	sqlite3_finalize(places->frames);
	sqlite3_finalize(places->line);
	sqlite3_finalize(places->say);
	map_release(&places->by_site);
	map_release(&places->by_text);
	map_release(&places->by_line);
	map_release(&places->lines);
	free(places);
}

/* 0 if the site has no frames. */
static int hash_frames(struct places *places, int64_t site, uint64_t *hash)
{
	uint64_t process;
	const char *text;
	int rc = db_bind(places->process, "i", site) ? -1 : db_step(places->process);

	*hash = 0;
	process = rc > 0 ? (uint64_t)sqlite3_column_int64(places->process, 0) : 0;
	sqlite3_reset(places->process);
	rc = rc < 0 || db_bind(places->frames, "i", site) ? -1 : db_step(places->frames);
	text = rc > 0 ? (const char *)sqlite3_column_text(places->frames, 0) : NULL;
	if (text)
		*hash = (map_hash(text, strlen(text)) ^ process << 48) | 1;
	sqlite3_reset(places->frames);
	return rc < 0 ? -1 : 0;
}

int64_t places_site_of(struct places *places, int64_t site)
{
	int64_t place = (int64_t)map_get(&places->by_site, (uint64_t)site, 0);
	uint64_t hash;

	if (place)
		return place;
	if (hash_frames(places, site, &hash))
		return -1;
	place = hash ? (int64_t)map_get(&places->by_text, hash, (uint64_t)site) : site;
	if (hash)
		map_set(&places->by_text, hash, (uint64_t)place);
	map_set(&places->by_site, (uint64_t)site, (uint64_t)place);
	return place;
}

int64_t places_site(struct places *places, int64_t call)
{
	int64_t from[2] = { words_outermost(places->words, call), call };
	int64_t site = 0;

	for (int i = 0; i < 2 && !site; i++) {
		if (from[i] < 0)
			return -1;
		if (run_call(places->run, from[i]))
			site = run_link(places->run, from[i])->site;
	}
	return site ? places_site_of(places, site) : 0;
}

static int64_t find_line(struct places *places, int64_t site)
{
	int64_t line = site;
	const char *text;
	uint64_t hash;

	if (db_bind(places->line, "i", site) || db_step(places->line) < 0)
		return -1;
	text = (const char *)sqlite3_column_text(places->line, 0);
	if (text) {
		hash = map_hash(text, strlen(text)) | 1;
		line = (int64_t)map_get(&places->by_line, hash, (uint64_t)site);
		map_set(&places->by_line, hash, (uint64_t)line);
	}
	sqlite3_reset(places->line);
	return line;
}

static int64_t line_of(struct places *places, int64_t representing)
{
	int64_t line;

	if (representing <= 0)
		return representing;
	line = (int64_t)map_get(&places->lines, (uint64_t)representing, 0);
	if (line)
		return line;
	line = find_line(places, representing);
	if (line < 0)
		return -1;
	map_set(&places->lines, (uint64_t)representing, (uint64_t)line);
	return line;
}

int64_t places_line(struct places *places, int64_t call)
{
	return line_of(places, places_site(places, call));
}

int64_t places_line_of(struct places *places, int64_t site)
{
	return line_of(places, places_site_of(places, site));
}

static int fill_types(struct places *places)
{
	const struct run *run = places->run;
	struct map seen = { 0 };
	sqlite3_stmt *insert = db_prepare(places->db, "INSERT INTO temp.site_type VALUES (?, ?)");
	int rc = insert ? 0 : -1;

	for (uint32_t id = 1; !rc && id < run_call_end(run); id++) {
		const struct run_call *call = run_call(run, id);
		const struct run_link *link = call ? run_link(run, id) : NULL;
		uint64_t key = call ? (uint64_t)link->site << 16 | call->type : 0;

		if (!call || link->parent || !link->site || map_get(&seen, key, 0))
			continue;
		map_set(&seen, key, 1);
		rc = db_run(insert, "ii", (int64_t)link->site, (int64_t)call->type);
	}
	sqlite3_finalize(insert);
	map_release(&seen);
	return rc ? -1 : 0;
}

static const char tables_sql[] =
	"CREATE TEMP TABLE IF NOT EXISTS site_type (site, type);"
	"DELETE FROM temp.site_type;"
	"CREATE TEMP TABLE IF NOT EXISTS site_place (site INTEGER PRIMARY KEY, place);"
	"DELETE FROM temp.site_place;"
	"INSERT INTO temp.site_place SELECT s.id, coalesce(s.line, (SELECT " OFFSET_OF("f", "m")
	" FROM frame f LEFT JOIN module m ON m.id = f.module WHERE f.rowid = " FRAME_OF("s.id")
	")) FROM site s;"
	"CREATE TEMP TABLE IF NOT EXISTS place_number (process INTEGER, function TEXT,"
	" has_line INTEGER, type INTEGER, place INTEGER, number INTEGER,"
	" PRIMARY KEY (process, function, has_line, type, place)) WITHOUT ROWID;"
	"DELETE FROM temp.place_number";

/* Numbered at once: counting for each place took the square of their number. */
static const char number_sql[] =
	"INSERT INTO temp.place_number SELECT *, row_number() OVER"
	"  (PARTITION BY process, function, has_line, type ORDER BY place)"
	" FROM (SELECT DISTINCT s.process, s.function, s.line NOT NULL AS has_line, t.type,"
	"  p.place FROM site s JOIN temp.site_type t ON t.site = s.id"
	"  JOIN temp.site_place p ON p.site = s.id"
	"  WHERE s.function NOT NULL AND p.place NOT NULL)";

/* The kinds of call that each site makes: one pass over all calls, at the first request. */
static int need_types(struct places *places)
{
	if (places->has_types)
		return 0;
	if (db_exec(places->db, tables_sql) || fill_types(places) ||
		db_exec(places->db, number_sql))
		return -1;
	places->say = db_prepare(places->db, say_sql);
	if (!places->say)
		return -1;
	places->has_types = 1;
	return 0;
}

int places_print(struct places *places, int64_t call, int64_t site, FILE *out)
{
	int64_t outermost = words_outermost(places->words, call);
	int rc;

	if (need_types(places) || outermost < 0 || db_bind(places->say, "ii", outermost, site))
		return -1;
	rc = db_step(places->say);
	if (rc > 0 && sqlite3_column_type(places->say, 0) != SQLITE_NULL)
		print(out, " %s#%lld", (const char *)sqlite3_column_text(places->say, 0),
			(long long)sqlite3_column_int64(places->say, 1));
	else {
		/* The text for a function without a name: " file@build-id+0xoffset". */
		sqlite3_stmt *q = places->say;
		const char *path = (const char *)sqlite3_column_text(q, 2);
		const char *id = (const char *)sqlite3_column_text(q, 3);
		const char *slash = path ? strrchr(path, '/') : NULL;

		if (path)
			print(out, " %s%s%s+0x%llx", slash ? slash + 1 : path, id ? "@" : "",
				id ? id : "", (unsigned long long)sqlite3_column_int64(q, 4));
		else
			fputs(" ?", out);
	}
	sqlite3_reset(places->say);
	return rc < 0 ? -1 : 0;
}
