/* SPDX-License-Identifier: Apache-2.0 */
/* Code around every recorded call. */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "control.h"
#include "gate.h"
#include "holding.h"
#include "hot.h"
#include "usage.h"
#include "window.h"

/* Reserves space in the window if there is some, without a function call. */
static inline void *reserve(struct thread_state *thread, size_t bytes, enum record_type type)
{
	void *record = trace_reserve_here(&thread->chunk, bytes, type);

	return UNLIKELY(!record) ? thread_reserve(thread, bytes, type) : record;
}

/* A call that may block has a record of its own: others may be made within it. */
static inline void write_enter(struct call_frame *frame, uint64_t operand)
{
	int blocks = frame->flags & FRAME_BLOCKS;
	struct enter_record *record = blocks ? reserve(frame->thread, ENTER_BYTES, RECORD_ENTER)
					     : enter_place(frame->thread);

	if (UNLIKELY(!record))
		return;
	record->head.flags = (uint8_t)frame->flags;
	record->call = frame->call;
	record->context = frame->context;
	record->site = frame->site;
	record->operand[0] = operand;
	__atomic_store_n(&record->enter, frame->enter, __ATOMIC_RELEASE);
	if (!blocks)
		return;
	trace_commit(&frame->thread->chunk);
	frame->entered = frame->thread->chunk.written;
}

/* A closed gate is seldom. */
static COLD int passes_gate(struct thread_state *thread, uintptr_t frame)
{
	gate_enter(thread, frame);
	return 1;
}

/*
 * Every rule here is one of thread_make_ready(), which decides about all other calls.  In a step of
 * PyTorch the caches have little of it left at each call, so it is short, saves no registers, and
 * what it reads is in two cache lines: window_now and the thread's.
 */
HOT __attribute__((aligned(64))) int call_passes(void *frame_address)
{
	const struct window_now *now = &window_now;
	struct thread_state *thread = thread_nearby();
	uintptr_t frame = (uintptr_t)frame_address;

	/* One register for its address makes the code shorter than six addresses. */
	__asm__("" : "+r"(now));
	if (now->reasons & WINDOW_BIT(WINDOW_DELAY) || !now->outside || thread->busy ||
		thread->known != now->generation || now->captures > 0 ||
		__atomic_load_n(now->asked, __ATOMIC_RELAXED) != now->answered)
		return 0;
	return gate_passes(thread, frame) || passes_gate(thread, frame);
}

/* Returns whether the call is recorded; its thread is busy then. */
static ALWAYS_INLINE int begin_busy(struct thread_state *thread, enum call_id id, unsigned flags,
	void *frame_address)
{
	return !UNLIKELY(!thread_enter(thread, frame_address)) ||
		thread_make_ready(thread, id, flags, frame_address);
}

int frame_admits(struct thread_state *thread, enum call_id id, void *frame_address)
{
	int admits = begin_busy(thread, id, FRAME_HOST, frame_address);

	if (admits)
		thread->busy = 0;
	return admits;
}

/* Clears the members that a record uses, except those set by poll_begin(). */
static inline void clear(struct call_frame *frame)
{
	frame->rest = 0;
	frame->entered = 0;
	frame->function = 0;
}

/* The thread is ready.  Returns the number of enclosing wrappers. */
static inline int begin(struct thread_state *thread, struct call_frame *frame, enum call_id id,
	unsigned flags, void *frame_address)
{
	int depth = thread_depth(thread, flags, frame_address);

	thread->depth = depth + 1;
	frame->thread = thread;
	frame->call = (uint16_t)id;
	if (!depth) {
		thread->outermost = (uintptr_t)frame_address + !!(flags & FRAME_RUNTIME);
		thread->caller = ((const uint32_t *)frame_address)[2];
		thread->polled = (int)(flags & FRAME_HOST);
		thread->site = site_find(thread, frame_address);
	}
	frame->flags = (uint16_t)(flags | (depth ? CALL_NESTED : 0));
	frame->site = thread->site;
	frame->outer_correlation = thread->correlation;
	thread->correlation = 0;
	return depth;
}

/*
 * A gap whose usage is read ends with a call that is recorded.  Outside of windows most calls are
 * not, so that there are gaps all the time, and nobody asks about them.
 */
static COLD void read_gap(struct thread_state *thread, struct call_frame *frame)
{
	if (window_now.outside)
		return;
	if (frame->flags & FRAME_SELDOM) {
		frame->flags &= (uint16_t)~FRAME_SELDOM;
		frame->context = context_current(thread);
	}
	frame->enter = usage_read(thread, frame->enter);
}

