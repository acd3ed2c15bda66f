/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A source file whose lines are changed, printed as a unified diff that "git apply" and "patch -p1"
 * take.  The file itself is never written.
 */
#ifndef CUFENCE_PATCH_FILE_H
#define CUFENCE_PATCH_FILE_H

#include <stdio.h>

#include "source_line.h"

struct patch_file {
	char *path;   /* below the current folder, relative to it */
	char **lines; /* without their line ends */
	size_t count;
	char *text;   /* that the lines are in */
	int is_ended; /* the last line has a line end */
	struct patch_edit {
		char *text; /* the new line; NULL: it goes */
		int is_set;
	} * edits; /* one for each line */
};

/*
 * A copy of that source, NULL: it is not readable.  Returns NULL, or why it cannot be changed, in
 * words.
 */
const char *patch_file_open(struct patch_file *file, const struct source *source);
void patch_file_release(struct patch_file *file);

/* Takes over a line's text: a line is changed once, and later texts are freed. */
void patch_file_change(struct patch_file *file, size_t line, char *text);

/* Prints the diff; nothing if no line is changed. */
void patch_file_print(const struct patch_file *file, FILE *out);

#endif
