/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The base name of a C++ function, without namespaces, template arguments and parameters: what
 * Nsight calls the short name, and all that a report needs.  Understands the parts of the Itanium
 * ABI mangling (https://itanium-cxx-abi.github.io/cxx-abi/abi.html#mangling) that lead to the
 * name and skips the rest.
 */
#ifndef CUFENCE_DEMANGLE_H
#define CUFENCE_DEMANGLE_H

#include <stddef.h>

/*
 * Writes the base name of mangled to name (cut to size).  A name that is not mangled, or not
 * understood, is copied; the part of a plain name after "foo<" or "foo(" is dropped.  A lambda
 * is named after the function that it was written in: "main::{lambda}".
 */
void demangle_base(const char *mangled, char *name, size_t size);

/*
 * Writes "aten::NAME" for at::_ops::NAME::call and ::redispatch, by which PyTorch calls an operator
 * (torchgen/gen.py).  Returns 0 for other functions.
 */
int demangle_operator(const char *mangled, char *name, size_t size);

/*
 * Writes mangled without what the compilers of host and device write differently for one function
 * (cut to size): the L of internal linkage and the names of anonymous namespaces, which nvcc makes
 * unique for the device.  For comparing only.
 */
void demangle_linkage(const char *mangled, char *plain, size_t size);

#endif
