/* SPDX-License-Identifier: Apache-2.0 */
#include "script_lines.h"

#include "places.h"
#include "words.h"

int script_lines_open(struct script_lines *lines, struct db *db)
{
	lines->words = words_open(db);
	lines->places = lines->words ? places_open(db, lines->words) : NULL;
	lines->is_script = db_prepare(db,
		"SELECT 1 FROM frame u WHERE u.site = ? AND u.user AND (u.code NOT NULL OR EXISTS"
		" (SELECT 1 FROM frame i JOIN module m ON m.id = i.module WHERE i.site = u.site"
		"  AND i.depth = 0 AND m.id <> u.module AND (m.path GLOB '*/libcublas*.so*'"
		"   OR m.path GLOB '*/libcusolver*.so*' OR m.path GLOB '*/libcusparse*.so*')))");
	return lines->places && lines->is_script ? 0 : -1;
}

void script_lines_close(struct script_lines *lines)
{
	sqlite3_finalize(lines->is_script);
	places_close(lines->places);
	words_close(lines->words);
}

int script_lines_has(struct script_lines *lines, int64_t call)
{
	int64_t place = places_site(lines->places, call);
	int rc;

	if (place <= 0)
		return (int)place;
	rc = db_bind(lines->is_script, "i", place) ? -1 : db_step(lines->is_script);
	sqlite3_reset(lines->is_script);
	return rc;
}

int script_lines_same(struct script_lines *lines, int64_t call, int64_t other)
{
	int64_t place = places_site(lines->places, call);

	if (place <= 0 || places_site(lines->places, other) != place)
		return place < 0 ? -1 : 0;
	return script_lines_has(lines, call);
}
