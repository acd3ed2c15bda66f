/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work of the legacy default stream in a stream of the library's own, which no blocking stream
 * waits for.
 *
 * The calls that the plan names (FIX_MOVED) are made there.  The program sees the order that the
 * legacy stream gave them, except with the calls that the plan says to be apart (FIX_APART):
 *
 * - Before anything else that the legacy stream orders, it waits for that stream, and the next
 *   moved call waits for the legacy stream, whose events come after the blocking streams' work as
 *   well.  This costs nothing as long as a loop uses the legacy stream by moved calls only.
 * - Work of any other stream waits for the work moved before it, and work that is moved after it
 *   waits for it.  A call path that was never seen is treated so.
 *
 * Each order is that of one event at the time of the call, so no thread has to know of the others:
 * what has returned in one thread before a call of another one is before it here, too.
 */
#include "fix_internal.h"
#include "system.h"

enum { SPARE_EVENTS = 16 };

static struct {
	_Atomic int lock; /* for all but the counters */
	CUcontext context;
	CUstream stream; /* NULL: nothing was moved yet */
	CUevent spare[SPARE_EVENTS];
	unsigned spare_count;
	_Atomic uint64_t made, joined;  /* moved calls; those that the legacy stream comes after */
	_Atomic uint64_t touched, seen; /* other uses of the legacy stream; those that are waited
					   for by the stream */
} moved;

/* A count that other threads raise as well. */
static void raise_to(_Atomic uint64_t *count, uint64_t to)
{
	uint64_t now = *count;

	while (now < to && !atomic_compare_exchange_weak(count, &now, to))
		;
}

static CUstream moved_stream(CUcontext *context)
{
	CUstream stream;

	fix_lock(&moved.lock);
	stream = moved.stream;
	if (context)
		*context = moved.context;
	fix_unlock(&moved.lock);
	return stream;
}

/* --- one stream after another --- */

static CUresult take_event(CUevent *event)
{
	*event = NULL;
	fix_lock(&moved.lock);
	if (moved.spare_count)
		*event = moved.spare[--moved.spare_count];
	fix_unlock(&moved.lock);
	return *event ? CUDA_SUCCESS : fix.driver.new_event(event, CU_EVENT_DISABLE_TIMING);
}

/* A wait is for the record before it: the event may be recorded again at once. */
static void give_event(CUevent event)
{
	int is_kept;

	fix_lock(&moved.lock);
	is_kept = moved.spare_count < SPARE_EVENTS;
	if (is_kept)
		moved.spare[moved.spare_count++] = event;
	fix_unlock(&moved.lock);
	if (!is_kept)
		fix.driver.end_event(event);
}

/* 0, or why the later stream's next work may not come after the earlier one's. */
static CUresult put_after(CUstream later, CUstream earlier)
{
	CUresult result;
	CUevent event;

	fix.recorder->own_begin();
	result = take_event(&event);
	if (!result) {
		result = fix.driver.record(event, earlier);
		result = result ? result : fix.driver.stream_wait(later, event, 0);
		give_event(event);
	}
	fix.recorder->own_end();
	return result;
}

static CUresult wait_for(CUstream stream)
{
	CUresult result;

	fix.recorder->own_begin();
	result = fix.driver.stream_synchronize(stream);
	fix.recorder->own_end();
	return result;
}

/* Where an event cannot do it, the host waits for what was moved, and nothing more is. */
static void give_up(CUstream stream, const struct fixed_call *call, CUresult result)
{
	wait_for(stream);
	fix_turn_off(fix_finding_moving(), FIX_SURPRISE_OWN_CALL, call->id, (int)result);
}

/* --- which calls --- */

static int is_legacy(const struct fixed_call *call)
{
	return call->stream == (uintptr_t)CU_STREAM_LEGACY || (!call->stream && !call->per_thread);
}

static int submits(enum call_kind kind)
{
	return kind_has(kind, K_WORK | K_SILENT) || kind_family(kind) == FAMILY_stream_allocation ||
		kind_family(kind) == FAMILY_stream_free;
}

static int is_treated(const struct fixed_call *call)
{
	return !fix_finding_moving()->off && !fix.recorder->captures() &&
		fix_has_side(call, FIX_MOVED);
}

/*
 * While a stream is captured nothing is moved, and no event may come between: the host waits for
 * what was moved before that.
 */
static enum moved_role role_of(const struct fixed_call *call)
{
	if (call->kind == KIND_CAPTURE_BEGIN)
		return fix.recorder->captures() ? MOVED_NOTHING : MOVED_WAITS;
	if (kind_has(call->kind, K_ANY_STREAM))
		return MOVED_TOUCHES;
	if (!submits(call->kind) && !kind_has(call->kind, K_MARKER) &&
		call->kind != KIND_STREAM_SYNC && call->kind != KIND_STREAM_QUERY)
		return MOVED_NOTHING;
	if (is_legacy(call) && (call->stream_at || call->config_at) && is_treated(call))
		return MOVED_MOVES;
	if (is_legacy(call))
		return call->kind == KIND_STREAM_SYNC ? MOVED_WAITS : MOVED_TOUCHES;
	return submits(call->kind) && !fix.recorder->captures() && !fix_has_side(call, FIX_APART)
		? MOVED_FENCES
		: MOVED_NOTHING;
}

