/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of a program and accepted until it is fixed, a file that is kept with it: a line
 * for each place of a finding, its columns separated by tabs:
 *
 *	fingerprint  rule  place "at"  place "for"  what it cost
 *
 * Only the fingerprint is read, the rest is for people.  Empty lines and what begins with # are
 * left out.
 */
#ifndef CUFENCE_BASELINE_H
#define CUFENCE_BASELINE_H

#include "db.h"

/* Into temp.baseline.  0, or -1 after a message. */
int baseline_read(struct db *db, const char *path);

/* All places that no suppression accepts, once temp.verdict is filled: how many, or -1 after a
 * message. */
int64_t baseline_write(struct db *db, const char *path);

#endif
