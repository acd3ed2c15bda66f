/* SPDX-License-Identifier: Apache-2.0 */
#include "map.h"

#include <stdlib.h>

#include "byte_hash.h"
#include "memory.h"

static size_t home_of(const struct map *map, uint64_t key)
{
	return map_mix(key) & (map->size - 1);
}

static void grow(struct map *map)
{
	struct map bigger = { .size = map->size ? 2 * map->size : 64,
		.count = map->count,
		.entry = xcalloc(map->size ? 2 * map->size : 64, sizeof(*map->entry)) };

	for (size_t i = 0; i < map->size; i++)
		if (map->entry[i].used)
			bigger.entry[map_slot(&bigger, map->entry[i].key)] = map->entry[i];
	free(map->entry);
	*map = bigger;
}

void map_set(struct map *map, uint64_t key, uint64_t value)
{
	struct map_entry *entry;

	if (4 * (map->count + 1) > 3 * map->size)
		grow(map);
	entry = &map->entry[map_slot(map, key)];
	map->count += !entry->used;
	*entry = (struct map_entry){ key, value, 1 };
}

/* Entries that were pushed on past the gap move back into it, so that no search ends there. */
void map_remove(struct map *map, uint64_t key)
{
	size_t gap, slot;

	if (!map->size)
		return;
	gap = slot = map_slot(map, key);
	if (!map->entry[gap].used)
		return;
	for (;;) {
		size_t home;

		slot = (slot + 1) & (map->size - 1);
		if (!map->entry[slot].used)
			break;
		home = home_of(map, map->entry[slot].key);
		if (((slot - home) & (map->size - 1)) < ((slot - gap) & (map->size - 1)))
			continue;
		map->entry[gap] = map->entry[slot];
		gap = slot;
	}
	map->entry[gap].used = 0;
	map->count--;
}

void map_release(struct map *map)
{
	free(map->entry);
	*map = (struct map){ 0 };
}

uint64_t map_hash(const char *text, size_t length)
{
	return byte_hash(BYTE_HASH_SEED, text, length);
}

uint64_t map_hash_words(const uint64_t *word, size_t count)
{
	uint64_t hash = count;

	for (size_t i = 0; i < count; i++) {
		hash = (hash ^ word[i]) * UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 32;
	}
	return hash;
}
