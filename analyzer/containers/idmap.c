/* SPDX-License-Identifier: Apache-2.0 */
#include "idmap.h"

#include <stdio.h>
#include <stdlib.h>

static size_t home(const struct idmap *map, int64_t id)
{
	return map_mix((uint64_t)id) & (map->size - 1);
}

static int grow(struct idmap *map)
{
	struct idmap more = { .size = map->size ? 2 * map->size : 16, .count = map->count };

	more.slot = calloc(more.size, sizeof(*more.slot));
	if (!more.slot) {
		fputs("cufence: out of memory\n", stderr);
		return -1;
	}
	for (size_t i = 0; i < map->size; i++) {
		if (map->slot[i].object)
			*idmap_slot(&more, map->slot[i].id) = map->slot[i];
	}
	free(map->slot);
	*map = more;
	return 0;
}

int idmap_put(struct idmap *map, int64_t id, void *object)
{
	if (2 * (map->count + 1) > map->size && grow(map))
		return -1;
	*idmap_slot(map, id) = (struct idmap_slot){ .id = id, .object = object };
	map->count++;
	return 0;
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

	if (object)
		return object;
	object = calloc(1, size);
	if (!object)
		fputs("cufence: out of memory\n", stderr);
	else if (idmap_put(map, id, object)) {
		free(object);
		object = NULL;
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
