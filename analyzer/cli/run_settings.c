/* SPDX-License-Identifier: Apache-2.0 */
#include "run_settings.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "print.h"

#define PREFIX "CUFENCE_"

static const struct {
	const char *variable, *option;
	int (*is_valid)(const char *text);
	const char *wanted;
} known[RUN_SETTINGS] = {
#define X(variable, option, is_valid, wanted) { PREFIX variable, option, is_valid, wanted },
	SETTINGS(X)
#undef X
};

static const char *given(const struct arguments *arguments, size_t i)
{
	return known[i].option ? option(arguments, known[i].option) : NULL;
}

static int refuse(const char *name, const char *wanted, const char *value)
{
	print(stderr, "cufence run: %s is %s, not '%s'\n", name, wanted, value);
	return -1;
}

int run_check_settings(const struct arguments *arguments)
{
	for (size_t i = 0; i < RUN_SETTINGS; i++) {
		const char *value = given(arguments, i), *set = getenv(known[i].variable);

		if (value && !known[i].is_valid(value))
			return refuse(known[i].option, known[i].wanted, value);
		if (!value && set && *set && !known[i].is_valid(set))
			return refuse(known[i].variable, known[i].wanted, set);
	}
	return 0;
}

void run_settings(const struct arguments *arguments, struct run_setting setting[RUN_SETTINGS + 1])
{
	for (size_t i = 0; i < RUN_SETTINGS; i++) {
		const char *value = given(arguments, i);

		/* An option that takes no argument has the value "". */
		setting[i] =
			(struct run_setting){ known[i].variable, value && !*value ? "1" : value };
	}
	setting[RUN_SETTINGS] = (struct run_setting){ 0 };
}

int run_is_disabled(void)
{
	const char *disable = getenv(PREFIX "DISABLE");

	return disable && *disable && strcmp(disable, "0");
}

static int is_known(const char *name, size_t length)
{
	static const char *const others[] = {
		"OUT",
		"CUPTI",
		"DISABLE",
		"DEBUGINFO_PATH",
		"LIB",
		"FIX",
		"FIX_LOG",
		"SHAKE",
	};

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (strlen(others[i]) == length && !strncmp(others[i], name, length))
			return 1;
	for (size_t i = 0; i < RUN_SETTINGS; i++) {
		const char *own = known[i].variable + sizeof(PREFIX) - 1;

		if (strlen(own) == length && !strncmp(own, name, length))
			return 1;
	}
	return 0;
}

void run_warn_environment(void)
{
	static const char prefix[] = PREFIX;

	for (char **variable = environ; *variable; variable++) {
		const char *name = *variable + sizeof(prefix) - 1;

		if (!strncmp(*variable, prefix, sizeof(prefix) - 1) &&
			!is_known(name, strcspn(name, "=")))
			print(stderr, "cufence: ignoring unknown variable %s%.*s\n", prefix,
				(int)strcspn(name, "="), name);
	}
}
