/* SPDX-License-Identifier: Apache-2.0 */
#include "print.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Characters that are escaped: control and format characters (Unicode's Cc, Cf), line ends. */
static const struct {
	uint32_t first, last;
} hidden[] = {
	{ 0x00, 0x1f },
	{ 0x7f, 0x9f },
	{ 0xad, 0xad },
	{ 0x61c, 0x61c },
	{ 0x180e, 0x180e },
	{ 0x200b, 0x200f },
	{ 0x2028, 0x202e },
	{ 0x2060, 0x206f },
	{ 0xfeff, 0xfeff },
	{ 0xfff9, 0xfffb },
	{ 0xe0000, 0xe007f },
};

static int is_hidden(uint32_t character)
{
	for (size_t i = 0; i < sizeof(hidden) / sizeof(*hidden); i++)
		if (character >= hidden[i].first && character <= hidden[i].last)
			return 1;
	return 0;
}

/*
 * Returns the number of bytes of the first character, 0 if it is invalid UTF-8, which includes
 * overlong forms and surrogates (RFC 3629).
 */
static size_t decode(const unsigned char *text, size_t length, uint32_t *character)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t bytes = *text < 0x80 ? 1
		: *text < 0xc0      ? 0
		: *text < 0xe0      ? 2
		: *text < 0xf0      ? 3
		: *text < 0xf8      ? 4
				    : 0;

	if (!bytes || bytes > length)
		return 0;
	*character = bytes == 1 ? *text : *text & (0x7fu >> bytes);
	for (size_t i = 1; i < bytes; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		*character = *character << 6 | (text[i] & 0x3f);
	}
	return *character < least[bytes] || *character > 0x10ffff ||
			(*character >= 0xd800 && *character <= 0xdfff)
		? 0
		: bytes;
}

size_t print_character(const char *text, size_t length)
{
	uint32_t character;

	return length ? decode((const unsigned char *)text, length, &character) : 0;
}

/* Returns the number of columns of the text; writes it if out is not NULL. */
static int show(FILE *out, const char *text, size_t length)
{
	int columns = 0;

	while (length) {
		uint32_t character;
		size_t bytes = decode((const unsigned char *)text, length, &character);
		int as_it_is = bytes && !is_hidden(character);

		bytes = bytes ? bytes : 1;
		if (as_it_is && out)
			fwrite(text, 1, bytes, out);
		for (size_t i = 0; out && !as_it_is && i < bytes; i++)
			fprintf(out, "\\x%02x", (unsigned char)text[i]);
		columns += as_it_is ? 1 : 4 * (int)bytes;
		text += bytes;
		length -= bytes;
	}
	return columns;
}

/* A conversion of a format: "%-*.3s". */
struct conversion {
	char text[32];        /* with numbers in place of * */
	int width, precision; /* precision -1: none */
	int left;
	char size; /* l, z, q for ll, or 0 */
	char kind;
};

static int number(const char **format, va_list *values)
{
	int value = 0;

	if (**format == '*') {
		(*format)++;
		return va_arg(*values, int);
	}
	for (; **format >= '0' && **format <= '9'; (*format)++)
		value = 10 * value + (**format - '0');
	return value;
}

/* Parses a conversion after '%'; returns the rest of the format. */
static const char *parse(const char *format, va_list *values, struct conversion *c)
{
	char flags[6] = "";
	size_t count = strspn(format, "-+ #0");

	memcpy(flags, format, count < sizeof(flags) ? count : sizeof(flags) - 1);
	format += count;
	*c = (struct conversion){ .precision = -1 };
	c->width = number(&format, values);
	if (*format == '.') {
		format++;
		c->precision = number(&format, values);
	}
	for (; *format == 'l' || *format == 'z'; format++)
		c->size = c->size == 'l' ? 'q' : *format;
	c->kind = *format;
	c->left = c->width < 0 || strchr(flags, '-');
	c->width = c->width < 0 ? -c->width : c->width;
	snprintf(c->text, sizeof(c->text), "%%%s%.0d", flags, c->width);
	if (c->precision >= 0)
		snprintf(c->text + strlen(c->text), sizeof(c->text) - strlen(c->text), ".%d",
			c->precision);
	snprintf(c->text + strlen(c->text), sizeof(c->text) - strlen(c->text), "%s%c",
		c->size == 'q'           ? "ll"
			: c->size == 'l' ? "l"
			: c->size == 'z' ? "z"
					 : "",
		c->kind);
	return c->kind ? format + 1 : format;
}

static void print_string(FILE *out, const struct conversion *c, const char *text)
{
	size_t length;
	int blanks;

	text = text ? text : "(null)";
	length = c->precision < 0 ? strlen(text) : strnlen(text, (size_t)c->precision);
	blanks = c->width - show(NULL, text, length);
	if (!c->left && blanks > 0)
		fprintf(out, "%*s", blanks, "");
	show(out, text, length);
	if (c->left && blanks > 0)
		fprintf(out, "%*s", blanks, "");
}

/* The format comes from the conversion; its argument was checked where print() is called. */
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static void print_value(FILE *out, const struct conversion *c, va_list *values)
{
	switch (c->kind) {
	case 's':
		print_string(out, c, va_arg(*values, const char *));
		break;
	case 'f':
	case 'g':
	case 'e':
		fprintf(out, c->text, va_arg(*values, double));
		break;
	case 'p':
		fprintf(out, c->text, va_arg(*values, void *));
		break;
	case '%':
		fputc('%', out);
		break;
	default:
		if (c->size == 'q')
			fprintf(out, c->text, va_arg(*values, long long));
		else if (c->size)
			fprintf(out, c->text, va_arg(*values, long));
		else
			fprintf(out, c->text, va_arg(*values, int));
	}
}

/* Writes all at once: stderr is unbuffered, and lines of several processes would mix. */
void print(FILE *out, const char *format, ...)
{
	char *text = NULL;
	size_t size = 0;
	FILE *memory = open_memstream(&text, &size);
	struct conversion conversion;
	va_list values;

	va_start(values, format);
	while (*format) {
		size_t plain = strcspn(format, "%");

		fwrite(format, 1, plain, memory ? memory : out);
		format += plain;
		if (!*format)
			break;
		format = parse(format + 1, &values, &conversion);
		print_value(memory ? memory : out, &conversion, &values);
	}
	va_end(values);
	if (memory && !fclose(memory))
		fwrite(text, 1, size, out);
	free(text);
}

/* A character above 16 bits is a surrogate pair in JSON (RFC 8259, 7). */
static void escape(FILE *out, uint32_t character)
{
	if (character > 0xffff)
		fprintf(out, "\\u%04x\\u%04x", 0xd800 + ((character - 0x10000) >> 10),
			0xdc00 + (character & 0x3ff));
	else
		fprintf(out, "\\u%04x", character);
}

void print_json(FILE *out, const char *json, size_t length)
{
	while (length) {
		uint32_t character;
		size_t bytes = decode((const unsigned char *)json, length, &character);

		if (!bytes)
			escape(out, 0xfffd);
		else if (is_hidden(character) && character != '\n')
			escape(out, character);
		else
			fwrite(json, 1, bytes, out);
		json += bytes ? bytes : 1;
		length -= bytes ? bytes : 1;
	}
}
