/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blocking-copy: a synchronous copy or memset made the host wait for other work, or an Async copy
 * to the host and the wait for it come from one line of the program, as in PyTorch's .item().
 * "For transfers from pageable host memory to device memory, a stream sync is performed before the
 * copy is initiated", "memset functions are asynchronous [...] except when the target is pinned
 * host memory" (CUDA runtime API, "API synchronization behavior"); that the stream meant is the
 * legacy one, and with it all blocking streams, was measured.  Its own transfer is what such a
 * copy is for, and no finding.
 */
#include "kinds.h"
#include "pass_waits.h"

static int run(struct db *db, struct findings *findings)
{
	return pass_add_waits(db, findings, RULE_blocking_copy,
		"(" IS_SYNC("t") " OR (w.partner NOT NULL AND (" IS_ASYNC_COPY("t")
		" OR w.kind = 'explicit'))) "
		"AND o.call NOT IN (w.call, ifnull(w.partner, w.call))");
}

const struct pass pass_blocking_copy = { .run = run, .say = pass_say_waited };
