/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The streams that use an allocation, with their last use in the run.  An access need be kept only
 * while a stream uses the memory later that is not ordered after it: an allocator's segment, or the
 * memory of a graph, that one stream uses from some point on needs no history.
 */
#ifndef CUFENCE_USERS_H
#define CUFENCE_USERS_H

#include "history.h"
#include "order.h"

/*
 * Limit of streams with a mark each.  Memory with more keeps all accesses, up to the limit of its
 * history.
 */
#define USERS_MOST 64

struct user {
	uint32_t stream;
	uint32_t last;    /* its last call that uses the memory */
	uint32_t present; /* the last one processed so far */
};

struct users {
	struct user *user;
	uint32_t count, room, recent; /* recent: index of the user last looked up */
	/*
	 * Any operation may use it, in any stream order: too many streams, reads out of stream
	 * order, kernels that begin early, graph memory.
	 */
	int any;
};

/* Adds a use to come; any: as in struct users.  Returns 0, or -1 after a message. */
int users_add(struct users *users, uint32_t stream, uint32_t call, int any);

/* Notes that the operation of a call uses the memory. */
void users_note(struct users *users, const struct operation_point *now);

/* Returns 1 if the stream has used the memory after a call, or may have: USERS_MOST. */
int users_have_used(const struct users *users, int64_t stream, int64_t since);

/* Returns 1 if no other stream than that of the current operation uses the memory from it on. */
int users_are_gone(const struct users *users, const struct operation_point *now);

/* Returns 1 if all uses from a call on surely come after an earlier operation. */
int users_follow(const struct users *users, const struct order *order, int64_t process,
	int64_t call, const struct operation_point *earlier);

void users_release(struct users *users);

#endif
