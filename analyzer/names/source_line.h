/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of the program's sources.  A trace has names of files and numbers of lines, so sources are
 * read where they lie.  Names come from debug information or from a script's interpreter: only
 * regular files that are named like sources are read, none above the folder that a relative name is
 * looked for in.
 */
#ifndef CUFENCE_SOURCE_LINE_H
#define CUFENCE_SOURCE_LINE_H

#include <stddef.h>
#include <stdint.h>

#include "db.h"

struct source {
	const char *path; /* where it was found */
	const char *text; /* ends with a zero byte */
	size_t size;      /* of text, bytes */
	int64_t changed;  /* ns since 1970 */
	int newer;        /* it changed after the run began: its lines may be other ones */
	int64_t lines;
	const size_t *start; /* where each line starts in text, and one more, its end */
};

/* Sources read so far, each once. */
struct sources;

/* NULL after a message.  The time of a simulated device is virtual: then no source is newer. */
struct sources *sources_new(struct db *db);
void sources_free(struct sources *sources);

/*
 * program: a relative name is looked for in the current folder, then in those above that file;
 * NULL: there only.  Returns NULL if the source is not readable.  sources owns the result.
 */
const struct source *sources_find(struct sources *sources, const char *file, const char *program);

/* A line, from 1 on, without its end, of that many bytes; NULL if there is none. */
const char *source_line(const struct source *source, int64_t line, size_t *length);

/*
 * Adds the SQL function source_line(file, line, program): the line without blanks around it and
 * with a blank for each tab; NULL if it is empty, not readable or newer than the run.  hidden: it
 * is always NULL.  Returns 0, or -1 after a message.
 */
int sources_add_function(struct db *db, int hidden);

#endif
