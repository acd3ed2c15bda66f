/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze.h"
#include "annotations.h"
#include "command.h"

int cmd_analyze(const struct arguments *arguments)
{
	struct annotations *annotations;
	struct db db;
	int rc = read_annotations(arguments, &annotations);

	if (!rc)
		rc = db_open(&db, database_operand(arguments), DB_WRITE);
	if (rc) {
		annotations_free(annotations);
		return EXIT_TROUBLE;
	}
	rc = analyze_annotated(&db, annotations);
	db_close(&db);
	annotations_free(annotations);
	return rc ? EXIT_TROUBLE : 0;
}
