/* SPDX-License-Identifier: Apache-2.0 */
#include "conflict.h"

#include "access_internal.h"

/* Returns whether the order of two accesses to one byte matters. */
static enum access_overlap orders(const struct memory_access *a, const struct memory_access *b)
{
	if (a->direction == ACCESS_UNKNOWN || b->direction == ACCESS_UNKNOWN)
		return OVERLAP_MAYBE;
	if (a->direction == b->direction && a->direction != ACCESS_WRITE)
		return OVERLAP_NONE;
	return OVERLAP_SURE;
}

static int is_sure(const struct memory_access *access)
{
	return access->sure && !access->maybe && access->direction != ACCESS_UNKNOWN &&
		access->evidence >= EVIDENCE_MACHINE;
}

struct access_conflict access_conflict(const struct memory_access *earlier,
	const struct memory_access *later)
{
	struct access_conflict conflict = { .overlap = orders(earlier, later),
		.order = later->direction == ACCESS_READ    ? ACCESS_RAW
			: earlier->direction == ACCESS_READ ? ACCESS_WAR
							    : ACCESS_WAW,
		.evidence =
			earlier->evidence < later->evidence ? earlier->evidence : later->evidence };
	enum access_overlap overlap;

	if (conflict.overlap == OVERLAP_NONE)
		return conflict;
	overlap = access_overlap(earlier, later);
	if (overlap < conflict.overlap)
		conflict.overlap = overlap;
	conflict.covered = access_covers(earlier, later) || access_covers(later, earlier);
	conflict.same_bytes =
		(overlap == OVERLAP_SURE || conflict.covered) && is_sure(earlier) && is_sure(later);
	return conflict;
}

/* --- operations --- */

#define REACH_STORE (PTX_REACH_POINTER_STORE | PTX_REACH_VARIABLE_STORE | PTX_REACH_CONSTANT_STORE)

static int may_write(const struct accesses *accesses)
{
	for (size_t i = 0; i < accesses->count; i++)
		if (accesses->access[i].direction != ACCESS_READ)
			return 1;
	return (accesses->reaches & REACH_STORE) != 0;
}

/* Memory that one reaches by pointers may be memory that the other uses. */
static int reaches_other(const struct accesses *a, const struct accesses *b)
{
	if (!(a->reaches & PTX_REACH_POINTER) || (!b->count && !b->reaches))
		return 0;
	return a->reaches & PTX_REACH_POINTER_STORE || may_write(b);
}

/* Both use memory of that kind, and one writes it. */
static int share(const struct accesses *a, const struct accesses *b, unsigned memory,
	unsigned store)
{
	return a->reaches & b->reaches & memory && (a->reaches | b->reaches) & store;
}

/* They may have memory in common that was not given to both. */
static int may_share(const struct accesses *a, const struct accesses *b)
{
	return reaches_other(a, b) || reaches_other(b, a) ||
		share(a, b, PTX_REACH_VARIABLE, PTX_REACH_VARIABLE_STORE) ||
		share(a, b, PTX_REACH_CONSTANT, PTX_REACH_CONSTANT_STORE);
}

/* How sure a conflict is before their accesses are compared. */
static enum conflict compare_knowledge(const struct accesses *a, const struct accesses *b)
{
	if (!a->named || !b->named || may_share(a, b))
		return CONFLICT_MAYBE;
	if (a->complete && b->complete)
		return CONFLICT_NONE;
	/* The driver may not have reported the parameters of a kernel. */
	return (a->complete || a->count) && (b->complete || b->count) ? CONFLICT_UNKNOWN
								      : CONFLICT_UNNAMED;
}

/*
 * Most unknown accesses are reads, of inputs that all kernels share.  The extent of a kernel's
 * access is often unknown, too; parts of an allocation have other pointers.
 */
static enum conflict compare(const struct memory_access *a, const struct memory_access *b)
{
	enum access_overlap overlap;

	if (a->allocation != b->allocation || orders(a, b) == OVERLAP_NONE)
		return CONFLICT_NONE;
	overlap = access_overlap(a, b);
	if (overlap == OVERLAP_NONE)
		return CONFLICT_NONE;
	return (access_writes(a) || access_writes(b)) &&
			(overlap == OVERLAP_SURE || a->start == b->start)
		? CONFLICT_SHOWN
		: CONFLICT_MAYBE;
}

enum conflict accesses_conflict(const struct accesses *a, const struct accesses *b)
{
	enum conflict most = compare_knowledge(a, b);

	for (size_t i = 0; i < a->count && most < CONFLICT_SHOWN; i++)
		for (size_t j = 0; j < b->count && most < CONFLICT_SHOWN; j++) {
			enum conflict found = compare(&a->access[i], &b->access[j]);

			most = found > most ? found : most;
		}
	return most;
}

/* Up to this many pairs of accesses, comparing is faster than looking up a known result. */
#define FEW_PAIRS 16

/* Most pairs of lists access different memory. */
static int are_disjoint(const struct accesses *a, const struct accesses *b)
{
	if (a->count * b->count > FEW_PAIRS)
		return 0;
	for (size_t i = 0; i < a->count; i++)
		for (size_t j = 0; j < b->count; j++)
			if (a->access[i].allocation == b->access[j].allocation)
				return 0;
	return 1;
}

/* Equal lists were compared before: most runs repeat themselves. */
static enum conflict compare_lists(struct access_reader *reader, const struct accesses *a,
	const struct accesses *b)
{
	uint64_t low = a->number < b->number ? a->number : b->number;
	uint64_t high = a->number < b->number ? b->number : a->number;
	struct access_compared *known =
		&reader->compared[map_mix(low << 32 ^ high) & (ACCESS_COMPARED - 1)];

	if (are_disjoint(a, b))
		return compare_knowledge(a, b);
	if (!low)
		return accesses_conflict(a, b);
	if (known->low != low || known->high != high)
		*known = (struct access_compared){ low, high, accesses_conflict(a, b) };
	return known->found;
}

int access_may_conflict(struct access_reader *reader, int64_t call, int64_t other,
	enum conflict least)
{
	const struct accesses *a = access_read(reader, call);
	const struct accesses *b = a ? access_read(reader, other) : NULL;

	if (!b)
		return -1;
	if (least <= CONFLICT_UNKNOWN && !(a->complete && b->complete))
		return 1;
	return compare_lists(reader, a, b) >= least;
}
