/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "run.h"

#define DRIVER "libcuda.so.1"

/* An interpreter may be a script too; the kernel follows four of them. */
#define MAX_SCRIPTS 4

/* The file that execvp() would run. */
static char *find_program(const char *name)
{
	const char *path = getenv("PATH");
	char *candidate;

	if (strchr(name, '/'))
		return strdup(name);
	for (path = path ? path : "/bin:/usr/bin"; *path;) {
		size_t length = strcspn(path, ":");
		if (asprintf(&candidate, "%.*s%s%s", (int)length, path, length ? "/" : "", name) <
			0)
			return NULL;
		if (!access(candidate, X_OK))
			return candidate;
		free(candidate);
		path += length + (path[length] == ':');
	}
	return NULL;
}

/* The loader ignores LD_PRELOAD in a program that runs with more rights than its user has. */
static int gains_rights(int fd, const struct stat *st)
{
	if (st->st_mode & S_ISUID && st->st_uid != getuid())
		return 1;
	if (st->st_mode & S_ISGID && st->st_gid != getgid())
		return 1;
	return getuid() && fgetxattr(fd, "security.capability", NULL, 0) > 0;
}

/* "#!INTERPRETER ..." or NULL */
static char *interpreter_of_script(const char *bytes, size_t size)
{
	const char *end = memchr(bytes, '\n', size), *start = bytes + 2;

	if (size < 3 || bytes[0] != '#' || bytes[1] != '!' || !end)
		return NULL;
	while (start < end && (*start == ' ' || *start == '\t'))
		start++;
	return strndup(start, strcspn(start, " \t\n"));
}

/* Inspects one file; for a script returns its interpreter. */
static char *inspect_file(struct program *program, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char *interpreter = NULL;
	struct stat st;
	void *at;

	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0) {
		at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (at != MAP_FAILED) {
			interpreter = interpreter_of_script(at, (size_t)st.st_size);
			if (!interpreter)
				program_inspect_elf(program, at, (size_t)st.st_size);
			munmap(at, (size_t)st.st_size);
		}
		/* The kernel ignores these bits of scripts. */
		if (!interpreter && !program->obstacle && gains_rights(fd, &st)) {
			program->obstacle =
				"it gains rights when it starts (set-user-id, "
				"set-group-id or capabilities), and LD_PRELOAD is ignored then";
			program->hint = "run cufence as the user whose rights it gains";
		}
	}
	close(fd);
	return interpreter;
}

void program_inspect(struct program *program, const char *name)
{
	char *path;

	*program = (struct program){ .path = find_program(name) };
	path = program->path ? strdup(program->path) : NULL;
	for (int i = 0; path && i <= MAX_SCRIPTS; i++) {
		char *next = inspect_file(program, path);
		free(path);
		path = next;
	}
	free(path);
}

static int is_in(const char *folder, size_t length)
{
	char path[PATH_MAX];

	return snprintf(path, sizeof(path), "%.*s/" DRIVER, (int)length, folder) <
		(int)sizeof(path) &&
		!access(path, F_OK);
}

/* ld.so(8)'s cache of the libraries in the system's folders. */
static int is_cached(void)
{
	int fd = open("/etc/ld.so.cache", O_RDONLY | O_CLOEXEC), found = 0;
	struct stat st;
	void *at;

	if (fd < 0)
		return 0;
	at = fstat(fd, &st) ? MAP_FAILED
			    : mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (at != MAP_FAILED) {
		found = memmem(at, (size_t)st.st_size, DRIVER, sizeof(DRIVER)) != NULL;
		munmap(at, (size_t)st.st_size);
	}
	close(fd);
	return found;
}

int run_finds_driver(void)
{
	static const char *const folders[] = { "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu",
		"/lib64", "/usr/lib64", "/lib", "/usr/lib" };
	const char *path = getenv("LD_LIBRARY_PATH");

	for (size_t length; path && *path; path += length + (path[length] != '\0')) {
		length = strcspn(path, ":;");
		if (is_in(length ? path : ".", length ? length : 1))
			return 1;
	}
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
		if (is_in(folders[i], strlen(folders[i])))
			return 1;
	return is_cached();
}

void program_release(struct program *program)
{
	free(program->path);
	free(program->sanitizer);
	*program = (struct program){ 0 };
}
