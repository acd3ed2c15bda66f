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
		return hold_place_add(place, "", NULL, SCRIPT_OFFSET(address));
	found = module_take_place(address);
	if (!found)
		return hold_place_add(place, "", NULL, 0);
	place = hold_place_add(place, found->path, found->build_id,
		address - found->start + found->offset);
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

static uint64_t now(void)
{
	return shim.virtual_clock ? shim.virtual_clock() : clock_monotonic();
}

static const struct hold_recorder recorder = { driver_symbol, site, place_add, window_captures, now,
	own_begin, own_end };

static void start(struct thread_state *thread, const struct hold *library, const char *setting,
	const char *name)
{
	const char *path = origin_setting(setting);
	const char *obstacle = "its library is not loaded";

	if (!path || !*path)
		return;
	if (library)
		obstacle = library->start(&recorder, path);
	if (!obstacle)
		shim.hold = library;
	else
		property_write(thread, name, obstacle, strlen(obstacle));
}

void holding_start(struct thread_state *thread)
{
	start(thread, &cufence_hold, "CUFENCE_HOLD", "hold");
	if (!shim.hold)
		start(thread, &cufence_fix, "CUFENCE_FIX", "fix");
}

int holding_changed(enum call_id call)
{
	return shim.hold && shim.hold->changed && shim.hold->changed(call);
}

void holding_end(void)
{
	if (shim.hold && shim.hold->end)
		shim.hold->end();
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
