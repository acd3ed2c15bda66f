/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words of PTX.  A word is a name, a number or an opcode or directive with all its dots; the
 * rest are single characters.  Also a table of names.
 */
#ifndef CUFENCE_PTX_LEX_H
#define CUFENCE_PTX_LEX_H

#include <stddef.h>
#include <stdint.h>

enum ptx_token_kind { TOKEN_END, TOKEN_WORD, TOKEN_STRING, TOKEN_CHARACTER };

struct ptx_token {
	enum ptx_token_kind kind;
	char character; /* of TOKEN_CHARACTER */
	const char *text;
	size_t length;
};

struct ptx_lexer {
	const char *at, *end;
};

/* Comments and white space are skipped. */
struct ptx_token ptx_next(struct ptx_lexer *lexer);
struct ptx_token ptx_peek(const struct ptx_lexer *lexer);

/* 1 and taken if that character comes next. */
int ptx_take(struct ptx_lexer *lexer, char character);

int ptx_is_character(const struct ptx_token *token, char character);
int ptx_is(const struct ptx_token *token, const char *word);

/* An integer in any of PTX's bases, with a suffix U; 0 or -1. */
int ptx_number(const struct ptx_token *token, uint64_t *value);

/* From after an opening brace to after its closing one; 0, or -1 at the end of the text. */
int ptx_skip_braces(struct ptx_lexer *lexer);
/* Behind the next line break. */
void ptx_skip_line(struct ptx_lexer *lexer);
/* Behind the next semicolon. */
void ptx_skip_statement(struct ptx_lexer *lexer);

/* Names to numbers, from 0 in order of their first appearance; extra is part of a name. */
struct ptx_names {
	struct ptx_name {
		const char *text;
		uint32_t length;
		int32_t extra;
	} * name;
	uint32_t *slot; /* name + 1 */
	uint32_t count, room, slots;
};
#define PTX_NO_NAME UINT32_MAX

/* PTX_NO_NAME: not there. */
uint32_t ptx_names_find(const struct ptx_names *names, const char *text, size_t length,
	int32_t extra);
/* PTX_NO_NAME: out of memory. */
uint32_t ptx_names_add(struct ptx_names *names, const char *text, size_t length, int32_t extra);
void ptx_names_release(struct ptx_names *names);

#endif
