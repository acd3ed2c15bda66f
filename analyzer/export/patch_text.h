/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of source lines, for the forms of patch_line.h. */
#ifndef CUFENCE_PATCH_TEXT_H
#define CUFENCE_PATCH_TEXT_H

#include <stddef.h>

#include "patch_line.h"

struct text {
	const char *at;
	size_t length;
};

/* A line without blanks around it. */
struct text text_trim(const char *line);

int text_is_word(char c);
int text_ends_with(struct text text, const char *end);
int text_has(struct text text, const char *part);

/* Nothing but letters, digits, underscores and these characters. */
int text_has_only(struct text text, const char *others);

/* Moves behind a word: its length. */
size_t text_take_word(struct text *text);

/* Moves behind that character; 0: another one is next. */
int text_take(struct text *text, char c);

/* It begins a statement of C++ that is no call. */
int text_is_keyword(struct text word);

/* The nearest line before (step -1) or after that is not blank; "" if there is none. */
const char *patch_neighbour(const struct patch_place *place, int step);

/* Variables and members: evaluating them does nothing, and no index changes. */
int text_is_name(const char *expression);

#define PATCH_ARGUMENT_SIZE 64

/* "CHECK(FUNCTION(FIRST, ...));" */
struct patch_call {
	struct text check; /* "CHECK(", or empty */
	char first[PATCH_ARGUMENT_SIZE];
};

/* Whether a line is nothing but a call, of several arguments.  function ends with its bracket. */
int patch_read_call(const char *line, const char *function, struct patch_call *call);

/* C++: the line above ends a statement or begins a block. */
int patch_begins_statement(const struct patch_place *place);

#endif
