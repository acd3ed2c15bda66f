/* SPDX-License-Identifier: Apache-2.0 */
/* Replays and changes as bytes: numbers of seven bits each, compressed by zstd. */
#include "replay.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "bounds.h"
#include "constants.h"
#include "joint.h"
#include "kinds.h"
#include "memory.h"
#include "schema.h"

enum { PACKED_DEVICES = 1024, PACKED_OPERANDS = 4096, PACKED_NUMBERS = 1 << 22 };
/* ns, and bytes: the sum over all steps is a time, too. */
#define PACKED_TIME (SCHEMA_LONGEST / 4)
#define PACKED_LENGTH (INT64_C(1) << 41)
#define PACKED_RATE (1 << 20) /* ns per byte */
#define PACKED_BYTES_MOST ((size_t)JOINT_STEPS * 1024)
/* Fractions are packed as multiples of one in so many. */
#define RATE_UNIT (1 << 30)
#define SHARE_UNIT (1 << 14)

/* --- numbers --- */

/* Bytes that are written, or read: then at moves on, and failed says that they are damaged. */
struct codec {
	uint8_t *byte;
	size_t count, at;
	int reads, failed;
};

static void put(struct codec *codec, int64_t number)
{
	/* The sign is the lowest bit. */
	uint64_t rest = (uint64_t)number << 1 ^ (uint64_t)(number >> 63);

	for (; rest > 0x7f; rest >>= 7)
		*array_push(codec->byte, codec->count) = (uint8_t)(rest | 0x80);
	*array_push(codec->byte, codec->count) = (uint8_t)rest;
}

static int64_t get(struct codec *codec)
{
	uint64_t number = 0;

	for (unsigned shift = 0; shift < 64 && codec->at < codec->count; shift += 7) {
		uint8_t byte = codec->byte[codec->at++];

		number |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return (int64_t)(number >> 1 ^ -(number & 1));
	}
	codec->failed = 1;
	return 0;
}

/*
 * Writes a number as the difference from another one, or reads one that must be in a range; least
 * after a failure.
 */
static int64_t pass_from(struct codec *codec, int64_t number, int64_t from, int64_t least,
	int64_t most)
{
	if (!codec->reads) {
		put(codec, number - from);
		return number;
	}
	number = (int64_t)((uint64_t)from + (uint64_t)get(codec));
	if (!codec->failed && number >= least && number <= most)
		return number;
	codec->failed = 1;
	return least;
}

static int64_t pass(struct codec *codec, int64_t number, int64_t least, int64_t most)
{
	return pass_from(codec, number, 0, least, most);
}

static int64_t get_in(struct codec *codec, int64_t least, int64_t most)
{
	return pass(codec, 0, least, most);
}

static struct packed compress(const struct codec *codec)
{
	size_t bound = ZSTD_compressBound(codec->count) + sizeof(uint64_t);
	struct packed packed = { .data = xrealloc(NULL, bound, 1) };
	uint64_t size = codec->count;

	memcpy(packed.data, &size, sizeof(size));
	packed.size = ZSTD_compress((char *)packed.data + sizeof(size), bound - sizeof(size),
		codec->byte, codec->count, ZSTD_CLEVEL_DEFAULT);
	free(codec->byte);
	if (!ZSTD_isError(packed.size)) {
		packed.size += sizeof(size);
		return packed;
	}
	free(packed.data);
	return (struct packed){ NULL, 0 };
}

/* Returns what reads the bytes, which are the caller's to free(), or has failed. */
static struct codec decompress(const void *data, size_t packed)
{
	struct codec codec = { .reads = 1, .failed = 1 };
	uint64_t size = 0;

	if (!data || packed < sizeof(size))
		return codec;
	memcpy(&size, data, sizeof(size));
	if (size > PACKED_BYTES_MOST)
		return codec;
	codec.byte = xrealloc(NULL, size + 1, 1);
	codec.failed = ZSTD_decompress(codec.byte, size, (const char *)data + sizeof(size),
			       packed - sizeof(size)) != size;
	codec.count = codec.failed ? 0 : size;
	return codec;
}

