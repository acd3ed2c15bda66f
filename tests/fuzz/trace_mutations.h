/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mutations that know the trace format: records are spliced, repeated, exchanged and removed, valid
 * ones get extreme values, chunks change places, commit offsets move.
 */
#ifndef CUFENCE_FUZZ_TRACE_MUTATIONS_H
#define CUFENCE_FUZZ_TRACE_MUTATIONS_H

#include <stddef.h>
#include <stdint.h>

#include "fuzz.h"

/* Changes one thing; other is what records are taken from.  room: of data, at least *size. */
void trace_mutate(uint8_t *data, size_t *size, size_t room, const struct fuzz_input *other,
	uint64_t (*random)(void));

/*
 * Damages a whole trace in a way that a reader has to notice, and writes a word after it: 1, or 0
 * if it has nothing to damage.
 */
int trace_damage(uint8_t *data, size_t *size, size_t room, uint64_t (*random)(void));

/* Whether the input is one of those; size is that of the trace without the word. */
int trace_is_damaged(const uint8_t *data, size_t *size);

#endif
