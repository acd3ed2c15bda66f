/* SPDX-License-Identifier: Apache-2.0 */
#include "stream_expression.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { STATEMENT_BYTES = 2000, TAB = 8 };

static int is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Copies an expression without blanks around it.  Returns 1 if it can be printed as one. */
static int take(const char *from, const char *to, char text[STREAM_EXPRESSION_SIZE])
{
	while (from < to && isspace((unsigned char)*from))
		from++;
	while (from < to && isspace((unsigned char)to[-1]))
		to--;
	if (from == to || to - from >= STREAM_EXPRESSION_SIZE || isdigit((unsigned char)*from) ||
		(!is_word(*from) && *from != '*'))
		return 0;
	for (const char *at = from; at < to; at++)
		if (!is_word(*at) && !strchr(".[]()->:+*% ,", *at))
			return 0;
	memcpy(text, from, (size_t)(to - from));
	text[to - from] = 0;
	return 1;
}

/*
 * The end of a list of arguments that begins at text: where the first unmatched bracket is, NULL if
 * none closes it.  Sets where the argument of that number, from 0 on, begins (-1: the last one),
 * NULL if there are fewer, and where it ends.
 */
static const char *arguments_end(const char *text, int number, const char **begin, const char **end)
{
	int depth = 0, at = 0;

	*begin = number <= 0 ? text : NULL;
	*end = NULL;
	for (; *text; text++) {
		if (strchr("([{", *text))
			depth++;
		else if ((strchr(")]}", *text) || !strncmp(text, ">>>", 3)) && --depth < 0)
			break;
		else if (*text == ',' && !depth) {
			if (*begin && !*end && number >= 0)
				*end = text;
			if (++at == number || number < 0)
				*begin = text + 1;
		}
	}
	if (*begin && !*end)
		*end = text;
	return *text ? text : NULL;
}

static int take_argument(const char *arguments, int number, char text[STREAM_EXPRESSION_SIZE])
{
	const char *begin, *end;

	return arguments_end(arguments, number, &begin, &end) && begin && take(begin, end, text);
}

/* Copies a line and what follows it, as far as there is room. */
static int copy_from(const struct source *source, int64_t line, char text[STATEMENT_BYTES])
{
	size_t room, length;
	const char *at = source_line(source, line, &length);

	if (!at)
		return 0;
	room = source->size - (size_t)(at - source->text);
	if (room > STATEMENT_BYTES - 1)
		room = STATEMENT_BYTES - 1;
	memcpy(text, at, room);
	text[room] = 0;
	return 1;
}

/* --- C++ --- */

static void blank_comments(char *text)
{
	while ((text = strchr(text, '/'))) {
		const char *end = text[1] == '/' ? "\n" : text[1] == '*' ? "*/" : NULL;
		const char *to = end ? strstr(text + 2, end) : text + 1;

		if (!to)
			to = text + strlen(text);
		else if (text[1] == '*')
			to += strlen(end);
		if (!end)
			text++;
		while (text < to)
			*text++ = ' ';
	}
}

/* Copies the statements that begin in a line, the last one up to its end. */
static int copy_statements(const struct source *source, int64_t line, char text[STATEMENT_BYTES])
{
	char *at = text, *line_end;

	if (!copy_from(source, line, text))
		return 0;
	blank_comments(text);
	line_end = text + strcspn(text, "\n");
	while (at < line_end && at[strspn(at, " \t\r}")] != '\n') {
		at += strcspn(at, ";");
		at += *at == ';';
	}
	*at = 0;
	return 1;
}

static const char *before_blanks(const char *text, const char *at)
{
	while (at > text && isspace((unsigned char)at[-1]))
		at--;
	return at;
}

/* Does this name, with or without template arguments, end at that place of the text? */
static int ends_with(const char *text, const char *at, const char *name)
{
	size_t length = strlen(name);
	int depth = 0;

	at = before_blanks(text, at);
	while (at > text && (at[-1] == '>' || depth)) {
		at--;
		depth += *at == '>' ? 1 : *at == '<' ? -1 : 0;
	}
	at = before_blanks(text, at);
	return length && (size_t)(at - text) >= length && !strncmp(at - length, name, length) &&
		(at - length == text || !is_word(*(at - length - 1)));
}

