/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "constants.h"
#include "needs_parts.h"
#include "waits_fruitless.h"

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
	struct glanced *site = glanced_at(arg, call);

	site->fruitless += fruitless;
	site->fruitful += !fruitless;
	site->waited += fruitless ? ns : 0;
	return 0;
}

int needs_host_is_worth_it(const struct run *run, const struct polls *polls)
{
	const struct run_evidence *evidence = &run->evidence;
	struct glancer glancer = { .run = run };
	struct glance glance = { .wait = check_wait, .arg = &glancer };
	int rc = glance_scan(&glance, run, polls), is_broad = 0;
	int64_t waited = 0;

	/* A wait for a stream or the device that lasted until the end of an operation. */
	for (size_t i = 1; i < evidence->wait_count; i++) {
		const struct run_wait *wait = &evidence->wait[i];
		const struct run_call *call = run_call(run, wait->call);

		if (wait->kind == WAIT_EXPLICIT && wait->waited >= BLOCKED_MIN_NS && call &&
			call_is_wait(call->kind) && kind_waits(call->kind) != WAITS_EVENT)
			glanced_at(&glancer, wait->call)->broad++;
	}
	for (size_t i = 0; i < glancer.sites.size; i++) {
		const struct glanced *site = glancer.sites.slot[i].object;

		if (!site || !glancer.sites.slot[i].id)
			continue;
		is_broad |= site->broad >= FINDING_MIN_COUNT;
		if (site->fruitless >= FINDING_MIN_COUNT && site->fruitful <= 1)
			waited += site->waited;
	}
	idmap_release(&glancer.sites, free);
	return rc ? -1 : is_broad || waited >= SHOWN_MIN_NS;
}
