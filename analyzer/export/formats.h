/* SPDX-License-Identifier: Apache-2.0 */
/* The formats of "report", "run" and "check", by name and by the endings of files. */
#ifndef CUFENCE_FORMATS_H
#define CUFENCE_FORMATS_H

#include <stdio.h>

#include "db.h"
#include "report.h"

struct format {
	const char *name;
	const char *endings; /* of files, each followed by a blank; the name is one as well */
	/* What "report" writes; NULL: what export writes. */
	int (*report)(struct db *, const struct report_options *, FILE *);
	/* What "check" writes, from temp.verdict (verdict.h); NULL: it has not this format. */
	int (*check)(struct db *, FILE *);
	/* What only "report" writes from temp.verdict. */
	int (*export)(struct db *, FILE *);
	/* What "check --forbid" writes, from temp.forbidden (forbidden.h); NULL: it has not. */
	int (*calls)(struct db *, FILE *);
	int top; /* findings, unless another number is asked for; 0: all */
};

/*
 * The format of that name; if it is NULL, the one of the path's ending; text if there is no path or
 * it has no ending.  NULL after a message that lists what is known.  command: "report", "check".
 */
const struct format *format_find(const char *command, const char *name, const char *path);

/* The text after the last dot of the file's name; NULL: it has none, or there is no path. */
const char *format_ending(const char *path);

/* Whether people read it: it is text. */
int format_is_text(const struct format *format);

#endif
