/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Textures and surfaces as memory that launches name.  A kernel's code says which words of its
 * parameters are such objects (kernel_object), like parameters that point to what they stand for;
 * here each launch is given that memory as an operand, by the object that the word was then.
 *
 * Which texels a kernel asks for is not followed: of the memory of an object it may access
 * anything, and no more than that.  A launch with an object that is not known is not complete.
 */
#ifndef CUFENCE_TEXTURES_H
#define CUFENCE_TEXTURES_H

#include "db.h"

/* After directions_resolve(): adds operands.  0, or -1 after a message. */
int textures_resolve(struct db *db);

#endif
