/* SPDX-License-Identifier: Apache-2.0 */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interrupt.h"
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
	if (!at) {
		print(stderr, "cufence: out of memory\n");
		return NULL;
	}
	print(stderr,
		"cufence: '%s' is another user's symbolic link, in a folder that all may "
		"write to; use -o to write elsewhere\n",
		path);
	free(at);
	return NULL;
}

static int fail_to_write(const char *command, const char *path)
{
	print(stderr, "%s: cannot write '%s': %s; name another file\n", command, path,
		strerror(errno));
	return -1;
}

/* The new file has the rights of the one that it replaces. */
static FILE *open_beside(const char *temporary, const struct stat *there)
{
	int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
		there ? there->st_mode & 0777 : 0666);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");

	if (fd >= 0 && there && fchmod(fd, there->st_mode & 0777))
		errno = 0; /* on a file system without rights */
	if (fd >= 0 && !file)
		close(fd);
	return file;
}

int output_open(struct output *output, const char *command, const char *path)
{
	struct stat there;
	int exists;

	*output = (struct output){ .path = path, .target = output_target(path) };
	if (!output->target)
		return -1;
	exists = !stat(output->target, &there);
	if ((!exists || S_ISREG(there.st_mode)) &&
		asprintf(&output->temporary, "%s.tmp-%ld", output->target, (long)getpid()) < 0)
		output->temporary = NULL;
	if (output->temporary) {
		unlink(output->temporary); /* left by an earlier process of this number */
		output->file = open_beside(output->temporary, exists ? &there : NULL);
	}
	if (output->file) {
		interrupt_guard(output->temporary);
		return 0;
	}
	free(output->temporary);
	output->temporary = NULL;
	output->file = fopen(path, "w");
	if (output->file)
		return 0;
	free(output->target);
	return fail_to_write(command, path);
}

int output_close(struct output *output, const char *command, int keep)
{
	int rc = fflush(output->file) || ferror(output->file) ? -1 : 0;

	rc |= fclose(output->file);
	if (output->temporary) {
		if (!rc && keep)
			rc = rename(output->temporary, output->target);
		if (rc || !keep)
			unlink(output->temporary);
		interrupt_unguard();
	}
	if (rc)
		fail_to_write(command, output->path);
	free(output->temporary);
	free(output->target);
	return rc ? -1 : 0;
}
