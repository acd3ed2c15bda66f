/* SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run.h"

/* What execvp() would run. */
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

static int has_interpreter(const unsigned char *bytes, size_t size)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)bytes;

	for (unsigned i = 0; i < header->e_phnum; i++) {
		uint64_t at = header->e_phoff + (uint64_t)i * header->e_phentsize;
		Elf64_Phdr segment;
		if (at > size || size - at < sizeof(segment))
			return 0;
		memcpy(&segment, bytes + at, sizeof(segment));
		if (segment.p_type == PT_INTERP)
			return 1;
	}
	return 0;
}

static void inspect_bytes(struct program *program, const unsigned char *bytes, size_t size)
{
	/* The name of a shared memory segment that every NVIDIA cudart opens, stripped or not. */
	static const char mark[] = "/cudart.shm.";

	if (size < sizeof(Elf64_Ehdr) || memcmp(bytes, ELFMAG, SELFMAG) ||
		bytes[EI_CLASS] != ELFCLASS64)
		return;
	program->is_elf = 1;
	program->is_dynamic = has_interpreter(bytes, size);
	program->has_static_cudart = memmem(bytes, size, mark, sizeof(mark) - 1) != NULL;
}

void program_inspect(struct program *program, const char *name)
{
	struct stat st;
	void *at;
	int fd;

	*program = (struct program){ .path = find_program(name) };
	fd = program->path ? open(program->path, O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0)
		return;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0) {
		program->drops_preload = st.st_mode & (S_ISUID | S_ISGID) ? 1 : 0;
		at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (at != MAP_FAILED) {
			inspect_bytes(program, at, (size_t)st.st_size);
			munmap(at, (size_t)st.st_size);
		}
	}
	close(fd);
}

void program_release(struct program *program)
{
	free(program->path);
	*program = (struct program){ 0 };
}
