/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "constants.h"
#include "replay_parts.h"
#include "walk.h"

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static const struct replay_change *change_of(const struct replay *replay, uint32_t number)
{
	return &replay->change[number];
}

/* Does the operation, record or event wait no longer block other streams? */
static int is_apart(const struct replay_step *step, const struct replay_change *change)
{
	return change->bits & CHANGE_ORDER ||
		(change->bits & CHANGE_WAIT && step->act & STEP_BECOMES_ASYNC);
}

/* Returns the host time needed for something that took ns. */
static int64_t paced(const struct replay *replay, int64_t ns, enum replay_contention contention)
{
	/* Virtual time of the simulator is exact. */
	return contention == REPLAY_QUICK && replay->recording ? ns * HOST_QUICK_PERCENT / 100 : ns;
}

/* --- operations --- */

static uint32_t memory_of(const struct replay *replay, const struct replay_step *step, uint32_t i,
	enum replay_contention contention)
{
	const struct replay_operand *operand = &replay->operand[step->operands + i];

	return contention == REPLAY_MOST ? operand->allocation : operand->exact;
}

/*
 * Returns the end of work that uses the same memory, all or only changed work: reads wait for
 * writes, writes wait for all.
 */
static int64_t ready_by_memory(const struct replay *replay, const struct replay_step *step,
	const struct memory_use *memory, enum replay_contention contention)
{
	int64_t ready = REPLAY_LONG_AGO;

	for (uint32_t i = 0; replay->orders && i < step->operand_count; i++) {
		const struct memory_use *use = &memory[memory_of(replay, step, i, contention)];

		ready = later(ready,
			replay->operand[step->operands + i].reads ? use->written : use->used);
	}
	return ready;
}

static void note_use(struct memory_use *use, int64_t end, int reads)
{
	use->used = later(use->used, end);
	if (!reads)
		use->written = later(use->written, end);
}

static void note_memory(struct replay *replay, const struct replay_step *step, int64_t end,
	int apart, enum replay_contention contention)
{
	for (uint32_t i = 0; replay->orders && i < step->operand_count; i++) {
		uint32_t memory = memory_of(replay, step, i, contention);
		int reads = replay->operand[step->operands + i].reads;

		note_use(&replay->memory_all[memory], end, reads);
		if (apart)
			note_use(&replay->memory[memory], end, reads);
	}
}

/* Does the work move to the stream of work that uses the same memory? */
static int joins_other_stream(const struct replay *replay, const struct replay_step *step,
	enum replay_contention contention)
{
	for (uint32_t i = 0; i < step->operand_count; i++)
		if (replay->outside[memory_of(replay, step, i, contention)])
			return 1;
	return 0;
}

static int64_t ready_of(const struct replay *replay, const struct replay_step *step, int apart,
	int copies, enum replay_contention contention)
{
	int loose = step->stream != REPLAY_NONE && replay->stream[step->stream].loose;
	int64_t ready;

	if (!apart)
		return later(replay_ready(replay, step),
			ready_by_memory(replay, step, loose ? replay->memory_all : replay->memory,
				contention));
	ready = ready_by_memory(replay, step, replay->memory_all, contention);
	/*
	 * Moved work goes where its memory is used.  Otherwise it goes to one new stream per thread
	 * and stream: threads are no longer ordered by the legacy stream.
	 */
	if (!copies && step->apart != REPLAY_NONE && !joins_other_stream(replay, step, contention))
		ready = later(ready, replay->apart[step->apart]);
	return ready;
}

static int is_held_behind(const struct replay *replay, const struct replay_step *step)
{
	return step->behind != REPLAY_NONE &&
		!(step->behind_via != REPLAY_NONE &&
			replay->change[step->behind_via].bits & CHANGE_ORDER);
}

static int needs_engine(const struct replay_step *step, enum replay_contention contention)
{
	if (step->device < 0 || step->engine == ENGINE_NONE)
		return 0;
	if (step->engine != ENGINE_KERNEL)
		return 1;
	if (contention == REPLAY_LEAST || step->shares_device)
		return 0;
	return step->share >= (contention == REPLAY_MOST ? LARGE_PERCENT / 100.0F : 1.0F);
}

