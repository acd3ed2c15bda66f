/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a run as one self-contained file for a browser: the report and a timeline.  Its script and
 * style are in page/ and are compiled in.
 *
 * The words about findings come from the functions behind the text and JSON reports.  The page
 * holds three pieces of data, each made here:
 *
 *	report    the JSON report, as doc/report.schema.json says (report_json())
 *	texts     lines of the text report, source lines, names and lanes: JSON (html_texts.c)
 *	timeline  calls, operations and arrows, as numbers: columns, deflated (html_pack.h)
 *
 * Everything that comes from the trace is data: JSON without '<', numbers, never markup or script.
 */
#ifndef CUFENCE_HTML_H
#define CUFENCE_HTML_H

#include <stdio.h>

#include "db.h"
#include "report.h"

/* 0, or -1 after a message; nothing is written then. */
int report_html(struct db *db, const struct report_options *options, FILE *out);

#endif
