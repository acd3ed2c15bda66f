/* SPDX-License-Identifier: Apache-2.0 */
#include "alike.h"
#include "memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Limit of launches of a kernel to compare with: a loop has a few.  Others are interpreted. */
#define ALIKE_LIMIT 64

static int is_same(const struct alike_launch *other, const struct ptx_launch *launch)
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

const struct alike_launch *alike_find(const struct alike *alike, const struct ptx_launch *launch)
{
	for (size_t i = alike->count; i-- > 0;)
		if (is_same(&alike->launch[i], launch))
			return &alike->launch[i];
	return NULL;
}

void alike_add(struct alike *alike, const struct ptx_launch *launch, const uint8_t *asked,
	size_t count, unsigned long steps)
{
	struct alike_launch *slot;
	uint8_t *room;

	if (alike->count == ALIKE_LIMIT)
		return;
	if (!alike->launch)
		alike->launch = xcalloc(ALIKE_LIMIT, sizeof(*alike->launch));
	room = xcalloc(3, launch->size);
	slot = &alike->launch[alike->count++];
	*slot = (struct alike_launch){ *launch, room + 2 * (size_t)launch->size, steps };
	memcpy(room, launch->value, launch->size);
	memcpy(room + launch->size, launch->state, launch->size);
	memcpy(slot->asked, asked, count < launch->size ? count : launch->size);
	slot->launch.value = room;
	slot->launch.state = room + launch->size;
}

void alike_release(struct alike *alike)
{
	for (size_t i = 0; i < alike->count; i++)
		free((uint8_t *)(uintptr_t)alike->launch[i].launch.value);
	free(alike->launch);
	*alike = (struct alike){ 0 };
}