/* --- how much of a replay is packed --- */

/* How many of its steps are packed. */
static size_t steps_of(const struct replay *replay)
{
	size_t most = (size_t)replay_limit("CUFENCE_TEST_JOINT_STEPS", JOINT_STEPS);
	size_t count = replay->step_count < most ? replay->step_count : most;

	while (replay->samples && count && replay->step[count - 1].enter >= replay->sample[0].until)
		count--;
	return count;
}

static size_t meetings_of(const struct replay *replay, size_t steps)
{
	size_t count = replay->meeting_count;

	while (count && replay->meeting[count - 1].step >= steps)
		count--;
	return count;
}

/* --- replays --- */

/* The step with references to packed ones only. */
static struct replay_step packed_of(const struct replay_step *step, size_t steps)
{
	struct replay_step own = *step;

	for (int i = 0; i < STEP_LINKS; i++)
		if (own.links[i] >= steps)
			own.links[i] = REPLAY_NONE;
	if (!(own.act & STEP_HAS_OP))
		own.start = own.end = 0;
	if (own.scope == SCOPE_NONE && own.held_for == REPLAY_NONE)
		own.act &= ~(unsigned)STEP_WAITS;
	return own;
}

/* What replays rely on, besides the ranges of numbers. */
static int is_sound(const struct replay_step *step)
{
	return step->start <= step->end && step->end - step->start <= PACKED_LENGTH &&
		!(step->act & (STEP_RECORDS | STEP_AWAITS) && step->event == REPLAY_NONE) &&
		!(step->act & STEP_AWAITS && step->stream == REPLAY_NONE) &&
		!(step->act & (STEP_MAKES_THREAD | STEP_JOINS_THREAD) &&
			step->other_thread == REPLAY_NONE) &&
		!(step->act & STEP_WAITS && step->scope == SCOPE_NONE &&
			step->held_for == REPLAY_NONE);
}

/* Members of 32 bits are signed: REPLAY_NONE is -1. */
#define NUMBER(member) (sizeof(member) == 4 ? (int32_t)(member) : (int64_t)(member))

/* The step of that number, its operands, and those of its accidents of which all is packed. */
static void pass_step(struct codec *codec, struct replay *replay, uint32_t number,
	struct replay_step *step, const struct replay_step *before)
{
	int64_t memories = (int64_t)replay->memories.count - 1, earlier;
	int64_t last = (int64_t)replay->step_count - 1;
	uint32_t at = step->accident;

#define PACKED(member, ...) \
	step->member = (__typeof__(step->member))pass_from(codec, NUMBER(step->member), \
		NUMBER(before->member), __VA_ARGS__);
#include "packed_step.def"
	step->share = (float)((double)pass(codec, llround(step->share * SHARE_UNIT), 0, INT32_MAX) /
		SHARE_UNIT);
	step->operand_count = (uint32_t)pass(codec, at_most(step->operand_count, PACKED_OPERANDS),
		0, PACKED_OPERANDS);
	if (codec->reads) {
		codec->failed |= !is_sound(step);
		step->operands = (uint32_t)replay->operand_count;
		step->accident = REPLAY_NONE;
	}
	for (uint32_t i = 0; i < step->operand_count && !codec->failed; i++) {
		struct replay_operand *operand = codec->reads
			? array_push(replay->operand, replay->operand_count)
			: &replay->operand[step->operands + i];

		operand->exact = (uint32_t)pass(codec, operand->exact, 0, memories);
		operand->allocation = (uint32_t)pass_from(codec, operand->allocation,
			operand->exact, 0, memories);
		operand->reads = (int)pass(codec, operand->reads, 0, 1);
	}
	for (; !codec->reads && at != REPLAY_NONE; at = replay->accident[at].next)
		if (replay->accident[at].via <= last && replay->accident[at].earlier <= last) {
			put(codec, replay->accident[at].earlier);
			put(codec, replay->accident[at].via);
		}
	if (!codec->reads) {
		put(codec, -1);
		return;
	}
	while ((earlier = get_in(codec, -1, (int64_t)number - 1)) >= 0 && !codec->failed) {
		*array_push(replay->accident, replay->accident_count) =
			(struct replay_accident){ (uint32_t)earlier,
				(uint32_t)get_in(codec, 0, last), step->accident };
		step->accident = (uint32_t)replay->accident_count - 1;
	}
}

