/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What passes over implicit host waits share.
 */
#ifndef CUFENCE_PASS_WAITS_H
#define CUFENCE_PASS_WAITS_H

#include "pass.h"

/* An instance for each avoidable implicit wait whose call fulfils condition, an SQL expression
 * over call c and call_type t. */
int pass_add_waits(struct db *db, struct findings *findings, enum rule rule,
	const char *condition);

/* "cudaFree waited 3.2 ms for kernel 'stencil' on stream 14" */
int pass_say_waited(struct words *words, const struct instance *worst, FILE *out);

#endif
