/* SPDX-License-Identifier: Apache-2.0 */
#include "html_json.h"

#include <stdlib.h>

#include "print.h"

void json_text(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			fputc('\\', out);
		if (c >= ' ')
			fputc(c, out);
		else
			print(out, "\\u%04x", (unsigned)c);
	}
	fputc('"', out);
}

void json_number(FILE *out, const char *before, int64_t number)
{
	fputs(before, out);
	print(out, "%lld", (long long)number);
}

void json_embed(FILE *out, const char *json, size_t length)
{
	char *text = NULL;
	size_t size = 0;
	FILE *memory = open_memstream(&text, &size);

	if (!memory) {
		fputs("cufence: out of memory\n", stderr);
		return;
	}
	print_json(memory, json, length);
	fclose(memory);
	for (size_t i = 0; i < size; i++) {
		if (text[i] == '<')
			fputs("\\u003c", out);
		else
			fputc(text[i], out);
	}
	free(text);
}
