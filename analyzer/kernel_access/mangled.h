/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parameter types of a C++ function from its mangled name, as evidence about memory accesses
 * (https://itanium-cxx-abi.github.io/cxx-abi/abi.html#mangling).
 */
#ifndef CUFENCE_MANGLED_H
#define CUFENCE_MANGLED_H

enum mangled_kind {
	MANGLED_OTHER,
	MANGLED_CONST,
	MANGLED_POINTER,
	MANGLED_CONST_POINTER, /* points to const */
	MANGLED_ARRAY,         /* std::array<char *, count> and the like */
};

struct mangled_type {
	enum mangled_kind kind;
	unsigned count; /* of MANGLED_ARRAY */
};

/*
 * Returns the number of parameters, of which at most room are stored; -1: not mangled, or not
 * supported.
 */
int mangled_parameters(const char *name, struct mangled_type *type, int room);

#endif
