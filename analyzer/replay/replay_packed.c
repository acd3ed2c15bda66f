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

struct writer {
	uint8_t *byte;
	size_t count;
};

static void put(struct writer *writer, int64_t number)
{
	/* The sign is the lowest bit. */
	uint64_t rest = (uint64_t)number << 1 ^ (uint64_t)(number >> 63);

	for (; rest > 0x7f; rest >>= 7)
		*array_push(writer->byte, writer->count) = (uint8_t)(rest | 0x80);
	*array_push(writer->byte, writer->count) = (uint8_t)rest;
}

struct reader {
	const uint8_t *at, *end;
	int failed;
};

static int64_t get(struct reader *reader)
{
	uint64_t number = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t byte = 0x80;

		if (reader->at == reader->end)
			break;
		byte = *reader->at++;
		number |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return (int64_t)(number >> 1 ^ -(number & 1));
	}
	reader->failed = 1;
	return 0;
}

/* Returns a number in a range; least after a failure. */
static int64_t get_in(struct reader *reader, int64_t least, int64_t most)
{
	int64_t number = get(reader);

	if (number >= least && number <= most)
		return number;
	reader->failed = 1;
	return least;
}

static struct packed compress(const struct writer *writer)
{
	size_t bound = ZSTD_compressBound(writer->count) + sizeof(uint64_t);
	struct packed packed = { .data = xrealloc(NULL, bound, 1) };
	uint64_t size = writer->count;

	memcpy(packed.data, &size, sizeof(size));
	packed.size = ZSTD_compress((char *)packed.data + sizeof(size), bound - sizeof(size),
		writer->byte, writer->count, ZSTD_CLEVEL_DEFAULT);
	free(writer->byte);
	if (!ZSTD_isError(packed.size)) {
		packed.size += sizeof(size);
		return packed;
	}
	free(packed.data);
	return (struct packed){ NULL, 0 };
}

/* Returns the bytes, of reader; NULL: damaged.  The caller's to free(). */
static uint8_t *decompress(struct reader *reader, const void *data, size_t packed)
{
	uint64_t size = 0;
	uint8_t *bytes;

	if (!data || packed < sizeof(size))
		return NULL;
	memcpy(&size, data, sizeof(size));
	if (size > PACKED_BYTES_MOST)
		return NULL;
	bytes = xrealloc(NULL, size + 1, 1);
	if (ZSTD_decompress(bytes, size, (const char *)data + sizeof(size),
		    packed - sizeof(size)) != size) {
		free(bytes);
		return NULL;
	}
	*reader = (struct reader){ bytes, bytes + size, 0 };
	return bytes;
}

/* --- how much of a replay is packed --- */

