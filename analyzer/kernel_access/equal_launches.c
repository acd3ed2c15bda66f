/* SPDX-License-Identifier: Apache-2.0 */
#include "equal_launches.h"
#include "memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Limit of launches of a kernel to compare with: a loop has a few.  Others are interpreted. */
#define EQUAL_LAUNCHES_LIMIT 64

static int is_same(const struct equal_launch *other, const struct ptx_launch *launch)
{
	const struct ptx_launch *before = &other->launch;

	if (memcmp(before->grid, launch->grid, sizeof(launch->grid)) ||
		memcmp(before->block, launch->block, sizeof(launch->block)) ||
		before->size != launch->size)
		return 0;
	for (uint32_t i = 0; i < launch->size; i++) {
		uint8_t is = launch->state[i], was = before->state[i];

		/* The interpreter searches tables for pointers. */
		if (is != was && (other->asked[i] || is == PTX_POINTER || was == PTX_POINTER))
			return 0;
		if (other->asked[i] && launch->value[i] != before->value[i])
			return 0;
	}
	return 1;
}

const struct equal_launch *equal_launches_find(const struct equal_launches *equal,
	const struct ptx_launch *launch)
{
	for (size_t i = equal->count; i-- > 0;)
		if (is_same(&equal->launch[i], launch))
			return &equal->launch[i];
	return NULL;
}

void equal_launches_add(struct equal_launches *equal, const struct ptx_launch *launch,
	const uint8_t *asked, size_t count, unsigned long steps)
{
	struct equal_launch *slot;
	uint8_t *room;

	if (equal->count == EQUAL_LAUNCHES_LIMIT)
		return;
	if (!equal->launch)
		equal->launch = xcalloc(EQUAL_LAUNCHES_LIMIT, sizeof(*equal->launch));
	room = xcalloc(3, launch->size);
	slot = &equal->launch[equal->count++];
	*slot = (struct equal_launch){ *launch, room + 2 * (size_t)launch->size, steps };
	memcpy(room, launch->value, launch->size);
	memcpy(room + launch->size, launch->state, launch->size);
	memcpy(slot->asked, asked, count < launch->size ? count : launch->size);
	slot->launch.value = room;
	slot->launch.state = room + launch->size;
}

void equal_launches_release(struct equal_launches *equal)
{
	for (size_t i = 0; i < equal->count; i++)
		free((uint8_t *)(uintptr_t)equal->launch[i].launch.value);
	free(equal->launch);
	*equal = (struct equal_launches){ 0 };
}
