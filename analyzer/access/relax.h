/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run's waits are needed for: the run is followed several times at once, as it was and
 * without some of its waits, and each pair of operations that shares memory and loses its order is
 * reported.  Who loses none can do without the waits, as far as cufence sees.
 *
 * Shared memory is decided by allocation, for copies and for the words of launches, unless it is
 * known all that both do with it and that neither writes what the other uses (access.h); an
 * operation whose memory is not known (a graph made before the trace) shares with all.  Of a
 * stream's operations on one allocation the last TOUCHED_DEPTH are remembered; where an older one
 * may matter that is said, too.
 *
 * whatif/needs.c walks over the run and hands on its calls: relax_all(), or for a wait that is left
 * out relax_without() and whatever it wants that order to know (order_cover.h).
 */
#ifndef CUFENCE_RELAX_H
#define CUFENCE_RELAX_H

#include "access.h"
#include "db.h"
#include "host_view.h"
#include "order_reaches.h"
#include "run_columns.h"
#include "touched.h"
#include "walk.h"

/* What of an operation the host may look at. */
enum relax_shown {
	SHOWN_NOTHING,
	SHOWN_MAYBE, /* of a kernel it is not known where it writes, and there is such memory */
	SHOWN,
};

/* An order without some waits. */
struct relax_loose {
	int is_followed;
	struct order order;
	struct order_reaches reaches; /* of the present call */
};

/* An operation that was reported with the present one. */
struct relax_reported {
	uint64_t step;
	int64_t call;
	unsigned without;
};

/* Something that the present call touches. */
struct relax_key {
	int64_t id;
	unsigned after_all; /* of touched_note() */
};

#define RELAX_REPORTED 1024

struct relax {
	struct order full;
	struct order_reaches full_reaches;
	struct relax_loose loose[WITHOUT_COUNT];
	struct relax_reported reported[RELAX_REPORTED]; /* by call */
	/* later's operation is ordered after earlier's in full and not without these waits;
	 * earlier NULL: after one that is not remembered, perhaps.  -1 stops. */
	int (*lost)(void *arg, enum without without, const struct walk_call *later,
		const struct touch *earlier);
	void *arg;
	struct host_view view;
	struct touched memory; /* by memory; see relax.c */
	struct touched shown;  /* by process and how sure */
	struct touched work;   /* by stream */
	const struct run *run;
	struct run_cursor operands, freed, launches;
	uint32_t *user;        /* by memory the stream that uses it alone + 1; 0: none does */
	struct relax_key *key; /* what the present call touches, and another stream, too */
	size_t key_count;
	int names_memory; /* the present call does */
	struct access_reader *reader;
	int reaches;            /* some kernel does what it was not given memory for */
	int graphs_known;       /* all that graphs do is on the device, and named */
	enum relax_shown shows; /* of the last call that submitted */
};

/* While the run is analyzed; 0, or -1 after a message; relax_release() in both cases. */
int relax_init(struct relax *relax, struct db *db);
void relax_release(struct relax *relax);

/* The order was given up at this call (order.h), 0: none.  No pair is reported from there on: a
 * pair without a conflict so far may still need its order. */
int64_t relax_given_up(const struct relax *relax);

/* The next call, seen by all orders; pairs that lose their order are reported. */
int relax_all(struct relax *relax, const struct walk_call *call);

/* The next call, seen by full and by the other orders but one: it submits no operation. */
int relax_without(struct relax *relax, enum without without, const struct walk_call *call);

/* Of the call that relax_all() has seen last, while pairs are reported and after: 1 if a point that
 * full gave is surely before its operation; and if another one is without these waits. */
int relax_is_before(struct relax *relax, const struct order_epoch *epoch);
int relax_is_before_without(struct relax *relax, enum without without, const struct touch *touch);
/* Likewise whether all that its context had come to up to that point is. */
int relax_is_after_set(struct relax *relax, enum without without, const struct order_epoch *last);

/* The operations of a process that the host may look at, or perhaps may; NULL: there are none. */
const struct touched_thing *relax_shown_of(const struct relax *relax, int64_t process,
	enum relax_shown shown);

/* The operation that a call submitted, if it is one of the last of its stream; else NULL. */
const struct touch *relax_find(const struct relax *relax, int64_t stream, int64_t call);

/* The last one of a stream; NULL: nothing was submitted to it. */
const struct touch *relax_last(const struct relax *relax, int64_t stream);

/* A copy whose result the host may look at. */
int relax_fetches(const struct walk_call *call);

#endif
