/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze.h"
#include "command.h"

int cmd_analyze(const struct arguments *arguments)
{
	struct db db;
	int rc = db_open(&db, database_operand(arguments), DB_WRITE);

	if (rc)
		return EXIT_TROUBLE;
	rc = analyze(&db);
	db_close(&db);
	return rc ? EXIT_TROUBLE : 0;
}
