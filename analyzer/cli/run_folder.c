/* SPDX-License-Identifier: Apache-2.0 */
#include "run_folder.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "image_hash.h"
#include "memory.h"
#include "print.h"
#include "process.h"
#include "shell.h"

#define TRACE_SUFFIX ".cft"

static char *load_command(const char *path, const char *database)
{
	char *folder = shell_word(path), *word = shell_word(database), *command = NULL;

	if (folder && word &&
		asprintf(&command, "cufence load %s/*" TRACE_SUFFIX " -o %s", folder, word) < 0)
		command = NULL;
	free(folder);
	free(word);
	return command;
}

int run_folder_create(struct run_folder *folder, const char *database)
{
	char *template = NULL;

	*folder = (struct run_folder){ 0 };
	if (asprintf(&template, "%s.traces-XXXXXX", database) < 0)
		return -1;
	if (!mkdtemp(template))
		print(stderr, "cufence: cannot create '%s': %s; use -o to write elsewhere\n",
			template, strerror(errno));
	else
		folder->path = realpath(template, NULL);
	free(template);
	if (folder->path)
		folder->load = load_command(folder->path, database);
	if (folder->load &&
		asprintf(&folder->note, "cufence: the traces are kept; to load them: %s\n",
			folder->load) >= 0)
		return 0;
	folder->note = NULL;
	return -1;
}

static int ends_with(const char *name, const char *suffix)
{
	size_t length = strlen(name), end = strlen(suffix);

	return length > end && !strcmp(name + length - end, suffix);
}

static int is_trace(const struct dirent *entry)
{
	return ends_with(entry->d_name, TRACE_SUFFIX);
}

/*
 * Daemons outlive the program.  Their initial environment has the folder's name, unless they
 * overwrote it; then their trace file is mapped to be written.  Who reads it, a snapshot say, is no
 * such process.
 */
static void find_running(struct run_folder *folder)
{
	DIR *processes = opendir("/proc");
	const struct dirent *entry;
	char *setting = NULL;
	/* With the NUL that ends the variable. */
	int length = asprintf(&setting, "CUFENCE_OUT=%s", folder->path) + 1;

	while (processes && length > 0 && (entry = readdir(processes))) {
		long pid = isdigit((unsigned char)*entry->d_name) ? atol(entry->d_name) : 0;

		if (!pid || pid == getpid() ||
			!(process_has_bytes(pid, "environ", setting, (size_t)length) ||
				process_writes_below(pid, folder->path)))
			continue;
		folder->running++;
		folder->running_pid = pid;
	}
	if (processes)
		closedir(processes);
	if (length > 0)
		free(setting);
}

int run_folder_list(struct run_folder *folder)
{
	struct dirent **entries;
	int count;

	/* Runs before the traces are listed: a process that ends in between has left its trace. */
	find_running(folder);
	count = scandir(folder->path, &entries, is_trace, alphasort);
	for (int i = 0; i < count; i++) {
		*array_push(folder->trace, folder->count) =
			xprintf("%s/%s", folder->path, entries[i]->d_name);
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
	return count < 0 ? -1 : 0;
}

/* Removes the empty files of processes that were killed while they created their trace. */
static void remove_unfinished(const struct run_folder *folder)
{
	DIR *entries = opendir(folder->path);
	const struct dirent *entry;

	while (entries && (entry = readdir(entries)))
		if (ends_with(entry->d_name, TRACE_SUFFIX ".new"))
			unlinkat(dirfd(entries), entry->d_name, 0);
	if (entries)
		closedir(entries);
}

/* Removes the images stored next to the traces. */
static void remove_images(const struct run_folder *folder)
{
	int fd = open(folder->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int images = openat(fd, IMAGE_FOLDER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *entries = images >= 0 ? fdopendir(images) : NULL;
	const struct dirent *entry;

	while (entries && (entry = readdir(entries)))
		if (*entry->d_name != '.')
			unlinkat(images, entry->d_name, 0);
	if (entries)
		closedir(entries);
	unlinkat(fd, IMAGE_FOLDER, AT_REMOVEDIR);
	close(fd);
}

static void name_it(const struct run_folder *folder)
{
	if (folder->running == 1)
		print(stderr,
			"cufence: process %ld is still running and writes its trace to %s; "
			"when it has ended, load it: %s\n",
			folder->running_pid, folder->path, folder->load);
	else if (folder->running)
		print(stderr,
			"cufence: %zu processes are still running (%ld is one) and write their "
			"traces to %s; when they have ended, load them: %s\n",
			folder->running, folder->running_pid, folder->path, folder->load);
	else
		print(stderr, "cufence: the traces are kept in %s; to load them: %s\n",
			folder->path, folder->load);
}

void run_folder_release(struct run_folder *folder, int keep)
{
	int stays = folder->running || (keep && folder->count);

	for (size_t i = 0; i < folder->count; i++) {
		if (!stays)
			unlink(folder->trace[i]);
		free(folder->trace[i]);
	}
	if (folder->path && !folder->running)
		remove_unfinished(folder);
	if (stays) {
		name_it(folder);
	} else if (folder->path) {
		remove_images(folder);
		rmdir(folder->path);
	}
	free(folder->trace);
	free(folder->path);
	free(folder->load);
	free(folder->note);
}
