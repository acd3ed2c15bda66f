/* SPDX-License-Identifier: Apache-2.0 */
#include "needs.h"

#include <stddef.h>
#include <stdlib.h>

#include "constants.h"
#include "memory.h"
#include "needs_internal.h"
#include "order_loss.h"
#include "sorted.h"
#include "walk.h"

struct search {
	struct orders orders;
	struct needs_host host;
	struct needs_events events;
	int has_host, has_events;
};

/* --- the walk --- */

static int process_call(void *arg, const struct walk_call *call)
{
	struct search *search = arg;
	int64_t since = search->has_host ? needs_host_since(&search->host, call) : INT64_MIN;
	int rc;

	/*
	 * A call in progress when the process died has no operands in its record: it would seem to
	 * need every wait before it.
	 */
	if (orders_given_up(&search->orders) || call->exit == WALK_NEVER)
		return 0;
	if (since != INT64_MIN) {
		rc = needs_host_wait(&search->host, call, since);
	} else if (search->has_events && call->kind == KIND_STREAM_WAIT &&
		map_get(&search->events.sites, needs_site(search->events.orders->run, call->id),
			0)) {
		return needs_events_wait(&search->events, call);
	} else {
		if (search->has_host)
			needs_host_before(&search->host, call);
		rc = orders_all(&search->orders, call);
		if (!rc && search->has_host)
			needs_host_after(&search->host, call);
	}
	if (!rc && search->has_events)
		needs_events_after(&search->events, call);
	return rc;
}

/*
 * Waits at sites that never wait for anything are left out as redundant (pass_redundant_sync.c):
 * what they would order needs the wait before them.
 */
static void settle_redundant(struct needs *needs)
{
	struct site_waits {
		int64_t all, idle; /* idle: had nothing to wait for */
	};
	struct id_map sites = { 0 };

	for (size_t i = 0; i < needs->host_count; i++) {
		struct site_waits *site = id_map_need(&sites, needs->host[i].site, sizeof(*site));

		site->all++;
		site->idle += !needs->host[i].behind;
	}
	for (size_t i = 0; i < needs->host_count; i++) {
		struct host_wait *wait = &needs->host[i];
		const struct site_waits *site =
			wait->stand_in ? id_map_get(&sites, wait->stand_in) : NULL;

		if (site && site->idle >= FINDING_MIN_COUNT && site->all - site->idle <= 1 &&
			wait->stand_in_end > wait->ordered_end)
			wait->ordered_end = wait->stand_in_end;
	}
	id_map_release(&sites, free);
}

int needs_find(struct needs *needs, struct db *db)
{
	struct search *search = xcalloc(1, sizeof(*search));
	struct orders *orders = &search->orders;
	int rc = 0;

	search->has_host = needs_host_open(&search->host, orders, needs, db->run);
	search->has_events = needs_events_open(&search->events, orders, needs, db->run);
	if (search->has_host || search->has_events) {
		orders->loose[WITHOUT_HOST_WAITS].is_followed = search->has_host;
		orders->loose[WITHOUT_EVENT_WAITS].is_followed = search->has_events;
		orders->host = &search->host;
		orders->events = &search->events;
		rc = orders_init(orders, db) || walk(db, process_call, search) ? -1 : 0;
		if (!rc && search->has_host)
			needs_host_finish(&search->host);
		if (!rc) {
			needs->events_are_known = !orders_given_up(orders);
			settle_redundant(needs);
			rc = order_loss_add(db, orders_given_up(orders));
		}
	}
	needs_events_close(&search->events);
	needs_host_close(&search->host);
	orders_release(orders);
	free(search);
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

int needs_wait(const struct host_wait *wait)
{
	return wait->looked || wait->ordered_end != INT64_MIN || wait->freed ||
		wait->until != INT64_MIN;
}

int needs_replacement(const struct needs *needs, int64_t call)
{
	const struct host_wait *wait = needs_host_at(needs, call);
	const struct host_wait *replaced =
		wait && wait->replaces ? needs_host_at(needs, wait->replaces) : NULL;

	return replaced && !needs_wait(replaced);
}

/* --- of waits of the host and of streams --- */

uint32_t needs_site(const struct run *run, int64_t call)
{
	uint32_t site = run_link(run, call)->site, parent;

	while ((parent = run_link(run, call)->parent)) {
		call = parent;
		if (run_link(run, call)->site)
			site = run_link(run, call)->site;
	}
	return site;
}

static int64_t kept_id(int64_t who, const struct touch *earlier)
{
	const uint64_t words[] = { (uint64_t)who, (uint64_t)earlier->stream };

	return (int64_t)map_hash_words(words, 2);
}

void needs_keep(struct id_map *kept, int64_t who, const struct touch *earlier,
	struct order_epoch point)
{
	struct needs_kept *one = id_map_need(kept, kept_id(who, earlier), sizeof(*one));

	*one = (struct needs_kept){ earlier->call, point };
}

int needs_is_kept(const struct id_map *kept, struct orders *orders, int64_t who,
	const struct touch *earlier)
{
	const struct needs_kept *one = id_map_get(kept, kept_id(who, earlier));

	return one && one->call >= earlier->call && orders_is_before(orders, &one->point);
}
