/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exports a run for other programs: Perfetto's viewer, flame graphs, code scanning (SARIF), test
 * reports (JUnit), GitHub annotations and tables (Markdown, CSV).  Table temp.verdict (verdict.h)
 * says which places are exported and which fail; it must be filled before.  Names come from the
 * traced program and are escaped as each format requires.
 */
#ifndef CUFENCE_EXPORT_H
#define CUFENCE_EXPORT_H

#include <stdio.h>

#include "db.h"

/* Each: 0, or -1 after a message. */

/*
 * A trace of https://perfetto.dev: a track for each thread and stream, flows from calls to what
 * they submitted, along fences and to the waits of the host, and an instant for each place of a
 * finding.
 */
int export_perfetto(struct db *db, FILE *out);

/* SARIF 2.1.0: a result for each place of a finding. */
int export_sarif(struct db *db, FILE *out);

/* JUnit XML: a test case for each rule, and one for the trace itself. */
int export_junit(struct db *db, FILE *out);

/*
 * Folded stacks of the host's time outside of CUDA, for flame graphs and speedscope: a line for
 * each call path, with its frames, the outermost first and separated by semicolons, and ns.  The
 * first frame says whose time it is: that in which a device idled, or that of the looping thread.
 */
int export_folded(struct db *db, FILE *out);

/*
 * A unified diff that applies those fixes which are a mechanical change of the place's source line
 * (patches.def), with paths below the current folder.  A line on stderr says for each other place
 * why it stays.  Fails without a diff if a source is newer than the run.
 */
int export_patch(struct db *db, FILE *out);

/* Workflow commands of GitHub Actions: a line for each place that fails. */
int export_github(struct db *db, FILE *out);

/* The same for temp.forbidden (forbidden.h): a line for each place and stack. */
int export_github_calls(struct db *db, FILE *out);
/*
 * GitHub Flavored Markdown for a comment: a row for each finding that fails, and how many are not
 * in the table.  All names are escaped, and mention nobody.
 */
int export_markdown(struct db *db, FILE *out);

/* RFC 4180: a row for each place that fails; times in ns, empty where they are not known. */
int export_csv(struct db *db, FILE *out);

#endif
