/* SPDX-License-Identifier: Apache-2.0 */
/* The reader's own: which chunks a file has, in which order they are read, and what is missing. */
#ifndef CUFENCE_READER_CHUNKS_H
#define CUFENCE_READER_CHUNKS_H

#include "reader.h"

/*
 * Fills order and window of a reader whose header is known, copies the windows, and counts what
 * the file says it has and has not.  0, or -1 with reader->error.
 */
int reader_find_chunks(struct trace_reader *reader);

/* Counts one more thing that is not whole; the first is described. */
__attribute__((format(printf, 2, 3))) void reader_note(struct trace_reader *reader,
	const char *format, ...);

/* Bytes of records to be read of a chunk: what it claims, as far as it and the file have room. */
size_t reader_records(const struct trace_reader *reader, size_t offset, uint64_t committed);

#endif
