/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What would a change save?  Changes of calls, the dependencies that get lost by them, and the run
 * with them: what it takes less than the run without them is saved (savings.c).
 */
#include <string.h>

#include "constants.h"
#include "memory.h"
#include "replay.h"

/* --- changes of calls --- */

/* Leaves out a copy to the host, and the records and the wait of its thread that follow it. */
static void leave_out_fetch(struct replay *replay, uint32_t number)
{
	const struct replay_step *copy = &replay->step[number], *step;

	if (copy->engine != ENGINE_D2H)
		return;
	replay->change[number].bits |= CHANGE_CALL;
	if (copy->act & STEP_BECOMES_ASYNC)
		return;
	for (uint32_t at = number + 1; at < replay->step_count; at++) {
		step = &replay->step[at];
		if (step->thread != copy->thread)
			continue;
		if (!(step->act & (STEP_RECORDS | STEP_EXPLICIT)) ||
			(step->stream != copy->stream && step->act & STEP_RECORDS))
			return;
		replay->change[at].bits |= CHANGE_CALL;
		if (step->act & STEP_EXPLICIT)
			return;
	}
}

/*
 * Does a call without its wait, and the one that made what it frees, still take time?  Pinned
 * memory is kept and reused, and limits are set before the work: after a site's first call neither
 * takes time again.  So it is with device memory, unless it is still freed each time, only later.
 * Code must be loaded (or compiled) at some time and may be unloaded at the end: only the wait is
 * saved, unless the line repeats the set-up.
 */
static enum replay_once once_of(const struct replay_step *step)
{
	if (!(step->act & STEP_ONCE) || step->act & STEP_FIRST)
		return ONCE_NOT;
	if (kind_has(step->kind, K_ONCE))
		return ONCE_SURE;
	return kind_family(step->kind) == FAMILY_free && !(step->act & STEP_SETS_UP_ANEW)
		? ONCE_LIKELY
		: ONCE_NOT;
}

/* Changes all calls of the same kind from the site of a step. */
static void change_place(struct replay *replay, uint32_t number, uint8_t bits, uint32_t only_stream)
{
	uint32_t at =
		(uint32_t)map_get(&replay->places, replay_place(&replay->step[number]), number);

	for (; at != REPLAY_NONE; at = replay->same_place[at]) {
		const struct replay_step *step = &replay->step[at];
		struct replay_change *change = &replay->change[at];

		if (bits & CHANGE_WAIT) {
			change->once |= once_of(step);
			if (step->maker != REPLAY_NONE)
				replay->change[step->maker].once |= once_of(step);
		}
		if (bits & CHANGE_WAIT && step->act & STEP_ONCE && step->act & STEP_SETS_UP)
			replay->once[step->set_up] = 1;
		if (change->still_needs == REPLAY_NONE) {
			change->bits |= bits;
			change->only_stream = only_stream;
		}
		if (bits & CHANGE_FETCH)
			leave_out_fetch(replay, at);
	}
}

void replay_change(struct replay *replay, const struct changed_call *changed)
{
	const uint64_t words[] = { replay->made, (uint64_t)changed->call, changed->change,
		(uint64_t)changed->still_needs };
	unsigned bits = changed->change;
	uint32_t number = bits & CHANGE_OUTSIDE
		? (uint32_t)map_get(&replay->silences, (uint64_t)changed->call, REPLAY_NONE)
		: replay_step_of(replay, changed->call);
	uint32_t needed = replay_step_of(replay, changed->still_needs);
	uint32_t only = needed == REPLAY_NONE ? REPLAY_NONE : replay->step[needed].stream;
	struct replay_change *change;

	/* Calls outside of samples are no part of the replay. */
	if (replay->samples && number == REPLAY_NONE)
		return;
	replay->made = map_hash_words(words, sizeof(words) / sizeof(*words));
	replay->changes++;
	if (number == REPLAY_NONE || !bits)
		return;
	change = &replay->change[number];
	if (bits & CHANGE_ORDER || replay->step[number].act & STEP_BECOMES_ASYNC)
		replay->orders = 1;
	if (bits & CHANGE_WAIT && replay_is_result(&replay->step[number]))
		replay->results = 1;
	if (bits & CHANGE_ORDER || replay->step[number].stream_kind == STREAM_KIND_LEGACY)
		replay->moves = 1;
	/* Done once per site, for the first of its calls; each of them has its own stream. */
	if (!(bits & (CHANGE_CALL | CHANGE_NODE | CHANGE_OUTSIDE)) && replay->step[number].site &&
		(change->bits & bits) != bits)
		change_place(replay, number, (uint8_t)bits, only);
	change->bits |= (uint8_t)bits;
	if (needed != REPLAY_NONE || change->still_needs == REPLAY_NONE)
		change->only_stream = only;
	if (needed != REPLAY_NONE)
		change->still_needs = needed;
}

