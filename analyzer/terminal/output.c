/* SPDX-License-Identifier: Apache-2.0 */
#include "output.h"

#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "print.h"

#define MOST_LINKS 40 /* as the kernel follows */

/* The folder of path, malloc'ed. */
static char *folder_of(const char *path)
{
	char *copy = strdup(path), *folder = copy ? strdup(dirname(copy)) : NULL;

	free(copy);
	return folder;
}

static int is_trusted(const char *folder, uid_t owner)
{
	struct stat there;

	if (stat(folder, &there))
		return 0;
	return !(there.st_mode & S_ISVTX) || !(there.st_mode & S_IWOTH) || owner == geteuid() ||
		owner == there.st_uid;
}

/* A link's target, relative to the current folder: malloc'ed; NULL: it cannot be read. */
static char *read_link(const char *path, const char *folder)
{
	char target[PATH_MAX], *whole = NULL;
	ssize_t length = readlink(path, target, sizeof(target));

	if (length < 0 || (size_t)length == sizeof(target))
		return NULL;
	if (asprintf(&whole, "%s%s%.*s", target[0] == '/' ? "" : folder,
		    target[0] == '/' ? "" : "/", (int)length, target) < 0)
		return NULL;
	return whole;
}

char *output_target(const char *path)
{
	char *at = strdup(path), *folder, *next;
	struct stat there;
	int trusted = 1;

	for (int i = 0; at && i < MOST_LINKS && !lstat(at, &there) && S_ISLNK(there.st_mode); i++) {
		folder = folder_of(at);
		trusted = folder && is_trusted(folder, there.st_uid);
		next = trusted ? read_link(at, folder) : NULL;
		free(folder);
		if (!next)
			break;
		free(at);
		at = next;
	}
	if (at && trusted)
		return at;
	print(stderr,
		"cufence: '%s' is another user's symbolic link, in a folder that all may "
		"write to; use -o to write elsewhere\n",
		path);
	free(at);
	return NULL;
}
