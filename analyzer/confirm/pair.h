/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two operations that a race is said to be between, as "cufence confirm" looks for them in another
 * run: the producer, which came first, is held back, the consumer is to run nevertheless.
 */
#ifndef CUFENCE_PAIR_H
#define CUFENCE_PAIR_H

#include "db.h"
#include "hold_plan.h"

/* How it is shown that the consumer does not wait for the producer. */
enum pair_method {
	PAIR_HOLD,    /* the producer's stream is held back */
	PAIR_OVERLAP, /* it cannot be: the two may be seen to run at the same time */
};

struct pair {
	int64_t consumer, producer; /* calls, of the first instance */
	int64_t launch;             /* of the graph whose nodes they are, 0: of none */
	int is_host;                /* the consumer is the program itself */
	int simulated;              /* the run was on the simulated device */
	enum pair_method method;
	const char *why;      /* the producer cannot be held; NULL: it can be */
	const char *obstacle; /* nothing can be shown; NULL: it can be tried */
	char *rule;           /* of the finding; NULL: any two operations */
	char *fingerprint;    /* of its place */
	char *place;          /* "app.cu:44 after app.cu:31" */
	char *names[2];       /* consumer and producer, in words */
	char *kernels[2];     /* their mangled names, of nodes of a graph */
	struct hold_plan plan;
};

/*
 * The ids of the places that a finding shows, in order of worth, to be freed: how many, or -1
 * after a message.
 */
int pair_places(struct db *db, int64_t finding, int64_t **places);

/* The two of a place, with as many instances as one run can try; 0, or -1 after a message. */
int pair_of_place(struct pair *pair, struct db *db, int64_t place);

/* Two operations of the device. */
int pair_of_operations(struct pair *pair, struct db *db, int64_t one, int64_t other);

void pair_release(struct pair *pair);

#endif