HOT int frame_begin(struct call_frame *frame, enum call_id id, unsigned flags, void *frame_address,
	uint64_t operand)
{
	struct thread_state *thread = thread_state();

	if (!begin_busy(thread, id, flags, frame_address))
		return 0;
	clear(frame);
	begin(thread, frame, id, flags, frame_address);
	if (UNLIKELY(thread->site == thread->turn_site) && window_turned(frame))
		return frame_begin(frame, id, flags, frame_address, operand);
	frame->context =
		flags & (FRAME_RUNTIME | FRAME_HOST | FRAME_SELDOM) ? 0 : context_current(thread);
	/* Copy now, while the device works; later it would wait for this thread. */
	if (UNLIKELY(flags & FRAME_WAITS) && thread->chunk.used > TRACE_CHUNK_SPACE / 2)
		thread_empty(thread);
	frame->enter = clock_read();
	if (UNLIKELY(frame->enter - thread->seen > shim.usage_ticks))
		read_gap(thread, frame);
	thread->seen = frame->enter;
	/* Announcing other calls costs some 40 ns each, with the cold caches that drivers leave. */
	if (flags & (FRAME_BLOCKS | FRAME_LAUNCH))
		write_enter(frame, operand);
	thread->busy = 0;
	return 1;
}

void frame_list(struct call_frame *frame, const void *array, uint64_t words)
{
	uint32_t room = CALL_LIST_WORDS;

	frame_rest(frame);
	for (unsigned i = 0; i < frame->list_count; i++)
		room -= frame->list[i].words;
	if (frame->list_count < CALL_LISTS)
		frame->list[frame->list_count++] =
			(struct call_list){ array, words < room ? (uint32_t)words : room };
}

static size_t pointer_bytes(const struct launch_arguments *arguments)
{
	return (arguments->pointer_count * sizeof(arguments->pointer[0]) + 7) & ~(size_t)7;
}

/* Size of the tail of a call with lists, or of a launch whose buffer is not recorded unchanged. */
static NOINLINE size_t tail_bytes(const struct call_frame *frame,
	const struct function_layout *layout)
{
	const struct launch_arguments *arguments = &frame->thread->tables->arguments;
	size_t bytes = frame->attributes.flags ? sizeof(frame->attributes) : 0;

	if (layout)
		bytes += layout->words * sizeof(uint64_t);
	else if (frame->launch)
		bytes += pointer_bytes(arguments) + arguments->word_count * sizeof(uint64_t);
	for (unsigned i = 0; i < frame->list_count; i++)
		bytes += frame->list[i].words * sizeof(uint64_t);
	return bytes;
}

static inline void write_buffer(const struct call_frame *frame,
	const struct function_layout *layout, struct call_record *record, void *at)
{
	record->head.flags |= CALL_BUFFER;
	record->pointer_count = layout->words;
	arguments_copy(at, layout, frame->values);
}

static NOINLINE void write_tail(const struct call_frame *frame,
	const struct function_layout *layout, struct call_record *record, char *at)
{
	const struct launch_arguments *arguments = &frame->thread->tables->arguments;

	if (layout) {
		write_buffer(frame, layout, record, at);
		at += layout->words * sizeof(uint64_t);
	} else if (frame->launch) {
		record->pointer_count = (uint16_t)arguments->pointer_count;
		memcpy(at, arguments->pointer,
			arguments->pointer_count * sizeof(arguments->pointer[0]));
		at += pointer_bytes(arguments);
		if (arguments->extra)
			record->head.flags |= CALL_EXTRA;
		memcpy(at, arguments->word, arguments->word_count * sizeof(uint64_t));
		at += arguments->word_count * sizeof(uint64_t);
	}
	for (unsigned i = 0; i < frame->list_count; i++) {
		size_t bytes = frame->list[i].words * sizeof(uint64_t);

		if (frame->list[i].array)
			memcpy(at, frame->list[i].array, bytes);
		else
			memset(at, 0, bytes);
		at += bytes;
	}
	if (frame->attributes.flags) {
		record->head.flags |= CALL_ATTRIBUTES;
		memcpy(at, &frame->attributes, sizeof(frame->attributes));
	}
}

