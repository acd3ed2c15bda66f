/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the calls of the plan among the program's, by function and site, and changes them. */
#include <sys/mman.h>

#include "fix_internal.h"
#include "system.h"

#define SITES 65536 /* ids are smaller (preload/sites/site.c, alone/site.c) */

struct fix fix;

/* The first of the plan's entries for the site, from 1; 0: none. */
static _Atomic uint16_t at[SITES];

/* Functions of the plan's calls, a bit each: the site of others is not asked for. */
static uint64_t functions[CALL_COUNT / 64 + 1];

/* The function of this thread's last call here if that was not made, plus 1; 0: it was made. */
static __thread unsigned changed;
static _Atomic int left_out; /* a wait was */
static struct fix_finding *moving;
static int leaves_repeated; /* the plan does, turned off or not */

static const struct {
	const char *name;
	void *function;
} wanted[] = {
	{ "cuCtxGetCurrent", &fix.driver.current_context },
	{ "cuCtxGetDevice", &fix.driver.current_device },
	{ "cuDeviceGetMemPool", &fix.driver.pool },
	{ "cuMemPoolSetAttribute", &fix.driver.set_pool },
	{ "cuMemGetAddressRange_v2", &fix.driver.range },
	{ "cuCtxSynchronize", &fix.driver.synchronize },
	{ "cuStreamSynchronize", &fix.driver.stream_synchronize },
	{ "cuStreamCreate", &fix.driver.new_stream },
	{ "cuStreamDestroy_v2", &fix.driver.end_stream },
	{ "cuEventSynchronize", &fix.driver.wait_for },
	{ "cuEventCreate", &fix.driver.new_event },
	{ "cuEventDestroy_v2", &fix.driver.end_event },
	{ "cuEventRecord", &fix.driver.record },
	{ "cuEventQuery", &fix.driver.query },
	{ "cuStreamWaitEvent", &fix.driver.stream_wait },
	{ "cuMemHostAlloc", &fix.driver.host_alloc },
	{ "cuMemFreeHost", &fix.driver.host_free },
	{ "cuMemcpyHtoDAsync_v2", &fix.driver.upload },
	{ "cuPointerGetAttribute", &fix.driver.attribute },
};

/* The plan's first entry for the call, NULL: none.  Others of it follow. */
static const struct fix_place *first_place(const struct fixed_call *call)
{
	const struct fix_place *place, *end = fix.plan->places + fix.plan->count;
	unsigned first;

	if (!(functions[call->id / 64] >> call->id % 64 & 1))
		return NULL;
	first = at[fix.recorder->site() % SITES];
	if (!first)
		return NULL;
	place = &fix.plan->places[first - 1];
	for (uint64_t where = place->place.place; place < end && place->place.place == where;
		place++)
		if (place->place.call == call->id)
			return place;
	return NULL;
}

/* The next one of the same call. */
static const struct fix_place *next_place(const struct fix_place *place)
{
	const struct fix_place *next = place + 1;

	return next < fix.plan->places + fix.plan->count &&
			next->place.place == place->place.place &&
			next->place.call == place->place.call
		? next
		: NULL;
}

static struct fix_finding *finding_at(const struct fix_place *place)
{
	return &fix.plan->findings[place->finding];
}

struct fix_finding *fix_finding_of(enum fix_treatment treatment)
{
	for (unsigned i = 0; i < fix.plan->findings_count; i++) {
		struct fix_finding *finding = &fix.plan->findings[i];

		if (finding->treatment == treatment && !finding->off)
			return finding;
	}
	return NULL;
}

struct fix_finding *fix_finding_moving(void)
{
	return moving;
}

int fix_has_side(const struct fixed_call *call, unsigned side)
{
	const struct fix_place *place = first_place(call);

	while (place && (finding_at(place) != moving || place->side != side))
		place = next_place(place);
	return place != NULL;
}

void fix_turn_off(struct fix_finding *finding, enum fix_surprise why, enum call_id call, int result)
{
	uint32_t on = FIX_SURPRISE_NOTHING;

	if (!atomic_compare_exchange_strong(&finding->off, &on, (uint32_t)why))
		return;
	if (finding->treatment == FIX_PUT_OFF && !fix.recorder->captures())
		freed_release();
	if (fix.say_off)
		fix.say_off(finding, call, result);
}

static void note_end(void)
{
	uint64_t now = fix.recorder->now(), ended = fix.plan->ended;

	while (ended < now && !atomic_compare_exchange_weak(&fix.plan->ended, &ended, now))
		;
}

/* --- the changes --- */

