/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the waits of a run were needed for.  The run is followed once, as it was and without its
 * waits (relax.h): without those of the host, and without those of streams for events.  Each pair
 * of operations that shares memory and loses its order, and each result that the host may look at,
 * is what some wait was needed for.
 *
 * A wait of the host is for what it was the first to bring.  A pair needs the last wait that its
 * later operation is after and that covers the earlier one; where it is too long ago to say which
 * one that is, all that may be.  needs_host.c, needs_events.c.
 *
 * Waits at sites that are not known stay in the order: nobody could change them.
 */
#ifndef CUFENCE_NEEDS_H
#define CUFENCE_NEEDS_H

#include "idmap.h"
#include "map.h"
#include "run_columns.h"

#define NEEDS_BESIDE 8

/* A wait of the host: explicit, or a loop of queries that came through.  Calls are row ids, 0:
 * none; times in ns. */
struct host_wait {
	uint32_t call, site, process;
	uint32_t behind; /* the call whose operation ended last of what it was the first to wait
			  * for; 0: of nothing */
	uint32_t needed; /* the host needs nothing later than this call's operation ... */
	uint32_t upload; /* the thread's work before it, if that is one Async copy to the device */
	uint32_t also[NEEDS_BESIDE]; /* later waits, without work between, for the same work */
	int64_t enter, exit;         /* enter: of the loop's first query */
	int64_t behind_end;
	int64_t until;      /* ... which ended then; INT64_MIN: the host needs nothing */
	int64_t usable;     /* what the thread could have done meanwhile: its own time until its
			    * next wait, and work that need not come after what it was for */
	int64_t until_also; /* of that, until the first of also */
	/* Pairs of operations need it: the end of the last of the earlier ones, and its call.
	 * INT64_MIN: no pair does, INT64_MAX: perhaps one with any operation. */
	int64_t ordered_end;
	uint32_t ordered;
	uint8_t looked;  /* there is a result that the host may look at */
	uint8_t maybe;   /* some kernel may have written one */
	uint8_t timed;   /* between records of events whose elapsed time the program asks for */
	uint8_t elapsed; /* an elapsed time is read that needs the wait */
	uint8_t freed;   /* memory or an object is freed after it by a call that does not wait */
	uint8_t apart;   /* it kept work of an idle stream back that need not come after */
};

/* A stream's wait for an event, and the operation that it delayed most. */
struct event_wait {
	int64_t call, process;
	int64_t behind, behind_end; /* the call whose operation completed last */
	int64_t ready;              /* when the delayed operation could have started without the
				     * wait */
	int64_t needed; /* when the last of what it is needed for ended, WALK_NEVER: all of it,
			 * 0: it is needed for nothing */
	/* Waits that delayed the same operation: first is the one that delayed it most. */
	struct event_wait *first, *beside[NEEDS_BESIDE];
	size_t beside_count; /* of the first */
};

struct needs_process {
	int64_t submitter; /* the thread that submits, -1: several do */
	int64_t last;      /* call that submitted */
	int has_others;    /* others may use its memory (host_view.h) */
};

/* Zero-initialized is empty. */
struct needs {
	struct host_wait *host; /* in order of call */
	size_t host_count;
	struct idmap events;    /* call -> struct event_wait */
	struct idmap processes; /* struct needs_process */
	int host_is_known;      /* 0: waits of the host may all be needed */
	int events_are_known;
};

/* Of a run with its evidence; 0, or -1 after a message; needs_release() in both cases. */
int needs_find(struct needs *needs, struct db *db);
void needs_release(struct needs *needs);

#endif
