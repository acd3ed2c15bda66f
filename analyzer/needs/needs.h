/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds what the waits of a run were needed for.  The run is followed once, with its waits and
 * without them (needs_internal.h): without those of the host, and without those of streams
 * for events.  A wait is needed for each pair of operations that shares memory and loses its order,
 * and for each result that the host may read.
 *
 * A wait of the host is needed for results that it is the first to complete.  A pair needs the last
 * wait that its later operation is ordered after and that covers the earlier one; if that is too
 * long ago to be known, all waits that may be it.  See needs_host.c and needs_events.c.
 *
 * Waits at unknown sites remain in the order: nobody could change them.
 */
#ifndef CUFENCE_NEEDS_H
#define CUFENCE_NEEDS_H

#include "access.h"
#include "id_map.h"
#include "map.h"
#include "run_columns.h"
#include "walk.h"

/*
 * Finds whether the host may access results of an operation: then it has to wait for the operation.
 * Unknown counts as yes.
 */
/* Empty when zero-initialized. */
struct host_view {
	const struct run *run;
	/* process -> 1 + the first call that allocated host memory, 0: its device accesses all */
	struct map memory;
	struct map strays;   /* shapes of launches that access an address in no known allocation */
	struct map once;     /* copies from bytes of host memory that no later call names */
	struct map printers; /* kernels that print, or may print */
	struct map barriers; /* launches of which the end says that other ranks have come */
	struct map others;   /* processes whose memory others may use: enum host_view_others */
	struct map within;   /* sites within NCCL and libraries for mathematics */
};

/*
 * Do others use a process's device memory in an order of their own?  These are processes that share
 * its memory or run at the same time, other interfaces, and network cards and files, which
 * libraries allow to access it without a CUDA call.
 */
enum host_view_others {
	OTHERS_NONE,
	/* a library for that is a part of a framework, or may have been loaded; NCCL's peers */
	OTHERS_LOADED,
	OTHERS_MAY,
};

/* Returns 0, or -1 after a message; host_view_release() in both cases. */
int host_view_find(struct host_view *view, struct db *db);
void host_view_release(struct host_view *view);

/* Whether the host may access results of an operation, or refill its source. */
enum host_view_shown {
	SHOWN_NOTHING,
	SHOWN_MAYBE, /* a kernel with unknown writes; there is memory that host and device share */
	SHOWN,       /* by the memory that it names, or a kernel that prints */
};

/*
 * Returns an enum host_view_shown.  shown: the memory that the operation names suggests so.  The
 * source of a copy does not count if no later call names one of its bytes.  Returns -1
 * after a message.
 */
int host_view_may_read(const struct host_view *view, struct access_reader *reader,
	const struct walk_call *call, int shown);

#define NEEDS_BESIDE 8

/* Who else waits explicitly for a result that a wait was the first to complete: bits. */
enum wait_again {
	AGAIN_LATER = 1,     /* the same thread, before the result's stream has the next one */
	AGAIN_OTHER = 2,     /* another thread, to which it may be handed over */
	AGAIN_SUBMITTER = 4, /* another thread, which submitted it */
	AGAIN_ROW = 8,       /* the same thread, with nothing submitted in between */
};

/*
 * A wait of the host: explicit, or a loop of queries that ended in success.  Calls are row ids, 0:
 * none; times in ns.
 */
