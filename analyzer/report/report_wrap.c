/* SPDX-License-Identifier: Apache-2.0 */
#include "report_internal.h"

#include <stddef.h>

/* The column where the text of "    fix  ..." begins. */
#define INDENT 9
/* The timeline, which has its own width. */
#define DRAWING 6

/* Columns of a word: escape sequences have none, characters of several bytes one. */
static int columns(const char *word, size_t length)
{
	int count = 0, escape = 0;

	for (size_t i = 0; i < length; i++) {
		if (word[i] == '\033')
			escape = 1;
		count += !escape && ((unsigned char)word[i] & 0xc0) != 0x80;
		escape = escape && word[i] != 'm';
	}
	return count;
}

static size_t span(const char *text, size_t length, int blanks)
{
	size_t i = 0;

	while (i < length && (text[i] == ' ') == blanks)
		i++;
	return i;
}

static void wrap_line(const char *line, size_t length, int width, FILE *out)
{
	int column = 0;
	size_t indent = span(line, length, 1);

	if (indent >= DRAWING && indent < INDENT)
		width = 0;
	while (length) {
		size_t blanks = span(line, length, 1);
		size_t word = span(line + blanks, length - blanks, 0);
		int wide = columns(line + blanks, word);

		if (width && column > INDENT && column + (int)blanks + wide > width)
			column = fprintf(out, "\n%*s", INDENT, "") - 1;
		else
			column += fprintf(out, "%*s", (int)blanks, "");
		fwrite(line + blanks, 1, word, out);
		column += wide;
		line += blanks + word;
		length -= blanks + word;
	}
}

void report_wrap(const char *text, int width, FILE *out)
{
	while (*text) {
		size_t length = 0;

		while (text[length] && text[length] != '\n')
			length++;
		wrap_line(text, length, width, out);
		text += length;
		if (*text == '\n')
			fputc(*text++, out);
	}
}
