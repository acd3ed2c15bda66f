/* SPDX-License-Identifier: Apache-2.0 */
#include "process.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Returns 0 if it cannot be read. */
static long parent_of(long pid)
{
	char path[64], text[512];
	const char *name_end;
	long parent = 0;
	ssize_t length;
	int fd;

	snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	length = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[length > 0 ? length : 0] = 0;
	/* The name, in parentheses, may contain any character. */
	name_end = strrchr(text, ')');
	if (!name_end || sscanf(name_end, ") %*c %ld", &parent) != 1)
		return 0;
	return parent;
}

int process_descends(long pid, long ancestor)
{
	enum { DEEPEST = 1000 }; /* processes that end meanwhile could make a circle */

	for (int i = 0; i < DEEPEST && pid > 1; i++) {
		if (pid == ancestor)
			return 1;
		pid = parent_of(pid);
	}
	return 0;
}

int process_has_bytes(long pid, const char *file, const char *bytes, size_t length)
{
	char path[64], text[2 * PATH_MAX + 4096];
	size_t kept = 0;
	int fd, found = 0;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%ld/%s", pid, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && !found && (n = read(fd, text + kept, sizeof(text) - kept)) > 0) {
		kept += (size_t)n;
		found = memmem(text, kept, bytes, length) != NULL;
		if (kept >= length) {
			memmove(text, text + kept - length + 1, length - 1);
			kept = length - 1;
		}
	}
	if (fd >= 0)
		close(fd);
	return found;
}

int process_writes_below(long pid, const char *folder)
{
	char path[64], *line = NULL;
	size_t size = 0;
	int found = 0;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%ld/maps", pid);
	maps = fopen(path, "re");
	while (maps && !found && getline(&line, &size, maps) > 0)
		found = strstr(line, " rw-s ") && strstr(line, folder);
	if (maps)
		fclose(maps);
	free(line);
	return found;
}

int process_sees_all(void)
{
	/* PROC_PID_INIT_INO of the kernel's include/linux/proc_ns.h, unchanged since Linux 3.8. */
	static const char first[] = "pid:[4026531836]";
	char name[64];
	ssize_t length = readlink("/proc/self/ns/pid", name, sizeof(name) - 1);

	return length == (ssize_t)strlen(first) && !memcmp(name, first, strlen(first));
}
