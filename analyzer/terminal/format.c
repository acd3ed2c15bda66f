/* SPDX-License-Identifier: Apache-2.0 */
#include "format.h"

#include <stdio.h>

char *format_duration(char text[DURATION_SIZE], int64_t ns)
{
	static const struct {
		double ns;
		const char *name;
	} units[] = {
		{ 1e9, "s" },
		{ 1e6, "ms" },
		{ 1e3, "us" },
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		double value = (double)ns / units[i].ns;
		/* 999.6 us would print as 1000 us. */
		if (value < 0.9995 && value > -0.9995)
			continue;
		snprintf(text, DURATION_SIZE, value < 9.95 ? "%.1f %s" : "%.0f %s", value,
			units[i].name);
		return text;
	}
	snprintf(text, DURATION_SIZE, "%lld ns", (long long)ns);
	return text;
}

char *format_share(char text[DURATION_SIZE], double share)
{
	double percent = 100 * share;

	if (percent > 0 && percent < 0.05)
		snprintf(text, DURATION_SIZE, "<0.1 %%");
	else
		snprintf(text, DURATION_SIZE, percent < 0.95 ? "%.1f %%" : "%.0f %%", percent);
	return text;
}

char *format_bytes(char text[DURATION_SIZE], int64_t bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB" };
	double size = (double)bytes;
	int unit = 0;

	/* Three digits are printed. */
	for (; size >= 999.5 && unit < 3; unit++)
		size /= 1024;
	snprintf(text, DURATION_SIZE, "%.3g %s", size, units[unit]);
	return text;
}
