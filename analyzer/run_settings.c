/* SPDX-License-Identifier: Apache-2.0 */
#include "run_settings.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SMALLEST_TRACE (1u << 20)

static int is_mode(const char *text)
{
	return !strcmp(text, "full") || !strcmp(text, "host");
}

static int is_graph_level(const char *text)
{
	return !strcmp(text, "graph") || !strcmp(text, "node");
}

static int is_seconds(const char *text)
{
	char *end;
	double seconds = strtod(text, &end);

	return end != text && !*end && seconds >= 0 && seconds < 1e9;
}

static int is_name(const char *text)
{
	return *text != 0;
}

static int is_size(const char *text)
{
	char *end;
	unsigned long long bytes = strtoull(text, &end, 10);
	unsigned shift = 0;

	if (end == text || *text == '-')
		return 0;
	if (*end)
		shift = (*end | 32) == 'k' ? 10 : (*end | 32) == 'm' ? 20
			: (*end | 32) == 'g' ? 30 : 64;
	return shift < 64 && (!*end || !end[1]) && bytes < 1ull << (63 - shift) &&
	       bytes << shift >= SMALLEST_TRACE;
}

static int is_given(const char *text)
{
	return 1;
}

static const struct {
	const char *option, *variable;
	int (*is_valid)(const char *text);
	const char *wanted;
} known[RUN_SETTINGS] = {
	{ "--mode", "CUFENCE_MODE", is_mode, "full or host" },
	{ "--graphs", "CUFENCE_GRAPHS", is_graph_level, "graph or node" },
	{ "--delay", "CUFENCE_DELAY", is_seconds, "a number of seconds" },
	{ "--duration", "CUFENCE_DURATION", is_seconds, "a number of seconds" },
	{ "--nvtx", "CUFENCE_NVTX", is_name, "the name of a range" },
	{ "--max-size", "CUFENCE_MAX_SIZE", is_size, "a number of bytes, 1M or more" },
	{ "--profiler", "CUFENCE_PROFILER", is_given, NULL },
};

int run_check_settings(const struct arguments *arguments)
{
	for (size_t i = 0; i < RUN_SETTINGS; i++) {
		const char *value = option(arguments, known[i].option);

		if (!value || known[i].is_valid(value))
			continue;
		fprintf(stderr, "cufence run: %s is %s, not '%s'\n", known[i].option,
			known[i].wanted, value);
		return -1;
	}
	return 0;
}

void run_settings(const struct arguments *arguments, struct run_setting setting[RUN_SETTINGS + 1])
{
	for (size_t i = 0; i < RUN_SETTINGS; i++) {
		const char *value = option(arguments, known[i].option);

		/* An option without an argument has "". */
		setting[i] = (struct run_setting){ known[i].variable,
			value && !*value ? "1" : value };
	}
	setting[RUN_SETTINGS] = (struct run_setting){ 0 };
}

static int is_known(const char *name, size_t length)
{
	static const char *const others[] = {
		"OUT", "GUARD_HOST", "CUPTI", "FLUSH_MS", "DISABLE", "SIM_DEVICES",
		"SIM_KERNEL_US", "DEBUGINFO_PATH", "LIB",
	};

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (strlen(others[i]) == length && !strncmp(others[i], name, length))
			return 1;
	for (size_t i = 0; i < RUN_SETTINGS; i++) {
		const char *own = known[i].variable + sizeof("CUFENCE_") - 1;

		if (strlen(own) == length && !strncmp(own, name, length))
			return 1;
	}
	return 0;
}

void run_warn_environment(void)
{
	static const char prefix[] = "CUFENCE_";

	for (char **variable = environ; *variable; variable++) {
		const char *name = *variable + sizeof(prefix) - 1;

		if (!strncmp(*variable, prefix, sizeof(prefix) - 1) &&
			!is_known(name, strcspn(name, "=")))
			fprintf(stderr, "cufence: the environment's %s%.*s means nothing to it\n",
				prefix, (int)strcspn(name, "="), name);
	}
}
