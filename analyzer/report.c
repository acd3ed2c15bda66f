/* SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int report_color(FILE *out)
{
	const char *no_color = getenv("NO_COLOR"), *terminal = getenv("TERM");

	return isatty(fileno(out)) && !(no_color && *no_color) &&
	       !(terminal && !strcmp(terminal, "dumb"));
}

const char *report_condition(enum report_level level)
{
	switch (level) {
	case REPORT_CERTAIN:
		return "f.shown AND f.confidence = 'certain'";
	case REPORT_POSSIBLE:
		return "1";
	default:
		return "f.shown";
	}
}
