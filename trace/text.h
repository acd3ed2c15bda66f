/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lossless text form of a trace: one line per record, "name key=value ...", with chunks introduced
 * by "chunk thread=N".  It can be read, compared and kept in a repository.  Undump of a dump gives
 * a file with the same header, chunks and records (doc/FORMAT.md).
 */
#ifndef CUFENCE_TEXT_H
#define CUFENCE_TEXT_H

#include <stdio.h>

#include "reader.h"

/* Writes all undamaged records.  Returns 0, or -1 with reader->error set if some were damaged. */
int text_dump(struct trace_reader *reader, FILE *out);

/*
 * Reads text and creates path from it.  Returns 0, or -1 after a message on stderr with the line.
 */
int text_undump(FILE *in, const char *in_name, const char *path);

#endif