/* What is packed of a replay before its steps.  from: start of the loop, or of the run, ns. */
static void pass_head(struct codec *codec, struct replay *replay, int64_t *from)
{
	const int64_t rate = (int64_t)PACKED_RATE * RATE_UNIT;
	double *rates[] = { &replay->pinned.seen, &replay->pinned.bus };

	replay->step_count = (size_t)pass(codec, (int64_t)replay->step_count, 1, JOINT_STEPS);
	replay->first = pass(codec, replay->first, -PACKED_TIME, PACKED_TIME);
	*from = pass(codec, *from, -PACKED_TIME, PACKED_TIME);
	replay->recording = pass(codec, replay->recording, 0, INT32_MAX);
	replay->event_wait = pass(codec, replay->event_wait, 0, INT32_MAX);
	for (int i = 0; i < 2; i++)
		*rates[i] =
			(double)pass(codec, llround(*rates[i] * RATE_UNIT), 0, rate) / RATE_UNIT;
	replay->lines = (size_t)pass(codec, at_least((int64_t)replay->lines, 1), 1, PACKED_NUMBERS);
	for (size_t i = 0; i < REPLAY_NUMBERS; i++)
		replay->numbers[i].count =
			(size_t)pass(codec, (int64_t)replay->numbers[i].count, 0, PACKED_NUMBERS);
}

struct packed joint_pack(struct replay *replay)
{
	struct replay_step before = { 0 };
	struct replay packed = *replay; /* what it owns is that of replay */
	const struct run_loop *loop = replay->run_loop;
	int64_t from = loop && loop->turns ? loop->begin[0] : replay->first;
	struct codec codec = { 0 };

	packed.step_count = steps_of(replay);
	packed.meeting_count = meetings_of(replay, packed.step_count);
	if (!packed.meeting_count)
		return (struct packed){ NULL, 0 };
	pass_head(&codec, &packed, &from);
	for (uint32_t i = 0; i < packed.step_count; i++) {
		struct replay_step step = packed_of(&replay->step[i], packed.step_count);

		pass_step(&codec, &packed, i, &step, &before);
		before = step;
	}
	put(&codec, (int64_t)packed.meeting_count);
	for (size_t i = 0; i < packed.meeting_count; i++) {
		put(&codec, replay->meeting[i].step);
		put(&codec, replay->meeting[i].identity);
		put(&codec, replay->meeting[i].sequence);
	}
	return compress(&codec);
}

struct replay *packed_read(const void *data, size_t size, size_t most, int64_t *from)
{
	static const struct replay_step none;
	struct replay *replay = xcalloc(1, sizeof(*replay));
	struct codec codec = decompress(data, size);
	int64_t steps, meetings;

