/* SPDX-License-Identifier: Apache-2.0 */
/* A strict JSON parser (RFC 8259), independent of SQLite's, whose output it checks. */
#ifndef TESTS_JSON_H
#define TESTS_JSON_H

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum json_type { JSON_NULL, JSON_BOOLEAN, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json {
	enum json_type type;
	double number;      /* a boolean: 0 or 1 */
	int integer;        /* the number has no fraction and no exponent */
	char *text;         /* string as written, without quotes */
	char **key;         /* of an object */
	struct json *child; /* of an object or an array */
	size_t count;
};

struct json_input {
	const char *at, *error; /* error NULL: none yet */
	int depth;
};

static int json_fail(struct json_input *in, const char *error)
{
	if (!in->error)
		in->error = error;
	return -1;
}

static void json_blank(struct json_input *in)
{
	in->at += strspn(in->at, " \t\r\n");
}

/* Size in bytes of the UTF-8 character at text, 0: invalid (RFC 3629, 4). */
static size_t json_character(const unsigned char *text)
{
	unsigned least = 0x80, most = 0xbf;
	size_t bytes = *text < 0x80 ? 1
		: *text < 0xc2      ? 0
		: *text < 0xe0      ? 2
		: *text < 0xf0      ? 3
		: *text < 0xf5      ? 4
				    : 0;

	if (*text == 0xe0)
		least = 0xa0;
	if (*text == 0xed)
		most = 0x9f;
	if (*text == 0xf0)
		least = 0x90;
	if (*text == 0xf4)
		most = 0x8f;
	for (size_t i = 1; i < bytes; i++, least = 0x80, most = 0xbf)
		if (text[i] < least || text[i] > most)
			return 0;
	return bytes;
}

static unsigned json_hex(const char *text)
{
	unsigned value = 0;

	for (int i = 0; i < 4; i++) {
		if (!isxdigit((unsigned char)text[i]))
			return 0x10000;
		value = 16 * value +
			(unsigned)(text[i] <= '9' ? text[i] - '0' : (text[i] | 32) - 'a' + 10);
	}
	return value;
}

/* Size of the escape after a backslash in bytes, 0: invalid. */
static size_t json_escape(const char *text)
{
	unsigned code;

	if (*text && strchr("\"\\/bfnrt", *text))
		return 1;
	code = *text == 'u' ? json_hex(text + 1) : 0x10000;
	if (code > 0xffff || (code >= 0xdc00 && code <= 0xdfff))
		return 0;
	if (code < 0xd800 || code > 0xdbff)
		return 5;
	code = text[5] == '\\' && text[6] == 'u' ? json_hex(text + 7) : 0;
	return code >= 0xdc00 && code <= 0xdfff ? 11 : 0;
}

static int json_string(struct json_input *in, char **text)
{
	const char *start = ++in->at;

	while (*in->at != '"') {
		size_t bytes = json_character((const unsigned char *)in->at);

		if (!bytes)
			return json_fail(in, "no UTF-8");
		if ((unsigned char)*in->at < 0x20)
			return json_fail(in, "a control character or the end in a string");
		if (*in->at == '\\') {
			bytes = json_escape(in->at + 1);
			if (!bytes++)
				return json_fail(in, "a wrong escape");
		}
		in->at += bytes;
	}
	*text = strndup(start, (size_t)(in->at++ - start));
	return 0;
}

static int json_number(struct json_input *in, struct json *value)
{
	const char *at = in->at + (*in->at == '-');
	size_t digits = strspn(at, "0123456789");

	value->integer = 1;
	if (!digits || (*at == '0' && digits > 1))
		return json_fail(in, "no value");
	at += digits;
	if (*at == '.') {
		digits = strspn(++at, "0123456789");
		if (!digits)
			return json_fail(in, "a wrong number");
		at += digits;
		value->integer = 0;
	}
	if (*at == 'e' || *at == 'E') {
		at++;
		at += *at == '-' || *at == '+';
		digits = strspn(at, "0123456789");
		if (!digits)
			return json_fail(in, "a wrong number");
		at += digits;
		value->integer = 0;
	}
	value->type = JSON_NUMBER;
	value->number = strtod(in->at, NULL);
	in->at = at;
	return 0;
}

static int json_value(struct json_input *in, struct json *value);

static int json_members(struct json_input *in, struct json *value)
{
	char end = value->type == JSON_OBJECT ? '}' : ']';

	in->at++;
	json_blank(in);
	if (*in->at == end)
		return in->at++, 0;
	for (;;) {
		size_t i = value->count++;

		value->child = realloc(value->child, value->count * sizeof(*value->child));
		value->key = realloc(value->key, value->count * sizeof(*value->key));
		value->key[i] = NULL;
		json_blank(in);
		if (value->type == JSON_OBJECT) {
			if (*in->at != '"' || json_string(in, &value->key[i]))
				return json_fail(in, "no name of a member");
			for (size_t j = 0; j < i; j++)
				if (!strcmp(value->key[i], value->key[j]))
					return json_fail(in, "two members of one name");
			json_blank(in);
			if (*in->at++ != ':')
				return json_fail(in, "no ':'");
		}
		if (json_value(in, &value->child[i]))
			return -1;
		json_blank(in);
		if (*in->at == end)
			return in->at++, 0;
		if (*in->at++ != ',')
			return json_fail(in, "neither ',' nor an end");
	}
}

static int json_value(struct json_input *in, struct json *value)
{
	static const char *const words[] = { "null", "false", "true" };
	int rc;

	*value = (struct json){ .type = JSON_NULL };
	json_blank(in);
	if (*in->at == '{' || *in->at == '[') {
		if (++in->depth > 64)
			return json_fail(in, "too deep");
		value->type = *in->at == '{' ? JSON_OBJECT : JSON_ARRAY;
		rc = json_members(in, value);
		in->depth--;
		return rc;
	}
	if (*in->at == '"') {
		value->type = JSON_STRING;
		return json_string(in, &value->text);
	}
	for (int i = 0; i < 3; i++)
		if (!strncmp(in->at, words[i], strlen(words[i]))) {
			value->type = i ? JSON_BOOLEAN : JSON_NULL;
			value->number = i == 2;
			in->at += strlen(words[i]);
			return 0;
		}
	return json_number(in, value);
}

/* Reads a whole file; its memory is never freed.  Returns 0, or -1 after a message. */
static int json_read(const char *path, struct json *value)
{
	FILE *file = strcmp(path, "-") ? fopen(path, "r") : stdin;
	struct json_input in = { 0 };
	char *text = NULL;
	size_t size = 0;
	ssize_t length = file ? getdelim(&text, &size, 0, file) : -1;

	if (length <= 0) {
		fprintf(stderr, "%s: cannot be read or is empty\n", path);
		return -1;
	}
	in.at = text;
	if (!json_value(&in, value)) {
		json_blank(&in);
		if (in.at != text + length)
			json_fail(&in, "more behind its end");
	}
	if (in.error)
		fprintf(stderr, "%s: byte %ld: %s\n", path, (long)(in.at - text), in.error);
	if (file != stdin)
		fclose(file);
	return in.error ? -1 : 0;
}

static const struct json *json_member(const struct json *object, const char *name)
{
	for (size_t i = 0; object->type == JSON_OBJECT && i < object->count; i++)
		if (!strcmp(object->key[i], name))
			return &object->child[i];
	return NULL;
}

#endif
