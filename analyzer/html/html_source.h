/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of the program's sources for the page. */
#ifndef CUFENCE_HTML_SOURCE_H
#define CUFENCE_HTML_SOURCE_H

#include <stdint.h>
#include <stdio.h>

#include "source_line.h"

/*
 * Writes an object {"first": number of the first line, "lines": [...], "newer": whether the file
 * was changed after the run began} with what is around a line; returns 1, 0 where source is NULL or
 * has no such line, or -1 if memory is exhausted.
 */
int html_source_write(const struct source *source, int64_t line, FILE *out);

#endif
