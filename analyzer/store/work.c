/* SPDX-License-Identifier: Apache-2.0 */
#include "work.h"

#include "kinds.h"

#define NODES \
	"EXISTS (SELECT 1 FROM call c JOIN call_type t ON t.id = c.type WHERE c.id = o.call " \
	"AND " IS_GRAPH_LAUNCH("t") ") AND o.kind <> 'graph'"

static const char by_node_sql[] =
	"SELECT EXISTS (SELECT 1 FROM call c CROSS JOIN main.operation o ON o.call = c.id "
	" WHERE c.type IN (SELECT t.id FROM call_type t WHERE " IS_GRAPH_LAUNCH("t") ") "
	" AND o.kind <> 'graph')";

static const char drop_sql[] =
	"DROP VIEW IF EXISTS temp.work; DROP TABLE IF EXISTS temp.work_of_nodes;";

/* Without such graphs no copy is needed. */
static const char all_sql[] = "CREATE TEMP VIEW work AS SELECT * FROM main.operation;";

/* Columns without an aggregate come from the row with the greatest end. */
/* clang-format off */
static const char joined_sql[] =
	"CREATE TEMP TABLE work_of_nodes (id INTEGER PRIMARY KEY, process INTEGER, call INTEGER, "
	" kind TEXT, start INTEGER, end INTEGER, device INTEGER, context INTEGER, stream INTEGER, "
	" correlation INTEGER, kernel INTEGER, bytes INTEGER, copy_kind INTEGER, src_memory TEXT, "
	" dst_memory TEXT, graph_node INTEGER, recorded_end INTEGER);"
	"INSERT INTO work_of_nodes SELECT * FROM main.operation o WHERE NOT (" NODES ");"
	"INSERT INTO work_of_nodes SELECT o.id, o.process, o.call, 'graph', "
	" (SELECT min(n.start) FROM main.operation n WHERE n.call = o.call), max(o.end), "
	" o.device, ifnull(s.context, o.context), l.stream, o.correlation, NULL, NULL, NULL, NULL, "
	" NULL, NULL, o.recorded_end FROM main.operation o JOIN call l ON l.id = o.call "
	" LEFT JOIN stream s ON s.id = l.stream WHERE " NODES " GROUP BY o.call;"
	"CREATE INDEX temp.work_of_nodes_call ON work_of_nodes (call);"
	"CREATE INDEX temp.work_of_nodes_end ON work_of_nodes (end);"
	"CREATE TEMP VIEW work AS SELECT * FROM temp.work_of_nodes;";
/* clang-format on */

int work_make_of(struct db *db, int by_node)
{
	return db_exec(db, drop_sql) || db_exec(db, by_node ? joined_sql : all_sql) ? -1 : 0;
}

int work_make(struct db *db)
{
	int64_t by_node = db_int(db, by_node_sql, -1);

	return by_node < 0 ? -1 : work_make_of(db, by_node != 0);
}

int work_need(struct db *db)
{
	int64_t made = db_int(db,
		"SELECT EXISTS (SELECT 1 FROM sqlite_temp_schema WHERE name = 'work')", -1);

	return made < 0 ? -1 : made ? 0 : work_make(db);
}
