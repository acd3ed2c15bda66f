/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two operations that a change of one line is about, as the sources name their streams: those
 * of a race, or work in the legacy default stream and the work that shares its memory.
 */
#ifndef CUFENCE_PATCH_PAIR_H
#define CUFENCE_PATCH_PAIR_H

#include "patch_line.h"
#include "stream_code.h"

struct patch_pair {
	char why[32];                         /* table hazard; "": none */
	int64_t stream;                       /* row of the other one's stream, 0: not known */
	char text[2][STREAM_EXPRESSION_SIZE]; /* of the line's stream and the other one */
};

/*
 * Adds table temp.memory_user (place, call, other_call): work in the legacy default stream at a
 * place of which only one other stream uses the memory, and the nearest use in its function.  Needs
 * the SQL function needs_stream(rule).  Returns 0, or -1 after a message.
 */
int patch_pair_begin(struct db *db);

/*
 * Completes a place from row id of finding_place; the pair has its texts.  source: the place's.
 * Returns NULL, or why nothing can be said about the two, in words.
 */
const char *patch_pair_read(struct db *db, struct code_frames *frames, const struct source *source,
	int64_t id, struct patch_pair *pair, struct patch_place *place);

#endif
