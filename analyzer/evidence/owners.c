/* SPDX-License-Identifier: Apache-2.0 */
#include "owners.h"

#include <stdlib.h>

#include "constants.h"

static void note_result(struct owned_stream *stream, const struct relax *relax, int64_t thread)
{
	if (stream->thread == thread && order_knows(&relax->full, thread, &stream->result))
		stream->served++;
	else if (stream->thread)
		stream->shared = 1;
	stream->thread = thread;
	stream->result = relax->full.epoch;
}

int owners_note(struct owners *owners, const struct relax *relax, const struct walk_call *call)
{
	struct owned_stream *stream;

	if (relax->shows != SHOWN || !call->stream)
		return 0;
	stream = idmap_need(&owners->streams, call->stream, sizeof(*stream));
	if (!stream)
		return -1;
	note_result(stream, relax, call->thread);
	return 0;
}

int owners_is_others(const struct owners *owners, int64_t stream, int64_t thread)
{
	const struct owned_stream *owned = idmap_get(&owners->streams, stream);

	return owned && !owned->shared && owned->served >= SERVED_MIN && owned->thread != thread;
}

void owners_release(struct owners *owners)
{
	idmap_release(&owners->streams, free);
	*owners = (struct owners){ .streams = { 0 } };
}
