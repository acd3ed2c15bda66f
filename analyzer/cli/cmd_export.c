/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"
#include "db.h"
#include "fleet.h"
#include "print.h"
#include "ranks.h"

static int add_database(const char *path, struct fleet *fleet)
{
	struct db db;
	int rc;

	if (db_open(&db, path, DB_READ))
		return -1;
	if (ranks_is_merged(&db)) {
		print(stderr,
			"cufence export: '%s' is a merged database: name those of the ranks\n",
			path);
		rc = -1;
	} else {
		rc = fleet_add(fleet, &db);
	}
	if (db.failed)
		rc = -1;
	db_close(&db);
	return rc;
}

int cmd_export(const struct arguments *arguments)
{
	struct fleet fleet = { .folder = arguments->operand[0],
		.run = option(arguments, "--run"),
		.commit = option(arguments, "--commit") };
	int rc = fleet_open(&fleet);

	if (!rc && arguments->count == 1)
		rc = add_database("cufence.db", &fleet);
	for (int i = 1; i < arguments->count && !rc; i++)
		rc = add_database(arguments->operand[i], &fleet);
	return rc ? EXIT_TROUBLE : 0;
}
