/* SPDX-License-Identifier: Apache-2.0 */
/* Internal to the reader: finds a file's chunks, their reading order, and what is missing. */
#ifndef CUFENCE_READER_CHUNKS_H
#define CUFENCE_READER_CHUNKS_H

#include "reader.h"

/*
 * Fills order and window of a reader whose header is known, copies the windows, and counts what the
 * header promises but the file lacks.  Returns 0, or -1 with reader->error set.
 */
int reader_find_chunks(struct trace_reader *reader);

/* Counts one more damaged item and describes the first one. */
__attribute__((format(printf, 2, 3))) void reader_note(struct trace_reader *reader,
	const char *format, ...);

/* Bytes of records to read in a chunk: what it claims, limited by chunk and file size. */
size_t reader_records(const struct trace_reader *reader, size_t offset, uint64_t committed);

#endif