/* Returns 1 if the call has been made by what was done. */
static int apply(const struct fix_place *place, const struct fixed_call *call)
{
	switch ((enum fix_treatment)finding_at(place)->treatment) {
	case FIX_LEAVE_OUT:
		left_out = 1;
		return 1;
	case FIX_LEAVE_REPEATED:
		return repeated_wait(call);
	case FIX_PUT_OFF:
		return fixed_handle(call) && freed_keep(call);
	case FIX_ONCE:
		return limits_have(call);
	case FIX_STAGE:
		return staged_copy(call, finding_at(place));
	default:
		return 0;
	}
}

static int change(struct fixed_call *call)
{
	if (fix.recorder->captures())
		return 0;
	call->place = first_place(call);
	for (const struct fix_place *place = call->place; place; place = next_place(place)) {
		struct fix_finding *finding = finding_at(place);

		if (finding->off)
			continue;
		if (finding->treatment == FIX_FENCE)
			finding->applied += place->side == FIX_LATER && fences_wait(place, call);
		else if (apply(place, call)) {
			finding->applied++;
			return 1;
		}
	}
	return 0;
}

/* The finding for which host memory that was freed is given out again, or NULL. */
static struct fix_finding *reusing(void)
{
	for (unsigned i = 0; i < fix.plan->findings_count; i++)
		if (fix.plan->findings[i].reuses_host && !fix.plan->findings[i].off)
			return &fix.plan->findings[i];
	return NULL;
}

/* Memory of that size which the program has freed. */
static int reuse(const struct fixed_call *call)
{
	struct fix_finding *finding = reusing();
	uint64_t found = finding ? freed_take_host(call->bytes, call->flags) : 0;

	if (!found)
		return 0;
	*call->made = found;
	freed_note_host(found, call->bytes, call->flags);
	finding->applied++;
	return 1;
}

/* The program asks how long something took for which it would have waited. */
static int wait_now(const struct fixed_call *call)
{
	int done;

	fix.recorder->own_begin();
	done = !fix.driver.wait_for((CUevent)(uintptr_t)call->event);
	fix.recorder->own_end();
	return done;
}

/* What does not depend on the place of the call: 1 if it has succeeded without being made. */
static int change_any(const struct fixed_call *call)
{
	struct fix_finding *finding;

	switch (kind_family(call->kind)) {
	case FAMILY_context_end:
		freed_release();
		modules_forget();
		staged_forget();
		fences_forget();
		moved_context_ends();
		return 0;
	case FAMILY_stream_allocation:
		finding = fix_finding_of(FIX_KEEP_POOL);
		if (finding)
			pools_keep(call, finding);
		return 0;
	case FAMILY_allocation:
		return call->made && reuse(call);
	case FAMILY_module:
		return modules_before(call, fix_finding_of(FIX_REMEMBER));
	case FAMILY_code:
		modules_asked(call, fix_finding_of(FIX_REMEMBER));
		return 0;
	default:
		return 0;
	}
}

/* A wait that is left out orders nothing; work that is made otherwise keeps its order. */
static int is_made(struct fixed_call *call)
{
	int is_work = kind_has(call->kind, K_WORK);

	if (is_work)
		moved_before(call);
	if (change_any(call) || change(call)) {
		if (is_work)
			moved_after(call);
		return 0;
	}
	if (is_work || !moved_before(call))
		return 1;
	left_out = 1;
	return 0;
}

int fix_before(struct fixed_call *call)
{
	changed = 0;
	call->freed = freed_so_far();
	if (fix.plan && leaves_repeated)
		repeated_pass(call);
	if (!fix.plan || is_made(call))
		return 0;
	if (leaves_repeated && kind_family(call->kind) != FAMILY_wait)
		repeated_pass(call);
	/* The recorder believes that a wait of such a call is over. */
	changed = call->made ? 0 : call->id + 1u;
	return 1;
}

static void free_for_room(void)
{
	for (unsigned i = 0; i < fix.plan->findings_count; i++)
		if (fix.plan->findings[i].treatment == FIX_PUT_OFF)
			fix_turn_off(&fix.plan->findings[i], FIX_SURPRISE_MEMORY, CALL_COUNT, 0);
}

static void note_place(const struct fixed_call *call)
{
	for (const struct fix_place *place = call->place; place; place = next_place(place)) {
		struct fix_finding *finding = finding_at(place);

		if (finding->off)
			continue;
		if (finding->treatment == FIX_PUT_OFF)
			freed_release();
		else if (finding->treatment == FIX_FENCE && place->side == FIX_EARLIER)
			fences_record(place, call);
	}
}

