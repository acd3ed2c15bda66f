/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results of cufence-probe, read with SQLite's JSON functions: printed as a table and compared with
 * another result.  A result is one JSON object:
 *
 *	cufence_probe  1, the version of this form
 *	system         device, driver, cuda, runtime, compute_capability, busy_ms
 *	rows           name, background, host_ms, nonblocking_ms, blocking_ms, class: a call while a
 *	               kernel of busy_ms runs on a stream of the kind "background" ("own": the
 *	               call's own; "none"); ms in the call, and until kernels launched next on idle
 *	               streams had completed
 *	measured       name, value, unit; some with min and p99, or with a class
 *	errors         name, error: what could not be measured
 *
 * Systems are compared by class only: times differ everywhere.
 */
#ifndef CUFENCE_PROBE_RESULT_H
#define CUFENCE_PROBE_RESULT_H

#include <stdio.h>

#include "db.h"

/* An empty database in memory for two results: 0, or -1 after a message. */
int probe_result_open(struct db *db);

/* Adds one; other: the one to compare with.  subject: what a message calls it. */
int probe_result_add(struct db *db, const char *json, int other, const char *subject);

/* The table for people, and how far it agrees with the other one. */
int probe_result_print(struct db *db, FILE *out);

/* The result measured on an NVIDIA H200 that ships with cufence. */
extern const char probe_result_h200[];

#endif
