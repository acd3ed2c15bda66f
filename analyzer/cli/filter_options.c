/* SPDX-License-Identifier: Apache-2.0 */
#include "filter_options.h"

#include <stdlib.h>

#include "print.h"

/* Reads seconds up to the end or a colon; DB_NULL if there are none. */
static int parse_seconds(const char **text, int64_t *ns)
{
	char *end;
	double seconds = strtod(*text, &end);

	if (!(seconds >= 0 && seconds < 1e9))
		return -1;
	*ns = end == *text ? DB_NULL : (int64_t)(seconds * 1e9 + 0.5);
	*text = end;
	return 0;
}

/* "1.5:2", "1.5:" or ":2" */
static int parse_time(const char *value, struct filter *filter)
{
	const char *rest = value;

	filter->from = filter->until = DB_NULL;
	return !value ||
			(!parse_seconds(&rest, &filter->from) && *rest++ == ':' &&
				!parse_seconds(&rest, &filter->until) && !*rest)
		? 0
		: -1;
}

int filter_options_read(const struct arguments *arguments, struct filter *filter)
{
	*filter = (struct filter){
		.stream = option_if_any(arguments, "--stream"),
		.kernel = option_if_any(arguments, "--kernel"),
		.range = option_if_any(arguments, "--range"),
		.process = option_if_any(arguments, "--process"),
		.thread = option_if_any(arguments, "--thread"),
		.time = option_if_any(arguments, "--time"),
	};
	if (!parse_time(filter->time, filter))
		return 0;
	print(stderr, "cufence %s: --time is FROM:UNTIL in seconds of the run, not '%s'\n",
		arguments->command->name, filter->time);
	return -1;
}
