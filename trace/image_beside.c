/* SPDX-License-Identifier: Apache-2.0 */
#include "image_beside.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image_hash.h"

/* Returns a descriptor of an image stored with the trace, or -1. */
static int open_beside(const char *trace, uint64_t hash)
{
	const char *slash = strrchr(trace, '/');
	char name[IMAGE_NAME_SIZE], *path;
	int folder = -1, file;

	if (asprintf(&path, "%.*s" IMAGE_FOLDER, slash ? (int)(slash + 1 - trace) : 0, trace) >=
		0) {
		folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		free(path);
	}
	if (folder < 0)
		return -1;
	image_name(hash, name);
	file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	close(folder);
	return file;
}

static char *read_image(int file, const struct image_record *piece)
{
	struct stat status;
	char *bytes;
	ssize_t n = -1;

	if (fstat(file, &status) || !S_ISREG(status.st_mode) || piece->total > IMAGE_MOST_BYTES ||
		(uint64_t)status.st_size != piece->total)
		return NULL;
	bytes = malloc(piece->total + 1);
	if (bytes)
		n = read(file, bytes, piece->total);
	if (n == (ssize_t)piece->total && image_has_hash(bytes, piece->total, piece->hash))
		return bytes;
	free(bytes);
	return NULL;
}

char *image_read_beside(const char *trace, const struct image_record *piece)
{
	int file = open_beside(trace, piece->hash);
	char *bytes;

	if (file < 0)
		return NULL;
	bytes = read_image(file, piece);
	close(file);
	return bytes;
}
