/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "analyze.h"
#include "annotations.h"
#include "command.h"
#include "db.h"
#include "interrupt.h"
#include "kept_trace.h"
#include "print.h"
#include "run_folder.h"
#include "store.h"

/* Loads the traces that a database keeps; unless named, the new one takes its place. */
static int load_kept(const char *from, const char *path, struct analyze_input *input)
{
	struct run_folder folder = { 0 };
	char *command = NULL;
	int rc = store_check(path) || run_folder_create(&folder, path) ? -1 : 0;

	if (!rc) {
		rc = kept_trace_unpack(from, folder.path, &command);
		/* After a failure, too: what was unpacked is removed. */
		rc = run_folder_list(&folder) || rc ? -1 : 0;
	}
	if (!rc) {
		input->trace = folder.trace;
		input->count = folder.count;
		input->command = command;
		interrupt_note(folder.note);
		rc = store_build(path, input);
		interrupt_note(NULL);
	}
	run_folder_release(&folder, 0);
	free(command);
	return rc;
}

/* 1: the only operand is a database, 0: there is none, -1 after a message. */
static int is_database(const struct arguments *arguments)
{
	for (int i = 0; i < arguments->count; i++) {
		if (!db_recognize(arguments->operand[i]))
			continue;
		if (arguments->count == 1)
			return 1;
		print(stderr, "cufence load: '%s' is a database: load the traces in it by itself\n",
			arguments->operand[i]);
		return -1;
	}
	return 0;
}

int cmd_load(const struct arguments *arguments)
{
	const char *path = option(arguments, "-o");
	struct annotations *annotations = NULL;
	struct analyze_input input = { .trace = arguments->operand,
		.count = (size_t)arguments->count,
		.keeps_traces = !option(arguments, "--without-trace") };
	int database = is_database(arguments);
	int rc = database < 0 ? -1 : read_annotations(arguments, &annotations);

	input.annotations = annotations;
	if (!rc && database)
		rc = load_kept(*arguments->operand, path ? path : *arguments->operand, &input);
	else if (!rc)
		rc = store_build(path ? path : "cufence.db", &input);
	annotations_free(annotations);
	return rc ? EXIT_TROUBLE : 0;
}

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
