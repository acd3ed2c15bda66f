/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the calls of the plan among the program's: by function and site, and by the number of such
 * calls that the thread has made.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hold_internal.h"
#include "system.h"

enum { AT_PRODUCER = 1, AT_CONSUMER = 2 };

static struct hold_plan *plan;
static const struct hold_recorder *recorder;
static _Atomic uint8_t at[HOLD_SITES]; /* which of the plan's two places the site is */

/* Calls made by this thread, in this process. */
static __thread struct {
	uint32_t producers, consumers;
	uint32_t process;
} made;
static uint32_t process = 1;

/* The thread of the last held producer. */
static _Atomic int producer_thread;

static int thread_id(void)
{
	return (int)syscall(SYS_gettid);
}

uint64_t hold_stream(const struct held_call *call)
{
	if (call->stream)
		return call->stream;
	return call->per_thread ? STREAM_PER_THREAD : STREAM_LEGACY;
}

static struct hold_try *find_producer(uint32_t ordinal)
{
	for (uint32_t i = 0; i < plan->count; i++)
		if (plan->tries[i].producer == ordinal && plan->tries[i].state == HOLD_WAITING)
			return &plan->tries[i];
	return NULL;
}

/* ordinal: of the consumer in the plan; number: of the call among those of this thread. */
static struct hold_try *find_consumer(uint32_t ordinal, uint32_t number)
{
	int thread = thread_id();

	for (uint32_t i = 0; i < plan->count; i++) {
		struct hold_try *try = &plan->tries[i];

		if (try->consumer != ordinal || try->state != HOLD_HELD || try->submitted ||
			(producer_thread == thread) != (int)plan->same_thread)
			continue;
		try->consumer_thread = (uint32_t)thread;
		try->consumed = number;
		return try;
	}
	return NULL;
}

static void find(struct held_call *call)
{
	unsigned places = at[recorder->site() % HOLD_SITES];
	struct hold_try *try;

	if (!places)
		return;
	if (made.process != process)
		made = (__typeof__(made)){ .process = process };
	if (places & AT_CONSUMER && call->id == plan->consumer.call) {
		made.consumers++;
		call->consumes = find_consumer(made.consumers, made.consumers);
	}
	if (!(places & AT_PRODUCER) || call->id != plan->producer.call)
		return;
	try = find_producer(++made.producers);
	if (!try)
		return;
	producer_thread = thread_id();
	try->producer_thread = (uint32_t)producer_thread;
	stream_hold(try, hold_stream(call));
}

void hold_before(struct held_call *call)
{
	if (!plan)
		return;
	if (stream_is_held()) {
		/* In a shaken run the thread waits: that may be what another one relies on. */
		if (!plan->actions && covers_call(call))
			stream_let_go(0);
		covers_follow(call);
	}
	if (kind_family(call->kind) == FAMILY_context_end)
		stream_let_go(1);
	if (call->kind == KIND_STREAM_DESTROY)
		stream_forget(call->stream);
	if (plan->actions)
		shake_before(call, recorder->site());
	else
		find(call);
}

void hold_after(const struct held_call *call, int succeeded)
{
	if (call->consumes && succeeded)
		stream_consumed(call->consumes, hold_stream(call));
}

int hold_answer(const struct held_call *call, int result)
{
	return plan && plan->actions ? shake_answer(call, result) : result;
}

/* --- called by the recorder --- */

static const char *start(const struct hold_recorder *given, const char *path)
{
	struct hold_plan *mapped = hold_map_plan(path, sizeof(*mapped));
	const char *obstacle;

	if (!mapped || mapped->magic != HOLD_MAGIC)
		return "its plan cannot be read";
	recorder = given;
	obstacle = stream_start(given, mapped);
	if (obstacle)
		return obstacle;
	shake_start(mapped);
	plan = mapped;
	return NULL;
}

static void new_site(uint32_t id, const uint64_t *address, unsigned count)
{
	uint64_t place = BYTE_HASH_SEED;

	for (unsigned i = 0; i < count; i++)
		if (!i || address[i] != address[i - 1])
			place = recorder->place_add(place, address[i]);
	if (id >= HOLD_SITES)
		return;
	if (plan->actions)
		shake_site(id, place);
	else
		at[id] = (place == plan->producer.place ? AT_PRODUCER : 0) |
			(place == plan->consumer.place ? AT_CONSUMER : 0);
}

/* The plan has no ordinals of the host's accesses: they depend on how far the copies have come. */
static void note_access(uint32_t site, enum call_id call)
{
	struct hold_try *try;

	if (!(at[site % HOLD_SITES] & AT_CONSUMER) || call != plan->consumer.call)
		return;
	if (made.process != process)
		made = (__typeof__(made)){ .process = process };
	try = find_consumer(0, ++made.consumers);
	if (try)
		stream_consumed(try, 0);
}

static void child(void)
{
	plan = NULL;
	process++;
	memset(at, 0, sizeof(at));
	shake_child();
	stream_child();
}

__attribute__((visibility("default"))) const struct hold cufence_hold = { .start = start,
	.wrap = hold_wrapper,
	.site = new_site,
	.touched = note_access,
	.child = child };
