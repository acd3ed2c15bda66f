/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selects the traces to load before loading any: a process given twice is loaded once, and time 0
 * is the start of the earliest process.
 */
#include "loader.h"
#include "memory.h"
#include "print.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Identifies the process of a trace. */
struct identity {
	uint64_t device, inode;  /* of the file */
	uint64_t created, start; /* CLOCK_REALTIME ns, 0: unknown; start_ns */
	uint32_t pid, parent;
	int64_t real; /* start is of CLOCK_REALTIME */
};

/* With a virtual clock processes may have the same start and, after exec, the same id. */
static int is_same(const struct identity *a, const struct identity *b)
{
	if (a->device == b->device && a->inode == b->inode)
		return 1;
	return a->pid == b->pid && a->parent == b->parent && a->start == b->start &&
		a->created == b->created && (a->created || a->real);
}

static struct identity identity_of(const struct trace_reader *reader)
{
	const struct file_header *header = reader->header;

	return (struct identity){
		.device = reader->device,
		.inode = reader->inode,
		.created = header->identity,
		.start = header->start_ns,
		.pid = header->pid,
		.parent = header->parent_pid,
		.real = header->clock != CLOCK_TICKS_VIRTUAL && header->start_ns,
	};
}

/* 1: to be loaded, 0: given before, -1 after a message. */
static int check_file(struct loader *loader, char *const *path, size_t number,
	struct identity *identity, uint64_t *bytes)
{
	struct trace_reader reader;
	int rc = trace_open(&reader, path[number]) ? -1 : 1;

	if (rc < 0) {
		print(stderr, "cufence: cannot load '%s': %s\n", path[number], reader.error);
	} else {
		identity[number] = identity_of(&reader);
		for (size_t i = 0; i < number && rc; i++)
			rc = !is_same(&identity[i], &identity[number]);
		if (!rc)
			print(stderr,
				"cufence: '%s' is a trace of a process given before; it is "
				"loaded once\n",
				path[number]);
		if (reader.header->start_ns < (uint64_t)loader->origin)
			loader->origin = (int64_t)reader.header->start_ns;
		*bytes += rc ? reader.size : 0;
	}
	trace_close(&reader);
	return rc;
}

int loader_choose_files(struct loader *loader, char *const *path, size_t *count, char **chosen)
{
	struct identity *identity = xcalloc(*count + 1, sizeof(*identity));
	size_t given = *count;
	uint64_t bytes = 0;
	int rc = 1;

	loader->origin = (int64_t)CLOCK_MOST_START;
	*count = 0;
	for (size_t i = 0; i < given && rc >= 0; i++) {
		rc = check_file(loader, path, i, identity, &bytes);
		if (rc > 0)
			chosen[(*count)++] = path[i];
	}
	if (loader->origin == (int64_t)CLOCK_MOST_START)
		loader->origin = 0;
	progress_start(&loader->progress, 2 * bytes);
	free(identity);
	return rc < 0 ? -1 : 0;
}

int loader_is_running(const struct loader *loader)
{
	char maps[64], real[PATH_MAX], *line = NULL;
	size_t room = 0, length;
	FILE *file;
	int fd = open(loader->path, O_RDONLY | O_CLOEXEC);
	int found = fd >= 0 && trace_is_locked(fd);

	if (fd >= 0)
		close(fd);
	/* A program that closes all files gives the lock up. */
	snprintf(maps, sizeof(maps), "/proc/%u/maps", loader->p.reader.header->pid);
	file = !found && realpath(loader->path, real) ? fopen(maps, "re") : NULL;
	length = file ? strlen(real) : 0;
	while (file && !found && getline(&line, &room, file) > 0) {
		const char *at = strchr(line, '/');

		found = at && !strncmp(at, real, length) && at[length] == '\n';
	}
	free(line);
	if (file)
		fclose(file);
	return found;
}
