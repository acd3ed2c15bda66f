/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The work of a run that had not ended when its traces were read, stream by stream.
 *
 * A stream is in order: what its first call without an end (its head) waits for, all later ones
 * wait for, too.  A call has ended if it has a record with an end, if the host waited for it, or if
 * that holds for a later call of its stream.  One that takes no time, as an event record, ends with
 * what it comes after.  What ended since CUPTI was last asked for its records is not known to have
 * ended, and without CUPTI everything since the last wait of the host.
 */
#ifndef CUFENCE_UNENDED_H
#define CUFENCE_UNENDED_H

#include <stddef.h>
#include <stdint.h>

#include "calls.h"
#include "db.h"
#include "map.h"

struct unended_call {
	int64_t call, stream, context, process;
	enum call_kind kind;
	int64_t after; /* a head: the unended call of another stream that it waits for; else 0 */
	size_t head;   /* number of its stream's first one: its own if it is that */
	size_t count;  /* a head: how many calls of its stream have not ended */
};

struct unended {
	struct unended_call *item; /* in order of entry */
	size_t count;
	struct map calls;   /* 1 + number, by call */
	struct map streams; /* 1 + number of the head, by stream */
};

/* Returns 0, or -1 after a message; unended_release() then, too. */
int unended_find(struct unended *unended, struct db *db);
void unended_release(struct unended *unended);

/* The head of the call's stream, if the call has not ended; of a stream, if any: else NULL. */
const struct unended_call *unended_head(const struct unended *unended, int64_t call);
const struct unended_call *unended_head_of(const struct unended *unended, int64_t stream);

static inline int unended_is_head(const struct unended *unended, size_t number)
{
	return unended->item[number].head == number;
}

#endif