struct host_wait {
	uint32_t call, site, process;
	uint32_t behind; /* its call with the latest end, of work it was first to wait for */
	uint32_t needed; /* the last call whose operation the host needs complete ... */
	uint32_t upload; /* the thread's work before it, if one Async copy to the device */
	/* Later waits for the same work, with no work submitted between. */
	uint32_t also[NEEDS_BESIDE];
	int64_t enter, exit; /* enter: of a loop's first query */
	int64_t behind_end;
	int64_t until;      /* ... and that operation's end; INT64_MIN: the host needs nothing */
	int64_t usable;     /* ns that the thread could have used: its own time until its next
			  * wait, and work that need not come after what it waited for */
	int64_t until_also; /* part of usable before the first of also */
	/*
	 * Latest end of earlier operations of pairs that need the wait.  INT64_MIN: no pair does,
	 * INT64_MAX: perhaps one with any operation.
	 */
	int64_t ordered_end;
	uint32_t ordered;
	/* The site of the next wait, if that orders such pairs without work to wait for. */
	uint32_t stand_in;
	int64_t stand_in_end;
	/* The call of the wait for the same work that this one replaces; 0: none. */
	uint32_t replaces;
	/*
	 * Results that others wait for, too (enum wait_again), their latest end and that of the
	 * rest, of which once is the last; INT64_MIN: none.  They do not count as needed here.
	 */
	uint32_t once;
	int64_t again_end, once_end;
	uint8_t again;
	uint8_t looked; /* the host may read a result */
	uint8_t maybe;  /* some kernel may have written one */
	uint8_t timed;  /* it lies between records of events whose elapsed time the program reads */
	uint8_t elapsed; /* an elapsed time is read that needs the wait */
	uint8_t freed;   /* a call that does not wait frees memory or an object after it */
	uint8_t watches; /* its thread had submitted nothing since its last one */
	/* Work was still in progress when it returned, and when the rest of its row did. */
	uint8_t keeps;
	/* Before or after it a thread submitted work that no device orders after another one's. */
	uint8_t apart;
	uint8_t uploads; /* its thread had submitted copies from pageable memory since its last */
	/* Work that it was the first wait for, or its thread's next, is_unproven. */
	uint8_t unproven;
	/* It keeps a pair in order that no stream's wait could, as far as is known. */
	uint8_t unfenced;
};

/* A stream's wait for an event, and the operation that it delayed most. */
struct event_wait {
	int64_t call, process;
	int64_t behind, behind_end; /* the call whose operation completed last */
	int64_t ready;              /* when the delayed operation could have started without the
				     * wait */
	int64_t needed; /* latest end of work it is needed for, WALK_NEVER: all, 0: none */
	/* Waits that delayed the same operation: first is the one that delayed it most. */
	struct event_wait *first, *beside[NEEDS_BESIDE];
	size_t beside_count; /* number of waits in beside, for the first */
};

/* What is known of the work of a process. */
struct needs_process {
	int64_t last;  /* its last call that submitted work */
	int64_t busy;  /* latest known end of its operations so far */
	size_t latest; /* number of its last wait */
	uint8_t apart; /* threads went on apart since that */
	enum host_view_others others;
};

/* Zero-initialized is empty. */
struct needs {
	struct host_wait *host; /* sorted by call */
	size_t host_count;
	struct id_map events;    /* call -> struct event_wait */
	struct id_map processes; /* struct needs_process */
	int host_is_known;       /* 0: all waits of the host may be needed */
	int events_are_known;
};

/* Returns the wait that ends with a call, NULL if it is none. */
const struct host_wait *needs_host_at(const struct needs *needs, int64_t call);

/* Does anything need the wait? */
static inline int needs_wait(const struct host_wait *wait)
{
	return wait->looked || wait->ordered_end != INT64_MIN || wait->freed ||
		wait->until != INT64_MIN;
}

/*
 * Is all that needs it the order of operations that are known, of which its thread submits the
 * later one?  Then streams can wait for events instead: run_evidence.fence has the pairs.
 */
static inline int needs_fence(const struct host_wait *wait)
{
	return wait->ordered && wait->until == INT64_MIN && !wait->looked && !wait->freed &&
		!wait->unfenced && wait->ordered_end != INT64_MAX;
}

/* Is a wait without pending work needed because the one that waited for it may be left out? */
int needs_replacement(const struct needs *needs, int64_t call);

/*
 * For a run with its evidence.  Returns 0, or -1 after a message; call needs_release() in both
 * cases.
 */
int needs_find(struct needs *needs, struct db *db);
void needs_release(struct needs *needs);

#endif