/* How many of its steps are packed. */
static size_t steps_of(const struct replay *replay)
{
	/* For tests: few programs have so many. */
	const char *test = getenv("CUFENCE_TEST_JOINT_STEPS");
	size_t most = test && *test ? strtoull(test, NULL, 10) : JOINT_STEPS;
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

/* --- packing --- */

/* The step with references to packed ones only. */
static struct replay_step packed_of(const struct replay_step *step, size_t steps)
{
	struct replay_step own = *step;
	uint32_t *link[] = { &own.held_for, &own.held_by, &own.handed_step, &own.maker, &own.behind,
		&own.behind_via, &own.follows };

	for (size_t i = 0; i < sizeof(link) / sizeof(*link); i++)
		if (*link[i] >= steps)
			*link[i] = REPLAY_NONE;
	if (!(own.act & STEP_HAS_OP))
		own.start = own.end = 0;
	if (own.scope == SCOPE_NONE && own.held_for == REPLAY_NONE)
		own.act &= ~(unsigned)STEP_WAITS;
	return own;
}

/* Members of 32 bits are signed: REPLAY_NONE is -1. */
#define NUMBER(member) (sizeof(member) == 4 ? (int32_t)(member) : (int64_t)(member))

/* The step, its operands, and those of its accidents of which all steps are packed. */
static void put_step(struct writer *writer, const struct replay *replay,
	const struct replay_step *step, const struct replay_step *before, size_t steps)
{
	uint32_t count =
		step->operand_count < PACKED_OPERANDS ? step->operand_count : PACKED_OPERANDS;

#define PACKED(member, ...) put(writer, NUMBER(step->member) - NUMBER(before->member));
#include "packed_step.def"
	put(writer, llround(step->share * SHARE_UNIT));
	put(writer, count);
	for (uint32_t i = 0; i < count; i++) {
		const struct replay_operand *operand = &replay->operand[step->operands + i];

		put(writer, operand->exact);
		put(writer, (int64_t)operand->allocation - operand->exact);
		put(writer, operand->reads);
	}
	for (uint32_t at = step->accident; at != REPLAY_NONE; at = replay->accident[at].next)
		if (replay->accident[at].via < steps && replay->accident[at].earlier < steps) {
			put(writer, replay->accident[at].earlier);
			put(writer, replay->accident[at].via);
		}
	put(writer, -1);
}

struct packed joint_pack(struct replay *replay)
{
	struct replay_step before = { 0 };
	size_t steps = steps_of(replay), meetings = meetings_of(replay, steps);
	const struct run_loop *loop = replay->run_loop;
	struct writer writer = { 0 };

	if (!meetings)
		return (struct packed){ NULL, 0 };
	put(&writer, (int64_t)steps);
	put(&writer, replay->first);
	put(&writer, loop && loop->turns ? loop->begin[0] : replay->first);
	put(&writer, replay->recording);
	put(&writer, replay->event_wait);
	put(&writer, llround(replay->pinned.seen * RATE_UNIT));
	put(&writer, llround(replay->pinned.bus * RATE_UNIT));
	put(&writer, at_least((int64_t)replay->set_ups->lines, 1));
	for (size_t i = 0; i < REPLAY_NUMBERS; i++)
		put(&writer, (int64_t)replay->numbers[i].count);
	for (size_t i = 0; i < steps; i++) {
		struct replay_step step = packed_of(&replay->step[i], steps);

		put_step(&writer, replay, &step, &before, steps);
		before = step;
	}
	put(&writer, (int64_t)meetings);
	for (size_t i = 0; i < meetings; i++) {
		put(&writer, replay->meeting[i].step);
		put(&writer, replay->meeting[i].identity);
		put(&writer, replay->meeting[i].sequence);
	}
	return compress(&writer);
}

struct packed joint_pack_changes(struct replay *replay)
{
	size_t steps = steps_of(replay);
	struct writer writer = { 0 };

	put(&writer, replay->orders | replay->results << 1 | replay->moves << 2);
	for (size_t i = 0; i < replay->set_ups->lines; i++)
		if (replay->once[i])
			put(&writer, (int64_t)i);
	put(&writer, -1);
	for (size_t i = 0; i < steps; i++) {
		const struct replay_change *change = &replay->change[i];
		uint32_t needs = change->still_needs < steps ? change->still_needs : REPLAY_NONE;

		if (!change->bits && !change->once)
			continue;
		put(&writer, (int64_t)i);
		put(&writer, change->bits);
		put(&writer, change->once);
		put(&writer, (int32_t)needs);
		put(&writer, (int32_t)change->only_stream);
	}
	put(&writer, -1);
	replay_restore(replay);
	return compress(&writer);
}

/* --- unpacking --- */

/* A number as the difference from another one. */
static int64_t get_from(struct reader *reader, int64_t from, int64_t least, int64_t most)
{
	int64_t number = (int64_t)((uint64_t)from + (uint64_t)get(reader));

	if (number >= least && number <= most)
		return number;
	reader->failed = 1;
	return least;
}

/* Reads the replay's step of that number, with its operands and accidents. */
static void get_step(struct reader *reader, struct replay *replay, uint32_t number)
{
	static const struct replay_step none;
	const struct replay_step *before = number ? &replay->step[number - 1] : &none;
	struct replay_step step = { .accident = REPLAY_NONE, .meets = REPLAY_NONE };
	int64_t memories = (int64_t)replay->memories.count - 1, earlier;
	int64_t last = (int64_t)replay->step_count - 1;

#define PACKED(member, ...) \
	step.member = \
		(__typeof__(step.member))get_from(reader, NUMBER(before->member), __VA_ARGS__);
#include "packed_step.def"
	step.share = (float)((double)get_in(reader, 0, INT32_MAX) / SHARE_UNIT);
	/* What replays rely on, besides the ranges of numbers. */
	if (step.start > step.end || step.end - step.start > PACKED_LENGTH ||
		(step.act & (STEP_RECORDS | STEP_AWAITS) && step.event == REPLAY_NONE) ||
		(step.act & STEP_AWAITS && step.stream == REPLAY_NONE) ||
		(step.act & (STEP_MAKES_THREAD | STEP_JOINS_THREAD) &&
			step.other_thread == REPLAY_NONE) ||
		(step.act & STEP_WAITS && step.scope == SCOPE_NONE && step.held_for == REPLAY_NONE))
		reader->failed = 1;
	step.operands = (uint32_t)replay->operand_count;
	step.operand_count = (uint32_t)get_in(reader, 0, PACKED_OPERANDS);
	for (uint32_t i = 0; i < step.operand_count && !reader->failed; i++) {
		struct replay_operand *operand = array_push(replay->operand, replay->operand_count);

		operand->exact = (uint32_t)get_in(reader, 0, memories);
		operand->allocation = (uint32_t)get_from(reader, operand->exact, 0, memories);
		operand->reads = (int)get_in(reader, 0, 1);
	}
	while ((earlier = get_in(reader, -1, (int64_t)number - 1)) >= 0 && !reader->failed) {
		*array_push(replay->accident, replay->accident_count) =
			(struct replay_accident){ (uint32_t)earlier,
				(uint32_t)get_in(reader, 0, last), step.accident };
		step.accident = (uint32_t)replay->accident_count - 1;
	}
	replay->step[number] = step;
}

int packed_read(struct packed_replay *packed, const void *data, size_t size, size_t most)
{
	struct replay *replay = packed->replay = xcalloc(1, sizeof(*replay));
	struct set_ups *set_ups = packed->set_ups = xcalloc(1, sizeof(*set_ups));
	struct reader reader = { 0 };
	uint8_t *bytes = decompress(&reader, data, size);
	const int64_t rate = (int64_t)PACKED_RATE * RATE_UNIT;
	int64_t steps, meetings;

	replay->set_ups = set_ups;
	if (!bytes)
		return -1;
	steps = get_in(&reader, 1, JOINT_STEPS);
	replay->step_count = (size_t)steps;
	replay->first = get_in(&reader, -PACKED_TIME, PACKED_TIME);
	packed->from = get_in(&reader, -PACKED_TIME, PACKED_TIME);
	replay->recording = get_in(&reader, 0, INT32_MAX);
	replay->event_wait = get_in(&reader, 0, INT32_MAX);
	replay->pinned.seen = (double)get_in(&reader, 0, rate) / RATE_UNIT;
	replay->pinned.bus = (double)get_in(&reader, 0, rate) / RATE_UNIT;
	set_ups->lines = (size_t)get_in(&reader, 1, PACKED_NUMBERS);
	for (size_t i = 0; i < REPLAY_NUMBERS; i++)
		replay->numbers[i].count = (size_t)get_in(&reader, 0, PACKED_NUMBERS);
	replay->step = xcalloc(replay->step_count, sizeof(*replay->step));
	for (uint32_t i = 0; i < replay->step_count && !reader.failed; i++)
		get_step(&reader, replay, i);
	meetings = reader.failed ? 0 : get_in(&reader, 1, steps);
	for (int64_t i = 0, least = 0; i < meetings && !reader.failed; i++) {
		struct replay_meeting meeting = { 0 };
		struct replay_step *step;

		meeting.step = (uint32_t)get_in(&reader, least, steps - 1);
		/* After the last step there is none. */
		if (reader.failed)
			break;
		meeting.identity = get(&reader);
		meeting.sequence = get(&reader);
		step = &replay->step[meeting.step];
		least = (int64_t)meeting.step + 1;
		if (!(step->act & STEP_HAS_OP) || !(step->act & STEP_SUBMITS))
			reader.failed = 1;
		step->meets = (uint32_t)i;
		*array_push(replay->meeting, replay->meeting_count) = meeting;
	}
	free(bytes);
	if (reader.failed)
		return -1;
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
	return 0;
}

int packed_change(struct packed_replay *packed, const void *data, size_t size)
{
	struct replay *replay = packed->replay;
	struct reader reader = { 0 };
	uint8_t *bytes = decompress(&reader, data, size);
	int64_t streams = (int64_t)replay->streams.count - 1, flags, number;

	if (!bytes)
		return -1;
	flags = get_in(&reader, 0, 7);
	replay->orders |= flags & 1;
	replay->results |= flags >> 1 & 1;
	replay->moves |= flags >> 2 & 1;
	replay->changes++;
	while ((number = get_in(&reader, -1, (int64_t)replay->set_ups->lines - 1)) >= 0)
		replay->once[number] = 1;
	while (!reader.failed && (number = get_in(&reader, -1, JOINT_STEPS - 1)) >= 0) {
		struct replay_change change = { 0 }, *own;

		change.bits = (uint8_t)get_in(&reader, 0, UINT8_MAX);
		change.once = (uint8_t)get_in(&reader, 0, 1);
		change.still_needs = (uint32_t)get_in(&reader, -1, JOINT_STEPS - 1);
		change.only_stream = (uint32_t)get_in(&reader, -1, streams);
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
	free(bytes);
	return reader.failed ? -1 : 0;
}

void packed_release(struct packed_replay *packed)
{
	for (size_t i = 0; i < REPLAY_NUMBERS; i++)
		packed->replay->numbers[i].count = 0;
	replay_free(packed->replay);
	free(packed->set_ups);
	*packed = (struct packed_replay){ 0 };
}
