/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The places whose waits pass_broad_sync.c tries to make narrower, all at once, or one by one where
 * one of them may have spoiled it for the others.  Once alone, and once with the second places:
 * those of waits that returned at once because one of the place had waited before.
 */
#ifndef CUFENCE_BROAD_PLACES_H
#define CUFENCE_BROAD_PLACES_H

#include <stddef.h>
#include <stdint.h>

#include "findings.h"
#include "idmap.h"

#define BROAD_SECONDS 4

struct broad_place {
	int64_t waits;        /* in table wait */
	int64_t broad;        /* longer than for what the host uses, at a cost */
	int narrowed, needed; /* tried now; some order was lost */
	int told;             /* there are findings */
	struct broad_place *second[BROAD_SECONDS];
	size_t second_count;
};

/* Zero-initialized is empty. */
struct broad_places {
	struct idmap map;                /* struct broad_place, by findings_place() */
	int with_seconds;                /* those that have some are tried with them */
	const struct broad_place *alone; /* the only place that is tried, or NULL */
};

/* The place of a call: made if need be, NULL after a message; NULL if there is none. */
struct broad_place *broad_place_need(struct broad_places *places, struct findings *findings,
	int64_t call);
struct broad_place *broad_place_get(const struct broad_places *places, struct findings *findings,
	int64_t call);

void broad_place_add_second(struct broad_place *place, struct broad_place *second);

/* Some order was lost: whichever is narrowed may be needed as it is. */
void broad_places_spoil(struct broad_places *places);

/* Its waits can be narrower. */
int broad_place_is_found(const struct broad_place *place);

/*
 * Chooses places to be tried: those not hopeless, or only the nth of those that may have been
 * spoiled by another one.  Their number.
 */
int broad_places_choose(struct broad_places *places, int alone);

/* What is known of those that were chosen. */
void broad_places_forget(struct broad_places *places);

/* From now on those that have second places are tried, with them; 0: there are none. */
int broad_places_take_seconds(struct broad_places *places);

void broad_places_release(struct broad_places *places);

#endif
