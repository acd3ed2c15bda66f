/* SPDX-License-Identifier: Apache-2.0 */
#include "needs.h"

#include <stddef.h>
#include <stdlib.h>

#include "bounds.h"
#include "compare.h"
#include "constants.h"
#include "memory.h"
#include "needs_internal.h"
#include "order_loss.h"
#include "sorted.h"
#include "walk.h"
#include "workers.h"

struct searches {
	const struct walk_run *walk;
	struct walk_part *part;
	struct orders *of; /* each part */
	size_t count;
};

/* --- the walk --- */

static int process_call(void *arg, const struct walk_call *call)
{
	struct orders *orders = arg;
	const struct needs_known *known = orders->known;
	int rc;

	/*
	 * A call in progress when the process died has no operands in its record: it would seem to
	 * need every wait before it.
	 */
	if (orders_given_up(orders) || call->exit == WALK_NEVER)
		return 0;
	if (known->has_events && call->kind == KIND_STREAM_WAIT &&
		map_get(&known->sites, run_outer_site(known->run, call->id), 0))
		return needs_events_wait(orders, call);
	rc = known->has_host ? needs_host_call(orders, call) : orders_all(orders, call);
	if (!rc && known->has_events)
		needs_events_after(orders, call);
	return rc;
}

/*
 * Waits at sites that never wait for anything are left out as redundant (pass_redundant_sync.c):
 * what they would order needs the wait before them.
 */
static void settle_redundant(struct needs *needs)
{
	/* Site -> number of waits that had nothing to wait for, and of others. */
	struct map idle = { 0 }, busy = { 0 };

	for (size_t i = 0; i < needs->host_count; i++)
		map_add(needs->host[i].behind ? &busy : &idle, needs->host[i].site, 1);
	for (size_t i = 0; i < needs->host_count; i++) {
		struct host_wait *wait = &needs->host[i];

		if (wait->stand_in && map_get(&idle, wait->stand_in, 0) >= FINDING_MIN_COUNT &&
			map_get(&busy, wait->stand_in, 0) <= 1)
			wait->ordered_end = at_least(wait->ordered_end, wait->stand_in_end);
	}
	map_release(&idle);
	map_release(&busy);
}

static int walk_one(void *arg, size_t number)
{
	const struct searches *searches = arg;

	return walk_part(searches->walk, &searches->part[number], process_call,
		&searches->of[number]);
}

static int compare_fences(const void *a, const void *b)
{
	const struct run_fence *x = a, *y = b;

	return by_number(x->wait, y->wait) ?: by_number(x->later, y->later)
		?: by_number(x->earlier, y->earlier);
}

/* Adds those of a part, which is of another process than those before. */
static void add_fences(struct run_evidence *evidence, const struct orders *orders)
{
	for (size_t i = 0; i < orders->fence_count; i++)
		*array_push(evidence->fence, evidence->fence_count) = orders->fence[i];
}

/* Walks the parts of the run at the same time.  Waits of one follow those of another. */
static int search_run(struct needs *needs, const struct needs_known *known, struct db *db)
{
	struct walk_run *walk = walk_open(db);
	struct searches searches = { .walk = walk };
	int rc = walk ? 0 : -1;

	if (walk)
		searches.count = walk_parts(walk, &searches.part);
	searches.of = xcalloc(searches.count, sizeof(*searches.of));
	for (size_t i = 0; i < searches.count && !rc; i++)
		rc = orders_init(&searches.of[i], known, &needs->events, db, &searches.part[i]);
	rc = rc || workers_run(searches.count, walk_one, &searches) ? -1 : 0;
	needs_events_settle(&needs->events);
	needs->host_is_known = needs->events_are_known = !rc;
	for (size_t i = 0; i < searches.count && !rc; i++) {
		struct needs *found = &searches.of[i].found;
		int64_t given_up = orders_given_up(&searches.of[i]);

		needs_host_finish(&searches.of[i]);
		needs->events_are_known &= !given_up;
		needs->host_is_known &= known->has_host && !given_up;
		for (size_t k = 0; k < found->host_count; k++)
			*array_push(needs->host, needs->host_count) = found->host[k];
		for (struct id_map_slot *at = NULL; (at = id_map_next(&found->processes, at));)
			id_map_put(&needs->processes, at->id, at->object);
		free(found->processes.slot);
		free(found->host);
		*found = (struct needs){ 0 };
		add_fences(&db->run->evidence, &searches.of[i]);
		rc = order_loss_add(db, given_up, searches.part[i].end);
	}
	if (db->run->evidence.fence_count)
		qsort(db->run->evidence.fence, db->run->evidence.fence_count,
			sizeof(struct run_fence), compare_fences);
	settle_redundant(needs);
	for (size_t i = 0; i < searches.count; i++)
		orders_release(&searches.of[i]);
	free(searches.of);
	free(searches.part);
	walk_close(walk);
	return rc;
}

int needs_find(struct needs *needs, struct db *db)
{
	struct needs_known known = { .run = db->run };
	int rc = 0;

	needs_host_known(&known);
	needs_events_known(&known, &needs->events);
	if (known.has_host || known.has_events)
		rc = orders_known_find(&known, db) || search_run(needs, &known, db) ? -1 : 0;
	orders_known_release(&known);
	return rc;
}

void needs_release(struct needs *needs)
{
	free(needs->host);
	id_map_release(&needs->events, free);
	id_map_release(&needs->processes, free);
	*needs = (struct needs){ 0 };
}

/* --- what was found --- */

const struct host_wait *needs_host_at(const struct needs *needs, int64_t call)
{
	size_t at = sorted_number(needs->host, needs->host_count, sizeof(*needs->host),
		offsetof(struct host_wait, call), (uint32_t)call);

	return at < needs->host_count && needs->host[at].call == call ? &needs->host[at] : NULL;
}

int needs_replacement(const struct needs *needs, int64_t call)
{
	const struct host_wait *wait = needs_host_at(needs, call);
	const struct host_wait *replaced =
		wait && wait->replaces ? needs_host_at(needs, wait->replaces) : NULL;

	return replaced && (replaced->again || !needs_wait(replaced));
}

/* --- of waits of the host and of streams --- */

static int64_t kept_id(int64_t who, const struct touch *earlier)
{
	const uint64_t words[] = { (uint64_t)who, (uint64_t)earlier->stream };

	return (int64_t)map_hash_words(words, 2);
}

void needs_keep(struct id_map *kept, int64_t who, const struct touch *earlier,
	struct order_epoch point, size_t wait)
{
	struct needs_kept *one = id_map_need(kept, kept_id(who, earlier), sizeof(*one));

	*one = (struct needs_kept){ earlier->call, point, wait };
}

const struct needs_kept *needs_kept_by(const struct id_map *kept, struct orders *orders,
	int64_t who, const struct touch *earlier)
{
	const struct needs_kept *one = id_map_get(kept, kept_id(who, earlier));

	return one && one->call >= earlier->call && orders_is_before(orders, &one->point) ? one
											  : NULL;
}
