/* SPDX-License-Identifier: Apache-2.0 */
#include "lives.h"

#include <string.h>

#include "system.h"

#define LIVES_THREADS 1024 /* that are paused at a time; others write to the trace */
#define LOCK_NS 50000      /* between two looks at a lock */
#define LOCK_LOOKS 40000   /* at most: 2 s */
#define SETTLE_TRIES 100000
#define MOVE_FROM (TRACE_CHUNK_SPACE / 2)
#define KEPT_LEAST (4 * TRACE_CHUNK_SIZE)
#define KEPT_MOST (64 * TRACE_CHUNK_SIZE)

#define MOST_RECORDS (TRACE_CHUNK_SPACE / sizeof(uint64_t) / 3)
#define SCRATCH (MOST_RECORDS * (sizeof(struct record *) + 1))

/* Records that have left the chunk of a thread, and come before those in it. */
struct kept {
	char *bytes; /* KEPT_MOST, of which those that are used take memory; NULL: none yet */
	uint32_t used, limit;
};

static struct slot {
	_Atomic int lock; /* the thread that holds it; 0: none */
	_Atomic int taken;
	struct chunk_header *chunk; /* private memory; NULL: none */
	uint32_t copied;            /* bytes of it that are in the trace */
	struct kept kept;
	void *scratch; /* SCRATCH bytes for compact(), or NULL */
} slots[LIVES_THREADS];

/*
 * Waits: its holder may be preempted for as long as the machine is busy.  A holder that was ended,
 * or left by a jump, is followed.  Returns 0 if the holder lives and does not go on.
 */
static int lock(struct slot *slot)
{
	int self = system_thread();

	for (int i = 0; i < LOCK_LOOKS; i++) {
		int holder = 0;

		if (atomic_compare_exchange_strong(&slot->lock, &holder, self) || holder == self)
			return 1;
		if (!system_thread_lives(holder) &&
			atomic_compare_exchange_strong(&slot->lock, &holder, self))
			return 1;
		system_sleep(LOCK_NS);
	}
	return 0;
}

static void unlock(struct slot *slot)
{
	atomic_store_explicit(&slot->lock, 0, memory_order_release);
}

static struct record *record_at(struct chunk_header *chunk, uint32_t at)
{
	return (struct record *)((char *)(chunk + 1) + at);
}

void lives_enter(struct thread_state *thread)
{
	struct thread_tables *tables = thread->tables;
	unsigned i = 0;
	void *memory;

	while (i < LIVES_THREADS && (slots[i].taken || atomic_exchange(&slots[i].taken, 1)))
		i++;
	if (i == LIVES_THREADS)
		return;
	memory = system_map(TRACE_CHUNK_SIZE, 0, -1, 0);
	if (memory == MAP_FAILED) {
		slots[i].taken = 0;
		return;
	}
	tables->lives = i + 1;
	tables->window = thread->chunk;
	/* What a thread has written never is the same number: frames and polls refer to it. */
	thread->chunk = (struct trace_chunk){ .header = memory,
		.thread = thread->chunk.thread,
		.written = thread->chunk.written + 1 };
	thread->chunk.header->thread = thread->chunk.thread;
	slots[i].copied = 0;
	__atomic_store_n(&slots[i].chunk, memory, __ATOMIC_RELEASE);
}

/*
 * Bytes of the records that stay, from a number that is known to.  Its thread goes on, and may take
 * back an enter record at the end and write another record there.
 */
static uint32_t settled(struct chunk_header *chunk, uint32_t from)
{
	for (int i = 0; i < SETTLE_TRIES; i++) {
		uint64_t committed = __atomic_load_n(&chunk->committed, __ATOMIC_ACQUIRE);
		uint32_t at = from, last = from;
		int words = 1, type = 0;

		for (; words && at < committed; at += (uint32_t)words * TRACE_ALIGN) {
			last = at;
			words = record_at(chunk, at)->words;
			type = record_at(chunk, at)->type;
		}
		if (words && at == __atomic_load_n(&chunk->committed, __ATOMIC_ACQUIRE))
			return type == RECORD_ENTER ? last : at;
	}
	return from;
}

