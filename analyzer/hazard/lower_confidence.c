/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reasons to lower the confidence to possible for a pair that no stream, event or wait orders:
 * kernels may signal each other by flags in memory, and a library orders the use of memory that it
 * allocated itself.
 */
#include "hazards_internal.h"

static int has_overlap(const struct memory_access *a, const struct memory_access *b)
{
	return a->allocation == b->allocation && access_overlap(a, b) != OVERLAP_NONE;
}

/* Returns 1 if a library made both calls, 0 if the program made one, -1 after a message. */
static int are_of_library(struct hazards *hazards, const struct operation_point *earlier,
	const struct operation_point *later)
{
	int rc = callers_is_library(&hazards->callers, earlier->call);

	return rc > 0 ? callers_is_library(&hazards->callers, later->call) : rc;
}

static int is_memory_of_library(struct hazards *hazards, int64_t allocation)
{
	const struct run_allocation *row = run_allocation(hazards->run, allocation);

	return row->created ? callers_is_library(&hazards->callers, row->created) : 0;
}

/*
 * Returns 1 if the operation itself surely writes the flag that it waits for: its blocks wait for
 * each other.
 */
static int signals_itself(const struct accesses *operation, const struct memory_access *wait)
{
	for (size_t i = 0; i < operation->count; i++)
		if (access_writes(&operation->access[i]) && !operation->access[i].spins &&
			operation->access[i].sure && has_overlap(&operation->access[i], wait))
			return 1;
	return 0;
}

/*
 * Returns 1 if one kernel waits in a loop for bytes that the other one writes.  Kernels of two
 * calls of a library do not signal each other if each waits for its own blocks in memory that the
 * program passed to both calls: then they conflict.
 */
static int signals(struct hazards *hazards, const struct accesses *waiting,
	const struct accesses *other, int of_library)
{
	int rc = 0;

	for (size_t i = 0; i < waiting->count && !rc; i++)
		for (size_t j = 0; waiting->access[i].spins && j < other->count && !rc; j++) {
			const struct memory_access *wait = &waiting->access[i];

			if (!access_writes(&other->access[j]) ||
				!has_overlap(wait, &other->access[j]))
				continue;
			rc = of_library && signals_itself(waiting, wait)
				? is_memory_of_library(hazards, wait->allocation)
				: 1;
		}
	return rc;
}

static int signal_each_other(struct hazards *hazards, const struct operation_point *earlier,
	const struct operation_point *later)
{
	const struct accesses *one, *other;
	int of_library, rc;

	if (!earlier->spins && !later->spins)
		return 0;
	one = access_read(hazards->others, earlier->call);
	other = one ? access_read(hazards->others, later->call) : NULL;
	of_library = other ? are_of_library(hazards, earlier, later) : -1;
	if (of_library < 0)
		return -1;
	rc = signals(hazards, one, other, of_library);
	return rc ? rc : signals(hazards, other, one, of_library);
}

/*
 * A library that uses several streams divides its own workspace among them.  A workspace from the
 * program, as set by cublasSetWorkspace(), is the program's to order.
 */
static int is_of_library(struct hazards *hazards, int64_t allocation,
	const struct operation_point *earlier, const struct operation_point *later)
{
	int rc = is_memory_of_library(hazards, allocation);

	return rc > 0 ? are_of_library(hazards, earlier, later) : rc;
}

int hazards_doubt(struct hazards *hazards, const struct operation_point *earlier,
	int64_t allocation)
{
	const struct operation_point *later = &hazards->now;
	int rc;

	if (earlier->outside || later->outside)
		return 1;
	rc = signal_each_other(hazards, earlier, later);
	return rc ? rc : is_of_library(hazards, allocation, earlier, later);
}

static int reads(const struct accesses *operation, const struct memory_access *bytes, uint32_t node)
{
	for (size_t i = 0; operation && i < operation->count; i++) {
		const struct memory_access *access = &operation->access[i];

		if (access->node == node && access->direction != ACCESS_WRITE &&
			access->direction != ACCESS_UNKNOWN &&
			access->allocation == bytes->allocation &&
			access_overlap(access, bytes) == OVERLAP_SURE)
			return 1;
	}
	return 0;
}

int hazards_reuses(struct hazards *hazards, const struct past_access *past,
	const struct memory_access *access)
{
	if (hazards->launch || past->by.is_life || hazards->now.is_life ||
		access->direction != ACCESS_WRITE ||
		reads(hazards->accesses, &past->access, access->node))
		return 0;
	return reuse_is_known(&hazards->reuse, &hazards->callers, hazards->process,
		access->allocation, &past->by.epoch);
}

void hazards_note_outside(struct hazards *hazards, const struct walk_call *call)
{
	if (call->captured || !call->stream || !(call->outside || kind_has(call->kind, K_OUTSIDE)))
		return;
	map_set(&hazards->outside, (uint64_t)call->stream, 1);
}

int hazards_spins(const struct memory_access *access, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (access[i].spins)
			return 1;
	return 0;
}
