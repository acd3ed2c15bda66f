/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The types of a C++ function's parameters, as far as they say what it does with memory, from its
 * mangled name (https://itanium-cxx-abi.github.io/cxx-abi/abi.html#mangling).
 */
#ifndef CUFENCE_MANGLED_H
#define CUFENCE_MANGLED_H

enum mangled_kind {
	MANGLED_OTHER,
	MANGLED_CONST,
	MANGLED_POINTER,
	MANGLED_CONST_POINTER, /* points to what is const */
	MANGLED_ARRAY,         /* std::array<char *, count> and the like */
};

struct mangled_type {
	enum mangled_kind kind;
	unsigned count; /* of MANGLED_ARRAY */
};

/* Their number, of which at most room are stored; -1: not mangled, or not understood. */
int mangled_parameters(const char *name, struct mangled_type *type, int room);

#endif