	pass_head(&codec, replay, from);
	steps = (int64_t)replay->step_count;
	replay->step = xcalloc(replay->step_count, sizeof(*replay->step));
	for (uint32_t i = 0; i < replay->step_count && !codec.failed; i++) {
		struct replay_step *step = &replay->step[i];

		step->meets = REPLAY_NONE;
		pass_step(&codec, replay, i, step, i ? step - 1 : &none);
	}
	meetings = codec.failed ? 0 : get_in(&codec, 1, steps);
	for (int64_t i = 0, least = 0; i < meetings && !codec.failed; i++) {
		struct replay_meeting meeting = { 0 };
		struct replay_step *step;

		meeting.step = (uint32_t)get_in(&codec, least, steps - 1);
		/* After the last step there is none. */
		if (codec.failed)
			break;
		meeting.identity = get(&codec);
		meeting.sequence = get(&codec);
		step = &replay->step[meeting.step];
		least = (int64_t)meeting.step + 1;
		codec.failed |= !(step->act & STEP_HAS_OP) || !(step->act & STEP_SUBMITS);
		step->meets = (uint32_t)i;
		*array_push(replay->meeting, replay->meeting_count) = meeting;
	}
	free(codec.byte);
	if (codec.failed) {
		replay_free(replay);
		return NULL;
	}
	if (most < replay->step_count) {
		replay->meeting_count = meetings_of(replay, most);
		/* All steps from there on are left out, with what refers to them. */
		replay->step_count = most;
		replay->step = xrealloc(replay->step, most, sizeof(*replay->step));
		for (size_t i = 0; i < most; i++)
			replay->step[i] = packed_of(&replay->step[i], most);
		for (size_t i = 0; i < replay->accident_count; i++)
			if (replay->accident[i].via >= most)
				replay->accident[i].via = replay->accident[i].earlier;
	}
	replay_make_room(replay);
	replay_note_places(replay);
	return replay;
}

/* --- changes --- */

struct packed joint_pack_changes(struct replay *replay)
{
	size_t steps = steps_of(replay);
	struct codec codec = { 0 };

	put(&codec, replay->orders | replay->results << 1 | replay->moves << 2);
	for (size_t i = 0; i < replay->lines; i++)
		if (replay->once[i])
			put(&codec, (int64_t)i);
	put(&codec, -1);
	for (size_t i = 0; i < steps; i++) {
		const struct replay_change *change = &replay->change[i];
		uint32_t needs = change->still_needs < steps ? change->still_needs : REPLAY_NONE;

		if (!change->bits && !change->once)
			continue;
		put(&codec, (int64_t)i);
		put(&codec, change->bits);
		put(&codec, change->once);
		put(&codec, (int32_t)needs);
		put(&codec, (int32_t)change->only_stream);
	}
	put(&codec, -1);
	replay_restore(replay);
	return compress(&codec);
}

int packed_change(struct replay *replay, const void *data, size_t size)
{
	struct codec codec = decompress(data, size);
	int64_t streams = (int64_t)replay->streams.count - 1, flags, number;

	replay->changes += !codec.failed;
	flags = get_in(&codec, 0, 7);
	replay->orders |= flags & 1;
	replay->results |= flags >> 1 & 1;
	replay->moves |= flags >> 2 & 1;
	while ((number = get_in(&codec, -1, (int64_t)replay->lines - 1)) >= 0)
		replay->once[number] = 1;
	while (!codec.failed && (number = get_in(&codec, -1, JOINT_STEPS - 1)) >= 0) {
		struct replay_change change = { 0 }, *own;

		change.bits = (uint8_t)get_in(&codec, 0, UINT8_MAX);
		change.once = (uint8_t)get_in(&codec, 0, ONCE_SURE | ONCE_LIKELY);
		change.still_needs = (uint32_t)get_in(&codec, -1, JOINT_STEPS - 1);
		change.only_stream = (uint32_t)get_in(&codec, -1, streams);
		if ((size_t)number >= replay->step_count)
			continue;
		own = &replay->change[number];
		own->bits |= change.bits;
		own->once |= change.once;
		replay->changes++;
		if (change.still_needs < replay->step_count)
			own->still_needs = change.still_needs;
		if (own->only_stream == REPLAY_NONE)
			own->only_stream = change.only_stream;
	}
	free(codec.byte);
	return codec.failed ? -1 : 0;
}
