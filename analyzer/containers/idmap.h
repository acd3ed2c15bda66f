/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash map from row ids to objects that come and go: unlike struct map it forgets, so that
 * what follows a run in order needs memory for what is alive, not for all there ever was.
 * Zero-initialized is empty; the objects are their owner's.
 */
#ifndef CUFENCE_IDMAP_H
#define CUFENCE_IDMAP_H

#include <stddef.h>
#include <stdint.h>

#include "map.h"

struct idmap {
	struct idmap_slot {
		int64_t id;
		void *object; /* NULL: free */
	} * slot;
	size_t size, count; /* size: a power of two, 0 before the first object */
};

/* The slot of id, or the free one where it belongs; size is not 0. */
static inline struct idmap_slot *idmap_slot(const struct idmap *map, int64_t id)
{
	size_t at = map_mix((uint64_t)id) & (map->size - 1);

	while (map->slot[at].object && map->slot[at].id != id)
		at = (at + 1) & (map->size - 1);
	return &map->slot[at];
}

/* The object of id, or NULL. */
static inline void *idmap_get(const struct idmap *map, int64_t id)
{
	return map->count ? idmap_slot(map, id)->object : NULL;
}

/* Puts an object under an id that has none. */
void idmap_put(struct idmap *map, int64_t id, void *object);

/* Takes the object of id out: the object, or NULL. */
void *idmap_take(struct idmap *map, int64_t id);

/* The object of id, else a new one of size bytes, zeroed. */
void *idmap_need(struct idmap *map, int64_t id, size_t size);

/* Frees the map and passes every object to release(), free() for plain ones. */
void idmap_release(struct idmap *map, void (*release)(void *));

#endif
