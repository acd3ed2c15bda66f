/* SPDX-License-Identifier: Apache-2.0 */
/* The page's texts besides the JSON report: lines of the text report, sources, names, lanes. */
#ifndef CUFENCE_HTML_TEXTS_H
#define CUFENCE_HTML_TEXTS_H

#include "html_timeline.h"
#include "report.h"

/* Writes it as JSON: 0, or -1 after a message. */
int html_texts_write(const struct html_timeline *timeline, const struct report_options *options,
	FILE *out);

#endif