/* --- before a call --- */

/* The stream, which the first call makes; NULL: none in this context. */
static CUstream need_stream(const struct fixed_call *call)
{
	CUcontext context, current = fix_context();
	CUstream stream = moved_stream(&context), made = NULL;
	CUresult result;

	if (stream)
		return context == current ? stream : NULL;
	fix.recorder->own_begin();
	result = fix.driver.new_stream(&made, CU_STREAM_NON_BLOCKING);
	fix.recorder->own_end();
	if (result || !current) {
		fix_turn_off(fix_finding_moving(), FIX_SURPRISE_OWN_CALL, call->id, (int)result);
		return NULL;
	}
	fix_lock(&moved.lock);
	if (!moved.stream) {
		moved.stream = made;
		moved.context = current;
		/* What the program has submitted until now is not known. */
		moved.touched++;
	}
	stream = moved.context == current ? moved.stream : NULL;
	fix_unlock(&moved.lock);
	if (made != stream) {
		fix.recorder->own_begin();
		fix.driver.end_stream(made);
		fix.recorder->own_end();
	}
	return stream;
}

static void pass_stream(struct fixed_call *call, CUstream stream)
{
	call->stream = (uintptr_t)stream;
	if (call->stream_at) {
		*call->stream_at = stream;
		return;
	}
	call->config = **call->config_at;
	call->config.hStream = stream;
	*call->config_at = &call->config;
}

/* Returns 1 if the call is to be made in the stream. */
static int move(struct fixed_call *call)
{
	CUstream stream = need_stream(call);
	uint64_t touched = moved.touched;
	CUresult result;

	if (!stream)
		return 0;
	if (touched != moved.seen) {
		result = put_after(stream, CU_STREAM_LEGACY);
		if (result) {
			give_up(stream, call, result);
			return 0;
		}
		raise_to(&moved.seen, touched);
	}
	pass_stream(call, stream);
	return 1;
}

/* The legacy stream comes after what was moved so far. */
static void join(const struct fixed_call *call)
{
	uint64_t made = moved.made;
	CUcontext context;
	CUstream stream = moved_stream(&context);
	CUresult result;

	if (!stream || made == moved.joined)
		return;
	result = fix_context() == context ? put_after(CU_STREAM_LEGACY, stream) : wait_for(stream);
	if (result)
		give_up(stream, call, result);
	raise_to(&moved.joined, made);
}

/*
 * The host waits for what was moved.  Returns 1 if it need not wait for the legacy stream, of which
 * the stream has seen all else: that would be a wait for all blocking streams.
 */
static int wait_alone(const struct fixed_call *call)
{
	uint64_t made = moved.made, touched = moved.touched;
	CUcontext context;
	CUstream stream = moved_stream(&context);
	CUresult result;

	if (!stream || fix_context() != context)
		return 0;
	result = wait_for(stream);
	if (result)
		give_up(stream, call, result);
	raise_to(&moved.joined, made);
	return !result && touched == moved.seen && is_treated(call);
}

static void wait_for_moved(const struct fixed_call *call)
{
	CUstream stream = moved_stream(NULL);
	CUresult result;

	if (!stream || !moved.made)
		return;
	result = put_after(fixed_stream(call), stream);
	if (result)
		give_up(stream, call, result);
}

int moved_before(struct fixed_call *call)
{
	call->role = fix_finding_moving() ? role_of(call) : MOVED_NOTHING;
	if (call->role == MOVED_MOVES && !move(call))
		call->role = MOVED_TOUCHES;
	if (call->role == MOVED_TOUCHES)
		join(call);
	if (call->role == MOVED_FENCES)
		wait_for_moved(call);
	return call->role == MOVED_WAITS && wait_alone(call);
}

/* --- after it --- */

static void let_wait(const struct fixed_call *call)
{
	CUstream stream = moved_stream(NULL);
	CUresult result;

	if (!stream || fix_finding_moving()->off)
		return;
	result = put_after(stream, fixed_stream(call));
	if (result)
		fix_turn_off(fix_finding_moving(), FIX_SURPRISE_OWN_CALL, call->id, (int)result);
}

void moved_after(const struct fixed_call *call)
{
	switch (call->role) {
	case MOVED_MOVES:
		moved.made++;
		fix_finding_moving()->applied++;
		break;
	case MOVED_WAITS:
		/* Work that is submitted meanwhile is waited for as the legacy stream does. */
		moved.touched += call->kind == KIND_CAPTURE_BEGIN;
		break;
	case MOVED_TOUCHES:
		moved.touched += !kind_has(call->kind, K_IDLE);
		break;
	case MOVED_FENCES:
		let_wait(call);
		break;
	default:
		break;
	}
}

void moved_context_ends(void)
{
	CUstream stream = moved_stream(NULL);

	if (!stream)
		return;
	wait_for(stream);
	moved_forget();
}

void moved_forget(void)
{
	memset(&moved, 0, sizeof(moved));
}
