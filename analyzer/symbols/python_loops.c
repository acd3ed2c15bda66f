/* SPDX-License-Identifier: Apache-2.0 */
#include "python_loops.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memory.h"

enum { SOURCE_BYTES = 8 << 20, TAB = 8 };

struct script_source {
	char *file, *text; /* text NULL: it cannot be read */
	int64_t changed;   /* ns since 1970 */
};

/* Columns up to the first character of a line; *at is set to that. */
static int indent_of(const char **at)
{
	int column = 0;

	for (; **at == ' ' || **at == '\t' || **at == '\f'; ++*at)
		column = **at == '\t' ? (column / TAB + 1) * TAB : column + 1;
	return column;
}

static int begins_with(const char *at, const char *word)
{
	size_t length = strlen(word);

	return !strncmp(at, word, length) &&
		(at[length] == ' ' || at[length] == '\t' || at[length] == '(' ||
			at[length] == '\\');
}

static int is_loop(const char *at)
{
	if (begins_with(at, "async")) {
		at += strlen("async");
		indent_of(&at);
	}
	return begins_with(at, "for") || begins_with(at, "while");
}

/*
 * Goes through the lines of the function and keeps the headers whose blocks are open: a line ends
 * the blocks that begin at its column or beyond.  Blank lines and comments end nothing.
 */
int python_loop_in(const char *text, int first_line, int line)
{
	struct {
		int column, loop;
	} open[64];
	size_t depth = 0;
	int number = 1, loop = 0;

	for (; *text && number <= line; number++) {
		const char *at = text, *end = strchr(text, '\n');
		int column = indent_of(&at);

		text = end ? end + 1 : text + strlen(text);
		if (number < first_line || *at == '\n' || *at == '\r' || *at == '#' || !*at)
			continue;
		while (depth && open[depth - 1].column >= column)
			depth--;
		loop = is_loop(at) ? number : depth ? open[depth - 1].loop : 0;
		if (depth < sizeof(open) / sizeof(*open)) {
			open[depth].column = column;
			open[depth++].loop = loop;
		}
	}
	return number > line ? loop : 0;
}

/* A regular file only: a pipe or a device might block. */
static void read_source(struct script_source *source)
{
	int fd = open(source->file, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat about;
	ssize_t got = -1;

	if (fd < 0)
		return;
	if (!fstat(fd, &about) && S_ISREG(about.st_mode) && about.st_size <= SOURCE_BYTES)
		source->text = malloc((size_t)about.st_size + 1);
	if (source->text)
		got = read(fd, source->text, (size_t)about.st_size);
	close(fd);
	if (got < 0) {
		free(source->text);
		source->text = NULL;
		return;
	}
	source->text[got] = '\0';
	source->changed = about.st_mtim.tv_sec * 1000000000ll + about.st_mtim.tv_nsec;
}

static const struct script_source *find_source(struct script_sources *sources, const char *file)
{
	struct script_source *source;

	for (size_t i = 0; i < sources->count; i++)
		if (!strcmp(sources->source[i].file, file))
			return &sources->source[i];
	source = array_push(sources->source, sources->count);
	*source = (struct script_source){ .file = xstrdup(file) };
	read_source(source);
	return source;
}

int python_loop(struct script_sources *sources, const char *file, int64_t until, int first_line,
	int line)
{
	const struct script_source *source = *file == '<' ? NULL : find_source(sources, file);

	return source && source->text && (!until || source->changed <= until) && line >= first_line
		? python_loop_in(source->text, first_line, line)
		: 0;
}

void script_sources_release(struct script_sources *sources)
{
	for (size_t i = 0; i < sources->count; i++) {
		free(sources->source[i].file);
		free(sources->source[i].text);
	}
	free(sources->source);
	*sources = (struct script_sources){ 0 };
}
