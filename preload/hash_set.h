/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes that were seen, of which there is room for some thousands; threads may add at once. */
#ifndef CUFENCE_HASH_SET_H
#define CUFENCE_HASH_SET_H

#include <stdatomic.h>
#include <stdint.h>

#define HASH_SET_SIZE 4096 /* a power of two */
#define HASH_SET_TRIES 64

struct hash_set {
	_Atomic uint64_t hash[HASH_SET_SIZE];
};

/* 1 the first time, 0 later; -1: there is no room.  hash: never 0. */
static inline int hash_set_add(struct hash_set *set, uint64_t hash)
{
	uint32_t place = (uint32_t)(hash >> 20) & (HASH_SET_SIZE - 1);

	for (unsigned i = 0; i < HASH_SET_TRIES; i++, place = (place + 1) & (HASH_SET_SIZE - 1)) {
		uint64_t found = atomic_load_explicit(&set->hash[place], memory_order_relaxed);

		if (!found && atomic_compare_exchange_strong(&set->hash[place], &found, hash))
			return 1;
		if (found == hash)
			return 0;
	}
	return -1;
}

/* Of one thread. */
static inline void hash_set_clear(struct hash_set *set)
{
	for (unsigned i = 0; i < HASH_SET_SIZE; i++)
		set->hash[i] = 0;
}

#endif
