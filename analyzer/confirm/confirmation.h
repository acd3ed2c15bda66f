/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The result of an attempt to confirm a race: a verdict and a sentence.  The database keeps it by
 * the fingerprint of the finding's place, which outlives "cufence analyze".
 */
#ifndef CUFENCE_CONFIRMATION_H
#define CUFENCE_CONFIRMATION_H

#include <stdio.h>

#include "pair.h"

/* The surest first. */
enum confirmed {
	CONFIRMED, /* the consumer ran first, or the output was another one, on the same bytes */
	ORDER_MISSING, /* the consumer ran first, but it is not shown that the bytes are the same */
	CONFIRMED_NOT, /* neither */
	NOT_APPLICABLE, /* it could not be tried */
};

struct confirmation {
	enum confirmed verdict;
	int tries;      /* in which the producer was held, or both ran */
	int first;      /* ... and the consumer ran first */
	int same_bytes; /* ... or not, and both surely accessed the same bytes */
	int both;       /* ... and both is true */
	char *text;
};

/* A race that was not tried, and why. */
int confirmation_refuse(struct confirmation *confirmation, const char *why);

/* Returns 1 if a producer was held. */
int confirmation_was_held(const struct hold_plan *plan);

/*
 * Reads the result from the plan, after the program has run with it, and from the database of that
 * run, which is needed if a producer was held.
 */
int confirmation_of_plan(struct confirmation *confirmation, const struct pair *pair,
	const struct hold_plan *plan, struct db *run);

/* Reads from the database of another run whether the two ran at the same time, on what bytes. */
int confirmation_of_run(struct confirmation *confirmation, const struct pair *pair, struct db *db);

/* The second of two runs was with more hardware queues. */
int confirmation_add_queues(struct confirmation *confirmation, const struct pair *pair,
	const char *connections);

/* Nothing was seen to run first, but the outputs were compared: differs 1: the held run had another
 * one than two runs without; -1: these differ as well. */
int confirmation_add_output(struct confirmation *confirmation, const struct pair *pair,
	int differs);

/* "confirmed: ..." */
void confirmation_print(const struct confirmation *confirmation, FILE *out);
/* "confirmed: 1 of 2 places": so many of a finding's places had the surest answer. */
void confirmation_print_places(enum confirmed verdict, int count, int of, FILE *out);
int confirmation_store(const struct confirmation *confirmation, const struct pair *pair,
	struct db *db);
void confirmation_release(struct confirmation *confirmation);

#endif
