/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares two runs of a program.  Places with the same fingerprint are the same place.  Their
 * costs are compared per turn of the loop if both runs have one, else per run.
 *
 * Worse are: a new place that is shown, a cost that grew by more than noise, and a missing fence
 * with a higher confidence than before.
 */
#ifndef CUFENCE_DIFF_H
#define CUFENCE_DIFF_H

#include <stdio.h>

#include "db.h"

/* Fills temp.change of after.  0, or -1 after a message. */
int diff_read(struct db *before, struct db *after);

/* Each writes temp.change: 0, or -1 after a message. */
int diff_print(struct db *after, FILE *out);
int diff_json(struct db *after, FILE *out);

#endif
