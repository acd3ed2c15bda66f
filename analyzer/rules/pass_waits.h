/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by passes about waits of the host.
 */
#ifndef CUFENCE_PASS_WAITS_H
#define CUFENCE_PASS_WAITS_H

#include "ids.h"
#include "pass.h"

/* A wait, its call, the call's arguments, and the call that submitted the work it waited for. */
struct waited {
	const struct run_wait *wait;
	const struct run_call *call;
	const struct run_payload *payload;
	uint32_t behind;
};

/* An Async copy to the device that its own line waits for, as in PyTorch's .to(). */
int waited_is_upload(const struct waited *waited);

typedef int waited_filter(const struct pass_input *input, const struct waited *waited);

/*
 * Adds an instance for each avoidable wait that the filter selects, except those blocked by another
 * thread's call.
 */
int pass_add_waits(const struct pass_input *input, struct findings *findings, enum rule rule,
	waited_filter *filter);

/* "cudaFree waited 3.2 ms for kernel 'stencil' on stream 14" */
int pass_say_waited(struct words *words, const struct instance *worst, FILE *out);

/*
 * How surely the waits of one place serve nothing but the results and the order that needs.h knows
 * of.  Documented purposes of a wait besides these are to see errors, to bound how far the host
 * runs ahead, and to read a clock; and what others do with memory is not recorded.
 */
/* What is known of waits: their number, and that of those with each evidence. */
struct wait_tally {
	int64_t waits;
	int64_t others;   /* for work that another thread submitted ... */
	int64_t watches;  /* ... by a thread that submitted nothing since its last wait */
	int64_t apart;    /* another thread went on with work that no device orders after them */
	int64_t again;    /* another thread waits for the same result, too */
	int64_t unknown;  /* a kernel may have written what the host reads */
	int64_t keeps;    /* work was still in progress afterwards */
	int64_t uploads;  /* for copies from pageable memory */
	int64_t timed;    /* among records of events whose times are read */
	int64_t clocks;   /* a clock was read right after */
	int64_t unproven; /* for or before work whose accesses are not known from a call or PTX */
	int below_copy;   /* a library makes them in a script's line that copies to the device */
};

/* The waits after which the program read a clock, for ids_read(). */
#define WAIT_CLOCKS_SQL "SELECT call FROM wait_clock"

void wait_tally_add(struct wait_tally *tally, const struct run *run, const struct map *clocks,
	const struct host_wait *wait);

/* Returns how surely these waits serve nothing else. */
enum confidence wait_verdict(const struct wait_tally *tally, const struct needs_process *process);

#endif
