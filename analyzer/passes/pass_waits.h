/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What passes over implicit host waits share.
 */
#ifndef CUFENCE_PASS_WAITS_H
#define CUFENCE_PASS_WAITS_H

#include "pass.h"

/* An instance for each row: process, call, other call, cost, saving, a call that is mended too, not
 * 0 if so are those that would wait in its place: 2 Async copies, 3 copies to the host, too. */
int pass_add_rows(struct db *db, struct findings *findings, enum rule rule, const char *sql);

/* An instance for each avoidable wait, but those behind another thread, that fulfils condition, an
 * SQL expression over wait w, its call c, call_type t, and operation o that it waited for. */
int pass_add_waits(struct db *db, struct findings *findings, enum rule rule, const char *condition);

/* "cudaFree waited 3.2 ms for kernel 'stencil' on stream 14" */
int pass_say_waited(struct words *words, const struct instance *worst, FILE *out);

#endif
