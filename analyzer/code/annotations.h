/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the user says of kernels, in place of what their code shows: a text file.
 *
 *	kernel gather_rows*       # which kernels, by a pattern as of file names
 *	0      reads              # what parameter 0 points to, from that address on
 *	1      writes 0..4096     # these bytes
 *	2+8    reads+writes 0..   # all bytes to the end, of the word at byte 8 of parameter 2
 *	+24    atomic spins       # of the word at byte 24 of all; it waits there for others
 *	3      unused
 *	complete                  # it accesses nothing else
 *
 * A pattern is compared with the name of a kernel alone, the whole demangled one and the
 * mangled one.  Words that are not named keep what the code says of them.  Of several lines about
 * one word the last one counts.
 */
#ifndef CUFENCE_ANNOTATIONS_H
#define CUFENCE_ANNOTATIONS_H

#include "db.h"

struct annotations;

/* NULL after a message, which says the line. */
struct annotations *annotations_read(const char *path);

/*
 * Writes them into kernel_code, shape_code and kernel_access, after all that finds out what kernels
 * do.  What they replace is gone.  A message names a kernel that lacks a parameter they name, which
 * is left as it is, and a pattern that no kernel matches.  NULL: none.  0, or -1 after a message.
 */
int annotations_apply(struct db *db, const struct annotations *annotations);

void annotations_free(struct annotations *annotations);

#endif