/* Estimates a staged copy from pinned memory: the run may not show the speed of the bus. */
static int64_t pinned_length(const struct replay *replay, const struct replay_step *step,
	enum replay_contention contention)
{
	double rate = replay->pinned.seen;

	if (!(rate > 0))
		rate = replay->pinned.bus * (contention == REPLAY_MOST ? BUS_SLOW_TIMES : 1);
	return (int64_t)(rate * (double)step->bytes);
}

/* Returns the end of the step's operation, submitted at entry; unstaged: memory is pinned now. */
static int64_t run_operation(struct replay *replay, const struct replay_step *step, int64_t entry,
	int64_t ready, int unstaged, enum replay_contention contention)
{
	int64_t start, length = step->end - step->start,
		       pinned = pinned_length(replay, step, contention);

	if (!(step->act & STEP_HAS_OP))
		return later(entry, ready);
	if (step->act & STEP_STAGED)
		length = paced(replay, length, contention);
	if (unstaged && pinned && pinned < length)
		length = pinned;
	start = entry + step->launch;
	if (ready != REPLAY_LONG_AGO)
		start = later(start, ready + step->handover);
	if (is_held_behind(replay, step))
		start = later(start, replay->end[step->behind]);
	if (needs_engine(step, contention))
		start = booking_reserve(&replay->booking[step->device * ENGINE_COUNT +
						step->engine],
			start, length);
	return start + length;
}

/*
 * A host function that is moved goes to the stream of the work submitted before it. REPLAY_LEAST
 * assumes that nothing waits for it, and uses a stream of its own.
 */
static int64_t run_moved_function(struct replay *replay, const struct replay_step *step,
	int64_t entry, enum replay_contention contention)
{
	const struct replay_step *followed = &replay->step[step->follows];
	struct replay_step moved = *step;
	int64_t end;

	moved.stream = followed->stream;
	moved.stream_kind = followed->stream_kind;
	end = run_operation(replay, &moved, entry, replay_ready(replay, &moved), 0, contention);
	replay_note(replay, &moved, end);
	return end;
}

static int64_t run_device(struct replay *replay, uint32_t number, int64_t entry,
	enum replay_contention contention)
{
	const struct replay_step *step = &replay->step[number];
	int apart = is_apart(step, change_of(replay, number));
	int copies = step->act & STEP_BECOMES_ASYNC;
	int64_t ready = ready_of(replay, step, apart, copies, contention), end;
	struct replay_context *context =
		step->context == REPLAY_NONE ? NULL : &replay->context[step->context];

	ready = later(ready, replay_needed(replay, number));
	if (step->act & STEP_SUBMITS)
		end = run_operation(replay, step, entry, ready,
			step->act & STEP_STAGED && change_of(replay, number)->bits & CHANGE_WAIT,
			contention);
	else
		end = ready;
	if (apart && step->follows != REPLAY_NONE && contention != REPLAY_LEAST)
		return run_moved_function(replay, step, entry, contention);
	note_memory(replay, step, end, apart, contention);
	if (!apart) {
		replay_note(replay, step, end);
		return end;
	}
	if (step->act & STEP_RECORDS)
		replay->event[step->event] = end;
	if (step->act & STEP_AWAITS)
		replay->stream[step->stream].loose = 1;
	if (step->act & STEP_SUBMITS && !copies && step->apart != REPLAY_NONE)
		replay->apart[step->apart] = later(replay->apart[step->apart], end);
	if (context)
		context->all = later(context->all, end);
	return end;
}

/* --- the host --- */

/* Returns the end of what the call waits for; REPLAY_LONG_AGO: it does not wait. */
static int64_t target_of(const struct replay *replay, uint32_t number,
	enum replay_contention contention)
{
	const struct replay_step *step = &replay->step[number];
	const struct replay_change *change = change_of(replay, number);

	if (change->bits & CHANGE_WAIT && change->still_needs != REPLAY_NONE)
		return replay->end[change->still_needs];
	/* A copy that leaves its stream waits for the work it is ordered after in the new one. */
	if (change->bits & CHANGE_ORDER && !(change->bits & CHANGE_WAIT) &&
		step->act & STEP_SUBMITS && step->act & STEP_WAITS && step->scope != SCOPE_NONE)
		return ready_of(replay, step, 1, step->act & STEP_BECOMES_ASYNC, contention);
	if (change->bits & CHANGE_WAIT)
		return change->only_stream == REPLAY_NONE
			? REPLAY_LONG_AGO
			: replay->stream[change->only_stream].tail;
	if (!(step->act & STEP_WAITS))
		return REPLAY_LONG_AGO;
	if (step->scope == SCOPE_NONE)
		return replay->end[step->held_for];
	return replay_scope(replay, step);
}

