/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Of how many launches every access is known: where that is less than all, a run without missing
 * fences proves little.
 */
#ifndef CUFENCE_UNSEEN_H
#define CUFENCE_UNSEEN_H

#include "db.h"

/* Fills table kernel_use, which is empty, from db->run.  0, or -1 after a message. */
int unseen_count(struct db *db);

#endif
