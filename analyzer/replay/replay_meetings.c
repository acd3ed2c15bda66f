/* SPDX-License-Identifier: Apache-2.0 */
/* Meetings: of one rank, and of all of them (joint.h). */
#include <stdlib.h>

#include "bounds.h"
#include "compare.h"
#include "joint.h"
#include "memory.h"
#include "remote_kernels.h"
#include "replay.h"

/* --- of one rank --- */

/* One kernel may run several collectives; it counts with the first. */
static const char meetings_sql[] =
	"SELECT l.launch, m.identity, l.sequence FROM collective l"
	" JOIN communicator m ON m.id = l.communicator JOIN call d ON d.id = l.call"
	" JOIN call_type t ON t.id = d.type WHERE l.process = ?1 AND l.sequence NOT NULL"
	" AND m.identity NOT NULL AND m.ranks > 1 AND l.launch NOT NULL AND l.operation NOT NULL"
	" AND t.name IN (" MEETING_COLLECTIVES ") ORDER BY l.launch, l.id";

static int by_step(const void *a, const void *b)
{
	const struct replay_meeting *x = a, *y = b;

	return by_number(x->step, y->step);
}

int replay_find_meetings(struct replay *replay, struct db *db)
{
	sqlite3_stmt *q = db_prepare(db, meetings_sql);
	int rc = q && !db_bind(q, "i", replay->process) ? 0 : -1;

	while (!rc && (rc = db_step(q)) > 0) {
		uint32_t number = replay_step_of(replay, sqlite3_column_int64(q, 0));

		rc = 0;
		if (number == REPLAY_NONE || replay->step[number].meets != REPLAY_NONE ||
			!(replay->step[number].act & STEP_HAS_OP))
			continue;
		replay->step[number].meets = 0;
		*array_push(replay->meeting, replay->meeting_count) = (struct replay_meeting){
			.identity = sqlite3_column_int64(q, 1),
			.sequence = sqlite3_column_int64(q, 2),
			.step = number,
		};
	}
	sqlite3_finalize(q);
	if (replay->meeting_count)
		qsort(replay->meeting, replay->meeting_count, sizeof(*replay->meeting), by_step);
	for (size_t i = 0; i < replay->meeting_count; i++)
		replay->step[replay->meeting[i].step].meets = (uint32_t)i;
	return rc;
}

/* --- of all ranks --- */

struct meeting {
	uint32_t ranks, came; /* that have it; that came in this run */
	int64_t transfer;     /* ns */
	int64_t ended;        /* as measured, in the time of all ranks; REPLAY_NEVER: unknown */
	int64_t last, end;    /* last: arrival */
};

struct rank {
	int64_t member;
	struct replay *replay;
	int64_t from;      /* start of its loop, or of its run, ns */
	int64_t offset;    /* from its time to that of all ranks */
	int is_placed;     /* offset is known */
	size_t *meeting;   /* by its own number */
	size_t first, end; /* its own numbers of matched ones that count */
};

struct joint {
	struct rank *rank;
	size_t count;
	struct meeting *meeting;
	size_t meetings;
	int64_t measured, as_it_was[REPLAY_CONTENTIONS];
};

struct joint *joint_new(void)
{
	return xcalloc(1, sizeof(struct joint));
}

void joint_free(struct joint *joint)
{
	for (size_t i = 0; i < joint->count; i++) {
		replay_free(joint->rank[i].replay);
		free(joint->rank[i].meeting);
	}
	free(joint->rank);
	free(joint->meeting);
	free(joint);
}

int joint_add(struct joint *joint, int64_t member, const void *data, size_t size, size_t most)
{
	struct rank rank = { .member = member };

	rank.replay = packed_read(data, size, most, &rank.from);
	if (!rank.replay)
		return -1;
	*array_push(joint->rank, joint->count) = rank;
	return 0;
}

