/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which addresses belong to memory that CUDA knows: asked for every parameter word of every
 * launch, so it is one load and no lock.  The answer is by granules of 2 MiB and errs on the side
 * of yes; the analyzer, which has every allocation with its bounds, decides exactly.
 */
#ifndef CUFENCE_ALLOCATION_H
#define CUFENCE_ALLOCATION_H

#include <stddef.h>
#include <stdint.h>

#define GRANULE_SHIFT 21
#define ADDRESS_BITS 47 /* user space */

/* Live allocations per granule; there once a region's bit is set. */
extern uint16_t *allocation_granules;

/*
 * Bits of the 4 GiB in which there ever was one.  Most words that look like an address are two
 * small numbers, whose granules would be all over the table: this test reads a line or two of the
 * cache.
 */
#define REGION_SHIFT 32
extern uint64_t allocation_regions[(1u << (ADDRESS_BITS - REGION_SHIFT)) / 64];

/* After the real allocation.  context: it goes with that, 0: with none. */
void allocation_add(uint64_t address, uint64_t bytes, uint16_t context);

/* Before the real free: another thread may be given the same address at once. */
void allocation_remove(uint64_t address);

/* Before that context really ends: the same for all that goes with it. */
void allocation_end_context(uint16_t context);

static inline int allocation_maybe(uint64_t word)
{
	uint64_t region = word >> REGION_SHIFT;

	return word >> ADDRESS_BITS == 0 &&
		__atomic_load_n(&allocation_regions[region / 64], __ATOMIC_ACQUIRE) >> region % 64 &
		1 &&
		__atomic_load_n(&allocation_granules[word >> GRANULE_SHIFT], __ATOMIC_RELAXED);
}

/* In a forked child, whose parent's CUDA memory it does not have. */
void allocation_reset(void);

#endif
