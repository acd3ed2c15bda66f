/* SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

int report_color(FILE *out)
{
	const char *no_color = getenv("NO_COLOR"), *terminal = getenv("TERM");

	return isatty(fileno(out)) && !(no_color && *no_color) &&
		!(terminal && !strcmp(terminal, "dumb"));
}

int report_width(FILE *out)
{
	struct winsize size;

	return isatty(fileno(out)) && !ioctl(fileno(out), TIOCGWINSZ, &size) ? size.ws_col : 0;
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
