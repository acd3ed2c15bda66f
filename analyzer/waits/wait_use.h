/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Total time that the host waited for the device, by process and kind (table wait_use): the waits
 * of table wait, and those without a row there because nobody could change them or because they are
 * too short to be certain.
 */
#ifndef CUFENCE_WAIT_USE_H
#define CUFENCE_WAIT_USE_H

#include "db.h"
#include "idmap.h"
#include "run_evidence.h"

/* A kind besides enum wait_kind: loops of queries. */
#define WAIT_USE_POLLING (WAIT_STAGED + 1)

/* Zero-initialized is empty. */
struct wait_uses {
	struct idmap use; /* struct wait_use, by process and kind */
};

/* Adds one wait of `waited` ns.  Returns 0, or -1 after a message. */
int wait_use_add(struct wait_uses *uses, int64_t process, int kind, int64_t waited);

/*
 * Adds the rows of table wait, copies through a staging buffer and loops of queries, and fills the
 * table.  Returns 0, or -1 after a message.
 */
int wait_use_store(struct wait_uses *uses, struct db *db);

void wait_use_release(struct wait_uses *uses);

#endif
