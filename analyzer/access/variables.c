/* SPDX-License-Identifier: Apache-2.0 */
#include "variables.h"

#include <stdlib.h>

#include "kinds.h"
#include "run_build.h"

/*
 * Launches of kernels that use variables.  A handle that stood for kernels of several images is
 * left out.
 */
static const char uses[] =
	"CREATE TEMP TABLE variable_use AS "
	"SELECT c.id AS call, c.process, c.context, c.kernel, v.offset, i.hash AS image, v.hash, "
	"v.bytes FROM launch l CROSS JOIN call c ON c.id = l.call "
	"CROSS JOIN kernel_variable v ON v.kernel = c.kernel "
	"JOIN (SELECT kernel, max(hash) AS hash FROM kernel_image "
	" GROUP BY kernel HAVING count(*) = 1) i ON i.kernel = c.kernel "
	"WHERE c.context NOT NULL;"
	"UPDATE variable SET name = "
	"(SELECT v.name FROM kernel_variable v WHERE v.hash = variable.hash)";

/*
 * Variables whose address was never queried in that context.  Two handles of one kernel may belong
 * to two modules, each with a variable of its own.
 */
static const char unasked[] =
	"CREATE TEMP TABLE unasked AS "
	"SELECT u.process, u.context, u.image, u.hash, max(u.bytes) AS bytes, max(v.name) AS name, "
	"(SELECT ifnull(max(id), 0) FROM allocation) + row_number() OVER () AS id "
	"FROM variable_use u JOIN kernel k ON k.id = u.kernel "
	"JOIN kernel_variable v ON v.kernel = u.kernel AND v.offset = u.offset "
	"WHERE u.bytes > 0 AND NOT EXISTS (SELECT 1 FROM variable w "
	" JOIN allocation a ON a.id = w.allocation JOIN call made ON made.id = a.created "
	" WHERE w.image = u.image AND w.hash = u.hash AND a.process = u.process "
	" AND made.context = u.context) "
	"GROUP BY u.process, u.context, u.image, u.hash "
	"HAVING count(DISTINCT u.kernel) = count(DISTINCT k.mangled);"
	"INSERT INTO allocation (id, process, address, bytes, memory) "
	"SELECT id, process, 0, bytes, 'variable' FROM unasked;"
	"INSERT INTO variable SELECT id, image, hash, name FROM unasked";

/* A launch uses the life of the variable that exists at its time, if there is only one. */
static const char operands[] =
	"CREATE TEMP TABLE variable_at AS "
	"SELECT a.process, made.context, v.image, v.hash, a.id, a.address, a.created, a.freed "
	"FROM variable v JOIN allocation a ON a.id = v.allocation "
	"JOIN call made ON made.id = a.created "
	"UNION ALL SELECT process, context, image, hash, id, 0, 0, NULL FROM unasked;"
	"CREATE INDEX temp.variable_at_hash ON variable_at (hash);"
	"CREATE TEMP TABLE variable_operand AS SELECT u.call, u.offset, "
	"(SELECT CASE WHEN count(*) = 1 THEN max(v.id) WHEN sum(v.created < u.call) = 1 "
	"  THEN max(CASE WHEN v.created < u.call THEN v.id END) END "
	" FROM variable_at v WHERE v.hash = u.hash AND v.image = u.image "
	" AND v.process = u.process AND v.context = u.context "
	" AND ifnull(v.freed, u.call + 1) > u.call) AS allocation FROM variable_use u;"
	"INSERT INTO operand SELECT o.call, 'word', o.offset, a.address, a.id "
	"FROM variable_operand o JOIN allocation a ON a.id = o.allocation";

/*
 * Graph launches name the variables of their nodes, including those of child graphs and bodies, and
 * of nodes after changes and updates.  They may also name variables that an executable no longer
 * uses.
 */
static const char nodes[] =
	"CREATE TEMP TABLE graph_within AS "
	"SELECT child AS inner, graph AS outer FROM graph_node WHERE child NOT NULL "
	"UNION SELECT b.graph, n.graph FROM graph_body b JOIN graph_node n ON n.id = b.node;"
	"CREATE INDEX temp.graph_within_inner ON graph_within (inner);"
	"INSERT INTO operand WITH RECURSIVE told (call, allocation) AS "
	"(SELECT call, allocation FROM variable_operand WHERE allocation NOT NULL), "
	"uses (graph, allocation) AS ("
	"SELECT n.graph, o.allocation FROM told o JOIN graph_node n ON n.call = o.call "
	"UNION SELECT n.graph, o.allocation FROM told o JOIN graph_node n ON n.origin = o.call "
	"UNION SELECT c.graph, o.allocation FROM told o JOIN graph_change c ON c.call = o.call "
	"UNION SELECT w.outer, u.allocation FROM uses u JOIN graph_within w "
	" ON w.inner = u.graph), "
	"exec_uses (exec, allocation) AS ("
	"SELECT e.id, u.allocation FROM uses u JOIN graph_exec e ON e.graph = u.graph "
	"UNION SELECT g.exec, u.allocation FROM uses u JOIN graph_update g ON g.graph = u.graph "
	"UNION SELECT c.exec, o.allocation FROM told o JOIN graph_change c ON c.call = o.call) "
	"SELECT c.id, 'node', NULL, a.address, a.id FROM exec_uses u "
	"JOIN allocation a ON a.id = u.allocation "
	"JOIN call_object x ON x.role = 'exec' AND x.object = u.exec "
	"JOIN call c ON c.id = x.call JOIN call_type t ON t.id = c.type "
	"WHERE " IS_GRAPH_LAUNCH("t") " ORDER BY c.id;"
	"DROP TABLE graph_within";

static const char cleanup[] =
	"DROP TABLE variable_use; DROP TABLE unasked; DROP TABLE variable_at;"
	"DROP TABLE variable_operand";

int variables_keep(struct db *db, int64_t last)
{
	sqlite3_stmt *q = db_prepare(db,
		"SELECT call, offset, address, allocation "
		"FROM operand WHERE rowid > ?");
	int step = q && !db_bind(q, "i", last) ? 0 : -1;

	while (db->run && !step && (step = db_step(q)) > 0) {
		int is_word = sqlite3_column_type(q, 1) != SQLITE_NULL;
		struct run_operand row = {
			.call = (uint32_t)sqlite3_column_int64(q, 0),
			.role = is_word ? OPERAND_WORD : OPERAND_NODE,
			.offset = is_word ? (uint32_t)sqlite3_column_int64(q, 1) : UINT32_MAX,
			.address = sqlite3_column_int64(q, 2),
			.allocation = (uint32_t)sqlite3_column_int64(q, 3),
		};

		step = run_add_operand(db->run, &row);
	}
	sqlite3_finalize(q);
	return step;
}

int variables_resolve(struct db *db)
{
	int64_t last = db_int(db, "SELECT max(rowid) FROM operand", 0);

	if (!db_int(db, "SELECT EXISTS (SELECT 1 FROM kernel_variable)", 0))
		return 0;
	if (db_exec(db, "BEGIN") || db_exec(db, uses) || db_exec(db, unasked) ||
		db_exec(db, operands) || db_exec(db, nodes) || db_exec(db, cleanup) ||
		db_exec(db, "COMMIT")) {
		if (!sqlite3_get_autocommit(db->handle))
			sqlite3_exec(db->handle, "ROLLBACK", NULL, NULL, NULL);
		return -1;
	}
	return variables_keep(db, last);
}
