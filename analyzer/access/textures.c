/* SPDX-License-Identifier: Apache-2.0 */
#include "textures.h"

#include "kinds.h"
#include "launch_words.h"
#include "variables.h"

/* The words of shapes that are objects, with their values where known. */
static const char words[] =
	"CREATE TEMP TABLE object_word "
	"(shape INTEGER, offset INTEGER, surface INTEGER, value INTEGER);"
	"CREATE INDEX temp.object_word_shape ON object_word (shape)";

/* clang-format off */
/* A launch with that value uses the object that exists at its time. */
static const char uses[] =
	"CREATE TEMP TABLE object_use AS "
	"SELECT l.call, w.shape, w.offset, w.surface, (SELECT max(t.id) FROM texture t "
	" WHERE t.value = w.value AND t.surface = w.surface AND t.process = c.process "
	" AND t.created < c.id AND ifnull(t.destroyed, c.id) >= c.id AND t.allocation NOT NULL) "
	"AS texture FROM launch l JOIN object_word w ON w.shape = l.shape "
	"JOIN call c ON c.id = l.call;"
	"INSERT INTO operand SELECT u.call, 'word', u.offset, t.address, t.allocation "
	"FROM object_use u JOIN texture t ON t.id = u.texture;"
	/* A launch with an unknown object may access anything. */
	"CREATE TEMP TABLE object_unknown AS SELECT DISTINCT u.shape, s.kernel, max(EXISTS "
	" (SELECT 1 FROM kernel_access a WHERE a.kernel = s.kernel AND a.offset = u.offset "
	"  AND a.direction <> 'load')) AS stores "
	"FROM object_use u JOIN shape s ON s.id = u.shape WHERE u.texture IS NULL "
	"GROUP BY u.shape;"
	"UPDATE shape_code SET complete = 0, why = 'a texture or surface that is not known', "
	"reaches = reaches | 1 | 2 * (SELECT u.stores FROM object_unknown u "
	" WHERE u.shape = shape_code.shape) "
	"WHERE shape IN (SELECT shape FROM object_unknown);"
	/* Accesses that hold for any launch do not identify the object. */
	"UPDATE kernel_code SET complete = 0, "
	"why = ifnull(why, 'it uses textures or surfaces'), reaches = reaches | 1 | 2 * EXISTS "
	" (SELECT 1 FROM kernel_object o JOIN kernel_access a "
	"  ON a.kernel = o.kernel AND a.offset = o.offset AND a.direction <> 'load' "
	"  WHERE o.kernel = kernel_code.kernel) "
	"WHERE kernel IN (SELECT kernel FROM kernel_object)";

/*
 * The width of array elements: the number of channels is not recorded, but the copies that reach
 * furthest to the right end with the row.
 */
static const char arrays[] =
	"CREATE TEMP TABLE array_item AS "
	"SELECT a.allocation, a.width, max(a.height, 1) AS height, max(a.depth, 1) AS depth, "
	"(SELECT max((o.address & (1 << 21) - 1) + ifnull(e.bytes, c.bytes)) FROM operand o "
	" JOIN call c ON c.id = o.call "
	" LEFT JOIN extent e ON e.call = o.call AND e.role = o.role "
	"  AND e.allocation = a.allocation "
	" WHERE o.allocation = a.allocation AND o.role IN ('dst', 'src', 'src_any')) AS row, "
	"CASE WHEN a.format IN (2, 9, 16) THEN 2 WHEN a.format IN (3, 10, 32) THEN 4 "
	" WHEN a.format IN (1, 8) THEN 1 END AS channel "
	"FROM array a WHERE a.width > 0 AND NOT a.levels AND a.allocation IN "
	"(SELECT t.allocation FROM object_use u JOIN texture t ON t.id = u.texture);"
	"DELETE FROM array_item WHERE row IS NULL OR row % width "
	"OR row / width / channel NOT IN (1, 2, 4) OR row / width % channel";

