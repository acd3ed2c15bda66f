/* SPDX-License-Identifier: Apache-2.0 */
#include "ptx_lex.h"

#include <stdlib.h>
#include <string.h>

static int is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}

static int is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		c == '_' || c == '$' || c == '%' || c == '.';
}

static const char *line_end(const char *at, const char *end)
{
	const char *newline = memchr(at, '\n', (size_t)(end - at));

	return newline ? newline + 1 : end;
}

/* Returns 1 if there was a comment at the lexer's place. */
static int skip_comment(struct ptx_lexer *lexer)
{
	const char *at = lexer->at, *end = lexer->end;

	if (end - at < 2 || at[0] != '/')
		return 0;
	if (at[1] == '/') {
		lexer->at = line_end(at, end);
	} else if (at[1] == '*') {
		const char *close = memmem(at + 2, (size_t)(end - at - 2), "*/", 2);

		lexer->at = close ? close + 2 : end;
	}
	return lexer->at != at;
}

static void skip_space(struct ptx_lexer *lexer)
{
	while (lexer->at < lexer->end && (is_space(*lexer->at) || *lexer->at == '/')) {
		if (*lexer->at != '/')
			lexer->at++;
		else if (!skip_comment(lexer))
			break;
	}
}

/* "::" is part of a word (.shared::cta), ":" comes after one (a label). */
static const char *word_end(const char *at, const char *end)
{
	while (at < end) {
		if (is_word(*at))
			at++;
		else if (*at == ':' && end - at > 2 && at[1] == ':' && is_word(at[2]))
			at += 2;
		else
			break;
	}
	return at;
}

struct ptx_token ptx_next(struct ptx_lexer *lexer)
{
	struct ptx_token token = { .kind = TOKEN_END };

	skip_space(lexer);
	token.text = lexer->at;
	if (lexer->at == lexer->end)
		return token;
	if (is_word(*lexer->at)) {
		token.kind = TOKEN_WORD;
		lexer->at = word_end(lexer->at, lexer->end);
	} else if (*lexer->at == '"') {
		const char *close =
			memchr(lexer->at + 1, '"', (size_t)(lexer->end - lexer->at - 1));

		token.kind = TOKEN_STRING;
		lexer->at = close ? close + 1 : lexer->end;
	} else {
		token.kind = TOKEN_CHARACTER;
		token.character = *lexer->at++;
	}
	token.length = (size_t)(lexer->at - token.text);
	return token;
}

struct ptx_token ptx_peek(const struct ptx_lexer *lexer)
{
	struct ptx_lexer copy = *lexer;

	return ptx_next(&copy);
}

int ptx_is_character(const struct ptx_token *token, char character)
{
	return token->kind == TOKEN_CHARACTER && token->character == character;
}

int ptx_take(struct ptx_lexer *lexer, char character)
{
	skip_space(lexer);
	if (lexer->at == lexer->end || *lexer->at != character)
		return 0;
	lexer->at++;
	return 1;
}

int ptx_is(const struct ptx_token *token, const char *word)
{
	return token->kind == TOKEN_WORD && token->length == strlen(word) &&
		!memcmp(token->text, word, token->length);
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 16;
}

int ptx_number(const struct ptx_token *token, uint64_t *value)
{
	const char *at = token->text, *end = at + token->length;
	unsigned base = 10;

	*value = 0;
	if (token->kind != TOKEN_WORD || *at < '0' || *at > '9')
		return -1;
	if (end[-1] == 'U')
		end--;
	if (end - at > 1 && *at == '0') {
		base = at[1] == 'x' || at[1] == 'X' ? 16 : at[1] == 'b' || at[1] == 'B' ? 2 : 8;
		at += base == 8 ? 1 : 2;
	}
	for (; at < end; at++) {
		if ((unsigned)digit(*at) >= base)
			return -1;
		*value = *value * base + (unsigned)digit(*at);
	}
	return 0;
}

/* By characters, because it skips nearly all of a text. */
int ptx_skip_braces(struct ptx_lexer *lexer)
{
	size_t depth = 1;

	while (depth && lexer->at < lexer->end) {
		char c = *lexer->at;

		if (c == '"') {
			ptx_next(lexer);
		} else if (c != '/' || !skip_comment(lexer)) {
			depth += c == '{';
			depth -= c == '}';
			lexer->at++;
		}
	}
	return depth ? -1 : 0;
}

void ptx_skip_line(struct ptx_lexer *lexer)
{
	lexer->at = line_end(lexer->at, lexer->end);
}

void ptx_skip_statement(struct ptx_lexer *lexer)
{
	struct ptx_token token;

	do
		token = ptx_next(lexer);
	while (token.kind != TOKEN_END && !ptx_is_character(&token, ';'));
}

static uint32_t hash_of(const char *text, size_t length, int32_t extra)
{
	uint32_t hash = 2166136261u ^ (uint32_t)extra * 0x9e3779b1u;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (uint8_t)text[i]) * 16777619u;
	return hash ^ hash >> 15;
}

static uint32_t find_slot(const struct ptx_names *names, const char *text, size_t length,
	int32_t extra)
{
	uint32_t at = hash_of(text, length, extra) & (names->slots - 1);

	for (; names->slot[at]; at = (at + 1) & (names->slots - 1)) {
		const struct ptx_name *name = &names->name[names->slot[at] - 1];

		if (name->length == length && name->extra == extra &&
			!memcmp(name->text, text, length))
			break;
	}
	return at;
}

uint32_t ptx_names_find(const struct ptx_names *names, const char *text, size_t length,
	int32_t extra)
{
	return names->slots ? names->slot[find_slot(names, text, length, extra)] - 1 : PTX_NO_NAME;
}

static int grow(struct ptx_names *names)
{
	uint32_t room = names->room ? names->room * 2 : 32;
	struct ptx_name *name = realloc(names->name, room * sizeof(*name));
	uint32_t *slot = name ? calloc(room * 2, sizeof(*slot)) : NULL;

	if (name)
		names->name = name;
	if (!slot)
		return -1;
	free(names->slot);
	names->slot = slot;
	names->room = room;
	names->slots = room * 2;
	for (uint32_t i = 0; i < names->count; i++)
		slot[find_slot(names, name[i].text, name[i].length, name[i].extra)] = i + 1;
	return 0;
}

uint32_t ptx_names_add(struct ptx_names *names, const char *text, size_t length, int32_t extra)
{
	uint32_t known = ptx_names_find(names, text, length, extra);

	if (known != PTX_NO_NAME)
		return known;
	if (length > INT32_MAX || names->count >= 1u << 30 ||
		(names->count == names->room && grow(names)))
		return PTX_NO_NAME;
	names->name[names->count] = (struct ptx_name){ text, (uint32_t)length, extra };
	names->slot[find_slot(names, text, length, extra)] = ++names->count;
	return names->count - 1;
}

void ptx_names_release(struct ptx_names *names)
{
	free(names->name);
	free(names->slot);
	memset(names, 0, sizeof(*names));
}
