/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The only output function for text that people read.  Names of kernels, programs, files and ranges
 * come from the traced program: an escape sequence in one would reach the terminal, a newline would
 * forge a line of the report.
 */
#ifndef CUFENCE_PRINT_H
#define CUFENCE_PRINT_H

#include <stddef.h>
#include <stdio.h>

/*
 * fprintf() that escapes its strings.  In an argument of %s, each byte of a control character, of
 * an invisible or bidirectional formatting character, and of invalid UTF-8 is printed as \xNN. The
 * format itself is not escaped.  A width counts characters, a precision bytes of the argument.
 * Supports d i u x c s f g e p % with l, ll and z.
 */
void print(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Writes a JSON text as equivalent UTF-8: what print() would escape becomes \uNNNN, an invalid byte
 * becomes \ufffd (U+FFFD, "replacement character").  Line ends are kept; within strings they are
 * escaped already.
 */
void print_json(FILE *out, const char *json, size_t length);

/*
 * Returns how many bytes the first character of a text of length bytes has: 0 if it is not valid
 * UTF-8 (RFC 3629), or if length is 0.
 */
size_t print_character(const char *text, size_t length);

#endif