/* Copies records to a window of the trace. */
static void copy(struct trace_chunk *to, const char *from, uint32_t count)
{
	for (const char *end = from + count; from < end;) {
		const struct record *record = (const void *)from;
		size_t bytes = record->words * (size_t)TRACE_ALIGN;
		void *place = trace_reserve(&shim.writer, to, bytes, record->type);

		if (place) {
			memcpy(place, record, bytes);
			trace_commit(to);
		}
		from += bytes;
	}
}

/* Copies what is kept and what is in the chunk, up to there. */
static void copy_all(struct trace_chunk *to, struct slot *slot, struct chunk_header *chunk,
	uint32_t end)
{
	copy(to, slot->kept.bytes, slot->kept.used);
	slot->kept.used = 0;
	copy(to, (const char *)record_at(chunk, slot->copied), end - slot->copied);
	slot->copied = end;
}

void lives_leave(struct thread_state *thread)
{
	struct slot *slot = &slots[thread->tables->lives - 1];
	struct trace_chunk chunk = thread->chunk;
	/* Not chunk.used: the thread may have left while it wrote a record. */
	uint32_t end = (uint32_t)chunk.header->committed;
	int locked = lock(slot);

	thread->chunk = thread->tables->window;
	thread->chunk.written = chunk.written + 1;
	thread->tables->lives = 0;
	/* Who holds it copies them: a record that is there twice is worse than one that is not. */
	if (!locked) {
		trace_count(&shim.writer, COUNT_DROPPED_RECORDS, 1);
		return;
	}
	copy_all(&thread->chunk, slot, chunk.header, end);
	__atomic_store_n(&slot->chunk, NULL, __ATOMIC_RELEASE);
	if (slot->kept.bytes)
		system_unmap(slot->kept.bytes, KEPT_MOST);
	slot->kept = (struct kept){ 0 };
	if (slot->scratch)
		system_unmap(slot->scratch, SCRATCH);
	slot->scratch = NULL;
	unlock(slot);
	system_unmap(chunk.header, TRACE_CHUNK_SIZE);
	slot->taken = 0;
}

/* The records that follow are those of that thread. */
static void name_thread(struct trace_chunk *chunk, uint32_t thread)
{
	struct thread_record *record;

	trace_forget_announced(chunk);
	record = trace_reserve(&shim.writer, chunk, sizeof(*record), RECORD_THREAD);
	if (!record)
		return;
	record->thread = thread;
	trace_commit(chunk);
}

void lives_write_all(struct thread_state *thread)
{
	if (thread->generation != window_now.generation)
		thread_begin(thread);
	if (lives_has(thread))
		lives_leave(thread);
	for (unsigned i = 0; i < LIVES_THREADS; i++) {
		struct slot *slot = &slots[i];
		uint32_t end;

		if (!__atomic_load_n(&slot->chunk, __ATOMIC_ACQUIRE) || !lock(slot))
			continue;
		if (slot->chunk) {
			end = settled(slot->chunk, slot->copied);
			if (slot->kept.used || slot->copied < end) {
				name_thread(&thread->chunk, slot->chunk->thread);
				copy_all(&thread->chunk, slot, slot->chunk, end);
				name_thread(&thread->chunk, thread->chunk.thread);
			}
		}
		unlock(slot);
	}
}

