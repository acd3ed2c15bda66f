/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the passes about lazy loading share, as SQL.
 */
#ifndef CUFENCE_PASS_LOADS_H
#define CUFENCE_PASS_LOADS_H

/* A loop that loads in fewer of its rounds has its kernels for longer than it loads them. */
#define LOADS_PART 4

/*
 * The call, an alias of table call, loaded code after its context's first explicit wait: until
 * then a program warms up, on purpose or not.
 */
#define LOADS_LATE(c) \
	"EXISTS (SELECT 1 FROM overhead lv WHERE lv.call = " c ".id " \
	" AND lv.kind = 'lazy_loading') " \
	"AND EXISTS (SELECT 1 FROM call le JOIN call_type lt ON lt.id = le.type " \
	" WHERE le.id < " c ".id AND le.process = " c ".process AND NOT lt.runtime " \
	" AND lt.kind IN ('context_sync', 'stream_sync', 'event_sync') " \
	" AND le.context IS " c ".context)"

#endif
