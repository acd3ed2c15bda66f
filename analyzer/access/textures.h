/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds memory of textures and surfaces to launches.  A kernel's code shows which words of its
 * parameters are such objects (kernel_object), like pointer parameters to their memory.  Each
 * launch gets an operand for that memory: that of the object with the word's value at the time.
 *
 * Texel coordinates are not analyzed: a launch may access any memory of the object, but no other.
 * A launch with an unknown object is not complete.
 */
#ifndef CUFENCE_TEXTURES_H
#define CUFENCE_TEXTURES_H

#include "db.h"

/* Adds operands; called after directions_resolve().  Returns 0, or -1 after a message. */
int textures_resolve(struct db *db);

#endif
