/* SPDX-License-Identifier: Apache-2.0 */
#include "buffers.h"

#include <stdatomic.h>

#include "selection.h"
#include "system.h"

#define BUFFERS 64
/*
 * Deliveries for which a buffer rests before CUPTI gets it again.  CUPTI 13.0 writes to buffers
 * that it has delivered: a JAX program with graphs crashed in 5 of 5 runs with buffers of 32 KiB
 * that were used again, and in none of 6 without (H200).  While it rests it takes addresses only.
 */
#define RESTING 1024

static _Atomic(uint8_t *) spare[BUFFERS], resting[RESTING];
static _Atomic unsigned rested; /* deliveries */

/* Before 12.9 CUPTI crashes without a buffer: unwanted records are written here instead. */
static uint8_t discard[65536] __attribute__((aligned(8)));

uint8_t *buffer_take(size_t *size)
{
	uint8_t *found = NULL;

	for (unsigned i = 0; i < BUFFERS && !found; i++)
		found = atomic_exchange(&spare[i], NULL);
	if (!found) {
		found = system_map(SELECTION_BUFFER_BYTES, 0, -1, 0);
		if (found == MAP_FAILED)
			found = discard;
	}
	*size = found == discard ? sizeof(discard) : SELECTION_BUFFER_BYTES;
	return found;
}

int buffer_is_dropped(const uint8_t *buffer)
{
	return buffer == discard;
}

void buffer_return(uint8_t *delivered)
{
	unsigned place = atomic_fetch_add(&rested, 1) % RESTING;
	uint8_t *none, *buffer;

	if (system_map_over(delivered, SELECTION_BUFFER_BYTES))
		return;
	buffer = atomic_exchange(&resting[place], delivered);
	for (unsigned i = 0; buffer && i < BUFFERS; i++) {
		none = NULL;
		if (atomic_compare_exchange_strong(&spare[i], &none, buffer))
			return;
	}
	if (buffer)
		system_unmap(buffer, SELECTION_BUFFER_BYTES);
}