/* Word by word: a call of memcpy() costs more than the few words. */
static ALWAYS_INLINE struct call_record *write_head(struct thread_state *thread,
	const struct call_frame *frame, uint64_t now, int result, const uint64_t *field,
	unsigned count, size_t tail)
{
	struct call_record *record;

	if (frame->entered)
		trace_take_back(&thread->chunk, ENTER_BYTES, frame->entered);
	record = reserve(thread, sizeof(*record) + count * sizeof(*field) + tail, RECORD_CALL);
	if (UNLIKELY(!record))
		return NULL;
	record->head.flags = (uint8_t)frame->flags;
	record->call = frame->call;
	record->result = (int16_t)result;
	record->site = frame->site;
	record->correlation = frame->flags & FRAME_RUNTIME ? 0 : thread->correlation;
	record->enter = frame->enter;
	record->context = frame->context;
	record->pointer_count = 0; /* what announced the call was here */
	set_duration(record, now - frame->enter);
	for (unsigned i = 0; i < count; i++)
		__atomic_store_n(&record->field[i], field[i], __ATOMIC_RELAXED);
	return record;
}

static ALWAYS_INLINE void write_call(struct thread_state *thread, struct call_frame *frame,
	uint64_t now, int result, const uint64_t *field, unsigned count)
{
	const struct function_layout *layout = frame->function ? launch_layout(frame, field) : NULL;
	int rest = frame->rest; /* after launch_layout(), which may set it */
	size_t tail = UNLIKELY(rest) ? tail_bytes(frame, layout) : layout ? layout->words * 8u : 0;
	struct call_record *record = write_head(thread, frame, now, result, field, count, tail);

	if (UNLIKELY(!record))
		return;
	if (UNLIKELY(rest))
		write_tail(frame, layout, record, (char *)(record->field + count));
	else if (layout)
		write_buffer(frame, layout, record, record->field + count);
	trace_commit(&thread->chunk);
}

static uint64_t next_tick(void)
{
	return atomic_load_explicit(&shim.next_tick, memory_order_relaxed);
}

/* Every 8 ms, and in destructors. */
static COLD void end_seldom(struct thread_state *thread, uint64_t now, int result)
{
	int saved = errno;

	if (shim.ended == thread && !result)
		shim_resume();
	if (now >= next_tick()) {
		window_tick(thread, now);
		clock_tick(thread, now);
	}
	errno = saved;
}

/* Remaining work after a call was recorded. */
static inline void end(struct thread_state *thread, const struct call_frame *frame, uint64_t now,
	int result)
{
	if (thread->correlation && frame->context)
		context_learn(thread, frame->context, thread->cupti_context);
	thread->correlation = frame->outer_correlation;
	if (UNLIKELY(now >= next_tick() || shim.ended == thread))
		end_seldom(thread, now, result);
}

/* The end of an outermost call also ends calls left inside it.  Busy first: see gate.h. */
static inline void leave(struct thread_state *thread, const struct call_frame *frame)
{
	thread->busy = (uintptr_t)frame;
	atomic_signal_fence(memory_order_release);
	thread->depth = frame->flags & CALL_NESTED ? thread->depth - 1 : 0;
	if (UNLIKELY(thread->inside) && !thread->depth)
		gate_leave(thread->outermost & ~(uintptr_t)1);
}

/*
 * Libraries ask for a kernel's attributes hundreds of times a turn (cuDNN), and such a query tells
 * something only if it loads the kernel, which takes 5 us at least (H200).  The record of its entry
 * goes; 0: it was not quick, or more was recorded meanwhile.
 */
#define QUICK_SHIFT 19 /* shift of ticks per second: 2 us */
static NOINLINE int count_quick(struct call_frame *frame, uint64_t now, int result)
{
	struct trace_chunk *chunk = &frame->thread->chunk;
	uint64_t written = chunk->written;

	if (!result && now - frame->enter < shim.calibration_ticks >> QUICK_SHIFT) {
		trace_take_back(chunk, ENTER_BYTES, frame->entered);
		if (chunk->written < written) {
			trace_count(&shim.writer, COUNT_QUICK_QUERIES, 1);
			return 1;
		}
	}
	frame->context = context_current(frame->thread);
	return 0;
}

HOT void frame_end(struct call_frame *frame, int result, const uint64_t *field, unsigned count)
{
	struct thread_state *thread = frame->thread;
	uint64_t now = clock_read();

	leave(thread, frame);
	if (!(frame->flags & FRAME_RUNTIME)) {
		thread->polled = 0;
		thread->armed = frame->flags & FRAME_WAITS;
	}
	if (!(frame->flags & FRAME_SELDOM) || !count_quick(frame, now, result))
		write_call(thread, frame, now, result, field, count);
	end(thread, frame, now, result);
	if (UNLIKELY(now - thread->seen > shim.usage_ticks))
		usage_read(thread, now);
	thread->seen = now;
	thread->busy = 0;
}