void replay_restore(struct replay *replay)
{
	for (size_t i = 0; replay->changes && i < replay->step_count; i++)
		replay->change[i] = (struct replay_change){ 0, 0, REPLAY_NONE, REPLAY_NONE };
	for (size_t i = 0; replay->changes && i < replay->lines; i++)
		replay->once[i] = 0;
	replay->orders = replay->results = replay->moves = 0;
	replay->changes = 0;
	replay->made = 0;
}

/* Returns the host time needed for something that took ns. */
static int64_t paced(const struct replay *replay, int64_t ns)
{
	/* Virtual time of the simulator is exact. */
	return replay->contention == REPLAY_QUICK && replay->recording
		? ns * HOST_QUICK_PERCENT / 100
		: ns;
}

/* --- operations --- */

static struct replay_memory *memory_of(const struct replay *replay, const struct replay_step *step,
	uint32_t i)
{
	const struct replay_operand *operand = &replay->operand[step->operands + i];

	return &replay->memory[replay->contention == REPLAY_MOST ? operand->allocation
								 : operand->exact];
}

/*
 * Returns the end of work that uses the same memory, all or only changed work: reads wait for
 * writes, writes wait for all.
 */
static int64_t ready_by_memory(const struct replay *replay, const struct replay_step *step,
	int only_changed)
{
	int64_t ready = REPLAY_LONG_AGO;

	for (uint32_t i = 0; replay->orders && i < step->operand_count; i++) {
		const struct replay_memory *memory = memory_of(replay, step, i);
		const struct memory_use *use = only_changed ? &memory->changed : &memory->all;
		int reads = replay->operand[step->operands + i].reads;

		raise_to(&ready, reads ? use->written : use->used);
	}
	return ready;
}

static void note_memory(struct replay *replay, const struct replay_step *step, int64_t end,
	int apart)
{
	for (uint32_t i = 0; replay->orders && i < step->operand_count; i++) {
		struct replay_memory *memory = memory_of(replay, step, i);
		struct memory_use *use[] = { &memory->all, &memory->changed };

		for (int k = 0; k <= apart; k++) {
			raise_to(&use[k]->used, end);
			if (!replay->operand[step->operands + i].reads)
				raise_to(&use[k]->written, end);
		}
	}
}

static int64_t ready_of(const struct replay *replay, const struct replay_step *step, int apart)
{
	int loose = step->stream != REPLAY_NONE && replay->stream[step->stream].loose;
	int joins = step->act & STEP_BECOMES_ASYNC || step->apart == REPLAY_NONE;
	int64_t ready;

	if (!apart)
		return at_least(replay_ready(replay, step), ready_by_memory(replay, step, !loose));
	/*
	 * Moved work goes to the stream where its memory is used.  Otherwise it goes to one new
	 * stream per thread and stream: threads are no longer ordered by the legacy stream.
	 */
	ready = ready_by_memory(replay, step, 0);
	for (uint32_t i = 0; !joins && i < step->operand_count; i++)
		joins = memory_of(replay, step, i)->outside;
	return joins ? ready : at_least(ready, replay->apart[step->apart]);
}