/* Numbers the meetings, and counts the ranks of each, and of each communicator. */
static void number_meetings(struct joint *joint, struct map *ranks_of)
{
	struct map numbers = { 0 };

	for (size_t i = 0; i < joint->count; i++) {
		struct replay *replay = joint->rank[i].replay;
		struct map own = { 0 };

		joint->rank[i].meeting = xcalloc(replay->meeting_count, sizeof(size_t));
		for (size_t k = 0; k < replay->meeting_count; k++) {
			const struct replay_meeting *of = &replay->meeting[k];
			const struct replay_step *step = &replay->step[of->step];
			const uint64_t words[] = { (uint64_t)of->identity, (uint64_t)of->sequence };
			size_t number = map_number(&numbers, map_hash_words(words, 2));
			struct meeting *meeting;

			if (number == joint->meetings)
				*array_push(joint->meeting, joint->meetings) =
					(struct meeting){ .transfer = REPLAY_NEVER,
						.ended = REPLAY_NEVER };
			meeting = &joint->meeting[number];
			meeting->ranks++;
			if (step->end - step->start < meeting->transfer)
				meeting->transfer = step->end - step->start;
			joint->rank[i].meeting[k] = number;
			if (map_get(&own, (uint64_t)of->identity, 0))
				continue;
			map_set(&own, (uint64_t)of->identity, 1);
			map_add(ranks_of, (uint64_t)of->identity, 1);
		}
		map_release(&own);
	}
	map_release(&numbers);
}

size_t joint_match(struct joint *joint)
{
	struct map ranks_of = { 0 }; /* identity -> ranks */
	size_t least = SIZE_MAX;
	int more = 1;

	number_meetings(joint, &ranks_of);
	for (size_t i = 0; i < joint->count; i++) {
		struct rank *rank = &joint->rank[i];
		struct replay *replay = rank->replay;
		size_t matched = 0;

		for (size_t k = 0; k < replay->meeting_count; k++) {
			struct replay_meeting *own = &replay->meeting[k];
			const struct meeting *meeting = &joint->meeting[rank->meeting[k]];

			own->is_joint = meeting->ranks > 1 &&
				meeting->ranks == map_get(&ranks_of, (uint64_t)own->identity, 0);
			if (!own->is_joint || replay->step[own->step].start < rank->from)
				continue;
			if (!matched++)
				rank->first = k;
			rank->end = k;
		}
		if (matched < least)
			least = matched;
	}
	map_release(&ranks_of);
	/*
	 * The ranks are placed in one time: those that share a meeting with a placed one, until
	 * none is new.
	 */
	if (joint->count)
		joint->rank[0].is_placed = 1;
	while (more) {
		more = 0;
		for (size_t i = 0; i < joint->count; i++) {
			struct rank *rank = &joint->rank[i];
			struct replay *replay = rank->replay;

			for (size_t k = 0; k < replay->meeting_count; k++) {
				struct meeting *meeting = &joint->meeting[rank->meeting[k]];
				int64_t end = replay->step[replay->meeting[k].step].end;

				if (!replay->meeting[k].is_joint)
					continue;
				if (rank->is_placed && meeting->ended == REPLAY_NEVER) {
					meeting->ended = end + rank->offset;
				} else if (!rank->is_placed && meeting->ended != REPLAY_NEVER) {
					rank->is_placed = more = 1;
					rank->offset = meeting->ended - end;
				}
			}
		}
	}
	return joint->count ? least : 0;
}

int joint_change(struct joint *joint, int64_t member, const void *data, size_t size)
{
	for (size_t i = 0; i < joint->count; i++)
		if (joint->rank[i].member == member)
			return packed_change(joint->rank[i].replay, data, size);
	return 0;
}

/* A rank has come to its next meeting, which ends once all have. */
static void arrive(struct joint *joint, const struct rank *rank)
{
	const struct replay *replay = rank->replay;
	uint32_t own = replay->step[replay->at].meets;
	struct meeting *meeting = &joint->meeting[rank->meeting[own]];

	raise_to(&meeting->last, replay->meeting[own].arrival + rank->offset);
	if (++meeting->came == meeting->ranks && meeting->end == REPLAY_NEVER)
		meeting->end = meeting->last + meeting->transfer;
}

