/* SPDX-License-Identifier: Apache-2.0 */
/* The meaning of rows of table loss, and whether they make a trace incomplete. */
#ifndef CUFENCE_LOSSES_H
#define CUFENCE_LOSSES_H

#include "db.h"

enum loss_effect {
	LOSS_NOTE,       /* findings are as complete as the text says */
	LOSS_OPERATIONS, /* the same, but calls are complete */
	LOSS_INCOMPLETE, /* findings may be missing or wrong because of it */
	LOSS_FAILED,     /* the run failed: it says nothing about the program */
};

struct loss {
	const char *reason; /* loss.reason */
	enum loss_effect effect;
	const char *text; /* "%lld" stands for the count, "%s" for one of ns */
};

/* Returns NULL for a reason of a later version, which counts as incomplete. */
const struct loss *loss_find(const char *reason);

/* Returns the text for that count; NULL: nothing is said. */
const char *loss_wording(const struct loss *loss, int64_t count);

/*
 * Returns the gravest effect of all losses (a reason of a later version: LOSS_INCOMPLETE), or -1
 * after a message.
 */
int losses_effect(struct db *db);

/* Returns the effect of a reason. */
enum loss_effect loss_effect(const char *reason);

#endif