/* Returns when another thread's call stops blocking the step. */
static int64_t unblocked_at(const struct replay *replay, const struct replay_step *step,
	int64_t entry)
{
	if (step->held_by != REPLAY_NONE && !(replay->change[step->held_by].bits & CHANGE_WAIT))
		return replay->end[step->held_by];
	return replay_held_until(replay, step, entry);
}

/* Returns the call's own time: without the cost of recording, except for REPLAY_RECORDED. */
static int64_t own_of(const struct replay *replay, const struct replay_step *step,
	enum replay_contention contention)
{
	if (contention == REPLAY_RECORDED)
		return step->own;
	return paced(replay, step->own - step->recorded, contention);
}

static int64_t return_of(const struct replay *replay, uint32_t number, int64_t entry,
	int64_t target, enum replay_contention contention)
{
	const struct replay_step *step = &replay->step[number];
	const struct replay_change *change = change_of(replay, number);
	int64_t own = own_of(replay, step, contention), lag = step->lag;

	if (change->bits & CHANGE_TRIM) {
		own = later(own - step->trimmed, 0);
		lag = later(lag - step->trimmed, 0);
	}
	/* The first launch of an executable graph uploads it to the device. */
	if (step->exec != REPLAY_NONE && step->maker != REPLAY_NONE &&
		replay->change[step->maker].bits & CHANGE_CALL && own > SUBMIT_NS)
		own = SUBMIT_NS;
	/* Copies that do not wait use pinned memory. */
	if (change->bits & CHANGE_WAIT && step->act & STEP_STAGED)
		own = (own > SUBMIT_NS ? SUBMIT_NS : own) + step->pinning;
	if (change->once || change->bits & CHANGE_NODE)
		own = 0;
	/* The host continues, but may still have to copy from pageable memory. */
	return target == REPLAY_LONG_AGO
		? entry + own
		: later(entry + own, target + paced(replay, lag, contention));
}

/* The other thread has made its last call when this one continues. */
static void finish_join(struct replay *replay, struct replay_thread *thread)
{
	const struct replay_step *step = &replay->step[thread->join];

	thread->join = REPLAY_NONE;
	if (step->lag)
		thread->now =
			later(thread->now, replay->thread[step->other_thread].now + step->lag);
}

/* Follows a chain of threads that wait for each other's end by their last calls. */
static int64_t finish_last_join(struct replay *replay, struct replay_thread *thread)
{
	uint32_t join = thread->join;

	if (join == REPLAY_NONE)
		return thread->now;
	thread->join = REPLAY_NONE;
	finish_last_join(replay, &replay->thread[replay->step[join].other_thread]);
	thread->join = join;
	finish_join(replay, thread);
	return thread->now;
}

/*
 * Returns the host time saved beyond the driver call if a call is not made.  The driver call's
 * record is written within the runtime call, so it is not included.
 */
static int64_t saved_around(const struct replay *replay, const struct replay_step *step)
{
	return step->around > replay->recording ? step->around - replay->recording : step->around;
}

/*
 * Returns when the step's work, submitted at entry, is passed to the device.  Work that fills a
 * stream's queue may be submitted after the work of other streams.
 */
static int64_t submission(struct replay *replay, uint32_t number, int64_t entry)
{
	const struct replay_step *step = &replay->step[number];
	struct replay_thread *thread = &replay->thread[step->thread];
	struct replay_stream *stream =
		step->stream == REPLAY_NONE ? NULL : &replay->stream[step->stream];

	if (step->act & STEP_WAITS)
		thread->ahead = REPLAY_NEVER;
	if (!stream || !(step->act & STEP_SUBMITS))
		return entry;
	if (stream->tail <= entry)
		stream->since = entry;
	if (change_of(replay, number)->bits & CHANGE_AHEAD && stream->since < thread->ahead) {
		thread->ahead = stream->since;
		thread->ahead_of = step->stream;
	}
	return step->stream != thread->ahead_of && thread->ahead < entry ? thread->ahead : entry;
}

