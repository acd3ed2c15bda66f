/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run's order is needed for: the run is followed twice at once, as it was and without some
 * of its waits, and each pair of operations that shares memory and loses its order is reported.
 * Who loses none can do without the waits, as far as cufence sees.
 *
 * Shared memory is decided by allocation, for copies and for the words of launches, unless it is
 * known all that both do with it and that neither writes what the other uses (access.h); an
 * operation whose memory is not known (a graph made before the trace) shares with all.  Of the
 * operations of a stream on one allocation the last RELAX_DEPTH are remembered; where an older one
 * may matter that is said, too.
 *
 * A pass walks over the run once more and hands on its calls: relax_both(), or for a call that is
 * to be left out or replaced relax_full() and whatever it wants the other order to see.
 */
#ifndef CUFENCE_RELAX_H
#define CUFENCE_RELAX_H

#include "access.h"
#include "db.h"
#include "order.h"
#include "order_reaches.h"
#include "run_columns.h"
#include "walk.h"

#define RELAX_DEPTH 64

/* An operation that touched something. */
struct touch {
	int64_t call, stream;
	int64_t end;                    /* ns, WALK_NEVER: unknown; of what takes no time itself
	                                  * (an allocation) the end of what it comes after */
	struct order_epoch full, loose; /* for order_before() of each order */
	int is_access;                  /* access.h knows what it is, if anybody does */
	int slot;                       /* its place among the last RELAX_DEPTH of its stream */
};

/* An operation that was reported with the present one. */
struct relax_reported {
	uint64_t step;
	int64_t call;
};

#define RELAX_REPORTED 1024

struct relax {
	struct order full, loose;
	struct order_reaches full_reaches, loose_reaches; /* of the present call */
	struct relax_reported reported[RELAX_REPORTED];   /* by call */
	/* later's operation is ordered after earlier's in full and not in loose; earlier NULL:
	 * after one that is not remembered, perhaps.  -1 stops. */
	int (*lost)(void *arg, const struct walk_call *later, const struct touch *earlier);
	/* NULL, or told of each copy to the host before either order sees it: relax_visit_named()
	 * visits who touched its memory. */
	int (*fetched)(void *arg, const struct walk_call *copy);
	/* NULL, or decides whether the host may look at what an operation does, of which shown says
	 * what is thought otherwise; -1 stops. */
	int (*shows)(void *arg, const struct walk_call *call, int shown);
	void *arg;
	struct idmap touched; /* allocation -> who touched it; see relax.c */
	const struct run *run;
	struct run_cursor operands, freed, launches;
	int64_t *key; /* what the present call touches */
	size_t key_count;
	struct access_reader *reader;
	int reaches;      /* some kernel does what it was not given memory for */
	int graphs_known; /* all that graphs do is on the device, and named */
	int host_slot;    /* of the last call as one the host may look at, or -1 */
};

/* While the run is analyzed; 0, or -1 after a message; relax_release() in both cases. */
int relax_init(struct relax *relax, struct db *db);
void relax_release(struct relax *relax);

/* An order was given up at this call (order.h), 0: none.  No pair is reported from there on:
 * what has lost none until then may need its order still. */
int64_t relax_given_up(const struct relax *relax);

/* The next call, seen by both orders; pairs that lose their order are reported. */
int relax_both(struct relax *relax, const struct walk_call *call);

/* While a pair is reported: 1 if a point that full gave is surely before the later operation. */
int relax_is_before(struct relax *relax, const struct order_epoch *epoch);

/* The next call, seen by full alone: one that submits no operation. */
int relax_full(struct relax *relax, const struct walk_call *call);

/*
 * In place of a call, the loose order sees an event of the operation that is remembered there: its
 * record behind it, or a wait.
 */
int relax_event(struct relax *relax, const struct walk_call *call, enum call_kind kind,
	int64_t stream, int slot);

/*
 * Calls visit, which may stop by -1, for the last operation in each stream that the host may look
 * at and for which before() is true; before() is monotone: true of all earlier ones, then.  NULL
 * stands for operations of too many streams to remember.
 */
struct relax_visitor {
	int (*before)(void *arg, const struct touch *touch);
	int (*visit)(void *arg, const struct touch *touch);
	void *arg;
};
int relax_visit_host(const struct relax *relax, const struct relax_visitor *visitor);

/* The same for the last operations on the memory of the copy that fetched() is told of. */
int relax_visit_named(const struct relax *relax, const struct relax_visitor *visitor);

/* A copy whose result the host may look at. */
int relax_fetches(const struct walk_call *call);

#endif
