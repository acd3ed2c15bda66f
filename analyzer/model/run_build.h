/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fills the columns of a run: load does while it writes the same rows to the database, run_open()
 * from one.  Rows come in the order of their ids.  What there is more of than run_new() was told is
 * left out, and the run is then to be read from the database.
 */
#ifndef CUFENCE_RUN_BUILD_H
#define CUFENCE_RUN_BUILD_H

#include "run_columns.h"

/* How many rows there may be. */
struct run_room {
	uint64_t calls, works, operands, launches;
};

/* An empty one; NULL after a message. */
struct run *run_new(const struct run_room *room);

/* The most that traces of so many bytes may have; but launches of graphs name any number. */
struct run_room run_room_of(uint64_t bytes);

struct run_call_facts {
	uint32_t id, parent, site, thread, stream, type;
	enum call_kind kind;
	int64_t enter, exit; /* ns; exit RUN_NEVER: NULL */
	int returned;
	int64_t direction;          /* as recorded, COPY_DEFAULT: NULL */
	struct run_payload payload; /* zeroed before it was filled; without direction */
};

struct run_work_facts {
	uint32_t id, call;
	int64_t start, end;     /* ns, RUN_NEVER: NULL */
	struct run_where where; /* likewise zeroed */
};

/* run_payload.pageable, by the addresses of a copy's ends and the memory they are in. */
static inline int64_t run_pageable(const struct run_payload *payload, int64_t dst, int64_t src)
{
	if ((payload->src == MEMORY_PAGEABLE) == (payload->dst == MEMORY_PAGEABLE))
		return 0;
	return payload->src == MEMORY_PAGEABLE ? src : dst;
}

/* Each 0, or -1 after a message. */
int run_add_call(struct run *run, const struct run_call_facts *facts);
int run_add_work(struct run *run, const struct run_work_facts *facts);
int run_add_operand(struct run *run, const struct run_operand *operand);
int run_add_launch(struct run *run, uint32_t call, uint32_t shape);

/* Whether a launch of a graph has operations other than its own, so far: 1, 0, or -1: the run does
 * not say, as rows were left out. */
int run_is_by_node(const struct run *run);

/*
 * Reads what else there is from the database and puts all in order: nothing is added from here on.
 * 1 where rows were left out, -1 after a message.
 */
int run_complete(struct run *run, struct db *db);

#endif
