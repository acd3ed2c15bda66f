/* SPDX-License-Identifier: Apache-2.0 */
#include "owners.h"

#include <stdlib.h>

#include "constants.h"

static void note_result(struct owned_stream *stream, const struct relax *relax, int64_t thread)
{
	if (stream->thread == thread &&
		order_known(&relax->full, thread, stream->result) == ORDER_GUARANTEED)
		stream->served++;
	else if (stream->thread)
		stream->shared = 1;
	stream->thread = thread;
	stream->result = relax->full.epoch;
}

int owners_note(struct owners *owners, const struct relax *relax, const struct walk_call *call)
{
	struct owned_stream *stream;

	if (!relax->full.epoch.seq || !call->stream)
		return 0;
	stream = idmap_need(&owners->streams, call->stream, sizeof(*stream));
	if (!stream)
		return -1;
	stream->kind = call->stream_kind;
	stream->context = call->stream_context;
	if (relax->shows == SHOWN)
		note_result(stream, relax, call->thread);
	if (walk_submits(call)) {
		stream->last = call->id;
		stream->end = call->op_end;
	}
	return 0;
}

const struct owned_stream *owners_stream(const struct owners *owners, int64_t stream)
{
	return idmap_get(&owners->streams, stream);
}

int owners_is_others(const struct owners *owners, int64_t stream, int64_t thread)
{
	const struct owned_stream *owned = owners_stream(owners, stream);

	return owned && !owned->shared && owned->served >= SERVED_MIN && owned->thread != thread;
}

void owners_release(struct owners *owners)
{
	idmap_release(&owners->streams, free);
	*owners = (struct owners){ .streams = { 0 } };
}