/* Returns the end of the step's operation, submitted at entry; unstaged: memory is pinned now. */
static int64_t run_operation(struct replay *replay, const struct replay_step *step, int64_t entry,
	int64_t ready, int unstaged)
{
	int64_t launch = step->launch, start, length = step->end - step->start;
	int has_most = replay->contention == REPLAY_MOST;
	int is_small = step->engine == ENGINE_KERNEL &&
		(replay->contention == REPLAY_LEAST || step->shares_device ||
			step->share < (has_most ? LARGE_PERCENT / 100.0F : 1.0F));

	if (!(step->act & STEP_HAS_OP))
		return at_least(entry, ready);
	if (replay->contention != REPLAY_RECORDED)
		launch = at_least(launch - step->delayed, 0);
	start = entry + launch;
	if (step->act & STEP_STAGED)
		length = paced(replay, length);
	if (unstaged) {
		/* The run may not show the speed of the bus. */
		double bus = replay->pinned.bus * (has_most ? BUS_SLOW_TIMES : 1);
		double rate = replay->pinned.seen > 0 ? replay->pinned.seen : bus;
		int64_t pinned = (int64_t)(rate * (double)step->bytes);

		if (pinned && pinned < length)
			length = pinned;
	}
	if (ready != REPLAY_LONG_AGO)
		raise_to(&start, ready + step->handover);
	if (step->behind != REPLAY_NONE &&
		!(step->behind_via != REPLAY_NONE &&
			replay->change[step->behind_via].bits & CHANGE_ORDER))
		raise_to(&start, replay->now[step->behind].end);
	/* Once all ranks have come; see is_pending. */
	if (step->meets != REPLAY_NONE) {
		struct replay_meeting *meeting = &replay->meeting[step->meets];

		if (!meeting->is_joint)
			return start + (step->end - step->start);
		meeting->arrival = start;
		replay->is_pending = meeting->end == REPLAY_NEVER;
		return at_least(start, replay->is_pending ? start : meeting->end);
	}
	if (step->device >= 0 && step->engine != ENGINE_NONE && !is_small)
		start = booking_reserve(&replay->booking[step->device * ENGINE_COUNT +
						step->engine],
			start, length);
	return start + length;
}

/*
 * Adds the time by which a wait for an event, or the order of the legacy stream with others, delays
 * the step's operation, which its stream has from entry on.  The last of several counts; waits for
 * events count where another one of their stream is left out.
 */
static void note_delay(struct replay *replay, uint32_t number, int64_t entry)
{
	const struct replay_step *step = &replay->step[number];
	const struct replay_context *context = replay_context_at(replay, step->context);
	struct replay_stream *stream = replay_stream_of(replay, step);
	int64_t until = REPLAY_LONG_AGO;
	uint32_t by = number;

	if (stream && stream->loose && step->act & STEP_AWAITS &&
		replay->event[step->event] > stream->tail)
		stream->awaited_by = number;
	if (!stream || !(step->act & STEP_HAS_OP))
		return;
	if (context && step->stream_kind == STREAM_KIND_LEGACY)
		until = context->blocking;
	else if (context && stream_is_blocking(step->stream_kind) &&
		context->legacy != REPLAY_LONG_AGO)
		until = context->legacy, by = context->legacy_by;
	if (until > at_least(entry, stream->tail) && by != REPLAY_NONE)
		replay->now[by].delays += until - at_least(entry, stream->tail);
	by = stream->awaited_by;
	if (by != REPLAY_NONE && stream->tail > at_least(entry, stream->before))
		replay->now[by].delays += stream->tail - at_least(entry, stream->before);
	stream->awaited_by = REPLAY_NONE;
}

