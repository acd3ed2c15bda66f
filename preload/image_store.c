/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images next to the trace, one file per hash, shared by the processes of a run.  A file gets its
 * final name when it is complete.
 */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "image_hash.h"
#include "join.h"
#include "shim.h"
#include "system.h"

static struct {
	_Atomic int lock;
	char path[sizeof(shim.writer.path)]; /* of the folder */
} store;

void image_store_reset(void)
{
	store.lock = 0;
}

/*
 * Returns a descriptor of the folder, created if needed, which must belong to this user only; or
 * -1.
 */
static int open_folder(void)
{
	const char *slash = strrchr(shim.writer.path, '/');
	size_t length = slash ? (size_t)(slash + 1 - shim.writer.path) : 0;
	struct stat folder;
	int fd;

	if (length + sizeof(IMAGE_FOLDER) > sizeof(store.path))
		return -1;
	memcpy(store.path, shim.writer.path, length);
	strcpy(store.path + length, IMAGE_FOLDER);
	system_make_folder(store.path, 0700);
	fd = system_open(store.path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	if (fd < 0)
		return -1;
	if (!system_stat(fd, &folder) && folder.st_uid == system_user() && !(folder.st_mode & 077))
		return fd;
	system_close(fd);
	return -1;
}

static int write_all(int fd, const char *image, uint64_t bytes)
{
	uint64_t mask = system_hold_limit_signal(), done = 0;
	ssize_t n = 1;

	while (done < bytes && n > 0) {
		n = system_write_at(fd, image + done, bytes - done, done);
		if (n < 0 && errno == EINTR)
			n = 1;
		else if (n > 0)
			done += (uint64_t)n;
	}
	system_drop_limit_signal(mask, n < 0 ? errno : 0);
	return done < bytes ? -1 : 0;
}

/*
 * The incomplete file has a unique name; an existing one was left by a killed thread, or by one
 * with the same id in another container.
 */
static int create(int folder, const char *name, const char *image, uint64_t bytes)
{
	char temporary[48];
	struct joined joined = { temporary, sizeof(temporary), 0 };
	int fd, rc;

	join(&joined, name);
	join(&joined, ".");
	join_number(&joined, (uint64_t)syscall(SYS_gettid));
	fd = system_open_in(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
	if (fd < 0)
		return 0;
	rc = write_all(fd, image, bytes);
	system_close(fd);
	if (!rc && !system_rename_in(folder, temporary, name))
		return 1;
	system_remove_in(folder, temporary);
	return 0;
}

static int store_in(int folder, uint64_t hash, const void *image, uint64_t bytes)
{
	char name[IMAGE_NAME_SIZE];

	image_name(hash, name);
	return system_exists_in(folder, name) || create(folder, name, image, bytes);
}

int image_store(uint64_t hash, const void *image, uint64_t bytes)
{
	int folder, rc = 0;

	/* A size limit of the trace counts all written files. */
	if (shim.writer.max_bytes)
		return 0;
	/* Bounded: a thread may have been cancelled while holding the lock. */
	for (int i = 0; atomic_exchange_explicit(&store.lock, 1, memory_order_acquire); i++) {
		if (i == 100)
			return 0;
		system_sleep(100000);
	}
	folder = open_folder();
	if (folder >= 0) {
		rc = store_in(folder, hash, image, bytes);
		system_close(folder);
	}
	atomic_store_explicit(&store.lock, 0, memory_order_release);
	return rc;
}