COLD int frame_touched(uintptr_t address, int write, const void *context, void *frame_address)
{
	enum call_id id = write ? CALL_host_write : CALL_host_read;
	struct thread_state *thread = thread_state();
	uint64_t field = address;
	struct call_frame frame;
	int saved = errno;

	if (thread->busy || thread_depth(thread, FRAME_HOST, frame_address) || !*shim.alive ||
		!begin_busy(thread, id, FRAME_HOST, frame_address))
		return 0;
	clear(&frame);
	frame.thread = thread;
	frame.call = (uint16_t)id;
	frame.flags = FRAME_HOST;
	frame.context = 0;
	frame.outer_correlation = thread->correlation;
	thread->correlation = 0;
	frame.enter = clock_read();
	frame.site = site_of_touch(thread, context, frame_address);
	if (shim.hold)
		shim.hold->touched(frame.site, id);
	write_call(thread, &frame, frame.enter, 0, &field, 1);
	end(thread, &frame, frame.enter, 0);
	thread->busy = 0;
	errno = saved;
	return 1;
}

/* In loops of queries with several handles, each one is timed sometimes: 13 is prime. */
#define UNTIMED_POLLS 12
#define UNTIMED_SHIFT 21 /* shift of ticks per second: half a microsecond between polls */

static inline int polls_are_last(const struct thread_state *thread)
{
	return thread->chunk.written == thread->tables->polls.written;
}

/* Whether a query skips the clock: like the enclosing one, if any. */
static inline int goes_untimed(struct thread_state *thread, int depth)
{
	struct poll_pace *pace = &thread->tables->polls.pace;

	if (depth)
		return thread->polled & FRAME_UNTIMED;
	if (!pace->left || !polls_are_last(thread))
		return 0;
	pace->left--;
	pace->inner = 0;
	thread->polled = FRAME_UNTIMED;
	return 1;
}

HOT int poll_begin(struct call_frame *frame, enum call_id id, unsigned flags, void *frame_address)
{
	struct thread_state *thread = thread_state();
	int depth;

	if (!begin_busy(thread, id, flags, frame_address))
		return 0;
	depth = begin(thread, frame, id, flags, frame_address);
	frame->enter = goes_untimed(thread, depth) ? 0 : clock_read();
	thread->busy = 0;
	return 1;
}

/* After a timed poll: computes how many following ones are untimed. */
static HOT NOINLINE void set_pace(struct poll_pace *pace, uint64_t enter)
{
	uint64_t ticks = enter - pace->read, polls = pace->batch + 1;

	pace->batch = 0;
	if (ticks < polls * (shim.calibration_ticks >> UNTIMED_SHIFT)) {
		pace->gap = ticks / polls;
		pace->batch = UNTIMED_POLLS;
	}
	pace->left = pace->batch;
	pace->read = enter;
}

/* The answer changed: its entry time is estimated from that of other polls. */
static uint64_t estimate_enter(struct thread_state *thread, uint64_t now)
{
	struct poll_pace *pace = &thread->tables->polls.pace;

	if (pace->inner)
		return pace->inner - 1;
	return pace->inner = now - pace->gap;
}

static inline struct poll_ring *poll_ring(struct thread_state *thread, int depth)
{
	return &thread->tables->polls.ring[depth & (POLL_DEPTH - 1)];
}

static NOINLINE struct last_poll *search_poll(struct poll_ring *ring, uint64_t handle)
{
	for (unsigned i = 0; i < POLL_HANDLES; i++) {
		if (ring->of[i].polls && ring->of[i].handle == handle) {
			ring->after[ring->found] = (uint8_t)i;
			ring->found = i;
			return &ring->of[i];
		}
	}
	return NULL;
}

/* One handle is polled repeatedly, or several in turn: predicts from the last one. */
static inline struct last_poll *find_poll(struct poll_ring *ring, uint64_t handle)
{
	unsigned after = ring->after[ring->found];

	if (ring->of[after].handle != handle || !ring->of[after].polls)
		return search_poll(ring, handle);
	ring->found = after;
	return &ring->of[after];
}

