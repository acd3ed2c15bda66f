/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the passes about lazy loading share, as SQL.
 */
#ifndef CUFENCE_LOADS_LATE_H
#define CUFENCE_LOADS_LATE_H

#include "db.h"
#include "kinds.h"

/*
 * The call, an alias of table call, loaded code after its context's first explicit wait: until
 * then a program warms up, on purpose or not.
 */
/* clang-format off */
#define LOADS_LATE(c) \
	"EXISTS (SELECT 1 FROM overhead lv WHERE lv.call = " c ".id " \
	" AND lv.kind = 'lazy_loading') " \
	"AND " c ".id > (SELECT first FROM temp.first_wait lf WHERE lf.process = " c ".process " \
	" AND lf.context = ifnull(" c ".context, 0))"
/* clang-format on */

/* The places whose launches load code in many of their rounds: a subquery. */
#define LOADING_PLACES "(SELECT site FROM temp.loading_place)"

/* Makes and fills what these two ask, the tables first_wait and loading_place of schema temp; 0, or
 * -1 after a message. */
int loads_late_prepare(struct db *db);

#endif
