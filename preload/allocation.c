/* SPDX-License-Identifier: Apache-2.0 */
#include "allocation.h"

#include <sched.h>
#include <string.h>

#include "shim.h"
#include "system.h"

#define GRANULES (1ull << (ADDRESS_BITS - GRANULE_SHIFT))
#define SIZES 65536 /* a power of two */
#define TRIES 4096  /* slots probed for one address */
#define CONTEXT_SHIFT 48

uint16_t *allocation_granules;
uint64_t allocation_regions[(1u << (ADDRESS_BITS - REGION_SHIFT)) / 64];

/* Size of each live allocation: a free names only its address. */
static struct {
	_Atomic uint64_t address;
	_Atomic uint64_t bytes; /* context above CONTEXT_SHIFT; 0: no entry */
} * sizes;

/* Reserves address space; pages are allocated on first access.  Returns 0, or -1 if refused. */
static int reserve_tables(void)
{
	static _Atomic int state; /* 1: in progress, 2: done, 3: refused */
	int none = 0;
	void *granules, *table;

	if (state == 2)
		return 0;
	if (!atomic_compare_exchange_strong(&state, &none, 1)) {
		while (state == 1)
			sched_yield();
		return state == 2 ? 0 : -1;
	}
	granules = system_reserve(GRANULES * sizeof(uint16_t));
	table = system_reserve(SIZES * sizeof(*sizes));
	if (granules == MAP_FAILED || table == MAP_FAILED) {
		state = 3;
		trace_count(&shim.writer, COUNT_DROPPED_ENTRIES, 1);
		return -1;
	}
	/* Forked children and core dumps need no copy of them. */
	system_advise(granules, GRANULES * sizeof(uint16_t), MADV_DONTDUMP);
	sizes = table;
	__atomic_store_n(&allocation_granules, granules, __ATOMIC_RELEASE);
	state = 2;
	return 0;
}

static void mark(uint64_t address, uint64_t bytes, int change)
{
	uint64_t first = address >> GRANULE_SHIFT, last = (address + bytes - 1) >> GRANULE_SHIFT;

	for (uint64_t i = address >> REGION_SHIFT; i <= (address + bytes - 1) >> REGION_SHIFT; i++)
		__atomic_fetch_or(&allocation_regions[i / 64], 1ull << i % 64, __ATOMIC_RELEASE);
	for (uint64_t i = first; i <= last && i < GRANULES; i++) {
		uint16_t *count = &allocation_granules[i];
		uint16_t before = __atomic_load_n(count, __ATOMIC_RELAXED);

		/* A saturated count stays: a false yes is harmless, a false no is not. */
		if (before != UINT16_MAX)
			__atomic_fetch_add(count, (uint16_t)change, __ATOMIC_RELAXED);
	}
}

static uint32_t place_of(uint64_t address)
{
	return (uint32_t)((address >> 8) * 0x9e3779b97f4a7c15u >> 40) & (SIZES - 1);
}

#define TOMBSTONE 1u /* deleted entry: continue probing */

void allocation_add(uint64_t address, uint64_t bytes, uint16_t context)
{
	uint32_t place = place_of(address);

	if (!address || !bytes || (address + bytes) >> ADDRESS_BITS || reserve_tables())
		return;
	for (unsigned tries = 0; tries < TRIES; tries++, place = (place + 1) & (SIZES - 1)) {
		uint64_t found = atomic_load_explicit(&sizes[place].address, memory_order_relaxed);

		if (found > TOMBSTONE)
			continue;
		if (!atomic_compare_exchange_strong(&sizes[place].address, &found, address))
			continue;
		mark(address, bytes, 1);
		atomic_store_explicit(&sizes[place].bytes,
			bytes | (uint64_t)context << CONTEXT_SHIFT, memory_order_release);
		return;
	}
	/* No space to store its size: it is never unmarked. */
	mark(address, bytes, 1);
	trace_count(&shim.writer, COUNT_DROPPED_ENTRIES, 1);
}

/* Only the thread that gets the size removes the entry. */
static void take_entry(uint32_t place, uint64_t address)
{
	uint64_t bytes = atomic_exchange(&sizes[place].bytes, 0);

	if (!bytes)
		return;
	mark(address, bytes & (((uint64_t)1 << CONTEXT_SHIFT) - 1), -1);
	atomic_store(&sizes[place].address, TOMBSTONE);
}

void allocation_remove(uint64_t address)
{
	uint32_t place = place_of(address);

	if (!allocation_granules || address <= TOMBSTONE)
		return;
	for (unsigned tries = 0; tries < TRIES; tries++, place = (place + 1) & (SIZES - 1)) {
		uint64_t found = atomic_load_explicit(&sizes[place].address, memory_order_relaxed);

		if (!found)
			return;
		if (found == address) {
			take_entry(place, address);
			return;
		}
	}
}

void allocation_end_context(uint16_t context)
{
	if (!allocation_granules || !context)
		return;
	for (uint32_t place = 0; place < SIZES; place++) {
		uint64_t bytes = atomic_load_explicit(&sizes[place].bytes, memory_order_acquire);

		if (bytes >> CONTEXT_SHIFT == context)
			take_entry(place, sizes[place].address);
	}
}

void allocation_reset(void)
{
	if (!allocation_granules)
		return;
	system_advise(allocation_granules, GRANULES * sizeof(uint16_t), MADV_DONTNEED);
	system_advise((void *)sizes, SIZES * sizeof(*sizes), MADV_DONTNEED);
}
