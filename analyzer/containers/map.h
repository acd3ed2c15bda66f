/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash map from 64-bit numbers (handles, ids, hashes) to 64-bit values.  Zero-initialized is
 * empty; the owner releases it.
 */
#ifndef CUFENCE_MAP_H
#define CUFENCE_MAP_H

#include <stddef.h>
#include <stdint.h>

struct map_entry {
	uint64_t key, value;
	int used;
};

struct map {
	struct map_entry *entry;
	size_t size, count; /* size: a power of two, 0 before the first entry */
};

/* Each bit of a key changes the low bits: keys differ in high bits alone, as pairs of ids do. */
static inline size_t map_mix(uint64_t key)
{
	uint64_t product = key * UINT64_C(0x9e3779b97f4a7c15);

	return (size_t)(product ^ product >> 32);
}

void map_set(struct map *map, uint64_t key, uint64_t value);

/* Returns the slot of key, or the free slot where it belongs; size is not 0. */
static inline size_t map_slot(const struct map *map, uint64_t key)
{
	size_t slot = map_mix(key) & (map->size - 1);

	while (map->entry[slot].used && map->entry[slot].key != key)
		slot = (slot + 1) & (map->size - 1);
	return slot;
}

/* The value of key, or otherwise. */
static inline uint64_t map_get(const struct map *map, uint64_t key, uint64_t otherwise)
{
	const struct map_entry *entry;

	if (!map->count)
		return otherwise;
	entry = &map->entry[map_slot(map, key)];
	return entry->used ? entry->value : otherwise;
}

/*
 * Returns the number of a key in order of appearance, from 0 on: map->count as it was if it is new.
 * For a map that has only such numbers.
 */
static inline size_t map_number(struct map *map, uint64_t key)
{
	uint64_t next = map->count, number = map_get(map, key, next);

	if (number == next)
		map_set(map, key, next);
	return (size_t)number;
}

/* Adds to the value of key, 0 at first; returns the sum. */
static inline uint64_t map_add(struct map *map, uint64_t key, uint64_t more)
{
	uint64_t sum = map_get(map, key, 0) + more;

	map_set(map, key, sum);
	return sum;
}

/* Does nothing if there is no such key. */
void map_remove(struct map *map, uint64_t key);

void map_release(struct map *map);

/* FNV-1a of a text, to key a map by name: among a run's names no two of 64 bits are the same. */
uint64_t map_hash(const char *text, size_t length);

/* Likewise of words. */
uint64_t map_hash_words(const uint64_t *word, size_t count);

/* The hash of a row of values, of which hash has the first ones. */
static inline uint64_t map_hash_next(uint64_t hash, uint64_t value)
{
	const uint64_t both[] = { hash, value };

	return map_hash_words(both, 2);
}

#endif
