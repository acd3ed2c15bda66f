/* SPDX-License-Identifier: Apache-2.0 */
#include "owners.h"

#include <stdlib.h>

#include "constants.h"

void owners_note(struct owners *owners, const struct orders *orders, const struct walk_call *call)
{
	struct owned_stream *stream;

	if (orders->shows != SHOWN || !call->stream)
		return;
	stream = id_map_need(&owners->streams, call->stream, sizeof(*stream));
	if (stream->thread == call->thread &&
		order_knows(&orders->full, call->thread, &stream->result))
		stream->served++;
	else if (stream->thread)
		stream->shared = 1;
	stream->thread = call->thread;
	stream->result = orders->full.epoch;
}

int owners_is_others(const struct owners *owners, int64_t stream, int64_t thread)
{
	const struct owned_stream *owned = id_map_get(&owners->streams, stream);

	return owned && !owned->shared && owned->served >= SERVED_MIN && owned->thread != thread;
}

void owners_release(struct owners *owners)
{
	id_map_release(&owners->streams, free);
}