static const struct life {
	uint8_t made_by, made, ended_by, ended;
} objects[] = {
#define KIND_ENDS(maker, made, end, ended) \
	{ KIND_##maker, FIELD_##made, KIND_##end, FIELD_##ended },
#include "kinds.def"
};
#define OBJECTS (sizeof(objects) / sizeof(objects[0]))

/* Most calls end nothing. */
static int ends_something(const struct call_record *call)
{
	static const uint64_t ending[2] = {
#define KIND_ENDS(maker, made, end, ended) (KIND_##end < 64) * (UINT64_C(1) << (KIND_##end % 64)) |
#include "kinds.def"
		0,
#define KIND_ENDS(maker, made, end, ended) (KIND_##end >= 64) * (UINT64_C(1) << (KIND_##end % 64)) |
#include "kinds.def"
		0
	};
	_Static_assert(KIND_COUNT <= 128, "a bit for each kind");
	uint8_t kind = call_types[call->call].kind;

	return ending[kind / 64] >> kind % 64 & 1;
}

/* The kind of calls that are gone with an object of that maker; -1: none. */
static int parts_of(int maker)
{
#define KIND_PARTS(symbol, field, made_by) \
	if (maker == (int)KIND_##made_by) \
		return (int)KIND_##symbol;
#include "kinds.def"
	return -1;
}

static const struct call_record *call_at(const struct record *record)
{
	return record->type == RECORD_CALL && record->words ? (const void *)record : NULL;
}

/* Whether a field of that kind has that value. */
static int has_field(const struct call_record *call, int kind, uint64_t value)
{
	const struct call_type *type = &call_types[call->call];

	for (unsigned i = 0; i < type->field_count; i++)
		if (type->field[i] == kind && call->field[i] == value)
			return 1;
	return 0;
}

/* Whether the call names an object whose handle is an address. */
static int names(const struct call_record *call, uint64_t handle)
{
	for (unsigned i = 0; handle > 4096 && i < call_types[call->call].field_count; i++)
		if (call->field[i] == handle)
			return 1;
	return 0;
}

static uint64_t field_of(const struct call_record *call, int kind)
{
	const struct call_type *type = &call_types[call->call];

	for (unsigned i = 0; i < type->field_count; i++)
		if (type->field[i] == kind)
			return call->field[i];
	return 0;
}

/*
 * For a call that ends an object: finds the one that made it among the records before, and marks
 * both, and between them the records of an event, or the functions of a module.  Another call that
 * names the object keeps all of it.
 */
static void remove_pair(struct record **records, unsigned n, const struct life *object,
	uint8_t *removed)
{
	uint64_t handle = field_of((const struct call_record *)records[n], object->ended);
	int parts = parts_of(object->made_by);

	for (unsigned i = n; i-- > 0;) {
		const struct call_record *call = removed[i] ? NULL : call_at(records[i]);
		uint8_t kind = call ? call_types[call->call].kind : KIND_OTHER;

		if (!call)
			continue;
		if (kind == object->made_by &&
			(!object->made || has_field(call, object->made, handle))) {
			removed[i] = 1;
			/* The call that replaces the earlier one stays; else both go. */
			removed[n] = object->made_by != object->ended_by;
			for (; parts >= 0 && i < n; i++)
				removed[i] |= call_at(records[i]) &&
					has_field(call_at(records[i]), object->ended, handle);
			return;
		}
		if (names(call, handle) && kind != parts)
			return;
	}
}

/*
 * Records that nothing later depends on: readings of the processor's time, all readings of the
 * clocks but the last, marks, and failed calls.
 */
static void choose(struct record **records, unsigned count, uint8_t *removed)
{
	int calibrated = 0;

	for (unsigned i = count; i-- > 0;) {
		const struct call_record *call = call_at(records[i]);

		removed[i] = records[i]->type == RECORD_USAGE ||
			(records[i]->type == RECORD_CALIBRATION && calibrated) ||
			(call && (call->result || call_types[call->call].kind == KIND_MARK));
		calibrated |= records[i]->type == RECORD_CALIBRATION;
	}
	for (unsigned i = 0; i < count; i++) {
		const struct call_record *call = call_at(records[i]);

		if (!call || !ends_something(call))
			continue;
		for (unsigned k = 0; k < OBJECTS && !removed[i]; k++)
			if (call_types[call->call].kind == objects[k].ended_by)
				remove_pair(records, i, &objects[k], removed);
	}
	/* A frame may take it back. */
	if (count && records[count - 1]->type == RECORD_ENTER)
		removed[count - 1] = 0;
}

/* Removes what the trace has, and what is over.  Records move to the front. */
static void compact(struct thread_state *thread, struct slot *slot)
{
	struct chunk_header *chunk = thread->chunk.header;
	void *scratch = slot->scratch ? slot->scratch : system_map(SCRATCH, 0, -1, 0);
	struct record **records = scratch;
	uint8_t *removed = (uint8_t *)(records + MOST_RECORDS);
	uint32_t at = slot->copied, used = thread->chunk.used, to = 0;
	unsigned count = 0;

	if (scratch == MAP_FAILED)
		return;
	slot->scratch = scratch;
	for (; at < used && count < MOST_RECORDS; count++) {
		records[count] = record_at(chunk, at);
		at += records[count]->words * TRACE_ALIGN;
	}
	choose(records, count, removed);
	for (unsigned i = 0; i < count; i++) {
		uint32_t size = records[i]->words * TRACE_ALIGN;

		if (removed[i])
			continue;
		memmove(record_at(chunk, to), records[i], size);
		to += size;
	}
	memmove(record_at(chunk, to), record_at(chunk, at), used - at);
	to += used - at;
	trace_forget_announced(&thread->chunk);
	memset(record_at(chunk, to), 0, used - to);
	slot->copied = 0;
	thread->chunk.used = to;
	trace_commit(&thread->chunk);
}

static const struct replacing {
	uint8_t kind, object, part;
} replacing[] = {
#define KIND_REPLACES(symbol, object, part) { KIND_##symbol, FIELD_##object, FIELD_##part },
#include "kinds.def"
};

/* What a later call of the same name replaces, as one number that is not 0; 0: nothing. */
static uint64_t replaced_by(const struct call_record *call)
{
	static const uint64_t factor = UINT64_C(0x9e3779b97f4a7c15);
	uint64_t number = 0;

	for (size_t i = 0; i < sizeof(replacing) / sizeof(*replacing); i++)
		if (call && !call->result && call_types[call->call].kind == replacing[i].kind)
			number = ((field_of(call, replacing[i].object) * factor +
					  field_of(call, replacing[i].part)) *
						 factor +
					 call->call + 1) *
				factor;
	return number;
}

#define SEEN (1u << 16) /* calls that can be distinguished */
#define SEEN_TRIES 64

struct last {
	uint64_t number; /* of a call; 0: none */
	uint32_t at;
};

/* The place of that number, or a free one; NULL: there is none, and its calls stay. */
static struct last *last_of(struct last *all, uint64_t number)
{
	for (uint64_t i = 0, place = number >> 48; number && i < SEEN_TRIES; i++) {
		struct last *last = &all[(place + i) % SEEN];

		if (!last->number || last->number == number)
			return last;
	}
	return NULL;
}

/* Removes calls that a later one replaced. */
static void drop_replaced(struct kept *kept)
{
	struct last *all = system_map(SEEN * sizeof(*all), 0, -1, 0);
	uint32_t to = 0;

	if (all == MAP_FAILED)
		return;
	for (int moving = 0; moving < 2; moving++)
		for (uint32_t at = 0, size; at < kept->used; at += size) {
			struct record *record = (struct record *)(kept->bytes + at);
			uint64_t number = replaced_by(call_at(record));
			struct last *last = last_of(all, number);

			size = record->words * TRACE_ALIGN;
			if (!moving && last)
				*last = (struct last){ number, at };
			if (!moving || (last && last->at != at))
				continue;
			memmove(kept->bytes + to, record, size);
			to += size;
		}
	kept->used = to;
	system_unmap(all, SEEN * sizeof(*all));
}

/* Takes the records of a chunk that is full; to the trace goes what needs too much memory. */
static void keep(struct thread_state *thread, struct slot *slot)
{
	struct chunk_header *chunk = thread->chunk.header;
	struct kept *kept = &slot->kept;
	uint32_t count = thread->chunk.used - slot->copied;

	if (!kept->bytes) {
		kept->bytes = system_map(KEPT_MOST, 0, -1, 0);
		kept->limit = KEPT_LEAST;
		if (kept->bytes == MAP_FAILED)
			kept->bytes = NULL;
	}
	if (kept->used + count > kept->limit) {
		drop_replaced(kept);
		if (kept->used > kept->limit / 2 && kept->limit < KEPT_MOST)
			kept->limit *= 2;
	}
	if (!kept->bytes || kept->used + count > kept->limit) {
		copy_all(&thread->tables->window, slot, chunk, thread->chunk.used);
	} else {
		memcpy(kept->bytes + kept->used, record_at(chunk, slot->copied), count);
		kept->used += count;
	}
	trace_forget_announced(&thread->chunk);
	memset(chunk + 1, 0, thread->chunk.used);
	thread->chunk.used = slot->copied = 0;
	trace_commit(&thread->chunk);
}

void lives_make_room(struct thread_state *thread, size_t bytes)
{
	struct slot *slot = &slots[thread->tables->lives - 1];

	if (thread->chunk.used + bytes <= TRACE_CHUNK_SPACE)
		return;
	if (!lock(slot)) {
		lives_leave(thread);
		return;
	}
	compact(thread, slot);
	if (thread->chunk.used + bytes > TRACE_CHUNK_SPACE || thread->chunk.used > MOVE_FROM)
		keep(thread, slot);
	unlock(slot);
}

void lives_reset(void)
{
	memset(slots, 0, sizeof(slots));
}
