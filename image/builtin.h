/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that CUDA itself gives device code, by the names that nvcc calls them by. */
#ifndef CUFENCE_BUILTIN_H
#define CUFENCE_BUILTIN_H

#include <stddef.h>

enum builtin {
	BUILTIN_NONE,   /* the program's own, or not known */
	BUILTIN_PRINTF, /* what becomes of printf */
	BUILTIN_ASSERT,
	BUILTIN_HEAP,   /* malloc and free */
	BUILTIN_LAUNCH, /* of the device runtime: launches kernels or graphs */
};

enum builtin builtin_of(const char *name, size_t length);

#endif
