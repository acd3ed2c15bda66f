/* SPDX-License-Identifier: Apache-2.0 */
/* The database of running processes: what their traces hold now. */
#ifndef CUFENCE_SNAPSHOT_H
#define CUFENCE_SNAPSHOT_H

#include "traced.h"

struct annotations;

/*
 * Asks for what CUPTI holds, and analyzes the traces.  annotations: the user's, or NULL.  Returns
 * 0, or -1 after a message.
 */
int snapshot_build(const struct traced_list *list, const char *database,
	const struct annotations *annotations);

#endif