/* A call whose last argument is its stream. */
static int ends_in_stream(const char *call)
{
	static const char *const ends[] = { "Async", "cudaGraphLaunch", "cudaLaunchKernel" };
	size_t length = strlen(call);

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		if (length >= strlen(ends[i]) && !strcmp(call + length - strlen(ends[i]), ends[i]))
			return 1;
	return 0;
}

int stream_expression_compiled(const struct source *source, int64_t line,
	const struct code_called *called, char text[STREAM_EXPRESSION_SIZE])
{
	char statement[STATEMENT_BYTES], other[STREAM_EXPRESSION_SIZE];
	const char *call = ends_in_stream(called->call) ? called->call : "";
	int found = 0;

	if (!copy_statements(source, line, statement))
		return 0;
	for (const char *at = statement; *at; at++) {
		int is_launch = !strncmp(at, "<<<", 3);

		if (!(is_launch && ends_with(statement, at, called->kernel)) &&
			!(*at == '(' && ends_with(statement, at, call)))
			continue;
		if (!take_argument(at + (is_launch ? 3 : 1), is_launch ? 3 : -1,
			    found ? other : text) ||
			(found && strcmp(other, text) != 0))
			return 0;
		found = 1;
	}
	return found;
}

/* --- Python --- */

static int copy_line(const struct source *source, int64_t line, char text[STATEMENT_BYTES])
{
	int found = copy_from(source, line, text);

	if (found)
		text[strcspn(text, "\n")] = 0;
	return found;
}

/* The columns before the first character of a line; -1: there is nothing but a comment. */
static int indent_of(const char *line, size_t length)
{
	int columns = 0;

	for (size_t i = 0; i < length && line[i] != '#'; i++) {
		if (line[i] != ' ' && line[i] != '\t')
			return columns;
		columns = line[i] == '\t' ? (columns / TAB + 1) * TAB : columns + 1;
	}
	return -1;
}

/* "stream=EXPR" or "kernel[grid, block, EXPR](" in a line. */
static int named_in_line(const char *line, char text[STREAM_EXPRESSION_SIZE])
{
	const char *at = strstr(line, "stream="), *begin, *end, *close;

	if (at && (at == line || !is_word(at[-1])) &&
		take_argument(at + strlen("stream="), 0, text))
		return 1;
	for (at = strchr(line, '['); at; at = strchr(at + 1, '[')) {
		close = arguments_end(at + 1, 2, &begin, &end);
		if (begin && close && close[0] == ']' && close[1] == '(' && at > line &&
			is_word(at[-1]))
			return take(begin, end, text);
	}
	return 0;
}

/* "with torch.cuda.stream(EXPR)", alone or after others, and "with EXPR" of a stream. */
static int named_in_with(const char *line, char text[STREAM_EXPRESSION_SIZE])
{
	const char *manager = line + strspn(line, " \t") + strlen("with ");
	const char *call = strstr(line, "cuda.stream(");
	char name[STREAM_EXPRESSION_SIZE];
	size_t length;

	if (strncmp(line + strspn(line, " \t"), "with ", strlen("with ")) != 0)
		return 0;
	if (call)
		return take_argument(call + strlen("cuda.stream("), 0, text);
	length = strcspn(manager, ":,(");
	if (manager[length] != ':' || !take(manager, manager + length, name) ||
		!strcasestr(name, "stream"))
		return 0;
	strcpy(text, name);
	return 1;
}

int stream_expression_script(const struct source *source, int64_t line,
	char text[STREAM_EXPRESSION_SIZE])
{
	char statement[STATEMENT_BYTES];
	size_t length;
	const char *at = source_line(source, line, &length);
	int inner = at ? indent_of(at, length) : -1;

	if (inner < 0)
		return 0;
	if (!copy_line(source, line, statement))
		return 0;
	if (named_in_line(statement, text) || named_in_with(statement, text))
		return 1;
	while (inner > 0 && --line > 0 && (at = source_line(source, line, &length))) {
		int columns = indent_of(at, length);

		if (columns < 0 || columns >= inner)
			continue;
		inner = columns;
		if (!copy_line(source, line, statement))
			return 0;
		at = statement + strspn(statement, " \t");
		if (!strncmp(at, "def ", 4) || !strncmp(at, "async def ", 10))
			return 0;
		if (named_in_with(statement, text))
			return 1;
	}
	return 0;
}
