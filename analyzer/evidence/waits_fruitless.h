/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long the host waited, at a glance, for what brought it no results: whether it is worth to
 * ask more exactly.  Takes one look at each call.
 */
#ifndef CUFENCE_WAITS_FRUITLESS_H
#define CUFENCE_WAITS_FRUITLESS_H

#include "polls.h"
#include "run_columns.h"

/* 1: so long that it may be a finding; 0; -1 after a message. */
int waits_are_fruitless(const struct run *run, const struct polls *polls);

#endif