/*
 * Returns the host's own time before a call.  The time around a driver call is saved with it.
 * Between two calls the program may only prepare the second one, or do work that remains.
 */
static int64_t gap_of(const struct replay *replay, const struct replay_step *step,
	const struct replay_change *change, enum replay_contention contention)
{
	int64_t around = saved_around(replay, step), gap = step->gap;

	if (change->bits & CHANGE_NODE)
		gap = contention == REPLAY_LEAST || around > gap ? 0 : gap - around;
	return paced(replay, gap, contention);
}

static void run_step(struct replay *replay, uint32_t number, enum replay_contention contention)
{
	const struct replay_step *step = &replay->step[number];
	const struct replay_change *change = change_of(replay, number);
	struct replay_thread *thread = &replay->thread[step->thread];
	int64_t *now = &thread->now, entry, target, made, end = REPLAY_LONG_AGO;
	int64_t own = own_of(replay, step, contention), handed = replay_handed(replay, step);

	if (thread->join != REPLAY_NONE)
		finish_join(replay, thread);
	if (*now == REPLAY_LONG_AGO)
		*now = replay->first;
	*now += gap_of(replay, step, change, contention);
	if (handed != REPLAY_LONG_AGO && !(change->bits & CHANGE_OUTSIDE))
		*now = later(*now, handed);
	if (handed != REPLAY_LONG_AGO)
		*now += paced(replay, step->resumed, contention);
	made = entry = *now;
	if (change->bits & CHANGE_CALL) {
		*now -= saved_around(replay, step);
		replay->end[number] = *now;
		replay->held[number] = 0;
		return;
	}
	target = target_of(replay, number, contention);
	if (!(change->bits & CHANGE_WAIT))
		entry = later(entry, unblocked_at(replay, step, entry) + step->after_holder - own);
	if (step->act & STEP_WAITS_FIRST)
		entry = return_of(replay, number, entry, target, contention) - own;
	if (step->act & (STEP_SUBMITS | STEP_RECORDS | STEP_AWAITS))
		end = run_device(replay, number, submission(replay, number, entry), contention);
	if (step->act & STEP_WAITS_OWN && !(change->bits & CHANGE_WAIT))
		target = later(target, end);
	if (step->act & STEP_MAKES_THREAD)
		replay->thread[step->other_thread].now = entry;
	if (step->act & STEP_JOINS_THREAD)
		thread->join = number;
	*now = return_of(replay, number, entry, target, contention);
	replay->held[number] = *now - made - own;
	replay_note_holder(replay, step, entry, *now);
	replay->end[number] = step->act & STEP_SUBMITS ? end : *now;
}

int64_t replay_run(struct replay *replay, enum replay_contention contention)
{
	int64_t last = replay->first;

	replay_begin(replay);
	for (size_t i = 0; i < replay->step_count; i++) {
		run_step(replay, (uint32_t)i, contention);
		last = later(last, replay->end[i]);
		last = later(last, replay->thread[replay->step[i].thread].now);
	}
	if (!replay->changed)
		memcpy(replay->held_unchanged, replay->held,
			replay->step_count * sizeof(*replay->held));
	for (size_t i = 0; i < replay->threads.count; i++)
		last = later(last, finish_last_join(replay, &replay->thread[i]));
	return last - replay->first;
}

int64_t replay_blocked(const struct replay *replay, int64_t thread, int64_t start, int64_t until)
{
	uint32_t number = (uint32_t)map_get(&replay->threads, (uint64_t)thread, REPLAY_NONE);
	int64_t sum = 0;

	for (size_t i = 0; i < replay->step_count; i++) {
		const struct replay_step *step = &replay->step[i];

		if (step->thread == number && step->enter >= start && step->enter < until)
			sum += replay->held[i];
	}
	return sum;
}

/* --- the whole --- */

static int link_places(struct replay *replay)
{
	for (size_t i = 0; i < replay->step_count; i++) {
		uint64_t place = replay_place(&replay->step[i]);

		replay->same_place[i] = (uint32_t)map_get(&replay->places, place, REPLAY_NONE);
		map_set(&replay->places, place, i);
	}
	return 0;
}

