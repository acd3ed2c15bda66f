/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the old records that later ones may need: the lives of objects that are not over. */
#ifndef CUFENCE_RING_LIVES_H
#define CUFENCE_RING_LIVES_H

#include <stddef.h>

#include "record.h"

/* A record, in the order in which its thread wrote it. */
struct ring_record {
	const struct record *record;
	uint32_t thread; /* that wrote it */
	uint32_t chunk;  /* index of its chunk, for who made the list */
	int removed;
};

/*
 * Marks the calls that made an object and ended it, whichever thread did (KIND_ENDS), failed calls
 * and marks.  Another call that stays and names the object keeps all of it.  type: by number of the
 * call.
 */
void ring_lives_cancel(struct ring_record *list, size_t count,
	const struct call_type_record *const *type);

#endif
