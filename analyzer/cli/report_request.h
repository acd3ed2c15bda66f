/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A report as asked for on a command line: "cufence report" and "cufence run" take the same
 * options for it (--format, --level, --top, --all, --color), and a file for it.
 */
#ifndef CUFENCE_REPORT_REQUEST_H
#define CUFENCE_REPORT_REQUEST_H

#include "command.h"
#include "report.h"

struct report_request {
	const struct format *format;
	const char *path; /* the file to write, NULL: the standard stream */
	struct report_options options;
};

/* Reads the options; file: of the option that names a file.  0, or -1 after a message. */
int report_request_read(const struct arguments *arguments, const char *file,
	struct report_request *request);

/*
 * Writes the report of a database, opened for that access, to the file, or else to standard: 0, or
 * -1 after a message.
 */
int report_request_write(struct report_request *request, const char *database,
	enum db_access access, FILE *standard);

#endif
