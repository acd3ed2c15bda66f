/* SPDX-License-Identifier: Apache-2.0 */
#include "output_name.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "print.h"
#include "rank.h"

static void put_value(FILE *out, const char *value)
{
	for (; *value; value++)
		fputc(*value == '/' ? '_' : *value, out);
}

static int put_rank(FILE *out, const char *command)
{
	struct rank rank = rank_find(rank_of_environment, NULL);

	if (rank.launcher) {
		print(out, "%lld", (long long)rank.rank);
		return 0;
	}
	print(stderr,
		"%s: %%r in a file's name is the rank, but no launcher has set one here; run "
		"cufence in each rank, or leave out %%r\n",
		command);
	return -1;
}

static int put_host(FILE *out, const char *command)
{
	char host[256] = "";

	if (gethostname(host, sizeof(host) - 1)) {
		print(stderr, "%s: the machine's name is not known: %s\n", command,
			strerror(errno));
		return -1;
	}
	host[strcspn(host, ".")] = '\0';
	put_value(out, host);
	return 0;
}

/* at: behind "%q".  Returns the place behind the closing brace, NULL after a message. */
static const char *put_variable(FILE *out, const char *at, const char *command)
{
	const char *end = *at == '{' ? strchr(at, '}') : NULL, *value;
	char *name = end ? strndup(at + 1, (size_t)(end - at - 1)) : NULL;

	value = name ? getenv(name) : NULL;
	if (!end)
		print(stderr, "%s: write %%q{NAME} in a file's name for a variable\n", command);
	else if (!value)
		print(stderr, "%s: the variable '%s' of the file's name is not set\n", command,
			name ? name : "");
	else
		put_value(out, value);
	free(name);
	return value ? end + 1 : NULL;
}

/* at: behind the percent sign.  Returns the place behind what it means, NULL after a message. */
static const char *put(FILE *out, const char *at, const char *command)
{
	switch (*at) {
	case 'r':
		return put_rank(out, command) ? NULL : at + 1;
	case 'h':
		return put_host(out, command) ? NULL : at + 1;
	case 'p':
		print(out, "%ld", (long)getpid());
		return at + 1;
	case 'q':
		return put_variable(out, at + 1, command);
	case '%':
		fputc('%', out);
		return at + 1;
	default:
		print(stderr,
			"%s: in a file's name, %% is followed by r (rank), h (host), p (process), "
			"q{VARIABLE} or %%\n",
			command);
		return NULL;
	}
}

int output_folders(const char *path, const char *command)
{
	char *folder = strdup(path);
	int rc = folder ? 0 : -1;

	/* Another rank may make it at the same time. */
	for (char *slash = folder ? strchr(folder + 1, '/') : NULL; slash && !rc;
		slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(folder, 0777) && errno != EEXIST && errno != EISDIR) {
			print(stderr, "%s: cannot make the folder '%s': %s\n", command, folder,
				strerror(errno));
			rc = -1;
		}
		*slash = '/';
	}
	free(folder);
	return rc;
}

char *output_name(const char *name, const char *command)
{
	const char *at = name;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	while (out && at && *at)
		if (*at != '%')
			fputc(*at++, out);
		else
			at = put(out, at + 1, command);
	if (out && !fclose(out) && at && (!strchr(name, '%') || !output_folders(text, command)))
		return text;
	free(text);
	return NULL;
}
