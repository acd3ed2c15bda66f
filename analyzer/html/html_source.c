/* SPDX-License-Identifier: Apache-2.0 */
#include "html_source.h"

#include <stdlib.h>
#include <string.h>

#include "html_json.h"

enum { AROUND = 4, LINE_BYTES = 400 };

static int put_line(const char *line, size_t length, const char *before, FILE *out)
{
	char *text = strndup(line, length < LINE_BYTES ? length : LINE_BYTES);

	if (!text)
		return -1;
	fputs(before, out);
	json_text(out, text);
	free(text);
	return 0;
}

int html_source_write(const struct source *source, int64_t line, FILE *out)
{
	int64_t first = line > AROUND ? line - AROUND : 1, at = first;
	const char *before = "\"lines\":[", *text;
	size_t length;

	if (!source || first > source->lines)
		return 0;
	json_number(out, "{\"first\":", first);
	fputc(',', out);
	for (; at <= line + AROUND && (text = source_line(source, at, &length)); at++) {
		if (put_line(text, length, before, out))
			return -1;
		before = ",";
	}
	fputs(source->newer ? "],\"newer\":true}" : "],\"newer\":false}", out);
	return 1;
}
