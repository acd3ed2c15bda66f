/* SPDX-License-Identifier: Apache-2.0 */
#include "idmap.h"

#include <stdlib.h>

#include "memory.h"

static size_t home(const struct idmap *map, int64_t id)
{
	return map_mix((uint64_t)id) & (map->size - 1);
}

static void grow(struct idmap *map)
{
	struct idmap more = { .size = map->size ? 2 * map->size : 16, .count = map->count };

	more.slot = xcalloc(more.size, sizeof(*more.slot));
	for (size_t i = 0; i < map->size; i++) {
		if (map->slot[i].object)
			*idmap_slot(&more, map->slot[i].id) = map->slot[i];
	}
	free(map->slot);
	*map = more;
}

void idmap_put(struct idmap *map, int64_t id, void *object)
{
	if (2 * (map->count + 1) > map->size)
		grow(map);
	*idmap_slot(map, id) = (struct idmap_slot){ .id = id, .object = object };
	map->count++;
}

void *idmap_take(struct idmap *map, int64_t id)
{
	struct idmap_slot *hole = map->size ? idmap_slot(map, id) : NULL;
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

void *idmap_need(struct idmap *map, int64_t id, size_t size)
{
	void *object = idmap_get(map, id);

	if (!object) {
		object = xcalloc(1, size);
		idmap_put(map, id, object);
	}
	return object;
}

void idmap_release(struct idmap *map, void (*release)(void *))
{
	for (size_t i = 0; i < map->size; i++) {
		if (map->slot[i].object)
			release(map->slot[i].object);
	}
	free(map->slot);
	*map = (struct idmap){ 0 };
}
