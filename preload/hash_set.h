/* SPDX-License-Identifier: Apache-2.0 */
/* A set of some thousands of hashes; threads may add concurrently. */
#ifndef CUFENCE_HASH_SET_H
#define CUFENCE_HASH_SET_H

#include <stdatomic.h>
#include <stdint.h>

#define HASH_SET_SIZE 4096 /* a power of two */
#define HASH_SET_TRIES 64

struct hash_set {
	_Atomic uint64_t hash[HASH_SET_SIZE];
};

/* Returns 1 if new, 0 if present, -1 if the set is full. hash: not 0. */
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

/* Not thread-safe. */
static inline void hash_set_clear(struct hash_set *set)
{
	for (unsigned i = 0; i < HASH_SET_SIZE; i++)
		set->hash[i] = 0;
}

#endif
