/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "constants.h"
#include "needs_parts.h"
#include "waits_fruitless.h"

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

/* Waits at a site. */
struct glanced {
	int64_t fruitless, fruitful, waited, broad;
};

struct glancer {
	const struct run *run;
	struct idmap sites;
};

static struct glanced *glanced_at(struct glancer *glancer, int64_t call)
{
	return idmap_need(&glancer->sites, needs_site(glancer->run, call), sizeof(struct glanced));
}

static int check_wait(void *arg, int64_t call, int fruitless, int64_t ns)
{
	struct glancer *glancer = arg;
	struct glanced *site = glanced_at(glancer, call);

	if (!site)
		return -1;
	site->fruitless += fruitless;
	site->fruitful += !fruitless;
	site->waited += fruitless ? ns : 0;
	return 0;
}

/* Checks a wait for a stream or the device that lasted until the end of an operation. */
static int check_broad(struct glancer *glancer)
{
	const struct run_evidence *evidence = &glancer->run->evidence;

	for (size_t i = 1; i < evidence->wait_count; i++) {
		const struct run_wait *wait = &evidence->wait[i];
		const struct run_call *call = run_call(glancer->run, wait->call);
		struct glanced *site;

		if (wait->kind != WAIT_EXPLICIT || wait->waited < BLOCKED_MIN_NS || !call ||
			!call_is_wait(call->kind) || kind_waits(call->kind) == WAITS_EVENT)
			continue;
		site = glanced_at(glancer, wait->call);
		if (!site)
			return -1;
		site->broad++;
	}
	return 0;
}

/* The analysis takes as long as the rest: it is skipped if the waits are almost surely needed. */
static int is_worth_it(const struct glancer *glancer)
{
	int64_t waited = 0;

	for (size_t i = 0; i < glancer->sites.size; i++) {
		const struct glanced *site = glancer->sites.slot[i].object;

		if (!site || !glancer->sites.slot[i].id)
			continue;
		if (site->broad >= FINDING_MIN_COUNT)
			return 1;
		if (site->fruitless >= FINDING_MIN_COUNT && site->fruitful <= 1)
			waited += site->waited;
	}
	return waited >= SHOWN_MIN_NS;
}

int needs_host_is_worth_it(const struct run *run, const struct polls *polls)
{
	struct glancer glancer = { .run = run };
	struct glance glance = { .wait = check_wait, .arg = &glancer };
	int rc = glance_scan(&glance, run, polls) || check_broad(&glancer) ? -1
									   : is_worth_it(&glancer);

	idmap_release(&glancer.sites, free);
	return rc;
}
