/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole names of C++ functions, with namespaces, template arguments and parameters, as c++filt(1)
 * writes them (https://itanium-cxx-abi.github.io/cxx-abi/abi.html#mangling).  A name is
 * untrusted input, as a trace is: it may describe a text of any length.
 */
#ifndef CUFENCE_DEMANGLE_WHOLE_H
#define CUFENCE_DEMANGLE_WHOLE_H

#include <stddef.h>

/* Longer names are refused, and printed mangled. */
#define DEMANGLE_WHOLE_MAX 8192

struct whole_name {
	char text[DEMANGLE_WHOLE_MAX];
	size_t arguments;        /* offset in text of the last template arguments, after '<' */
	size_t arguments_length; /* without '>'; 0: it has none */
};

/* 0, or -1 if the name is not mangled, is too long, or has unsupported parts. */
int demangle_whole(const char *mangled, struct whole_name *name);

#endif
