/* SPDX-License-Identifier: Apache-2.0 */
#include "source_line.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memory.h"
#include "print.h"

enum { SOURCE_BYTES = 8 << 20 };

struct known_source {
	char *file, *program; /* as asked for; program NULL: none */
	char *path, *text;    /* text NULL: not readable */
	size_t *start;
	struct source source;
};

struct sources {
	int64_t began; /* of the run, ns since 1970 */
	struct known_source **known;
	size_t count;
};

struct sources *sources_new(struct db *db)
{
	struct sources *sources = calloc(1, sizeof(*sources));

	if (!sources) {
		fputs("cufence: out of memory\n", stderr);
		return NULL;
	}
	sources->began = db_int(db,
		"SELECT start_unix_ns FROM run WHERE NOT EXISTS"
		" (SELECT 1 FROM process WHERE simulated)",
		INT64_MAX);
	return sources;
}

static void free_known(struct known_source *known)
{
	if (!known)
		return;
	free(known->file);
	free(known->program);
	free(known->path);
	free(known->text);
	free(known->start);
	free(known);
}

void sources_free(struct sources *sources)
{
	if (!sources)
		return;
	for (size_t i = 0; i < sources->count; i++)
		free_known(sources->known[i]);
	free(sources->known);
	free(sources);
}

/* --- finding the file --- */

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
static int open_regular(const char *path, struct stat *about)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0)
		return -1;
	if (!fstat(fd, about) && S_ISREG(about->st_mode) && about->st_size <= SOURCE_BYTES)
		return fd;
	close(fd);
	return -1;
}

/* Searches the folders above the program, the nearest first. */
static int open_above(const char *file, const char *program, char *path, size_t size,
	struct stat *about)
{
	size_t length = strlen(program);
	int fd = -1;

	while (fd < 0 && length > 1) {
		while (length && program[length - 1] != '/')
			length--;
		if (!length || length + strlen(file) >= size)
			break;
		memcpy(path, program, length);
		strcpy(path + length, file);
		fd = open_regular(path, about);
		length--;
	}
	return fd;
}

static int open_source(const char *file, const char *program, char *path, size_t size,
	struct stat *about)
{
	int fd;

	if (!is_source_name(file) || (*file != '/' && goes_up(file)) || strlen(file) >= size)
		return -1;
	strcpy(path, file);
	fd = open_regular(path, about);
	if (fd >= 0 || *file == '/' || !program || *program != '/')
		return fd;
	return open_above(file, program, path, size, about);
}

/* --- reading it --- */

static char *read_all(int fd, size_t size, size_t *got)
{
	char *text = malloc(size + 1);
	ssize_t part = 1;

	*got = 0;
	while (text && *got < size && (part = read(fd, text + *got, size - *got)) > 0)
		*got += (size_t)part;
	if (text)
		text[*got] = 0;
	return text;
}

/* Returns 0, or -1 if memory is exhausted. */
static int find_lines(struct known_source *known)
{
	struct source *source = &known->source;
	size_t count = 1;

	for (size_t i = 0; i < source->size; i++)
		count += source->text[i] == '\n';
	known->start = malloc((count + 1) * sizeof(*known->start));
	if (!known->start)
		return -1;
	source->start = known->start;
	known->start[0] = 0;
	for (size_t i = 0; i < source->size; i++)
		if (source->text[i] == '\n')
			known->start[++source->lines] = i + 1;
	if (known->start[source->lines] < source->size)
		known->start[++source->lines] = source->size;
	return 0;
}

static int read_source(const struct sources *sources, struct known_source *known)
{
	struct source *source = &known->source;
	char path[4096];
	struct stat about;
	int fd = open_source(known->file, known->program, path, sizeof(path), &about);

	if (fd < 0)
		return 0;
	known->text = read_all(fd, (size_t)about.st_size, &source->size);
	known->path = strdup(path);
	close(fd);
	if (!known->text || !known->path)
		return -1;
	source->path = known->path;
	source->text = known->text;
	source->changed = about.st_mtim.tv_sec * INT64_C(1000000000) + about.st_mtim.tv_nsec;
	source->newer = source->changed > sources->began;
	return find_lines(known);
}

static int is_asked(const struct known_source *known, const char *file, const char *program)
{
	return !strcmp(known->file, file) &&
		(known->program && program ? !strcmp(known->program, program)
					   : known->program == program);
}

static struct known_source *new_known(const char *file, const char *program)
{
	struct known_source *known = calloc(1, sizeof(*known));

	if (!known)
		return NULL;
	known->file = strdup(file);
	known->program = program ? strdup(program) : NULL;
	if (known->file && (known->program || !program))
		return known;
	free_known(known);
	return NULL;
}

const struct source *sources_find(struct sources *sources, const char *file, const char *program)
{
	struct known_source *known = NULL;

	for (size_t i = 0; i < sources->count && !known; i++)
		if (is_asked(sources->known[i], file, program))
			known = sources->known[i];
	if (known)
		return known->text ? &known->source : NULL;
	known = new_known(file, program);
	if (!known || read_source(sources, known)) {
		free_known(known);
		return NULL;
	}
	*array_push(sources->known, sources->count) = known;
	return known->text ? &known->source : NULL;
}

const char *source_line(const struct source *source, int64_t line, size_t *length)
{
	const char *at;

	if (line < 1 || line > source->lines)
		return NULL;
	at = source->text + source->start[line - 1];
	*length = source->start[line] - source->start[line - 1];
	while (*length && (at[*length - 1] == '\n' || at[*length - 1] == '\r'))
		--*length;
	return at;
}

/* --- in SQL --- */

static void line_of(sqlite3_context *context, int count, sqlite3_value **value)
{
	struct sources *sources = sqlite3_user_data(context);
	const char *file = (const char *)sqlite3_value_text(value[0]);
	const struct source *source = sources && file
		? sources_find(sources, file, (const char *)sqlite3_value_text(value[2]))
		: NULL;
	const char *line = NULL;
	size_t length = 0;
	char *text;

	if (source && !source->newer)
		line = source_line(source, sqlite3_value_int64(value[1]), &length);
	for (; length && isspace((unsigned char)*line); length--)
		line++;
	while (length && isspace((unsigned char)line[length - 1]))
		length--;
	text = length ? strndup(line, length) : NULL;
	for (char *at = text; at && (at = strchr(at, '\t'));)
		*at = ' ';
	if (text)
		sqlite3_result_text(context, text, -1, free);
}

static void free_sources(void *sources)
{
	sources_free(sources);
}

int sources_add_function(struct db *db, int hidden)
{
	struct sources *sources = hidden ? NULL : sources_new(db);

	if (!hidden && !sources)
		return -1;
	if (!sqlite3_create_function_v2(db->handle, "source_line", 3,
		    SQLITE_UTF8 | SQLITE_DIRECTONLY, sources, line_of, NULL, NULL, free_sources))
		return 0;
	print(stderr, "cufence: SQLite: %s\n", sqlite3_errmsg(db->handle));
	return -1;
}
