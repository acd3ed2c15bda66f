/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packed replays (joint.h): what is unpacked replays as before, and what is damaged is refused or
 * replayed within its bounds.
 */
#include "replay_run.h"

#include <zstd.h>

#include "joint.h"
#include "memory.h"
#include "program_text.h"

static const char turns[] =
	"at %d; create 2 1..5; next 10;"
	"launch n1 store[a] 0.. 6=106; record e1 n1; wait n2 e1; launch n2 load[a] 8.. 120=230;"
	"launch L store[b] 12.. 231=240; download_now L h2d pinned #4K 14..250 242=246;"
	"sync n2 252..260; next 270;"
	/* The host is late. */
	"launch n1 store[a] 0.. 6=106; record e1 n1; wait n2 e1; launch n2 load[a] 160.. 166=276;"
	"launch L store[b] 164.. 277=286; sync n2 168..290; device_sync 292..300";

/*
 * A replay of the turns, which begin then, us, and in which both kernels of stream n2 are
 * collectives.
 */
static struct packed pack(struct program *p, int begin, struct packed *changes, int64_t *length)
{
	struct savings *savings;
	struct replay *replay;
	struct packed packed;

	program_begin(p);
	program_do(p, turns, begin);
	assert_int_equal(analyze(&p->m.db), 0);
	replay = open_replay(&p->m.db, &savings);
	assert_non_null(replay);
	for (uint32_t i = 0; i < replay->step_count; i++) {
		const struct replay_step *step = &replay->step[i];

		if (step->engine != ENGINE_KERNEL || !(step->act & STEP_HAS_OP) ||
			step->end - step->start != 110000)
			continue;
		replay->step[i].meets = (uint32_t)replay->meeting_count;
		*array_push(replay->meeting, replay->meeting_count) =
			(struct replay_meeting){ .identity = INT64_MIN + 7,
				.sequence = i + 1,
				.step = i };
	}
	assert_int_equal(replay->meeting_count, 2);
	replay_run(replay, REPLAY_LIKELY);
	*length =
		replay->now[replay->meeting[1].step].end - replay->now[replay->meeting[0].step].end;
	packed = joint_pack(replay);
	assert_non_null(packed.data);
	replay_change(replay,
		&(struct changed_call){ .call = replay->step[replay->step_count - 2].call,
			.change = CHANGE_WAIT });
	*changes = joint_pack_changes(replay);
	assert_non_null(changes->data);
	close_replay(&p->m.db, savings);
	return packed;
}

TEST(an_unpacked_replay_is_the_same)
{
	struct joint *joint = joint_new();
	struct joint_times times;
	struct saving none;
	struct program p;
	int64_t length = 0;

	/* The clocks of ranks need not agree. */
	for (int member = 1; member <= 3; member++) {
		struct packed changes, packed = pack(&p, 10 + 50000 * member, &changes, &length);

		assert_int_equal(joint_add(joint, member, packed.data, packed.size, 1000), 0);
		free(packed.data);
		free(changes.data);
		mini_release(&p.m);
	}
	assert_int_equal(joint_match(joint), 2);
	times = joint_begin(joint);
	assert_int_equal(times.measured, 3 * 316000);
	assert_int_equal(times.as_it_was, 3 * length);
	joint_estimate(joint, &none);
	assert_int_equal(none.best, 0);
	assert_int_equal(none.low, 0);
	assert_int_equal(none.high, 0);
	joint_free(joint);
}

static uint64_t chance = 88172645463325252;

static uint64_t next_chance(void)
{
	chance ^= chance << 13;
	chance ^= chance >> 7;
	chance ^= chance << 17;
	return chance;
}

/* The packed numbers with some bytes changed, packed again. */
static struct packed damage(const struct packed *packed)
{
	static unsigned char bytes[1 << 16];
	size_t size = ZSTD_decompress(bytes, sizeof(bytes), (const char *)packed->data + 8,
		packed->size - 8);
	struct packed damaged = { malloc(ZSTD_compressBound(sizeof(bytes)) + 8), 0 };
	uint64_t count = size;

	assert_false(ZSTD_isError(size));
	assert_non_null(damaged.data);
	for (uint64_t i = 0; i <= next_chance() % 3; i++)
		bytes[next_chance() % size] = (unsigned char)next_chance();
	memcpy(damaged.data, &count, sizeof(count));
	damaged.size = 8 +
		ZSTD_compress((char *)damaged.data + 8, ZSTD_compressBound(size), bytes, size, 1);
	return damaged;
}

TEST(what_is_damaged_harms_nobody)
{
	enum { TIMES = 5000 };
	struct packed packed, changes;
	struct program p;
	int64_t length;
	int accepted = 0;

	packed = pack(&p, 10, &changes, &length);
	for (int i = 0; i < TIMES; i++) {
		struct joint *joint = joint_new();
		struct saving saving;
		struct packed bad = damage(&packed), worse = damage(&changes);

		assert_int_equal(joint_add(joint, 1, packed.data, packed.size, 1000), 0);
		/* With fewer steps than there are, too. */
		if (!joint_add(joint, 2, bad.data, bad.size, 4 + next_chance() % 20) &&
			joint_match(joint) > 1) {
			accepted++;
			joint_begin(joint);
			joint_change(joint, 2, worse.data, worse.size);
			joint_estimate(joint, &saving);
		}
		joint_free(joint);
		free(bad.data);
		free(worse.data);
	}
	/* Neither all nor none: most numbers may be others. */
	assert_in_range(accepted, TIMES / 20, TIMES * 19 / 20);
	free(packed.data);
	free(changes.data);
	mini_release(&p.m);
}
