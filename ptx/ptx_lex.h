/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Splits PTX into words.  A word is a name, a number, or an opcode or directive with all its dots;
 * the rest are single characters.  Also a table of names.
 */
#ifndef CUFENCE_PTX_LEX_H
#define CUFENCE_PTX_LEX_H

#include <stddef.h>
#include <stdint.h>

enum ptx_token_kind { TOKEN_END, TOKEN_WORD, TOKEN_STRING, TOKEN_CHARACTER };

struct ptx_token {
	enum ptx_token_kind kind;
	char character; /* for TOKEN_CHARACTER */
	const char *text;
	size_t length;
};

struct ptx_lexer {
	const char *at, *end;
};

/* Return the next word, after comments and white space. */
struct ptx_token ptx_next(struct ptx_lexer *lexer);
struct ptx_token ptx_peek(const struct ptx_lexer *lexer);

/* Returns 1 and skips the character if it comes next. */
int ptx_take(struct ptx_lexer *lexer, char character);

int ptx_is_character(const struct ptx_token *token, char character);
int ptx_is(const struct ptx_token *token, const char *word);

/* Parses an integer in any of PTX's bases, with an optional suffix U.  Returns 0 or -1. */
int ptx_number(const struct ptx_token *token, uint64_t *value);

/*
 * Skips from an opening brace to after its closing one.  Returns 0, or -1 at the end of the text.
 */
int ptx_skip_braces(struct ptx_lexer *lexer);
/* Skips to after the next line break. */
void ptx_skip_line(struct ptx_lexer *lexer);
/* Skips to after the next semicolon. */
void ptx_skip_statement(struct ptx_lexer *lexer);

/* Maps names to numbers, from 0 in order of first appearance; extra is part of a name. */
struct ptx_names {
	struct ptx_name {
		const char *text;
		uint32_t length;
		int32_t extra;
	} * name;
	uint32_t *slot; /* 1 + name */
	uint32_t count, room, slots;
};
#define PTX_NO_NAME UINT32_MAX

/* Returns PTX_NO_NAME if the name is not in the table. */
uint32_t ptx_names_find(const struct ptx_names *names, const char *text, size_t length,
	int32_t extra);
/* Returns PTX_NO_NAME when out of memory. */
uint32_t ptx_names_add(struct ptx_names *names, const char *text, size_t length, int32_t extra);
void ptx_names_release(struct ptx_names *names);

#endif