int fix_again(const struct fixed_call *call, int result)
{
	if (!fix.plan)
		return 0;
	if (result == CUDA_ERROR_OUT_OF_MEMORY && freed_release()) {
		free_for_room();
		return 1;
	}
	return result == CUDA_ERROR_NOT_READY && left_out && call->kind == KIND_EVENT_ELAPSED &&
		wait_now(call);
}

void fix_after(struct fixed_call *call, int result)
{
	struct fix_finding *finding;

	if (!fix.plan)
		return;
	moved_after(call);
	if (leaves_repeated && kind_family(call->kind) != FAMILY_wait)
		repeated_pass(call);
	if (result)
		return;
	if (fix.is_timed)
		note_end();
	if (leaves_repeated)
		repeated_note(call);
	if (kind_waits(call->kind) == WAITS_CONTEXT)
		freed_now_idle(call->freed);
	if (kind_family(call->kind) == FAMILY_allocation && call->made && reusing())
		freed_note_host(*call->made, call->bytes, call->flags);
	if (kind_family(call->kind) == FAMILY_module)
		modules_note(call);
	if (kind_family(call->kind) == FAMILY_limit)
		limits_note(call);
	/* Made current: cuCtxCreate() does that, too. */
	finding = kind_family(call->kind) == FAMILY_context ? reusing() : NULL;
	if (finding && freed_is_other_context((uint64_t)(uintptr_t)fix_context()))
		fix_turn_off(finding, FIX_SURPRISE_CONTEXTS, call->id, 0);
	note_place(call);
}

/* --- start and end --- */

const char *fix_start(const struct hold_recorder *recorder, struct fix_plan *plan)
{
	uint64_t none = 0;

	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		void *found = recorder->symbol(wanted[i].name);

		if (!found)
			return "the driver is too old";
		*(void **)wanted[i].function = found;
	}
	for (unsigned i = 0; i < plan->findings_count; i++) {
		if (plan->findings[i].treatment == FIX_MOVE)
			moving = &plan->findings[i];
		leaves_repeated |= plan->findings[i].treatment == FIX_LEAVE_REPEATED;
	}
	for (unsigned i = 0; i < plan->count; i++)
		functions[plan->places[i].place.call / 64] |= UINT64_C(1)
			<< plan->places[i].place.call % 64;
	fix.recorder = recorder;
	atomic_compare_exchange_strong(&plan->began, &none, recorder->now());
	fix.plan = plan;
	return NULL;
}

void fix_new_site(uint32_t id, const uint64_t *address, unsigned count)
{
	uint64_t place = BYTE_HASH_SEED;
	unsigned first = 0;

	for (unsigned i = 0; i < count; i++)
		if (!i || address[i] != address[i - 1])
			place = fix.recorder->place_add(place, address[i]);
	while (first < fix.plan->count && fix.plan->places[first].place.place != place)
		first++;
	if (id < SITES)
		at[id] = (uint16_t)(first < fix.plan->count ? first + 1 : 0);
}

int fix_has_place(uint32_t site)
{
	return at[site % SITES] != 0;
}

static void touched(uint32_t site, enum call_id call)
{
}

static int is_changed(enum call_id call)
{
	return changed == call + 1u;
}

/* The device may still be at work: waits that were left out would count as saved otherwise. */
static void end(void)
{
	fix.recorder->own_begin();
	if (!fix.driver.synchronize())
		note_end();
	fix.recorder->own_end();
}

/* What is kept is the parent's. */
static void child(void)
{
	fix.plan = NULL;
	freed_forget();
	modules_child();
	staged_child();
	fences_forget();
	moved_forget();
}

/* The plan of "cufence try". */
static struct fix_plan *map_plan(const char *path)
{
	struct fix_plan *plan = hold_map_plan(path, sizeof(*plan));

	return plan && plan->magic == FIX_MAGIC && plan->count <= FIX_PLACES &&
			plan->findings_count <= FIX_FINDINGS && plan->images_count <= FIX_IMAGES
		? plan
		: NULL;
}

static const char *start(const struct hold_recorder *recorder, const char *path)
{
	struct fix_plan *mapped = map_plan(path);

	fix.is_timed = 1;
	return mapped ? fix_start(recorder, mapped) : "its plan cannot be read";
}

__attribute__((visibility("default"))) const struct hold cufence_fix = { .start = start,
	.wrap = fix_wrapper,
	.site = fix_new_site,
	.touched = touched,
	.child = child,
	.changed = is_changed,
	.end = end };
