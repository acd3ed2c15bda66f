/* SPDX-License-Identifier: Apache-2.0 */
#include "cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memory.h"
#include "map.h"

#define CACHE_MAGIC 0x3165686361636663 /* "cfcache1" */
#define NAME_SIZE 80

/* A file contains this header, the key, and the value. */
struct cache_header {
	uint64_t magic, tool;    /* tool: build that wrote the file */
	uint64_t key_size, size; /* bytes */
	uint64_t checksum;       /* of key and value */
};

/* Opens a folder owned by this user, created if needed; -1 on failure. */
static int open_folder(int at, const char *path, mode_t others)
{
	struct stat st;
	int fd;

	if (mkdirat(at, path, 0700) && errno != EEXIST)
		return -1;
	fd = openat(at, path,
		O_RDONLY | O_DIRECTORY | O_CLOEXEC | (at == AT_FDCWD ? 0 : O_NOFOLLOW));
	if (fd < 0)
		return -1;
	if (!fstat(fd, &st) && st.st_uid == geteuid() && !(st.st_mode & others))
		return fd;
	close(fd);
	return -1;
}

static int open_cache(void)
{
	const char *chosen = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	char *path = NULL;
	int outer, folder = -1;

	if (chosen && *chosen == '/')
		path = strdup(chosen);
	else if (!home || *home != '/' || asprintf(&path, "%s/.cache", home) < 0)
		path = NULL;
	if (!path)
		return -1;
	outer = open_folder(AT_FDCWD, path, S_IWGRP | S_IWOTH);
	free(path);
	if (outer >= 0) {
		folder = open_folder(outer, "cufence", S_IRWXG | S_IRWXO);
		close(outer);
	}
	return folder;
}

/* The same for all processes of one build. */
static uint64_t tool_identity(void)
{
	struct stat st = { 0 };
	char text[120];
	int length;

	stat("/proc/self/exe", &st);
	length = snprintf(text, sizeof(text), CUFENCE_VERSION " %llu %lld.%09ld",
		(unsigned long long)st.st_size, (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
	return map_hash(text, (size_t)length);
}

static void name_of(char name[NAME_SIZE], const char *kind, const char *key)
{
	snprintf(name, NAME_SIZE, "%.40s-%016llx", kind,
		(unsigned long long)(map_hash(key, strlen(key)) ^ tool_identity()));
}

static int read_all(int fd, void *bytes, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t got = read(fd, (char *)bytes + done, size - done);

		if (got <= 0)
			return -1;
		done += (size_t)got;
	}
	return 0;
}

static int write_all(int fd, const void *bytes, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t got = write(fd, (const char *)bytes + done, size - done);

		if (got <= 0)
			return -1;
		done += (size_t)got;
	}
	return 0;
}

static uint64_t checksum(const char *key, size_t key_size, const void *value, size_t size)
{
	return map_hash(key, key_size) * 31 + map_hash(value, size);
}

/* Reads key and value, and appends a NUL; NULL if the file is damaged. */
static char *read_file(int fd, struct cache_header *header, size_t key_size)
{
	struct stat st;
	char *bytes;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
		read_all(fd, header, sizeof(*header)) || header->magic != CACHE_MAGIC ||
		header->tool != tool_identity() || header->key_size != key_size ||
		header->size > CACHE_VALUE_MAX ||
		(uint64_t)st.st_size != sizeof(*header) + key_size + header->size)
		return NULL;
	bytes = malloc(key_size + header->size + 1);
	if (!bytes)
		return NULL;
	bytes[key_size + header->size] = '\0';
	if (!read_all(fd, bytes, key_size + header->size) &&
		header->checksum == checksum(bytes, key_size, bytes + key_size, header->size))
		return bytes;
	free(bytes);
	return NULL;
}

void *cache_get(const char *kind, const char *key, size_t *size)
{
	struct cache_header header;
	char name[NAME_SIZE], *bytes = NULL;
	size_t key_size = strlen(key);
	int folder = open_cache(), fd = -1;

	if (folder < 0)
		return NULL;
	name_of(name, kind, key);
	fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	close(folder);
	if (fd < 0)
		return NULL;
	bytes = read_file(fd, &header, key_size);
	if (bytes && memcmp(bytes, key, key_size)) {
		free(bytes);
		bytes = NULL;
	}
	if (bytes) {
		*size = header.size;
		memmove(bytes, bytes + key_size, header.size + 1);
		futimens(fd, NULL);
	}
	close(fd);
	return bytes;
}

struct cache_file {
	char name[NAME_SIZE];
	uint64_t size; /* bytes */
	struct timespec used;
};

static int by_use(const void *a, const void *b)
{
	const struct cache_file *x = a, *y = b;

	if (x->used.tv_sec != y->used.tv_sec)
		return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
	return (x->used.tv_nsec > y->used.tv_nsec) - (x->used.tv_nsec < y->used.tv_nsec);
}

/* Closes folder. */
static void trim(int folder, uint64_t most)
{
	struct cache_file *file = NULL;
	const struct dirent *entry;
	uint64_t total = 0;
	size_t count = 0;
	DIR *entries = fdopendir(folder);

	if (!entries) {
		close(folder);
		return;
	}
	while ((entry = readdir(entries))) {
		struct cache_file *more;
		struct stat st;

		if (strlen(entry->d_name) >= NAME_SIZE ||
			fstatat(folder, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
			!S_ISREG(st.st_mode))
			continue;
		more = array_push(file, count);
		memcpy(more->name, entry->d_name, strlen(entry->d_name) + 1);
		more->size = (uint64_t)st.st_size;
		more->used = st.st_mtim;
		total += (uint64_t)st.st_size;
	}
	if (total > most)
		qsort(file, count, sizeof(*file), by_use);
	for (size_t i = 0; i < count && total > most; i++) {
		unlinkat(folder, file[i].name, 0);
		total -= file[i].size;
	}
	free(file);
	closedir(entries);
}

void cache_trim(uint64_t most)
{
	int folder = open_cache();

	if (folder >= 0)
		trim(folder, most);
}

void cache_put(const char *kind, const char *key, const void *value, size_t size)
{
	size_t key_size = strlen(key);
	struct cache_header header = { CACHE_MAGIC, tool_identity(), key_size, size,
		checksum(key, key_size, value, size) };
	char name[NAME_SIZE], temporary[NAME_SIZE];
	int folder, fd, rc;

	if (size > CACHE_VALUE_MAX)
		return;
	folder = open_cache();
	if (folder < 0)
		return;
	name_of(name, kind, key);
	/* Removes a file left by a killed process with the same id. */
	snprintf(temporary, sizeof(temporary), "tmp-%ld", (long)getpid());
	fd = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	rc = fd < 0 || write_all(fd, &header, sizeof(header)) || write_all(fd, key, key_size) ||
		write_all(fd, value, size);
	if (fd >= 0)
		close(fd);
	if (rc || renameat(folder, temporary, folder, name))
		unlinkat(folder, temporary, 0);
	trim(folder, CACHE_TOTAL_MAX);
}
