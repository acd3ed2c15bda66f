/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole names of C++ functions, with namespaces, template arguments and parameters, as c++filt(1)
 * writes them (https://itanium-cxx-abi.github.io/cxx-abi/abi.html#mangling).  A name is input like
 * a trace: it may ask for a text of any length.
 */
#ifndef CUFENCE_DEMANGLE_WHOLE_H
#define CUFENCE_DEMANGLE_WHOLE_H

#include <stddef.h>

/* Of longer names nothing is written. */
#define DEMANGLE_WHOLE_MAX 8192

struct whole_name {
	char text[DEMANGLE_WHOLE_MAX];
	size_t arguments;        /* where in text its last template arguments begin, behind '<' */
	size_t arguments_length; /* without '>'; 0: it has none */
};

/* 0, or -1 if it is not mangled, too long, or has parts that are not understood. */
int demangle_whole(const char *mangled, struct whole_name *name);

#endif