/* Queries of one handle with equal keys share a record. */
static inline uint64_t poll_is(const struct call_frame *frame, int result)
{
	_Static_assert(CALL_COUNT <= 1 << 15, "a call takes 15 bits");
	return (uint64_t)(uint16_t)result << 48 | (uint64_t)(frame->flags & CALL_PER_THREAD) << 47 |
		(uint64_t)frame->call << 32 | frame->site;
}

/* 1: counted in the previous poll's record. */
static inline int count_poll(struct thread_state *thread, const struct call_frame *frame,
	int result)
{
	struct thread_polls *all = &thread->tables->polls;
	const struct last_poll *last;

	if (!polls_are_last(thread))
		return 0;
	last = find_poll(poll_ring(thread, thread->depth), all->handle);
	if (!last || last->is != poll_is(frame, result))
		return 0;
	if (frame->enter) {
		__atomic_store_n(&last->polls->last, frame->enter, __ATOMIC_RELAXED);
		if (!thread->depth)
			set_pace(&all->pace, frame->enter);
	}
	__atomic_store_n(&last->polls->count, last->polls->count + 1, __ATOMIC_RELAXED);
	return 1;
}

/*
 * Registers the record just committed, which ends in polls, for counting further ones. were_last:
 * before it there were only polls.  A new record of the enclosing call is needed for it.
 */
static void note_poll(const struct call_frame *frame, int result, struct call_polls *polls,
	int were_last)
{
	struct thread_state *thread = frame->thread;
	struct thread_polls *all = &thread->tables->polls;
	struct poll_ring *ring = poll_ring(thread, thread->depth);
	struct last_poll *poll;

	if (!were_last)
		memset(all->ring, 0, sizeof(all->ring));
	for (int depth = 0; depth < thread->depth && depth < POLL_DEPTH; depth++) {
		poll = find_poll(poll_ring(thread, depth), all->handle);
		if (poll)
			poll->polls = NULL;
	}
	poll = find_poll(ring, all->handle);
	if (!poll)
		poll = &ring->of[ring->oldest++ & (POLL_HANDLES - 1)];
	*poll = (struct last_poll){ polls, all->handle, poll_is(frame, result) };
	all->written = thread->chunk.written;
}

static void write_poll(struct call_frame *frame, uint64_t now, int result, const uint64_t *field,
	unsigned count)
{
	struct trace_chunk *chunk = &frame->thread->chunk;
	uint32_t used_before = chunk->used; /* less afterwards if the window was emptied */
	int were_last = polls_are_last(frame->thread);
	struct call_polls polls = { .count = 1 };
	struct call_record *record;

	if (!frame->enter)
		frame->enter = estimate_enter(frame->thread, now);
	polls.last = frame->enter;
	record = write_head(frame->thread, frame, now, result, field, count, sizeof(polls));
	if (!record)
		return;
	record->head.flags |= CALL_POLLS;
	memcpy(record->field + count, &polls, sizeof(polls));
	trace_commit(chunk);
	note_poll(frame, result, (struct call_polls *)(record->field + count),
		were_last && chunk->used > used_before);
}

static NOINLINE void record_poll(struct call_frame *frame, int result, const uint64_t *field,
	unsigned count, int polling)
{
	struct thread_state *thread = frame->thread;
	uint64_t now = clock_read();

	clear(frame);
	/* A query's result does not depend on the context, so it is not queried. */
	frame->context = 0;
	if (polling)
		write_poll(frame, now, result, field, count);
	else
		write_call(thread, frame, now, result, field, count);
	end(thread, frame, now, result);
	thread->busy = 0;
}

/*
 * A query with known handle, or a runtime call whose last inner call was one, is a poll if it was
 * answered.  An untimed call takes this path with any result, as only here its time is estimated.
 */
HOT void poll_end(struct call_frame *frame, int result, const uint64_t *field, unsigned count)
{
	struct thread_state *thread = frame->thread;
	int polling;

	leave(thread, frame);
	if (!(frame->flags & FRAME_RUNTIME)) {
		thread->armed = 0;
		thread->polled = FRAME_QUERY;
		thread->tables->polls.handle = field[0];
	}
	polling = thread->polled && (result == 0 || result == RESULT_NOT_READY || !frame->enter);
	/* A loop of queries is one record a second, and looks at windows as often. */
	if (polling && frame->enter < next_tick() + shim.calibration_ticks &&
		count_poll(thread, frame, result)) {
		thread->correlation = frame->outer_correlation;
		thread->busy = 0;
	} else
		record_poll(frame, result, field, count, polling);
}
