/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exports a run for other programs: Perfetto's viewer, flame graphs, code scanning (SARIF), test
 * reports (JUnit), GitHub annotations and tables (Markdown, CSV); formats.def says what each holds.
 * Table temp.verdict (verdict.h) says which places are exported and which fail; it must be filled
 * before.  Names come from the traced program and are escaped as each format requires.
 */
#ifndef CUFENCE_EXPORT_H
#define CUFENCE_EXPORT_H

#include <stdio.h>

#include "db.h"

/* export_NAME(): 0, or -1 after a message. */
#define REPORT_FORMAT(name, ...)
#define CHECK_FORMAT(name, ...) int export_##name(struct db *db, FILE *out);
#define EXPORT_FORMAT(name, ...) int export_##name(struct db *db, FILE *out);
#include "formats.def"

/* As export_github(), for temp.forbidden (forbidden.h): a line for each place and stack. */
int export_github_calls(struct db *db, FILE *out);

#endif