static void note_outside(struct replay *replay, const struct replay_step *step)
{
	for (uint32_t i = 0; i < step->operand_count; i++) {
		const struct replay_operand *operand = &replay->operand[step->operands + i];

		replay->outside[operand->exact] = replay->outside[operand->allocation] = 1;
	}
}

static void find_devices(struct replay *replay)
{
	for (size_t i = 0; i < replay->step_count; i++) {
		const struct replay_step *step = &replay->step[i];

		if (step->device >= replay->device_count)
			replay->device_count = step->device + 1;
		if (step->stream_kind != STREAM_KIND_LEGACY)
			note_outside(replay, step);
		if (step->context != REPLAY_NONE && step->device >= 0)
			replay->context[step->context].device = step->device;
	}
}

static int prepare(const struct replays *replays, struct replay *replay, struct db *db)
{
	replay->measured = replay->last >= replay->first ? replay->last - replay->first : 0;
	if (replay->refusal)
		return 0;
#define ROOM(pointer, count) (((pointer) = calloc((size_t)(count) + 1, sizeof(*(pointer)))) != NULL)
	if (!ROOM(replay->same_place, replay->step_count) ||
		!ROOM(replay->change, replay->step_count) ||
		!ROOM(replay->end, replay->step_count) ||
		!ROOM(replay->held_unchanged, replay->step_count) ||
		!ROOM(replay->held, replay->step_count) ||
		!ROOM(replay->thread, replay->threads.count) ||
		!ROOM(replay->stream, replay->streams.count) ||
		!ROOM(replay->event, replay->events.count) ||
		!ROOM(replay->exec, replay->execs.count) ||
		!ROOM(replay->context, replay->contexts.count) ||
		!ROOM(replay->memory, replay->memories.count) ||
		!ROOM(replay->memory_all, replay->memories.count) ||
		!ROOM(replay->outside, replay->memories.count) ||
		!ROOM(replay->apart, replay->aparts.count))
		return -1;
	if (replay_sort(replay, &db->run->evidence))
		return -1;
	find_devices(replay);
	replay_forget_changes(replay);
	if (!ROOM(replay->booking, replay->device_count * ENGINE_COUNT))
		return -1;
#undef ROOM
	if (link_places(replay) || replay_find_accidents(replay, db) ||
		replay_find_host_work(replay))
		return -1;
	return replay_find_handovers(replay, &replays->handovers) ? -1 : replay_learn(replay);
}

static void free_replay(void *object)
{
	struct replay *replay = object;

	map_release(&replay->threads);
	map_release(&replay->streams);
	map_release(&replay->events);
	map_release(&replay->contexts);
	map_release(&replay->execs);
	map_release(&replay->memories);
	map_release(&replay->aparts);
	map_release(&replay->places);
	map_release(&replay->admitted);
	map_release(&replay->silences);
	free(replay->step);
	free(replay->by_call);
	free(replay->operand);
	free(replay->same_place);
	free(replay->next);
	free(replay->accident);
	free(replay->change);
	free(replay->end);
	free(replay->held_unchanged);
	free(replay->held);
	free(replay->thread);
	free(replay->stream);
	free(replay->event);
	free(replay->exec);
	free(replay->context);
	free(replay->memory);
	free(replay->memory_all);
	free(replay->outside);
	free(replay->apart);
	free(replay->booking);
	free(replay);
}

struct replays *replays_open(struct db *db)
{
	struct replays *replays = calloc(1, sizeof(*replays));
	int rc = replays && !replay_load(replays, db) ? replay_read_machines(replays, db) : -1;

	for (size_t i = 0; !rc && i < replays->processes.size; i++)
		if (replays->processes.slot[i].object)
			rc = prepare(replays, replays->processes.slot[i].object, db);
	if (!rc)
		return replays;
	replays_close(replays);
	return NULL;
}

void replays_close(struct replays *replays)
{
	if (!replays)
		return;
	idmap_release(&replays->processes, free_replay);
	handovers_release(&replays->handovers);
	free(replays);
}

struct replay *replays_of(const struct replays *replays, int64_t process)
{
	return idmap_get(&replays->processes, process);
}

const char *replay_refusal(const struct replay *replay)
{
	return replay->refusal;
}

size_t replay_size(const struct replay *replay)
{
	return replay->step_count;
}

int64_t replay_measured(const struct replay *replay)
{
	return replay->measured;
}
