/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two runs of a program: the places of findings with the same fingerprint are the same, and what
 * they cost is compared for a turn of the loop, where both runs have one, else for the run.
 *
 * Worse is what is new and shown, what costs more by a part that is not noise, and a fence that is
 * missing with more confidence than before.
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
