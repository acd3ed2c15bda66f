/* SPDX-License-Identifier: Apache-2.0 */
#include "help_rule.h"

#include <string.h>

#include "print.h"
#include "rules.h"

#define WIDTH 80

static const char page[] =
#include "RULES.inc"
	;

/* Writes a section's Markdown as plain text: indented code, paragraphs filled to the width. */
struct text {
	FILE *out;
	int in_code;
	int column; /* within the paragraph; 0: none has begun */
};

static const char *line_end(const char *line)
{
	const char *end = strchr(line, '\n');

	return end ? end : line + strlen(line);
}

static int begins(const char *line, const char *with)
{
	return !strncmp(line, with, strlen(with));
}

/* Drops the stars of emphasis, but not those in code. */
static void put_word(struct text *text, const char *word, size_t length)
{
	int is_code = memchr(word, '`', length) != NULL;
	char plain[256];
	size_t used = 0;

	for (size_t i = 0; i < length && used < sizeof(plain) - 1; i++)
		if (is_code || word[i] != '*')
			plain[used++] = word[i];
	plain[used] = 0;
	if (text->column && text->column + 1 + (int)used > WIDTH) {
		fputc('\n', text->out);
		text->column = 0;
	}
	print(text->out, "%s%s", text->column ? " " : "", plain);
	text->column += (int)used + (text->column ? 1 : 0);
}

static void end_paragraph(struct text *text)
{
	if (text->column)
		fputc('\n', text->out);
	text->column = 0;
}

static void put_line(struct text *text, const char *line, const char *end)
{
	if (begins(line, "```")) {
		text->in_code = !text->in_code;
	} else if (text->in_code) {
		print(text->out, "    %.*s\n", (int)(end - line), line);
	} else if (line == end) {
		end_paragraph(text);
		fputc('\n', text->out);
	} else if (line[0] == '|') {
		end_paragraph(text);
		if (!begins(line, "| ---"))
			print(text->out, "    %.*s\n", (int)(end - line), line);
	} else {
		if (begins(line, "- "))
			end_paragraph(text);
		while (line < end) {
			size_t length = strcspn(line, " \n");

			if (length)
				put_word(text, line, length);
			line += length + (line[length] == ' ');
		}
	}
}

/* The text after a rule's heading; NULL if the page has none. */
static const char *find_section(const char *id)
{
	for (const char *line = page; *line; line = line_end(line) + 1) {
		const char *end = line_end(line);

		if (begins(line, "## ") && (size_t)(end - line) == 3 + strlen(id) &&
			begins(line + 3, id))
			return *end ? end + 1 : end;
		if (!*end)
			break;
	}
	return NULL;
}

void help_rule(const struct rule_info *rule, FILE *out)
{
	struct text text = { .out = out };
	const char *line = find_section(rule->id);

	print(out, "%s\n", rule->id);
	while (line && *line && (text.in_code || !begins(line, "## "))) {
		const char *end = line_end(line);

		put_line(&text, line, end);
		line = *end ? end + 1 : end;
	}
	end_paragraph(&text);
	print(out, "NVIDIA's documentation: %s\n", rule->link);
}

void help_rules(FILE *out)
{
	for (int i = 0; i < RULE_COUNT; i++)
		print(out, "    %-28s %s\n", rules[i].id, rules[i].title);
	fputs("\n\"cufence help RULE\" explains one, with an example and its fix.\n", out);
}