static int64_t run(struct joint *joint, enum replay_contention contention)
{
	size_t *waits = xcalloc(joint->count, sizeof(*waits)), waiting = 0;
	int64_t sum = 0;

	for (size_t i = 0; i < joint->meetings; i++) {
		joint->meeting[i].came = 0;
		joint->meeting[i].last = REPLAY_LONG_AGO;
		joint->meeting[i].end = REPLAY_NEVER;
	}
	for (size_t i = 0; i < joint->count; i++) {
		struct replay *replay = joint->rank[i].replay;

		for (size_t k = 0; k < replay->meeting_count; k++)
			replay->meeting[k].end = REPLAY_NEVER;
		replay_start(replay, contention);
		if (!replay_continue(replay))
			continue;
		arrive(joint, &joint->rank[i]);
		waits[waiting++] = i;
	}
	while (waiting) {
		size_t still = 0;
		int moved = 0;

		for (size_t i = 0; i < waiting; i++) {
			struct rank *rank = &joint->rank[waits[i]];
			struct replay *replay = rank->replay;
			uint32_t own = replay->step[replay->at].meets;
			int is_over = joint->meeting[rank->meeting[own]].end != REPLAY_NEVER;

			moved |= is_over;
			/* It goes on after the meeting, to its next one or to its end. */
			if (is_over) {
				replay->meeting[own].end =
					joint->meeting[rank->meeting[own]].end - rank->offset;
				if (!replay_continue(replay))
					continue;
				arrive(joint, rank);
			}
			waits[still++] = waits[i];
		}
		waiting = still;
		/* Ranks call in another order, of several communicators: one goes on. */
		if (waiting && !moved) {
			struct rank *rank = &joint->rank[*waits];
			struct replay *replay = rank->replay;
			struct meeting *meeting =
				&joint->meeting[rank->meeting[replay->step[replay->at].meets]];

			meeting->end = meeting->last + meeting->transfer;
		}
	}
	free(waits);
	for (size_t i = 0; i < joint->count; i++) {
		const struct rank *rank = &joint->rank[i];
		const struct replay *replay = joint->rank[i].replay;

		sum += replay->now[replay->meeting[rank->end].step].end -
			replay->now[replay->meeting[rank->first].step].end;
	}
	return sum;
}

struct joint_times joint_begin(struct joint *joint)
{
	joint->measured = 0;
	for (size_t i = 0; i < joint->count; i++) {
		const struct rank *rank = &joint->rank[i];
		const struct replay *replay = joint->rank[i].replay;

		joint->measured += replay->step[replay->meeting[rank->end].step].end -
			replay->step[replay->meeting[rank->first].step].end;
	}
	for (int i = 0; i < REPLAY_CONTENTIONS; i++)
		joint->as_it_was[i] = run(joint, (enum replay_contention)i);
	return (struct joint_times){ joint->measured, joint->as_it_was[REPLAY_RECORDED],
		joint->as_it_was[REPLAY_LIKELY] };
}

void joint_estimate(struct joint *joint, struct saving *saving)
{
	int64_t saved[REPLAY_CONTENTIONS];
	int64_t changes = 0;

	for (int i = 0; i < REPLAY_RECORDED; i++)
		saved[i] = joint->as_it_was[i] - run(joint, (enum replay_contention)i);
	for (size_t i = 0; i < joint->count; i++) {
		changes += joint->rank[i].replay->changes;
		replay_restore(joint->rank[i].replay);
	}
	saving_between(saving, saved, joint->measured, changes,
		(double)llabs(joint->as_it_was[REPLAY_RECORDED] - joint->measured) /
			(double)at_least(joint->measured, 1));
}