/* The bytes of the object in a word of a shape, if they are equal in all its launches. */
static const char bounds[] =
	"CREATE TEMP TABLE object_bytes AS SELECT u.shape, u.offset, t.bytes, "
	"t.allocation, count(DISTINCT ifnull(t.bytes, -t.allocation)) AS kinds, "
	"min(u.texture) AS least "
	"FROM object_use u LEFT JOIN texture t ON t.id = u.texture GROUP BY u.shape, u.offset "
	"HAVING kinds = 1 AND count(*) = count(u.texture);"
	"CREATE INDEX temp.object_bytes_shape ON object_bytes (shape, offset);"
	"UPDATE kernel_access SET low = 0, high = b.bytes, run = NULL "
	"FROM object_bytes b WHERE b.bytes NOT NULL AND kernel_access.shape = b.shape "
	"AND kernel_access.offset = b.offset;"
	"UPDATE kernel_access SET low = 0, run = i.row, "
	"high = (i.depth - 1 << 37) + (i.height - 1 << 21) + i.row, "
	"stride1 = CASE WHEN i.depth > 1 THEN 1 << 37 WHEN i.height > 1 THEN 1 << 21 END, "
	"count1 = CASE WHEN i.depth > 1 THEN i.depth WHEN i.height > 1 THEN i.height END, "
	"stride2 = CASE WHEN i.depth > 1 AND i.height > 1 THEN 1 << 21 END, "
	"count2 = CASE WHEN i.depth > 1 AND i.height > 1 THEN i.height END "
	"FROM object_bytes b JOIN array_item i ON i.allocation = b.allocation "
	"WHERE b.bytes IS NULL AND kernel_access.shape = b.shape "
	"AND kernel_access.offset = b.offset";

/* Graph launches name the memory of their nodes: arrays, and memory of objects. */
static const char nodes[] =
	"INSERT INTO operand SELECT DISTINCT c.id, 'node', NULL, a.address, a.id "
	"FROM operand o JOIN allocation a ON a.id = o.allocation "
	"JOIN graph_node n ON ifnull(n.origin, n.call) = o.call "
	"JOIN graph_exec e ON e.graph = n.graph "
	"JOIN call_object x ON x.role = 'exec' AND x.object = e.id "
	"JOIN call c ON c.id = x.call JOIN call_type t ON t.id = c.type "
	"WHERE (a.memory = 'array' OR o.call IN (SELECT call FROM object_use)) "
	"AND " IS_GRAPH_LAUNCH("t");
/* clang-format on */

static const char cleanup[] =
	"DROP TABLE object_word; DROP TABLE object_use;"
	"DROP TABLE object_unknown; DROP TABLE array_item;"
	"DROP TABLE object_bytes";

static int find_words(struct db *db)
{
	sqlite3_stmt *insert = db_prepare(db, "INSERT INTO object_word VALUES (?,?,?,?)");
	sqlite3_stmt *q = db_prepare(db,
		"SELECT s.id, o.offset, o.surface, s.words FROM kernel_object o "
		"JOIN shape s ON s.kernel = o.kernel");
	int step = insert && q ? 0 : -1;

	while (!step && (step = db_step(q)) > 0) {
		uint64_t value = 0;
		int known = launch_words_find(sqlite3_column_blob(q, 3),
			(size_t)sqlite3_column_bytes(q, 3), (uint32_t)sqlite3_column_int64(q, 1), 8,
			&value);

		step = db_run(insert, "iiiI", sqlite3_column_int64(q, 0),
			sqlite3_column_int64(q, 1), sqlite3_column_int64(q, 2),
			known ? (int64_t)value : DB_NULL);
	}
	sqlite3_finalize(insert);
	sqlite3_finalize(q);
	return step;
}

int textures_resolve(struct db *db)
{
	int64_t last = db_int(db, "SELECT max(rowid) FROM operand", 0);

	if (!db_int(db,
		    "SELECT EXISTS (SELECT 1 FROM kernel_object) OR EXISTS (SELECT 1 FROM array)",
		    0))
		return 0;
	if (db_exec(db, "BEGIN") || db_exec(db, words) || find_words(db) || db_exec(db, uses) ||
		db_exec(db, arrays) || db_exec(db, bounds) || db_exec(db, nodes) ||
		db_exec(db, cleanup) || db_exec(db, "COMMIT")) {
		if (!sqlite3_get_autocommit(db->handle))
			sqlite3_exec(db->handle, "ROLLBACK", NULL, NULL, NULL);
		return -1;
	}
	return variables_keep(db, last);
}
