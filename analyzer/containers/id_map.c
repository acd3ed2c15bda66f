/* SPDX-License-Identifier: Apache-2.0 */
#include "id_map.h"

#include <stdlib.h>

#include "memory.h"

static size_t home(const struct id_map *map, int64_t id)
{
	return map_mix((uint64_t)id) & (map->size - 1);
}

static void grow(struct id_map *map)
{
	struct id_map more = { .size = map->size ? 2 * map->size : 16, .count = map->count };

	more.slot = xcalloc(more.size, sizeof(*more.slot));
	for (size_t i = 0; i < map->size; i++) {
		if (map->slot[i].object)
			*id_map_slot(&more, map->slot[i].id) = map->slot[i];
	}
	free(map->slot);
	*map = more;
}

void id_map_put(struct id_map *map, int64_t id, void *object)
{
	if (2 * (map->count + 1) > map->size)
		grow(map);
	*id_map_slot(map, id) = (struct id_map_slot){ .id = id, .object = object };
	map->count++;
}

void *id_map_take(struct id_map *map, int64_t id)
{
	struct id_map_slot *hole = map->size ? id_map_slot(map, id) : NULL;
	void *object = hole ? hole->object : NULL;
	size_t mask = map->size - 1;

	if (!object)
		return NULL;
	/* Close the gap: objects displaced past it move back, so that probing needs no
	 * tombstones. */
	for (size_t at = (size_t)(hole - map->slot + 1) & mask; map->slot[at].object;
		at = (at + 1) & mask) {
		size_t wanted = home(map, map->slot[at].id), gap = (size_t)(hole - map->slot);

		if (((at - wanted) & mask) >= ((at - gap) & mask)) {
			*hole = map->slot[at];
			hole = &map->slot[at];
		}
	}
	hole->object = NULL;
	map->count--;
	return object;
}

void *id_map_need(struct id_map *map, int64_t id, size_t size)
{
	void *object = id_map_get(map, id);

	if (!object) {
		object = xcalloc(1, size);
		id_map_put(map, id, object);
	}
	return object;
}

void id_map_release(struct id_map *map, void (*release)(void *))
{
	for (size_t i = 0; i < map->size; i++) {
		if (map->slot[i].object)
			release(map->slot[i].object);
	}
	free(map->slot);
	*map = (struct id_map){ 0 };
}
