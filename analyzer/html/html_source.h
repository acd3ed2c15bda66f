/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of the program's sources for the page.  Names come from debug information or from a
 * script's interpreter: only regular files that are named like sources are read, none above the
 * folder that a relative name is looked for in.
 */
#ifndef CUFENCE_HTML_SOURCE_H
#define CUFENCE_HTML_SOURCE_H

#include <stdint.h>
#include <stdio.h>

/*
 * Writes an object {"first": number of the first line, "lines": [...], "newer": whether the file
 * was changed after that time} with what is around a line; returns 1, or 0 where it is not
 * readable. program: a relative name is looked for in the current folder, then in those above
 * that file; NULL: there only.  since: seconds.
 */
int html_source_write(const char *file, int64_t line, const char *program, int64_t since,
	FILE *out);

#endif
