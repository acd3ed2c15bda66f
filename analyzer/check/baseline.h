/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A baseline: the findings of a program that are accepted until they are fixed, in a file that is
 * kept with it.  It has a line for each place of a finding, with columns separated by tabs:
 *
 *	fingerprint  rule  place "at"  place "for"  what it cost
 *
 * Only the fingerprint is read, the rest is for people.  Empty lines and lines that begin with #
 * are ignored.
 */
#ifndef CUFENCE_BASELINE_H
#define CUFENCE_BASELINE_H

#include "db.h"

/* Reads a baseline into temp.baseline.  0, or -1 after a message. */
int baseline_read(struct db *db, const char *path);

/* Writes all places that no suppression accepts; temp.verdict must be filled.  Returns how many, or
 * -1 after a message. */
int64_t baseline_write(struct db *db, const char *path);

#endif
