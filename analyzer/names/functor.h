/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a kernel applies, by its template arguments: a functor, or the function that a lambda stands
 * in, and the type of the numbers.
 */
#ifndef CUFENCE_FUNCTOR_H
#define CUFENCE_FUNCTOR_H

#include <stddef.h>

#define FUNCTOR_WORD_MAX 48

struct functor {
	char name[FUNCTOR_WORD_MAX], type[FUNCTOR_WORD_MAX]; /* "": not found */
};

/* arguments: demangled, without the outermost < and >. */
void functor_find(const char *arguments, struct functor *functor);

/* Where the first of some arguments ends, at a comma or the end: "a<b, c>, d" gives ", d". */
const char *functor_argument_end(const char *arguments);

/* "MaxNan" with '_' is "max_nan"; longer words are cut to size. */
void functor_write_words(const char *camel, size_t length, char separator, char *words,
	size_t size);

#endif
