/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <sys/mman.h>

#include "cuda_state.h"

#define ARENA_BASE 0x5f0000000000ull
#define ARENA_BYTES (512ull << 20)
#define SLOT 512
#define PLACES 64
#define PLACE_STEP (1ull << 38)
#define MAGIC 0x63756673u

/* Precedes each object; slots never move, so any address can be checked. */
struct slot {
	uint32_t magic;
	uint32_t kind; /* 0: free */
	struct slot *next_free;
};

static char *arena;
static size_t used;
static struct slot *free_slots;

/* Leak checkers, if present, must search the arena for pointers. */
extern void __lsan_register_root_region(const void *begin, size_t size) __attribute__((weak));

void *sim_reserve(uintptr_t place, size_t bytes, int protection)
{
	void *map = MAP_FAILED;

	for (unsigned i = 0; i < PLACES && map == MAP_FAILED; i++, place += PLACE_STEP)
		map = mmap((void *)place, bytes, protection,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
	return map == MAP_FAILED ? NULL : map;
}

static bool arena_map(void)
{
	arena = sim_reserve(ARENA_BASE, ARENA_BYTES, PROT_READ | PROT_WRITE);
	if (!arena)
		return false;
	if (__lsan_register_root_region)
		__lsan_register_root_region(arena, ARENA_BYTES);
	return true;
}

void *object_new(enum object_kind kind, size_t bytes)
{
	struct slot *slot = free_slots;

	if (bytes > SLOT - sizeof(*slot) || (!arena && !arena_map()))
		return NULL;
	if (slot) {
		free_slots = slot->next_free;
	} else if (used + SLOT <= ARENA_BYTES) {
		slot = (struct slot *)(arena + used);
		used += SLOT;
	} else {
		return NULL;
	}
	memset(slot, 0, SLOT);
	slot->magic = MAGIC;
	slot->kind = kind;
	return slot + 1;
}

void object_free(void *object)
{
	struct slot *slot = (struct slot *)object - 1;

	slot->kind = 0;
	slot->next_free = free_slots;
	free_slots = slot;
}

void object_each(enum object_kind kind, void (*visit)(void *object, void *arg), void *arg)
{
	for (size_t at = 0; at < used; at += SLOT) {
		struct slot *slot = (struct slot *)(arena + at);

		if (slot->kind == (uint32_t)kind)
			visit(slot + 1, arg);
	}
}

bool object_check(const void *object, enum object_kind kind)
{
	uintptr_t address = (uintptr_t)object, base = (uintptr_t)arena;

	if (!arena || address < base || address >= base + used ||
		(address - base) % SLOT != sizeof(struct slot))
		return false;
	return ((const struct slot *)object - 1)->kind == (uint32_t)kind;
}
