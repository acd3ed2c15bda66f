/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Analyzes a copy of the run in memory as if the lines of table temp.patched (file, line: names of
 * files without folders) were changed: their waits do nothing, and streams that they create are
 * non-blocking.
 */
#ifndef CUFENCE_PATCH_TRIAL_H
#define CUFENCE_PATCH_TRIAL_H

#include "db.h"

/* Site s is a line of a file, whatever folder the file's name begins with. */
#define AT_LINE(s, file, line) \
	"(" s ".line = " line " AND (" s ".file = " file " OR substr(" s ".file, -length(" file \
	") - 1) = '/' || " file "))"
#define IS_PATCHED(s) \
	"EXISTS (SELECT 1 FROM temp.patched l WHERE " AT_LINE(s, "l.file", "l.line") ")"
/* Of table call_kind as k. */
#define IS_WAIT "k.family IN ('wait', 'event_wait')"

/* Returns whether operations lose their order that have it in this run, -1 after a message. */
int patch_trial_loses_order(struct db *db);

#endif
