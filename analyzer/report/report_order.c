/* SPDX-License-Identifier: Apache-2.0 */
#include "report_internal.h"

#include <stdlib.h>

#include "print.h"
#include "shell.h"

int report_order(struct db *db, int64_t finding, FILE *out)
{
	sqlite3_stmt *q = db_prepare(db,
		"SELECT o.id, p.id FROM finding f JOIN operation o ON o.call = f.other_call"
		" JOIN operation p ON p.call = f.call WHERE f.id = ? ORDER BY o.id, p.id LIMIT 1");
	int step = q && !db_bind(q, "i", finding) ? db_step(q) : -1;
	char *name = step > 0 ? shell_word(db->path) : NULL;

	if (name)
		print(out, "    what orders them: cufence why %s %lld %lld\n", name,
			(long long)sqlite3_column_int64(q, 0),
			(long long)sqlite3_column_int64(q, 1));
	free(name);
	sqlite3_finalize(q);
	return step < 0 ? -1 : 0;
}
