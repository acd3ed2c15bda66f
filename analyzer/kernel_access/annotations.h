/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user's description of kernels, which replaces what their code shows: a text file.
 *
 * 	kernel gather_rows*       # which kernels, by a pattern as of file names
 * 	0      reads              # what parameter 0 points to, from that address on
 * 	1      writes 0..4096     # these bytes
 * 	2+8    reads+writes 0..   # all bytes to the end, of the word at byte 8 of parameter 2
 * 	+24    atomic spins       # of the word at byte 24 of all; it waits there for others
 * 	3      unused
 * 	complete                  # it accesses nothing else
 *
 * A pattern is compared with a kernel's short name, its full demangled name and its mangled name.
 * Words that are not listed keep what the code shows.  If several lines describe one word, the last
 * one counts.
 */
#ifndef CUFENCE_ANNOTATIONS_H
#define CUFENCE_ANNOTATIONS_H

#include "db.h"

struct annotations;

/* Returns NULL after a message, which includes the line. */
struct annotations *annotations_read(const char *path);

/*
 * Writes the annotations into kernel_code, shape_code and kernel_access, and removes what they
 * replace; called after everything else that fills these tables.  A message names a kernel that
 * lacks an annotated parameter, which is left unchanged, and a pattern that matches no kernel.
 * annotations may be NULL.  Returns 0, or -1 after a message.
 */
int annotations_apply(struct db *db, const struct annotations *annotations);

void annotations_free(struct annotations *annotations);

#endif
