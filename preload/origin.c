/* SPDX-License-Identifier: Apache-2.0 */
#include "origin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "join.h"
#include "settings.h"
#include "system.h"

#define PREFIX "CUFENCE_"
#define LONGEST_SAID 256 /* maximum bytes of a value in a message */

static struct {
	char settings[8192]; /* consecutive NAME=VALUE strings, each with its NUL */
	size_t used;
	char folder[4096];  /* empty: unknown */
	struct stat errors; /* st_nlink 0: there were none */
} origin;

static void keep(const char *variable)
{
	size_t bytes = strlen(variable) + 1;

	if (bytes > sizeof(origin.settings) - origin.used)
		return;
	memcpy(origin.settings + origin.used, variable, bytes);
	origin.used += bytes;
}

/* Child processes may run in another folder, where a relative name would differ. */
static void make_absolute(const char *folder)
{
	static char path[sizeof(origin.folder)];
	struct joined joined = { path, sizeof(path), 0 };

	join(&joined, origin.folder);
	join(&joined, "/");
	join(&joined, folder);
	if (joined_whole(&joined))
		setenv(PREFIX "OUT", path, 1);
}

__attribute__((constructor)) static void note(void)
{
	const char *out = getenv(PREFIX "OUT");
	int saved = errno;

	if (syscall(SYS_getcwd, origin.folder, sizeof(origin.folder)) < 0)
		origin.folder[0] = '\0';
	if (out && *out && *out != '/' && origin.folder[0] == '/')
		make_absolute(out);
	for (char **variable = environ; variable && *variable; variable++)
		if (!strncmp(*variable, PREFIX, strlen(PREFIX)))
			keep(*variable);
	if (system_stat(STDERR_FILENO, &origin.errors))
		origin.errors.st_nlink = 0;
	errno = saved;
}

const char *origin_setting(const char *name)
{
	const char *now = getenv(name);
	size_t length = strlen(name), bytes;

	if (now)
		return now;
	for (size_t at = 0; at < origin.used; at += bytes) {
		const char *kept = origin.settings + at;

		bytes = strlen(kept) + 1;
		if (!strncmp(kept, name, length) && kept[length] == '=')
			return kept + length + 1;
	}
	return NULL;
}

static void check(const char *name, int (*is_valid)(const char *), const char *wanted)
{
	static char text[LONGEST_SAID + 200]; /* used only by the thread that starts the recorder */
	struct joined joined = { text, sizeof(text), 0 };
	const char *value = origin_setting(name);

	if (!value || !*value || is_valid(value))
		return;
	join(&joined, "cufence: ignoring ");
	join(&joined, name);
	join(&joined, "=");
	join_bytes(&joined, value, strnlen(value, LONGEST_SAID));
	join(&joined, ": it must be ");
	join(&joined, wanted);
	join(&joined, "\n");
	origin_print_message(text);
}

void origin_check_settings(void)
{
#define X(variable, option, is_valid, wanted) check(PREFIX variable, is_valid, wanted);
	SETTINGS(X)
#undef X
}

const char *origin_folder(void)
{
	const char *out = origin_setting(PREFIX "OUT");

	if (out && *out)
		return out;
	return origin.folder[0] == '/' ? origin.folder : ".";
}

void origin_print_message(const char *text)
{
	struct stat now;

	if (!origin.errors.st_nlink || system_stat(STDERR_FILENO, &now) ||
		now.st_dev != origin.errors.st_dev || now.st_ino != origin.errors.st_ino)
		return;
	system_write(STDERR_FILENO, text, strlen(text));
}
