/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report options of a command line.  "cufence report" and "cufence run" share --format,
 * --level, --top, --all, --color, --command-line and --redact, and each has an option that names
 * the file to write.
 */
#ifndef CUFENCE_REPORT_REQUEST_H
#define CUFENCE_REPORT_REQUEST_H

#include "command.h"
#include "disclose.h"
#include "filter.h"
#include "report.h"

struct report_request {
	const struct format *format;
	const char *path; /* the file to write, NULL: the standard stream */
	struct report_options options;
	struct filter filter; /* of "report" */
	char *filtered;       /* its text while the report is written */
	enum disclosure disclosure;
	int full_names; /* whole names of kernels */
};

/* What a format for programs discloses, by --command-line and --redact. */
enum disclosure request_disclosure(const struct arguments *arguments);

/* Reads the options; file: of the option that names a file.  0, or -1 after a message. */
int report_request_read(const struct arguments *arguments, const char *file,
	struct report_request *request);

/*
 * Opens the database for that access and writes its report to the request's file, or else to
 * standard: 0, or -1 after a message.
 */
int report_request_write(struct report_request *request, const char *database,
	enum db_access access, FILE *standard);

#endif
