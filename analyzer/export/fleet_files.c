/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet_files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "memory.h"
#include "output_name.h"
#include "print.h"

/* More are closed and go on as a further member of their file, which gzip reads as one. */
#define OPEN_LIMIT 32
#define LEVEL "3"
#define BUFFER_BYTES (64 << 10)

struct fleet_file {
	int64_t rank, hour;
	char *path, *temporary;
	gzFile gz; /* NULL: closed for now */
	int failed;
};

static char *partition_path(const struct fleet_files *files, int64_t rank, int64_t hour)
{
	char rank_name[32] = FLEET_NULL_NAME, hour_name[32] = FLEET_NULL_NAME;
	time_t seconds = hour != FLEET_NO_RANK ? (time_t)(hour * 3600) : 0;
	struct tm utc;

	if (rank != FLEET_NO_RANK)
		snprintf(rank_name, sizeof(rank_name), "%lld", (long long)rank);
	if (hour != FLEET_NO_RANK && gmtime_r(&seconds, &utc))
		strftime(hour_name, sizeof(hour_name), "%Y%m%d%H", &utc);
	return xprintf("%s/%s/in_run=%s/in_rank=%s/in_hour=%s/%s.csv.gz", files->folder,
		files->table, files->run, rank_name, hour_name, files->name);
}

static void say(const struct fleet_file *file)
{
	print(stderr, "cufence export: cannot write '%s': %s\n", file->path, strerror(errno));
}

static void close_one(struct fleet_files *files, struct fleet_file *file)
{
	if (!file->gz)
		return;
	if (gzclose(file->gz) != Z_OK)
		file->failed = 1;
	file->gz = NULL;
	files->open--;
}

/* 0, or -1 after a message. */
static int open_one(struct fleet_files *files, struct fleet_file *file, const char *mode)
{
	if (files->open == OPEN_LIMIT)
		for (size_t i = 0; i < files->count; i++)
			close_one(files, &files->file[i]);
	file->gz = gzopen(file->temporary, mode);
	if (!file->gz) {
		say(file);
		file->failed = 1;
		return -1;
	}
	gzbuffer(file->gz, BUFFER_BYTES);
	files->open++;
	return 0;
}

static struct fleet_file *add(struct fleet_files *files, int64_t rank, int64_t hour)
{
	struct fleet_file *file = array_push(files->file, files->count);

	*file = (struct fleet_file){ .rank = rank,
		.hour = hour,
		.path = partition_path(files, rank, hour) };
	file->temporary = xprintf("%s.tmp-%ld", file->path, (long)getpid());
	files->last = files->count - 1;
	if (output_folders(file->path, "cufence export")) {
		file->failed = 1;
		return NULL;
	}
	if (open_one(files, file, "wb" LEVEL))
		return NULL;
	fleet_put(file, files->header, strlen(files->header));
	return file;
}

struct fleet_file *fleet_file(struct fleet_files *files, int64_t rank, int64_t hour)
{
	/* Rows come nearly in order of time. */
	for (size_t n = 0; n < files->count; n++) {
		size_t i = (files->last + files->count - n) % files->count;
		struct fleet_file *file = &files->file[i];

		if (file->rank != rank || file->hour != hour)
			continue;
		files->last = i;
		return file->gz || !open_one(files, file, "ab" LEVEL) ? file : NULL;
	}
	return add(files, rank, hour);
}

void fleet_put(struct fleet_file *file, const void *bytes, size_t count)
{
	if (count && gzwrite(file->gz, bytes, (unsigned)count) != (int)count)
		file->failed = 1;
}

int fleet_files_close(struct fleet_files *files, int keep)
{
	int rc = 0;

	for (size_t i = 0; i < files->count; i++) {
		struct fleet_file *file = &files->file[i];

		close_one(files, file);
		if (keep && !rc && (file->failed || rename(file->temporary, file->path))) {
			say(file);
			rc = -1;
		}
		if (!keep || rc)
			unlink(file->temporary);
		free(file->path);
		free(file->temporary);
	}
	free(files->file);
	files->file = NULL;
	files->count = files->open = files->last = 0;
	return rc;
}
