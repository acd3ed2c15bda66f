/* SPDX-License-Identifier: Apache-2.0 */
#include "needs.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "constants.h"
#include "needs_parts.h"
#include "order_loss.h"
#include "sorted.h"
#include "walk.h"

struct search {
	struct relax relax;
	struct needs_host host;
	struct needs_events events;
	int has_host, has_events;
};

static int lost(void *arg, enum without without, const struct walk_call *later,
	const struct touch *earlier)
{
	struct search *search = arg;

	return without == WITHOUT_HOST_WAITS
		? needs_host_lost_pair(&search->host, later, earlier)
		: needs_events_lost_pair(&search->events, later, earlier);
}

static int process_wait(struct search *search, const struct walk_call *call, int64_t since)
{
	if (needs_host_wait(&search->host, call, since))
		return -1;
	return search->has_events ? needs_events_after(&search->events, call) : 0;
}

static int process_call(void *arg, const struct walk_call *call)
{
	struct search *search = arg;
	int64_t since = search->has_host ? needs_host_since(&search->host, call) : INT64_MIN;

	/*
	 * A call in progress when the process died has no operands in its record: it would seem to
	 * need every wait before it.
	 */
	if (relax_given_up(&search->relax) || call->exit == WALK_NEVER)
		return 0;
	if (since != INT64_MIN)
		return process_wait(search, call, since);
	if (search->has_events && needs_events_has(&search->events, call))
		return needs_events_wait(&search->events, call);
	if ((search->has_host && needs_host_before(&search->host, call)) ||
		relax_all(&search->relax, call) ||
		(search->has_host && needs_host_after(&search->host, call)))
		return -1;
	return search->has_events ? needs_events_after(&search->events, call) : 0;
}

/* The waits of a site, and those that had nothing to wait for. */
struct site_waits {
	int64_t all, idle;
};

/*
 * Waits at sites that never wait for anything are left out as redundant (pass_redundant_sync.c):
 * what they would order needs the wait before them.
 */
static int settle_redundant(struct needs *needs)
{
	struct idmap sites = { 0 };

	for (size_t i = 0; i < needs->host_count; i++) {
		struct site_waits *site =
			idmap_need(&sites, needs->host[i].site, sizeof(struct site_waits));

		if (!site) {
			idmap_release(&sites, free);
			return -1;
		}
		site->all++;
		site->idle += !needs->host[i].behind;
	}
	for (size_t i = 0; i < needs->host_count; i++) {
		struct host_wait *wait = &needs->host[i];
		const struct site_waits *site =
			wait->stand_in ? idmap_get(&sites, wait->stand_in) : NULL;

		if (site && site->idle >= FINDING_MIN_COUNT && site->all - site->idle <= 1 &&
			wait->stand_in_end > wait->ordered_end)
			wait->ordered_end = wait->stand_in_end;
	}
	idmap_release(&sites, free);
	return 0;
}

static int follow(struct search *search, struct needs *needs, struct db *db)
{
	search->relax.loose[WITHOUT_HOST_WAITS].is_followed = search->has_host;
	search->relax.loose[WITHOUT_EVENT_WAITS].is_followed = search->has_events;
	search->relax.lost = lost;
	search->relax.arg = search;
	if (relax_init(&search->relax, db) || walk(db, process_call, search))
		return -1;
	if (search->has_host)
		needs_host_finish(&search->host);
	needs->events_are_known = !relax_given_up(&search->relax);
	return settle_redundant(needs) || order_loss_add(db, relax_given_up(&search->relax)) ? -1
											     : 0;
}

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

int needs_find(struct needs *needs, struct db *db)
{
	struct search *search = calloc(1, sizeof(*search));
	int rc = search ? 0 : -1;

	if (!search)
		fputs("cufence: out of memory\n", stderr);
	if (!rc) {
		search->has_host = needs_host_open(&search->host, &search->relax, needs, db);
		search->has_events =
			needs_events_open(&search->events, &search->relax, needs, db->run);
		rc = search->has_host < 0 || search->has_events < 0 ? -1 : 0;
	}
	if (!rc && (search->has_host || search->has_events))
		rc = follow(search, needs, db);
	if (!search)
		return -1;
	needs_events_close(&search->events);
	needs_host_close(&search->host);
	relax_release(&search->relax);
	free(search);
	return rc;
}

static int64_t kept_id(int64_t who, const struct touch *earlier)
{
	const uint64_t words[] = { (uint64_t)who, (uint64_t)earlier->stream };

	return (int64_t)map_hash_words(words, 2);
}

int needs_keep(struct idmap *kept, int64_t who, const struct touch *earlier,
	struct order_epoch point)
{
	struct needs_kept *one = idmap_need(kept, kept_id(who, earlier), sizeof(*one));

	if (one)
		*one = (struct needs_kept){ earlier->call, point };
	return one ? 0 : -1;
}

int needs_is_kept(const struct idmap *kept, struct relax *relax, int64_t who,
	const struct touch *earlier)
{
	const struct needs_kept *one = idmap_get(kept, kept_id(who, earlier));

	return one && one->call >= earlier->call && relax_is_before(relax, &one->point);
}

void needs_release(struct needs *needs)
{
	free(needs->host);
	idmap_release(&needs->events, free);
	idmap_release(&needs->processes, free);
	*needs = (struct needs){ 0 };
}