static int64_t run_device(struct replay *replay, uint32_t number, int64_t entry)
{
	const struct replay_step *step = &replay->step[number];
	const struct replay_change *change = &replay->change[number];
	/* The operation, record or event wait no longer blocks other streams. */
	int apart = change->bits & CHANGE_ORDER ||
		(change->bits & CHANGE_WAIT && step->act & STEP_BECOMES_ASYNC);
	int unstaged = step->act & STEP_STAGED && change->bits & CHANGE_WAIT;
	int64_t end = ready_of(replay, step, apart);
	uint32_t at = replay->changes ? step->accident : REPLAY_NONE;

	/* Operations whose data it needs, and which no wait orders before it now. */
	for (; at != REPLAY_NONE; at = replay->accident[at].next)
		if (replay->change[replay->accident[at].via].bits & (CHANGE_WAIT | CHANGE_CALL))
			raise_to(&end, replay->now[replay->accident[at].earlier].end);

	if (step->act & STEP_SUBMITS)
		end = run_operation(replay, step, entry, end, unstaged);
	if (replay->is_pending)
		return end;
	/*
	 * A host function that is moved goes to the stream of the work submitted before it.
	 * REPLAY_LEAST assumes that nothing waits for it, and uses a stream of its own.
	 */
	if (apart && step->follows != REPLAY_NONE && replay->contention != REPLAY_LEAST) {
		struct replay_step moved = *step;

		moved.stream = replay->step[step->follows].stream;
		moved.stream_kind = replay->step[step->follows].stream_kind;
		end = run_operation(replay, &moved, entry, replay_ready(replay, &moved), 0);
		replay_note(replay, &moved, end);
		return end;
	}
	note_memory(replay, step, end, apart);
	if (!apart) {
		note_delay(replay, number, entry);
		replay_note(replay, step, end);
		if (step->stream != REPLAY_NONE && !(step->act & STEP_AWAITS))
			replay->stream[step->stream].before = end;
		if (step->context != REPLAY_NONE && step->stream_kind == STREAM_KIND_LEGACY)
			replay->context[step->context].legacy_by = number;
		if (step->other_context != REPLAY_NONE)
			replay->context[step->other_context].legacy_by = number;
		return end;
	}
	if (step->act & STEP_RECORDS)
		replay->event[step->event] = end;
	if (step->act & STEP_AWAITS)
		replay->stream[step->stream].loose = 1;
	if (step->act & STEP_SUBMITS && !(step->act & STEP_BECOMES_ASYNC) &&
		step->apart != REPLAY_NONE)
		raise_to(&replay->apart[step->apart], end);
	if (step->context != REPLAY_NONE)
		raise_to(&replay->context[step->context].all, end);
	return end;
}

/* --- the host --- */

/* Returns the end of what the call waits for; REPLAY_LONG_AGO: it does not wait. */
static int64_t target_of(const struct replay *replay, uint32_t number)
{
	const struct replay_step *step = &replay->step[number];
	const struct replay_change *change = &replay->change[number];

	if (change->bits & CHANGE_WAIT) {
		/* Of its own operation the end is not known yet. */
		if (change->still_needs == number)
			return REPLAY_LONG_AGO;
		if (change->still_needs != REPLAY_NONE)
			return replay->now[change->still_needs].end;
		return change->only_stream == REPLAY_NONE
			? REPLAY_LONG_AGO
			: replay->stream[change->only_stream].tail;
	}
	if (!(step->act & STEP_WAITS))
		return REPLAY_LONG_AGO;
	/* A copy that leaves its stream waits for the work it is ordered after in the new one. */
	if (change->bits & CHANGE_ORDER && step->act & STEP_SUBMITS && step->scope != SCOPE_NONE)
		return ready_of(replay, step, 1);
	if (step->scope == SCOPE_NONE)
		return replay->now[step->held_for].end;
	/* Each thread waits for its own work where threads no longer share the legacy stream. */
	return step->stream_kind == STREAM_KIND_LEGACY && step->apart != REPLAY_NONE &&
			replay->threads.count > 1
		? at_least(replay_scope(replay, step), replay->apart[step->apart])
		: replay_scope(replay, step);
}

