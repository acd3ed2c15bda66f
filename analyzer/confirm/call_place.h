/* SPDX-License-Identifier: Apache-2.0 */
/* The place of a call, as the hold finds it in another run (trace/hold_plan.h). */
#ifndef CUFENCE_CALL_PLACE_H
#define CUFENCE_CALL_PLACE_H

#include "db.h"

/* Reads hold_place.place of a site.  Returns its number of frames, or -1 after a message. */
int call_place_read(struct db *db, int64_t site, uint64_t *place);

#endif
