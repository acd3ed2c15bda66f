/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that CUDA provides to device code, by the names that nvcc uses. */
#ifndef CUFENCE_BUILTIN_H
#define CUFENCE_BUILTIN_H

#include <stddef.h>

enum builtin {
	BUILTIN_NONE,   /* a function of the program, or unknown */
	BUILTIN_PRINTF, /* the implementation of printf */
	BUILTIN_ASSERT,
	BUILTIN_HEAP,   /* malloc and free */
	BUILTIN_LAUNCH, /* device runtime: launches of kernels or graphs */
};

enum builtin builtin_of(const char *name, size_t length);

#endif
