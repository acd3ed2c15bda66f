/* SPDX-License-Identifier: Apache-2.0 */
#include "patch_text.h"

#include <ctype.h>
#include <string.h>

struct text text_trim(const char *line)
{
	struct text text = { line, 0 };

	while (isspace((unsigned char)*text.at))
		text.at++;
	text.length = strlen(text.at);
	while (text.length && isspace((unsigned char)text.at[text.length - 1]))
		text.length--;
	return text;
}

int text_is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

int text_ends_with(struct text text, const char *end)
{
	size_t length = strlen(end);

	return text.length >= length && !memcmp(text.at + text.length - length, end, length);
}

int text_has(struct text text, const char *part)
{
	return memmem(text.at, text.length, part, strlen(part)) != NULL;
}

int text_has_only(struct text text, const char *others)
{
	for (size_t i = 0; i < text.length; i++)
		if (!text_is_word(text.at[i]) && !strchr(others, text.at[i]))
			return 0;
	return 1;
}

/* The nearest line before (step -1) or after that is not blank; "" if there is none. */
const char *patch_neighbour(const struct patch_place *place, int step)
{
	for (size_t i = place->at + (size_t)step; i < place->count; i += (size_t)step)
		if (text_trim(place->lines[i]).length)
			return place->lines[i];
	return "";
}

/* Moves behind a word: its length. */
size_t text_take_word(struct text *text)
{
	size_t length = 0;

	while (length < text->length && text_is_word(text->at[length]))
		length++;
	text->at += length;
	text->length -= length;
	return length;
}

int text_take(struct text *text, char c)
{
	if (!text->length || *text->at != c)
		return 0;
	text->at++;
	text->length--;
	return 1;
}

int text_is_keyword(struct text word)
{
	static const char *const words[] = { "if", "while", "for", "switch", "return", "co_return",
		"throw", "else", "do", "case", "default" };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (word.length == strlen(words[i]) && !memcmp(word.at, words[i], word.length))
			return 1;
	return 0;
}

int patch_begins_statement(const struct patch_place *place)
{
	struct text before = text_trim(patch_neighbour(place, -1));

	return before.length && strchr(";{}", before.at[before.length - 1]) &&
		!text_has(before, "//") && !text_has(before, "*/") && *before.at != '#';
}

int text_is_name(const char *expression)
{
	struct text text = { expression, strlen(expression) };

	return text.length && text_has_only(text, ".->") && !text_has(text, "--");
}

/* Where the bracket that is open at a text is closed. */
static const char *find_close(const char *text)
{
	int depth = 0;

	for (; *text; text++)
		if (strchr("([{", *text))
			depth++;
		else if (strchr(")]}", *text) && --depth < 0)
			break;
	return text;
}

int patch_read_call(const char *line, const char *function, struct patch_call *call)
{
	struct text text = text_trim(line), *check = &call->check;
	const char *at = strstr(text.at, function), *comma = at ? strchr(at, ',') : NULL;
	const char *close = comma ? find_close(at + strlen(function)) : NULL;
	const char *rest;
	size_t length;

	if (!close || close < comma)
		return 0;
	*check = (struct text){ text.at, (size_t)(at - text.at) };
	rest = check->length ? "));" : ");";
	length = (size_t)(text.at + text.length - close);
	if (length != strlen(rest) || memcmp(close, rest, length) != 0)
		return 0;
	if (check->length && (check->at[check->length - 1] != '(' || !text_has_only(*check, "(")))
		return 0;
	at += strlen(function);
	length = (size_t)(comma - at);
	if (length >= PATCH_ARGUMENT_SIZE)
		return 0;
	memcpy(call->first, at, length);
	call->first[length] = 0;
	return 1;
}
