/* SPDX-License-Identifier: Apache-2.0 */
#include "known_events.h"

#include <stdio.h>
#include <stdlib.h>

#include "idmap.h"
#include "map.h"
#include "order_cover.h"
#include "run_columns.h"

/* Number of waits of a stream without work in between that are compared. */
#define PENDING_WAITS 16

/* A stream's latest waits without work in between, with the position of each event record. */
struct waiting {
	struct {
		int64_t call;
		struct order_epoch event;
	} pending[PENDING_WAITS];
	size_t count;
};

struct known_events {
	struct idmap streams; /* struct waiting */
	struct map
		observed; /* process: its last call that comes after the waits of several streams */
	struct run_evidence *evidence;
};

struct known_events *known_events_new(struct db *db)
{
	struct known_events *known = calloc(1, sizeof(*known));

	if (!known)
		fputs("cufence: out of memory\n", stderr);
	else
		known->evidence = &db->run->evidence;
	return known;
}

void known_events_free(struct known_events *known)
{
	if (!known)
		return;
	idmap_release(&known->streams, free);
	map_release(&known->observed);
	free(known);
}

static int add(struct known_events *known, int64_t call, int64_t since)
{
	return run_add_known(known->evidence,
		&(struct run_known){ .call = (uint32_t)call, .since = (uint32_t)since });
}

/* Waits covered by the new one were unnecessary, unless something came after them. */
static int replace_covered(struct known_events *known, struct waiting *waiting,
	const struct order_cover *cover, const struct walk_call *call)
{
	int64_t observed = (int64_t)map_get(&known->observed, (uint64_t)call->process, 0);
	size_t count = 0;

	for (size_t i = 0; i < waiting->count; i++)
		if (waiting->pending[i].call < observed)
			continue;
		else if (!order_cover_has(cover, &waiting->pending[i].event))
			waiting->pending[count++] = waiting->pending[i];
		else if (add(known, waiting->pending[i].call, call->id))
			return -1;
	waiting->count = count;
	return 0;
}

static int add_wait(struct known_events *known, struct order *order, const struct walk_call *call)
{
	struct waiting *waiting = idmap_need(&known->streams, call->stream, sizeof(*waiting));
	struct order_state event = order_of_event(order, call);
	struct order_cover cover;
	int rc, sure;

	order_record_of(order, call->event, &sure);
	if (!waiting || !sure || !event.call || !event.own.seq)
		return waiting ? 0 : -1;
	if (order_cover_of_stream_has(order, call, &event.own))
		return add(known, call->id, event.call);
	rc = order_cover_of(order, call, &cover) || replace_covered(known, waiting, &cover, call);
	order_cover_release(&cover);
	if (!rc && waiting->count < PENDING_WAITS) {
		waiting->pending[waiting->count].call = call->id;
		waiting->pending[waiting->count++].event = event.own;
	}
	return rc ? -1 : 0;
}

/* A wait in the legacy stream also applies to all blocking streams. */
static int is_plain_wait(const struct walk_call *call)
{
	return call->kind == KIND_STREAM_WAIT && !call->result && !call->captured &&
		!call->contested && call->stream_kind != STREAM_KIND_LEGACY && !call->stretch;
}

/*
 * Returns whether the call comes after waits of streams that it does not name: legacy work after
 * those of all blocking streams, an event of a context or a device synchronization after all.
 */
static int observes_streams(const struct walk_call *call)
{
	return !call->result && !call->captured &&
		(call->stream_kind == STREAM_KIND_LEGACY ||
			kind_has(call->kind, K_RESOURCE | K_NAMES_CONTEXT));
}

int known_events_process_call(struct known_events *known, struct order *order,
	const struct walk_call *call)
{
	struct waiting *waiting;

	if (order->given_up)
		return 0;
	if (observes_streams(call))
		map_set(&known->observed, (uint64_t)call->process, (uint64_t)call->id);
	if (!call->stream)
		return 0;
	if (is_plain_wait(call))
		return add_wait(known, order, call);
	waiting = idmap_get(&known->streams, call->stream);
	if (waiting)
		waiting->count = 0;
	return 0;
}
