/* SPDX-License-Identifier: Apache-2.0 */
/* The meaning of rows of table loss, and whether they make a trace incomplete. */
#ifndef CUFENCE_LOSSES_H
#define CUFENCE_LOSSES_H

#include "db.h"

struct loss {
	const char *reason; /* loss.reason */
	int incomplete;     /* 1: findings may be missing or wrong because of it */
	const char *text;   /* "%lld" stands for the count, "%s" for one of ns */
};

/* Returns NULL for a reason of a later version, which counts as incomplete. */
const struct loss *loss_find(const char *reason);

/*
 * Returns the number of reasons why findings may be missing: 0 for a complete trace, -1 after a
 * message.
 */
int losses_incomplete(struct db *db);

#endif
