/* SPDX-License-Identifier: Apache-2.0 */
#include "holding.h"

#include <string.h>

#include "hold_plan.h"
#include "origin.h"
#include "record.h"
#include "resolve.h"
#include "window.h"

static uint32_t site(void)
{
	const struct thread_state *thread = thread_state();

	return thread->depth ? thread->site : 0;
}

static uint64_t place_add(uint64_t place, uint64_t address)
{
	const struct module_place *found;

	if (IS_SCRIPT_FRAME(address))
		return hold_place_add(place, "", SCRIPT_OFFSET(address));
	found = module_take_place(address);
	if (!found)
		return hold_place_add(place, "", 0);
	place = hold_place_add(place, found->path, address - found->start + found->offset);
	module_give_place();
	return place;
}

static void own_begin(void)
{
	thread_state()->busy = STACK_PLACE;
}

static void own_end(void)
{
	thread_state()->busy = 0;
}

static const struct hold_recorder recorder = { driver_symbol, site, place_add, window_captures,
	own_begin, own_end };

void holding_start(struct thread_state *thread)
{
	const char *path = origin_setting("CUFENCE_HOLD");
	const char *obstacle = "its library is not loaded";

	if (!path || !*path)
		return;
	if (&cufence_hold)
		obstacle = cufence_hold.start(&recorder, path);
	if (!obstacle)
		shim.hold = &cufence_hold;
	else
		property_write(thread, "hold", obstacle, strlen(obstacle));
}

void holding_child(void)
{
	if (shim.hold)
		shim.hold->child();
	shim.hold = NULL;
}

void holding_site(uint32_t id, const uint64_t *address, unsigned count, const uint64_t *script,
	unsigned scripts)
{
	uint64_t all[SITE_FRAMES + SITE_SCRIPT_FRAMES];

	memcpy(all, address, count * sizeof(*all));
	memcpy(all + count, script, scripts * sizeof(*all));
	shim.hold->site(id, all, count + scripts);
}
