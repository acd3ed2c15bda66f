/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace as text and back, without loss: one line per record, "name key=value ...", chunks
 * introduced by "chunk thread=N", so that a trace can be read, compared and kept in a repository.
 * Undump of a dump gives a file with the same header, chunks and records (doc/FORMAT.md).
 */
#ifndef CUFENCE_TEXT_H
#define CUFENCE_TEXT_H

#include <stdio.h>

#include "reader.h"

/* Writes all of the trace that is whole; 0, or -1 with reader->error: not all of it was. */
int text_dump(struct trace_reader *reader, FILE *out);

/* Reads text and creates path from it; 0, or -1 after a message on stderr naming the line. */
int text_undump(FILE *in, const char *in_name, const char *path);

#endif
