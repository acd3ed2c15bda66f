/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits that were longer than for what the host uses (pass_broad_sync.c), and what their thread
 * could have made of the time since.
 */
#ifndef CUFENCE_BROAD_CREDIT_H
#define CUFENCE_BROAD_CREDIT_H

#include "broad_places.h"
#include "order.h"

struct credit {
	struct instance instance; /* cost: what the wait is too long, saving: used of that */
	struct broad_place *place;
	struct order_epoch behind; /* what it was too long for */
	int64_t usable;            /* the time since, whichever wait it is credited to */
	int64_t submissions;       /* of its thread, until it */
};

/* The oldest first; zero-initialized is empty. */
struct credits {
	struct credit *credit;
	size_t count;
};

/* 0, or -1 after a message. */
int credits_add(struct credits *credits, const struct credit *credit);

/*
 * The thread had ns of its own or, with an order, of the device for the last stepped operation:
 * the oldest wait that could have left it them comes first.
 */
void credits_use(struct credits *credits, int64_t ns, const struct order *order);

/* How many, from the oldest on, have no time left. */
size_t credits_used_up(const struct credits *credits);

/* Takes out so many, of which those that were worth it go to found; 0, or -1 after a message. */
int credits_settle(struct credits *credits, size_t count, struct credits *found);

void credits_release(struct credits *credits);

#endif
