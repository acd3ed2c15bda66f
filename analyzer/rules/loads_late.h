/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the passes about lazy loading share, as SQL.
 */
#ifndef CUFENCE_LOADS_LATE_H
#define CUFENCE_LOADS_LATE_H

#include "db.h"
#include "kinds.h"

/* A loop that loads in fewer of its rounds has its kernels for longer than it loads them. */
#define LOADS_PART 4

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

/* What LOADS_LATE() asks: the first explicit wait of each context (loads_late_prepare()). */
/* clang-format off */
#define LOADS_LATE_TABLE \
	"DROP TABLE IF EXISTS temp.first_wait;" \
	"CREATE TEMP TABLE first_wait (process INTEGER NOT NULL, context INTEGER NOT NULL," \
	" first INTEGER NOT NULL, PRIMARY KEY (process, context)) WITHOUT ROWID;"
/* clang-format on */

/* The places whose launches load code in many of their rounds: a subquery. */
#define LOADING_PLACES \
	"(SELECT ll.site FROM (SELECT lc.site, count(DISTINCT lc.id) AS loads FROM overhead lo " \
	" JOIN call lc ON lc.id = lo.call WHERE " LOADS_LATE("lc") " GROUP BY lc.site) ll " \
	"JOIN (SELECT ls.site, count(*) AS launches FROM call ls JOIN call_type lk " \
	" ON lk.id = ls.type WHERE " IS_LAUNCH("lk") " AND NOT lk.runtime AND ls.site IN " \
	" (SELECT lx.site FROM overhead ly JOIN call lx ON lx.id = ly.call) GROUP BY ls.site) ln " \
	"ON ln.site = ll.site WHERE ln.launches <= " LOADS_STRING(LOADS_PART) " * ll.loads)"
#define LOADS_STRING_OF(text) #text
#define LOADS_STRING(macro) LOADS_STRING_OF(macro)

/* Makes and fills temp.first_wait; 0, or -1 after a message. */
int loads_late_prepare(struct db *db);

#endif
