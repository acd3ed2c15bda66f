/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses of memory known to CUDA. Queried for every parameter word of every launch, so a query
 * is one load without a lock.  It works in granules of 2 MiB and may return false positives; the
 * analyzer, which has the exact bounds of every allocation, filters them.
 */
#ifndef CUFENCE_ALLOCATION_H
#define CUFENCE_ALLOCATION_H

#include <stddef.h>
#include <stdint.h>

#define GRANULE_SHIFT 21
#define ADDRESS_BITS 47 /* user space */

/* Live allocations per granule; valid once a region's bit is set. */
extern uint16_t *allocation_granules;

/*
 * Bit per region of 4 GiB that ever contained an allocation.  Most words that look like an address
 * are two small numbers, whose granules would be spread over the whole table: this test needs only
 * a line or two of the cache.
 */
#define REGION_SHIFT 32
extern uint64_t allocation_regions[(1u << (ADDRESS_BITS - REGION_SHIFT)) / 64];

/* Call after the real allocation. context: its memory is freed with it, 0: none. */
void allocation_add(uint64_t address, uint64_t bytes, uint16_t context);

/* Call before the real free: another thread may get the same address at once. */
void allocation_remove(uint64_t address);

/* Call before the context is destroyed: removes all its memory. */
void allocation_end_context(uint16_t context);

static inline int allocation_maybe(uint64_t word)
{
	uint64_t region = word >> REGION_SHIFT;

	return word >> ADDRESS_BITS == 0 &&
		__atomic_load_n(&allocation_regions[region / 64], __ATOMIC_ACQUIRE) >> region % 64 &
		1 &&
		__atomic_load_n(&allocation_granules[word >> GRANULE_SHIFT], __ATOMIC_RELAXED);
}

/* Call in a forked child, which does not have its parent's CUDA memory. */
void allocation_reset(void);

#endif
