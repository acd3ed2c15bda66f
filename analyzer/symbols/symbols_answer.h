/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers about offsets in the files of a load: from the user's cache, else from the file, which is
 * opened only then.  Each offset is looked up once; new answers are stored in the cache when the
 * files are released.
 */
#ifndef CUFENCE_SYMBOLS_ANSWER_H
#define CUFENCE_SYMBOLS_ANSWER_H

#include <stddef.h>

#include "map.h"
#include "symbols_file.h"

/* About one offset. */
struct symbol_answer {
	struct source_frame *frame;  /* symbol_file_lookup() */
	struct tail_frame *tail;     /* symbol_file_tail_calls() */
	struct source_frame *jumper; /* symbol_file_jump_into(), in a host stub */
	int frame_count, tail_count, jumper_count;
	int calls_stub; /* symbol_file_calls_stub() */
	uint64_t offset;
};

struct known_file;

/* Zero-initialized is empty. */
struct known_files {
	struct known_file **file;
	size_t count;
	struct map by_name; /* path and build id -> index + 1 */
};

/* The file at path with that build id (NULL: none was recorded); NULL after a message. */
struct known_file *known_files_need(struct known_files *files, const char *path,
	const char *build_id);

/* Whether it changed after that time, ns since 1970: then without a build id it is not believed. */
int known_file_is_newer(struct known_file *file, int64_t time);

/* NULL: nothing is known.  Answers and strings live as long as the files. */
const struct symbol_answer *known_file_find(struct known_file *file, uint64_t offset);

void known_files_release(struct known_files *files);

#endif
