/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash map from row ids to objects.  Unlike those of struct map, entries can be removed, so
 * memory is proportional to the objects that are alive.  Zero-initialized is empty; the objects are
 * their owner's.
 */
#ifndef CUFENCE_ID_MAP_H
#define CUFENCE_ID_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "map.h"

struct id_map {
	struct id_map_slot {
		int64_t id;
		void *object; /* NULL: free */
	} * slot;
	size_t size, count; /* size: a power of two, 0 before the first object */
};

/* The slot of id, or the free one where it belongs; size is not 0. */
static inline struct id_map_slot *id_map_slot(const struct id_map *map, int64_t id)
{
	size_t at = map_mix((uint64_t)id) & (map->size - 1);

	while (map->slot[at].object && map->slot[at].id != id)
		at = (at + 1) & (map->size - 1);
	return &map->slot[at];
}

/* The object of id, or NULL. */
static inline void *id_map_get(const struct id_map *map, int64_t id)
{
	return map->count ? id_map_slot(map, id)->object : NULL;
}

/* Puts an object under an id that has none. */
void id_map_put(struct id_map *map, int64_t id, void *object);

/* Takes the object of id out: the object, or NULL. */
void *id_map_take(struct id_map *map, int64_t id);

/* The object of id, else a new one of size bytes, zeroed. */
void *id_map_need(struct id_map *map, int64_t id, size_t size);

/*
 * The slots with objects in turn, in no order, for (struct id_map_slot *at = NULL; (at =
 * id_map_next(map, at));): the one after a slot, the first one for NULL, and NULL after the last.
 */
static inline struct id_map_slot *id_map_next(const struct id_map *map,
	const struct id_map_slot *slot)
{
	size_t at = slot ? (size_t)(slot - map->slot) + 1 : 0;

	while (at < map->size && !map->slot[at].object)
		at++;
	return at < map->size ? &map->slot[at] : NULL;
}

/* Frees the map and passes every object to release(), free() for plain ones. */
void id_map_release(struct id_map *map, void (*release)(void *));

#endif
