/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long the host waited for the device in all, by process and kind (table wait_use): what table
 * wait has, and what is no row there, as nobody could change it or it is too short to be sure of by
 * itself.
 */
#ifndef CUFENCE_WAIT_USE_H
#define CUFENCE_WAIT_USE_H

#include "db.h"
#include "idmap.h"
#include "run_evidence.h"

/* Besides enum wait_kind: loops of queries. */
#define WAIT_USE_POLLING (WAIT_STAGED + 1)

/* Zero-initialized is empty. */
struct wait_uses {
	struct idmap use; /* struct wait_use, by process and kind */
};

/* One more, of so many ns; 0, or -1 after a message. */
int wait_use_add(struct wait_uses *uses, int64_t process, int kind, int64_t waited);

/* Adds the rows of table wait, copies through a staging buffer and loops of queries, and fills the
 * table; 0, or -1 after a message. */
int wait_use_store(struct wait_uses *uses, struct db *db);

void wait_use_release(struct wait_uses *uses);

#endif