/* own: the call's time without the device, and without changes. */
static int64_t return_of(const struct replay *replay, uint32_t number, int64_t entry,
	int64_t target, int64_t own)
{
	const struct replay_step *step = &replay->step[number];
	const struct replay_change *change = &replay->change[number];
	int64_t lag = step->lag;

	if (change->bits & CHANGE_TRIM) {
		own = at_least(own - step->trimmed, 0);
		lag = at_least(lag - step->trimmed, 0);
	}
	/* The first launch of an executable graph uploads it to the device. */
	if (step->exec != REPLAY_NONE && step->maker != REPLAY_NONE &&
		replay->change[step->maker].bits & CHANGE_CALL && own > SUBMIT_NS)
		own = SUBMIT_NS;
	/*
	 * Copies that do not wait use pinned memory.  If the host needs the result there, it waits
	 * for it in another call.
	 */
	if (change->bits & CHANGE_WAIT && step->act & STEP_STAGED) {
		own = at_most(own, SUBMIT_NS) + step->pinning;
		lag = at_most(lag, WAKE_UP_NS);
	}
	if (change->once & ONCE_SURE || change->bits & CHANGE_NODE ||
		(change->once & ONCE_LIKELY && replay->contention != REPLAY_MOST))
		own = 0;
	/* The host continues, but may still have to copy from pageable memory. */
	return target == REPLAY_LONG_AGO ? entry + own
					 : at_least(entry + own, target + paced(replay, lag));
}

/*
 * Returns when the thread continues after it joined another one, which has made its last call then.
 * At the end of a run that one may have ended with a join, too.
 */
static int64_t finish_join(struct replay *replay, struct replay_thread *thread, int at_end)
{
	const struct replay_step *step;
	struct replay_thread *other;

	if (thread->join == REPLAY_NONE)
		return thread->now;
	step = &replay->step[thread->join];
	other = &replay->thread[step->other_thread];
	thread->join = REPLAY_NONE;
	if (at_end)
		finish_join(replay, other, 1);
	if (step->lag)
		raise_to(&thread->now, other->now + step->lag);
	return thread->now;
}

/*
 * Returns when the step's work, submitted at entry, is passed to the device.  Work that fills a
 * stream's queue may be submitted after the work of other streams.
 */
static int64_t submission(struct replay *replay, uint32_t number, int64_t entry)
{
	const struct replay_step *step = &replay->step[number];
	struct replay_thread *thread = &replay->thread[step->thread];
	struct replay_stream *stream = replay_stream_of(replay, step);

	if (!stream || !(step->act & STEP_SUBMITS))
		return entry;
	if (stream->tail <= entry)
		stream->since = entry;
	if (replay->change[number].bits & CHANGE_AHEAD && stream->since < thread->ahead) {
		thread->ahead = stream->since;
		thread->ahead_of = step->stream;
	}
	return step->stream != thread->ahead_of && thread->ahead < entry ? thread->ahead : entry;
}

/*
 * Returns when the step's call is made.  *around: the host time saved beyond the driver call if it
 * is not made.
 */
static int64_t entry_of(struct replay *replay, uint32_t number, int64_t *around)
{
	const struct replay_step *step = &replay->step[number];
	const struct replay_change *change = &replay->change[number];
	struct replay_thread *thread = &replay->thread[step->thread];
	int64_t gap = step->gap, handed = REPLAY_LONG_AGO;

	finish_join(replay, thread, 0);
	/* The driver call's record is written within the runtime call. */
	*around = step->around - (step->around > replay->recording ? replay->recording : 0);
	if (replay->contention != REPLAY_RECORDED)
		gap = at_least(gap - step->gap_recorded, 0);
	if (step->set_up && replay->once[step->set_up]) {
		gap = at_least(gap - step->setting_up, 0);
		*around = 0;
	}
	/* Between two calls the program may only prepare the second one, or do what remains. */
	if (change->bits & CHANGE_NODE)
		gap = replay->contention == REPLAY_LEAST || *around > gap ? 0 : gap - *around;
	if (thread->now == REPLAY_LONG_AGO)
		thread->now = replay->first;
	thread->now += paced(replay, gap);
	if (step->handed_step != REPLAY_NONE)
		handed = replay->now[step->handed_step].end;
	else if (step->handed_by != REPLAY_NONE)
		handed = replay->thread[step->handed_by].now;
	if (handed != REPLAY_LONG_AGO && !(change->bits & CHANGE_OUTSIDE))
		raise_to(&thread->now, handed);
	if (handed != REPLAY_LONG_AGO)
		thread->now += paced(replay, step->resumed);
	return thread->now;
}

