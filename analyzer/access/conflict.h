/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the order of two accesses matters, or of two operations: they use memory in common that
 * one of them writes.  Two reads need no order, and neither do two atomics; an atomic and a plain
 * load or store do.
 *
 * 	if (access_may_conflict(reader, call, other, CONFLICT_MAYBE) > 0)
 * 		...
 *
 * Every room asks here; they differ only in how sure a conflict must be for them.
 */
#ifndef CUFENCE_CONFLICT_H
#define CUFENCE_CONFLICT_H

#include "access.h"

enum access_order { ACCESS_RAW, ACCESS_WAR, ACCESS_WAW }; /* read after write, ... */

/* Whether and why the order of two accesses matters. */
struct access_conflict {
	enum access_overlap overlap; /* OVERLAP_NONE: the order does not matter */
	enum access_order order;
	uint8_t evidence; /* enum evidence, the weaker of both */
	int covered;      /* one side surely accesses all bytes that the other may access */
	/*
	 * A byte that both surely access, as a call or the kernel's code says, unless a condition
	 * on data prevents it.  It is known which byte, or one side accesses all that the other
	 * one may access.
	 */
	int same_bytes;
};

/* Compares an earlier and a later access to one allocation. */
struct access_conflict access_conflict(const struct memory_access *earlier,
	const struct memory_access *later);

/* How sure it is that the order of two operations matters. */
enum conflict {
	CONFLICT_NONE,    /* all accesses of both are known, and their order does not matter */
	CONFLICT_UNKNOWN, /* nothing shows it, but not all accesses are known */
	CONFLICT_UNNAMED, /* likewise, and no memory of one is known */
	/*
	 * They may use the same bytes, or memory that was not given to both: one loads pointers
	 * from memory, or both use variables of a module.  Or a graph has unrecorded content.
	 */
	CONFLICT_MAYBE,
	/* One surely writes an allocation; the other uses the same bytes or the same pointer. */
	CONFLICT_SHOWN,
};

/* Compares the accesses of two operations. */
enum conflict accesses_conflict(const struct accesses *a, const struct accesses *b);

/*
 * Returns 1 if the order of the operations of two calls matters, at least as surely as that; 0, or
 * -1 after a message.
 */
int access_may_conflict(struct access_reader *reader, int64_t call, int64_t other,
	enum conflict least);

#endif
