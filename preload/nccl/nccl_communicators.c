/* SPDX-License-Identifier: Apache-2.0 */
#include "nccl.h"

#include <unistd.h>

#include "byte_hash.h"

enum { TRIES = 16 };

/* Slots are taken and left by atomic operations; a communicator is used by one thread at a time. */
static struct slot {
	_Atomic uint64_t handle; /* 0: free */
	uint64_t identity;
	int32_t ranks, rank;
	_Atomic uint64_t collectives, parts;
} slots[NCCL_COMMUNICATORS];

static struct slot *place_of(uint64_t handle, unsigned tries)
{
	uint64_t hash = handle * 0x9e3779b97f4a7c15u >> 40;

	return &slots[(hash + tries) % NCCL_COMMUNICATORS];
}

static struct slot *find(ncclComm_t comm)
{
	uint64_t handle = (uint64_t)(uintptr_t)comm;

	for (unsigned tries = 0; handle && tries < TRIES; tries++)
		if (place_of(handle, tries)->handle == handle)
			return place_of(handle, tries);
	return NULL;
}

uint64_t nccl_next(ncclComm_t comm)
{
	struct slot *slot = find(comm);

	return slot ? atomic_fetch_add(&slot->collectives, 1) + 1 : 0;
}

uint64_t nccl_bytes(ncclComm_t comm, uint64_t count, int datatype)
{
	/* ncclInt8 to ncclFloat8e5m2 */
	static const uint8_t sizes[] = { 1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1 };
	const struct slot *slot = comm ? find(comm) : NULL;
	uint64_t bytes;

	if (datatype < 0 || (size_t)datatype >= sizeof(sizes) ||
		(comm && (!slot || slot->ranks <= 0)) ||
		__builtin_mul_overflow(count, sizes[datatype], &bytes) ||
		(comm && __builtin_mul_overflow(bytes, (uint64_t)slot->ranks, &bytes)))
		return UINT64_MAX;
	return bytes;
}

uint64_t nccl_at_root(ncclComm_t comm, int root, uint64_t bytes)
{
	const struct slot *slot = find(comm);

	if (!slot || slot->rank < 0)
		return UINT64_MAX;
	return slot->rank == root ? bytes : 0;
}

uint64_t nccl_at_others(ncclComm_t comm, int root, uint64_t bytes)
{
	const struct slot *slot = find(comm);

	if (!slot || slot->rank < 0)
		return UINT64_MAX;
	return slot->rank == root ? 0 : bytes;
}

static uint64_t identity_of(const void *data, size_t bytes)
{
	return byte_hash(BYTE_HASH_SEED, data, bytes) ?: 1;
}

uint64_t nccl_identity(const ncclUniqueId *id)
{
	return id ? identity_of(id, sizeof(*id)) : 0;
}

uint64_t nccl_own_identity(void)
{
	static _Atomic uint64_t made;
	uint64_t words[] = { clock_read(), (uint64_t)getpid(), atomic_fetch_add(&made, 1) };

	return identity_of(words, sizeof(words));
}

uint64_t nccl_announced_identity(uint64_t hash)
{
	return identity_of(&hash, sizeof(hash));
}

/* All ranks of a communicator split it, in the same order. */
uint64_t nccl_part_of(ncclComm_t comm, int color)
{
	struct slot *slot = find(comm);

	if (!slot || !slot->identity)
		return 0;
	uint64_t words[] = { slot->identity, atomic_fetch_add(&slot->parts, 1), (uint32_t)color };

	return identity_of(words, sizeof(words));
}

static void ask(const char *name, uint64_t handle, int32_t *answer)
{
	int (*question)(uint64_t, int *);
	int value;

	*(void **)&question = *answer < 0 ? nccl_symbol(name) : NULL;
	if (question && question(handle, &value) == NCCL_SUCCESS)
		*answer = value;
}

void nccl_add(struct nccl_communicator *made)
{
	ask("ncclCommCount", made->handle, &made->ranks);
	ask("ncclCommUserRank", made->handle, &made->rank);
	ask("ncclCommCuDevice", made->handle, &made->device);
	nccl_follow(made);
}

void nccl_follow(const struct nccl_communicator *made)
{
	nccl_remove((ncclComm_t)(uintptr_t)made->handle);
	for (unsigned tries = 0; tries < TRIES; tries++) {
		struct slot *slot = place_of(made->handle, tries);
		uint64_t none = 0;

		if (!atomic_compare_exchange_strong(&slot->handle, &none, UINT64_MAX))
			continue;
		slot->identity = made->identity;
		slot->ranks = made->ranks;
		slot->rank = made->rank;
		slot->collectives = slot->parts = 0;
		slot->handle = made->handle;
		return;
	}
}

void nccl_remove(ncclComm_t comm)
{
	struct slot *slot = find(comm);

	if (slot)
		slot->handle = 0;
}
