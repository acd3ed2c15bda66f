/* SPDX-License-Identifier: Apache-2.0 */
/* why-stuck: a running process does not go on, or one that was killed did not. */
#include <stdlib.h>
#include <unistd.h>

#include "command.h"
#include "memory.h"
#include "print.h"
#include "settings.h"
#include "snapshot.h"
#include "store.h"
#include "targets.h"
#include "why_stuck.h"

static int explain(const char *database, const struct traced_list *list)
{
	struct db db;
	int rc;

	if (db_open(&db, database, list ? DB_OWN : DB_FOLLOW))
		return -1;
	rc = why_stuck(&db, list, stdout);
	db_close(&db);
	return rc;
}

/* In a folder of its own, which is removed with the database unless -o named one. */
static int explain_running(const struct arguments *arguments)
{
	const char *wanted = option(arguments, "-o"), *folder = getenv("TMPDIR");
	char *place = xprintf("%s/cufence-XXXXXX", folder && *folder ? folder : "/tmp");
	char *database = NULL;
	struct traced_list list = { 0 };
	int rc = -1;

	if (targets_choose(arguments, option(arguments, "--all") != NULL, &list))
		goto out;
	if (!wanted && !mkdtemp(place)) {
		print(stderr, "cufence: cannot create a folder like '%s'\n", place);
		goto out;
	}
	database = wanted ? xstrdup(wanted) : xprintf("%s/stuck.db", place);
	if (!store_check(database) && !snapshot_build(&list, database, NULL))
		rc = explain(database, &list);
	if (!wanted) {
		unlink(database);
		rmdir(place);
	}
out:
	traced_release(&list);
	free(database);
	free(place);
	return rc;
}

int cmd_why_stuck(const struct arguments *arguments)
{
	uint64_t pid;
	/* One operand that is no number: a database of a process that is over. */
	int is_over = arguments->count == 1 && !setting_number(arguments->operand[0], &pid);
	int rc = is_over ? explain(arguments->operand[0], NULL) : explain_running(arguments);

	return rc ? EXIT_TROUBLE : 0;
}
