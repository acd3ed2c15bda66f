/* SPDX-License-Identifier: Apache-2.0 */
/* Writes JSON piece by piece; print_json() replaces invalid UTF-8 in the end. */
#ifndef CUFENCE_HTML_JSON_H
#define CUFENCE_HTML_JSON_H

#include <stdint.h>
#include <stdio.h>

/* A string with its quotes. */
void json_text(FILE *out, const char *text);

/* Writes before as it is, then a number. */
void json_number(FILE *out, const char *before, int64_t number);

/* A whole JSON text into a script element: without '<', which could end it or begin a comment
 * (HTML, "restrictions for contents of script elements").  In JSON that stands in strings only. */
void json_embed(FILE *out, const char *json, size_t length);

#endif