static void run_step(struct replay *replay, uint32_t number)
{
	const struct replay_step *step = &replay->step[number];
	const struct replay_change *change = &replay->change[number];
	struct replay_thread *thread = &replay->thread[step->thread], before = *thread;
	int64_t around, made = entry_of(replay, number, &around), entry = made;
	int64_t target, end = REPLAY_LONG_AGO, own = step->own;

	if (replay->contention != REPLAY_RECORDED)
		own = paced(replay, step->own - step->recorded);
	if (change->bits & CHANGE_CALL ||
		(step->act & STEP_SETS_UP && replay->once[step->set_up])) {
		thread->now -= around;
		replay->now[number].end = thread->now;
		replay->now[number].held = 0;
		return;
	}
	target = target_of(replay, number);
	if (!(change->bits & CHANGE_WAIT)) {
		int64_t released = step->held_by != REPLAY_NONE &&
				!(replay->change[step->held_by].bits & CHANGE_WAIT)
			? replay->now[step->held_by].end
			: replay_held_until(replay, step, entry);

		raise_to(&entry, released + step->after_holder - own);
	}
	if (step->act & STEP_WAITS)
		thread->ahead = REPLAY_NEVER;
	if (step->act & STEP_WAITS_FIRST)
		entry = return_of(replay, number, entry, target, own) - own;
	if (step->act & (STEP_SUBMITS | STEP_RECORDS | STEP_AWAITS))
		end = run_device(replay, number, submission(replay, number, entry));
	if (replay->is_pending) {
		*thread = before;
		return;
	}
	if (step->act & STEP_WAITS_OWN &&
		(!(change->bits & CHANGE_WAIT) || change->only_stream != REPLAY_NONE))
		raise_to(&target, end);
	if (step->act & STEP_MAKES_THREAD)
		replay->thread[step->other_thread].now = entry;
	if (step->act & STEP_JOINS_THREAD)
		thread->join = number;
	thread->now = return_of(replay, number, entry, target, own);
	replay->now[number].held = thread->now - made - own;
	replay_note_holder(replay, step, entry, thread->now);
	replay->now[number].end = step->act & STEP_SUBMITS ? end : thread->now;
}

void replay_start(struct replay *replay, enum replay_contention contention)
{
	replay->contention = contention;
	replay_begin(replay);
	replay->at = 0;
	replay->is_pending = 0;
	for (uint32_t i = 0; i < replay->step_count; i++)
		replay->now[i].delays = 0;
}

int replay_continue(struct replay *replay)
{
	replay->is_pending = 0;
	for (; replay->at < replay->step_count; replay->at++) {
		run_step(replay, replay->at);
		if (replay->is_pending)
			return 1;
	}
	return 0;
}

int64_t replay_run(struct replay *replay, enum replay_contention contention)
{
	int64_t last = replay->first;

	replay_start(replay, contention);
	for (uint32_t i = 0; i < replay->step_count; i++) {
		run_step(replay, i);
		raise_to(&last, replay->now[i].end);
		raise_to(&last, replay->thread[replay->step[i].thread].now);
		if (replay->samples)
			replay_note_sample(replay, i, last);
	}
	if (!replay->changes)
		memcpy(replay->unchanged, replay->now, replay->step_count * sizeof(*replay->now));
	for (size_t i = 0; i < replay->threads.count; i++)
		raise_to(&last, finish_join(replay, &replay->thread[i], 1));
	return last - replay->first - replay->skipped;
}
