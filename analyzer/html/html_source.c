/* SPDX-License-Identifier: Apache-2.0 */
#include "html_source.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "html_json.h"

enum { AROUND = 4, SOURCE_BYTES = 8 << 20, LINE_BYTES = 400 };

static int is_source_name(const char *file)
{
	static const char *const ends[] = { "c", "cc", "cpp", "cxx", "C", "cu", "cuh", "h", "hh",
		"hpp", "hxx", "inl", "inc", "ipp", "tcc", "py", "pyx", "jl", "rs", "f90", "f",
		"F90" };
	const char *end = strrchr(file, '.');

	for (size_t i = 0; end && i < sizeof(ends) / sizeof(*ends); i++)
		if (!strcmp(end + 1, ends[i]))
			return 1;
	return 0;
}

static int goes_up(const char *file)
{
	return !strncmp(file, "../", 3) || strstr(file, "/../") != NULL;
}

/* Opens regular files only: a pipe or a device might block. */
static FILE *open_regular(const char *path, struct stat *about)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	FILE *file;

	if (fd < 0)
		return NULL;
	if (fstat(fd, about) || !S_ISREG(about->st_mode) || about->st_size > SOURCE_BYTES) {
		close(fd);
		return NULL;
	}
	file = fdopen(fd, "r");
	if (!file)
		close(fd);
	return file;
}

/* Searches the folders above the program, the nearest first. */
static FILE *open_above(const char *file, const char *program, struct stat *about)
{
	char path[4096];
	FILE *found = NULL;
	size_t length = strlen(program);

	while (!found && length > 1) {
		while (length && program[length - 1] != '/')
			length--;
		if (!length || length + strlen(file) >= sizeof(path))
			break;
		memcpy(path, program, length);
		strcpy(path + length, file);
		found = open_regular(path, about);
		length--;
	}
	return found;
}

static FILE *open_source(const char *file, const char *program, struct stat *about)
{
	FILE *found;

	if (!is_source_name(file))
		return NULL;
	if (*file == '/')
		return open_regular(file, about);
	if (goes_up(file))
		return NULL;
	found = open_regular(file, about);
	return found || !program || *program != '/' ? found : open_above(file, program, about);
}

static void put_line(char *text, size_t length, const char *before, FILE *out)
{
	while (length && (text[length - 1] == '\n' || text[length - 1] == '\r'))
		text[--length] = 0;
	if (length > LINE_BYTES)
		text[LINE_BYTES] = 0;
	fputs(before, out);
	json_text(out, text);
}

int html_source_write(const char *file, int64_t line, const char *program, int64_t since, FILE *out)
{
	struct stat about;
	FILE *source = line < INT32_MAX ? open_source(file, program, &about) : NULL;
	int64_t first = line > AROUND ? line - AROUND : 1, at = 1;
	char *text = NULL;
	size_t room = 0;
	ssize_t length;
	int any = 0;

	if (!source)
		return 0;
	for (; at <= line + AROUND && (length = getline(&text, &room, source)) >= 0; at++) {
		if (at < first)
			continue;
		if (!any)
			json_number(out, "{\"first\":", first);
		put_line(text, (size_t)length, any ? "," : ",\"lines\":[", out);
		any = 1;
	}
	if (any)
		fputs(about.st_mtime > since ? "],\"newer\":true}" : "],\"newer\":false}", out);
	free(text);
	fclose(source);
	return any;
}
