/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one way out for text that people read, on stdout, stderr or in a file of theirs.  Names of
 * kernels, programs, files and ranges come from the traced program: an escape sequence in one would
 * reach the terminal, a newline would forge a line of the report.
 */
#ifndef CUFENCE_PRINT_H
#define CUFENCE_PRINT_H

#include <stddef.h>
#include <stdio.h>

/*
 * fprintf() whose strings are shown: of an argument of %s, each byte of a control character, of a
 * character that is invisible or changes the direction of text, and of what is no UTF-8 is printed
 * as \xNN.  The format itself is printed as it is.  A width counts characters, a precision bytes of
 * the argument.  Understands d i u x c s f g e p % with l, ll and z.
 */
void print(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Writes a JSON text as UTF-8 of the same meaning: what print() would escape becomes \uNNNN,
 * a byte that is no UTF-8 \ufffd (U+FFFD, "replacement character").  Line ends, which are escaped
 * within strings already, stay.
 */
void print_json(FILE *out, const char *json, size_t length);

#endif
