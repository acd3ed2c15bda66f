/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a pair that no stream, event or wait puts in order may be in order all the same, so that it
 * is possible at most: kernels tell each other by flags in memory, and a library keeps what it
 * allocated itself apart.
 */
#include "hazards_parts.h"

static int is_written(const struct memory_access *access)
{
	return access->direction == ACCESS_WRITE || access->direction == ACCESS_ATOMIC;
}

static int has_overlap(const struct memory_access *a, const struct memory_access *b)
{
	return a->allocation == b->allocation && access_overlap(a, b) != OVERLAP_NONE;
}

/* One waits in a loop for bytes that the other one stores to: that is how it is told to go on. */
static int tells(const struct accesses *waiting, const struct accesses *other)
{
	for (size_t i = 0; i < waiting->count; i++)
		for (size_t j = 0; waiting->access[i].spins && j < other->count; j++)
			if (is_written(&other->access[j]) &&
				has_overlap(&waiting->access[i], &other->access[j]))
				return 1;
	return 0;
}

static int tell_each_other(struct hazards *hazards, const struct operation_point *earlier,
	const struct operation_point *later)
{
	const struct accesses *one, *other;

	if (!earlier->spins && !later->spins)
		return 0;
	one = access_read(hazards->others, earlier->call);
	other = one ? access_read(hazards->others, later->call) : NULL;
	if (!other)
		return -1;
	return tells(one, other) || tells(other, one);
}

/*
 * Of libraries that use several streams only they know which part of their own workspace each of
 * them gets.  What the program gave them, as cublasSetWorkspace() does, is the program's to order.
 */
static int is_of_library(struct hazards *hazards, int64_t allocation,
	const struct operation_point *earlier, const struct operation_point *later)
{
	const struct run_allocation *row = run_allocation(hazards->run, allocation);
	int rc = row->created ? library_calls_has(&hazards->library, row->created) : 0;

	if (rc > 0)
		rc = library_calls_has(&hazards->library, earlier->call);
	return rc > 0 ? library_calls_has(&hazards->library, later->call) : rc;
}

int hazards_doubt(struct hazards *hazards, const struct operation_point *earlier,
	int64_t allocation)
{
	const struct operation_point *later = &hazards->now;
	int rc;

	if (earlier->outside || later->outside)
		return 1;
	rc = tell_each_other(hazards, earlier, later);
	return rc ? rc : is_of_library(hazards, allocation, earlier, later);
}

int hazards_note_outside(struct hazards *hazards, const struct walk_call *call)
{
	if (call->captured || !call->stream || !(call->outside || kind_has(call->kind, K_OUTSIDE)))
		return 0;
	return map_set(&hazards->outside, (uint64_t)call->stream, 1);
}

int hazards_spins(const struct memory_access *access, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (access[i].spins)
			return 1;
	return 0;
}
