/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A shaken run: streams are held before some calls, and some queries are told that work is not
 * complete.  The second is done only where nothing has told the program that it is: since the
 * event was recorded, or work submitted to the stream, no call of any thread has waited for
 * anything, no query has succeeded, and no host function was submitted.
 */
#include <stdatomic.h>
#include <string.h>

#include "hold_internal.h"

#define OBJECTS 4096u /* a power of two */
#define FORGOTTEN UINT64_MAX

static struct hold_plan *plan;
static _Atomic uint32_t at[HOLD_SITES]; /* bits of the actions at a site */

/* Calls that this thread has made at the place of each action, in this process. */
static __thread struct {
	uint32_t count[SHAKE_ACTIONS];
	uint32_t process;
} made;
static uint32_t process = 1;

/* Increased by whatever may tell the host that work is complete. */
static _Atomic uint64_t told;

/* The value of told when an event was last recorded, or a stream last got work. */
static struct {
	_Atomic uint64_t handle, told;
} object[OBJECTS];

/* --- what the program may know --- */

/* Returns NULL if the table is full, or if there is none and it is not to be added. */
static _Atomic uint64_t *object_told(uint64_t handle, int add)
{
	uint32_t first = (uint32_t)(handle * UINT64_C(0x9e3779b97f4a7c15) >> 40);

	for (uint32_t i = 0; i < OBJECTS; i++) {
		_Atomic uint64_t *found = &object[(first + i) % OBJECTS].handle;
		uint64_t none = 0;

		if (*found == handle ||
			(!*found && add && atomic_compare_exchange_strong(found, &none, handle)) ||
			(add && none == handle))
			return &object[(first + i) % OBJECTS].told;
		if (!*found)
			return NULL;
	}
	return NULL;
}

static void note(uint64_t handle, uint64_t when)
{
	/* A default stream has one handle for all contexts and threads. */
	_Atomic uint64_t *entry = handle > STREAM_PER_THREAD ? object_told(handle, 1) : NULL;

	if (entry)
		*entry = when;
}

static void follow(const struct held_call *call)
{
	if (kind_has(call->kind, K_TELLS_HOST))
		told++;
	if (kind_has(call->kind, K_WORK | K_MARKER | K_SILENT))
		note(call->stream, told);
	if (call->kind == KIND_EVENT_DESTROY)
		note(call->event, FORGOTTEN);
	else if (kind_family(call->kind) == FAMILY_event)
		note(call->event, told);
	else if (call->kind == KIND_STREAM_DESTROY)
		note(call->stream, FORGOTTEN);
}

static int is_open(const struct held_call *call)
{
	uint64_t handle = call->kind == KIND_EVENT_QUERY ? call->event : call->stream;
	_Atomic uint64_t *entry = handle ? object_told(handle, 0) : NULL;

	return entry && *entry == told;
}

/* --- the actions --- */

void shake_start(struct hold_plan *mapped)
{
	plan = mapped;
}

void shake_site(uint32_t site, uint64_t place)
{
	uint32_t bits = 0;

	for (uint32_t i = 0; i < plan->actions && i < SHAKE_ACTIONS; i++)
		bits |= (uint32_t)(plan->action[i].place.place == place) << i;
	at[site] = bits;
}

/* Only one thread of one process takes an action. */
static int take(struct shake_action *action)
{
	uint32_t waiting = HOLD_WAITING;

	return atomic_compare_exchange_strong(&action->state, &waiting, HOLD_CROWDED);
}

/* Counts a call at the place of an action: 1 if it is one that the action is for. */
static int comes_to(const struct shake_action *action, uint32_t i)
{
	uint32_t number;

	if (made.process != process) {
		memset(&made, 0, sizeof(made));
		made.process = process;
	}
	number = ++made.count[i];
	return number >= action->ordinal &&
		number - action->ordinal < (action->answers ? action->answers : 1);
}

void shake_before(struct held_call *call, uint32_t site)
{
	follow(call);
	call->shakes = at[site % HOLD_SITES];
	for (uint32_t i = 0; i < SHAKE_ACTIONS && call->shakes >> i; i++) {
		struct shake_action *action = &plan->action[i];

		if (call->shakes >> i & 1 && action->place.call == (uint32_t)call->id &&
			!action->answers && comes_to(action, i) && take(action))
			action->state = stream_shake(hold_stream(call), action->ns);
	}
}

/* Only queries that would succeed count: how many do not depends on how long the work takes. */
static int is_denied(const struct held_call *call)
{
	int denied = 0;

	for (uint32_t i = 0; i < SHAKE_ACTIONS; i++) {
		struct shake_action *action = &plan->action[i];

		if (!(call->shakes >> i & 1) || action->place.call != (uint32_t)call->id ||
			!comes_to(action, i))
			continue;
		action->state = HOLD_HELD;
		action->given += !denied;
		denied = 1;
	}
	return denied;
}

int shake_answer(const struct held_call *call, int result)
{
	if (result)
		return result;
	if (kind_has(call->kind, K_POLLS) && call->shakes && is_open(call) && is_denied(call))
		return RESULT_NOT_READY;
	told++;
	return result;
}

void shake_child(void)
{
	process++;
	memset(at, 0, sizeof(at));
	memset(object, 0, sizeof(object));
}
