/* SPDX-License-Identifier: Apache-2.0 */
#include "patch_file.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "print.h"

enum { CONTEXT = 3 };

static const char unreadable[] = "its source cannot be read";

/* The path below the current folder, without quoting in a diff; NULL: it has none. */
static char *path_below(const char *name, const char **reason)
{
	char folder[PATH_MAX], path[PATH_MAX];
	size_t length;

	*reason = unreadable;
	if (!realpath(name, path) || !realpath(".", folder))
		return NULL;
	length = strcmp(folder, "/") ? strlen(folder) : 0;
	*reason = "its source is not below the current folder";
	if (strncmp(path, folder, length) || path[length] != '/')
		return NULL;
	*reason = "the name of its source has unusual characters";
	for (const char *c = path; *c; c++)
		if (iscntrl((unsigned char)*c) || strchr("\"\\", *c))
			return NULL;
	return strdup(path + length + 1);
}

static const char *split(struct patch_file *file)
{
	size_t count = 1;
	char *next = file->text;

	for (const char *c = file->text; *c; c++)
		count += *c == '\n';
	file->lines = calloc(count, sizeof(*file->lines));
	file->edits = calloc(count, sizeof(*file->edits));
	if (!file->lines || !file->edits)
		return unreadable;
	while (next && *next) {
		file->lines[file->count++] = next;
		next = strchr(next, '\n');
		file->is_ended = next != NULL;
		if (next)
			*next++ = '\0';
	}
	return NULL;
}

const char *patch_file_open(struct patch_file *file, const struct source *source)
{
	const char *reason = unreadable;

	*file = (struct patch_file){ 0 };
	if (!source || strlen(source->text) != source->size)
		return unreadable;
	file->path = path_below(source->path, &reason);
	file->text = strdup(source->text);
	if (file->path)
		reason = file->text ? split(file) : unreadable;
	if (reason)
		patch_file_release(file);
	return reason;
}

void patch_file_release(struct patch_file *file)
{
	for (size_t i = 0; file->edits && i < file->count; i++)
		free(file->edits[i].text);
	free(file->edits);
	free(file->lines);
	free(file->text);
	free(file->path);
	*file = (struct patch_file){ 0 };
}

void patch_file_change(struct patch_file *file, size_t line, char *text)
{
	if (file->edits[line].is_set)
		free(text);
	else
		file->edits[line] = (struct patch_edit){ text, 1 };
}

/* The end of the hunk that starts at a line: its edits are closer than their contexts. */
static size_t hunk_end(const struct patch_file *file, size_t first)
{
	size_t last = first;

	for (size_t i = first; i < file->count && i <= last + 2 * CONTEXT + 1; i++)
		if (file->edits[i].is_set)
			last = i;
	return last + CONTEXT + 1 < file->count ? last + CONTEXT + 1 : file->count;
}

static void print_line(const struct patch_file *file, size_t line, char mark, const char *text,
	FILE *out)
{
	fputc(mark, out);
	fputs(text, out);
	fputc('\n', out);
	if (line + 1 == file->count && !file->is_ended)
		fputs("\\ No newline at end of file\n", out);
}

/* A line number of a hunk: an empty one stands after the line of its number. */
static size_t number(size_t start, size_t lines)
{
	return start + (lines > 0);
}

/* Prints lines [start, end), of which removed have gone before; returns how many then have. */
static size_t print_hunk(const struct patch_file *file, size_t start, size_t end, size_t removed,
	FILE *out)
{
	size_t gone = 0, lines = end - start;

	for (size_t i = start; i < end; i++)
		gone += file->edits[i].is_set && !file->edits[i].text;
	print(out, "@@ -%zu,%zu +%zu,%zu @@\n", number(start, lines), lines,
		number(start - removed, lines - gone), lines - gone);
	for (size_t i = start; i < end; i++) {
		const struct patch_edit *edit = &file->edits[i];

		print_line(file, i, edit->is_set ? '-' : ' ', file->lines[i], out);
		if (edit->text)
			print_line(file, i, '+', edit->text, out);
	}
	return removed + gone;
}

/* A tab ends a name with blanks. */
static void print_names(const char *path, FILE *out)
{
	const char *end = strchr(path, ' ') ? "\t\n" : "\n";

	fputs("--- a/", out);
	fputs(path, out);
	fputs(end, out);
	fputs("+++ b/", out);
	fputs(path, out);
	fputs(end, out);
}

void patch_file_print(const struct patch_file *file, FILE *out)
{
	size_t removed = 0, any = 0;

	for (size_t i = 0; i < file->count; i++) {
		size_t start = i > CONTEXT ? i - CONTEXT : 0, end;

		if (!file->edits[i].is_set)
			continue;
		if (!any++)
			print_names(file->path, out);
		end = hunk_end(file, i);
		removed = print_hunk(file, start, end, removed, out);
		i = end - 1;
	}
}
