/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fills the columns of a run: either while load writes the same rows to the database, or in
 * run_open() from a database.  Rows are added in order of id.  If there are more than run_new()
 * allowed for, the rest is left out, and the run must be read from the database.
 */
#ifndef CUFENCE_RUN_BUILD_H
#define CUFENCE_RUN_BUILD_H

#include "run_columns.h"

/* Maximum numbers of rows. */
struct run_room {
	uint64_t calls, works, operands, launches;
};

/* Returns an empty run; NULL after a message. */
struct run *run_new(const struct run_room *room);

/*
 * Upper limits for traces of so many bytes; launches of graphs may exceed them.  Less where the
 * process may have few addresses (ulimit -v): the columns of so many runs together reserve at most
 * a quarter of them.
 */
struct run_room run_room_of(uint64_t bytes, size_t runs);

struct run_call_facts {
	uint32_t id, parent, site, thread, stream, type;
	enum call_kind kind;
	int64_t enter, exit; /* ns; exit RUN_NEVER: NULL */
	int returned;
	int64_t direction;          /* as recorded, COPY_DEFAULT: NULL */
	struct run_payload payload; /* zeroed before filling; without direction */
};

struct run_work_facts {
	uint32_t id, call;
	int64_t start, end;     /* ns, RUN_NEVER: NULL */
	struct run_where where; /* zeroed before filling */
};

/* run_payload.pageable, from the addresses of a copy's operands and their memory kinds. */
static inline int64_t run_pageable(const struct run_payload *payload, int64_t dst, int64_t src)
{
	if ((payload->src == MEMORY_PAGEABLE) == (payload->dst == MEMORY_PAGEABLE))
		return 0;
	return payload->src == MEMORY_PAGEABLE ? src : dst;
}

/* Each returns 0, or -1 after a message. */
int run_add_call(struct run *run, const struct run_call_facts *facts);
int run_add_work(struct run *run, const struct run_work_facts *facts);
int run_add_operand(struct run *run, const struct run_operand *operand);
int run_add_launch(struct run *run, uint32_t call, uint32_t shape);

/*
 * Adds the rows of another run, none of whose processes this one has, at its end.  Returns 0, or -1
 * after a message.
 */
struct id_shift;
int run_append(struct run *run, const struct run *from, const struct id_shift *shift);

/*
 * Returns whether graph launches have operations of individual nodes so far: 1 or 0, -1: unknown,
 * as rows were left out.
 */
int run_is_by_node(const struct run *run);

/*
 * Reads the remaining tables from the database and sorts everything; nothing can be added
 * afterwards.  Returns 1 if rows were left out, -1 after a message.
 */
int run_complete(struct run *run, struct db *db);

#endif
