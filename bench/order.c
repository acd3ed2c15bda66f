/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many calls the order engine takes per second of a core, without a database: launches over
 * many streams, each of which is also asked for its order after an earlier operation, as a pass
 * that looks for missing fences does.  Exits 1 when a bar is missed.
 *
 *	order [CALLS]
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "order.h"

enum { ASKED = 1024 };

struct mix {
	const char *name;
	int streams, blocking;
	int events;       /* every so many calls one stream waits for another; 0: never */
	int legacy;       /* every so many calls one is in the legacy stream */
	int syncs;        /* every so many calls the thread waits for a stream */
	int device_syncs; /* ... for the device */
	double bar;       /* calls a second */
};

static const struct mix mixes[] = {
	{ "64 streams, events, waits", 64, 0, 4, 0, 64, 4096, 1e6 },
	{ "64 streams, events, no waits", 64, 0, 4, 0, 0, 0, 1e6 },
	{ "64 blocking streams, legacy work", 64, 1, 8, 16, 64, 4096, 1e6 },
	{ "10 000 streams, legacy work", 10000, 1, 64, 16, 64, 4096, 3e5 },
	{ "10 000 streams, legacy work, no waits", 10000, 1, 64, 16, 0, 0, 3e5 },
};

static uint64_t random_state = 1;

static unsigned pick(unsigned n)
{
	random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)(random_state >> 33) % n;
}

static int count_edge(void *arg, int64_t call, int64_t needs, enum order_reason reason)
{
	(void)call;
	(void)needs;
	(void)reason;
	++*(uint64_t *)arg;
	return 0;
}

static struct walk_call make_call(int64_t id)
{
	return (struct walk_call){ .id = id,
		.process = 1,
		.thread = 1,
		.context = 1,
		.enter = id * 1000,
		.exit = id * 1000 + 500,
		.op_start = WALK_NEVER,
		.op_end = WALK_NEVER,
		.owner_device = -1,
		.direction = COPY_DEFAULT };
}

static void on_stream(const struct mix *mix, struct walk_call *call, int stream)
{
	call->stream = 2 + stream;
	call->stream_context = 1;
	call->stream_kind = mix->blocking ? STREAM_KIND_BLOCKING : STREAM_KIND_NON_BLOCKING;
}

static int every(int64_t i, int period)
{
	return period && i % period == period - 1;
}

/* The next call of the mix; an event is recorded in one step and waited for in the next one. */
static struct walk_call next_call(const struct mix *mix, int64_t i)
{
	struct walk_call call = make_call(i + 1);

	on_stream(mix, &call, (int)pick((unsigned)mix->streams));
	call.kind = KIND_LAUNCH;
	if (every(i, mix->device_syncs)) {
		call.kind = KIND_CONTEXT_SYNC;
	} else if (every(i, mix->syncs)) {
		call.kind = KIND_STREAM_SYNC;
	} else if (every(i, mix->legacy)) {
		call.stream = 1;
		call.stream_kind = STREAM_KIND_LEGACY;
	} else if (every(i, mix->events) || every(i + 1, mix->events)) {
		call.kind = every(i, mix->events) ? KIND_STREAM_WAIT : KIND_EVENT_RECORD;
		call.event = 1 + (i + 1) / mix->events % 256;
	}
	return call;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int measure(const struct mix *mix, int64_t calls)
{
	uint64_t edges = 0, ordered = 0;
	struct order order = { .edge = count_edge, .arg = &edges };
	struct order_epoch asked[ASKED] = { { 0 } };
	double start = now(), rate;
	int rc = 0;

	for (int64_t i = 0; i < calls && !rc; i++) {
		struct walk_call call = next_call(mix, i);
		struct order_epoch *earlier = &asked[pick(ASKED)];

		rc = order_step(&order, &call);
		if (!order.epoch.seq || call.kind != KIND_LAUNCH)
			continue;
		ordered += order_before(&order, *earlier) == ORDER_GUARANTEED;
		*earlier = order.epoch;
	}
	rate = (double)calls / (now() - start);
	order_release(&order);
	printf("%-40s %8.2f M/s  (bar %.1f), %.1f edges a call, %2.0f %% ordered\n", mix->name,
		rate / 1e6, mix->bar / 1e6, (double)edges / (double)calls,
		100.0 * (double)ordered / (double)calls);
	return rc || rate < mix->bar;
}

int main(int argc, char **argv)
{
	int64_t calls = argc > 1 ? strtoll(argv[1], NULL, 0) : 2000000;
	int missed = 0;

	for (size_t i = 0; i < sizeof(mixes) / sizeof(*mixes); i++)
		missed |= measure(&mixes[i], calls);
	return missed ? 1 : 0;
}
