/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by findings*.c: findings while they are collected, weighed and stored.
 */
#ifndef CUFENCE_FINDINGS_INTERNAL_H
#define CUFENCE_FINDINGS_INTERNAL_H

#include <stddef.h>

#include "findings.h"
#include "id_map.h"
#include "joint.h"
#include "stretches.h"

/* Sums over instances, ns. */
struct cost {
	int64_t count;
	int64_t waited;    /* by the host, in calls */
	int64_t delayed;   /* by work on the device */
	int64_t avoidable; /* part of waited: the most that the run would save */
	int64_t shorter;   /* part of avoidable: by shorter operations */
	int64_t in_loop;   /* part of waited and delayed within the process's loop */
};

/* The whole that a saving is a share of. */
struct part {
	double share;
	int64_t turns; /* of the loop that share refers to, 0: it refers to the run */
	int64_t turn;  /* saving per turn, ns */
};

/* The instances of a place with the same reason (struct instance, why). */
struct reason_count {
	int64_t count;
	struct instance
		worst; /* the most certain one; one that overlapped, before one that did not */
};

/*
 * What the instances of a place, or of a finding, cost in one recording window (stretches.h), in a
 * sampled run.
 */
enum quantity { COUNT, WAITED, DELAYED, QUANTITIES };
struct window_cost {
	int number;                        /* 0: an empty one */
	double length, amount[QUANTITIES]; /* ns, but for COUNT; length: of a finding's */
};

/* The instances of a finding at one pair of lines. */
struct finding_place {
	int64_t site, other_site; /* sites that represent the lines; 0: unknown */
	int64_t line;             /* the line to change */
	struct cost cost;
	int64_t line_cost;            /* cost of all places with this line, ns */
	struct changed_call *changed; /* by its instances; empty: unknown */
	size_t changed_count;
	int shown;     /* shown with its finding */
	int replayed;  /* alone is valid */
	int64_t alone; /* saving if only this line of the finding is changed, ns */
	/*
	 * Of the first place: once findings of these rules (1 << rule) are fixed, the whole finding
	 * saves only so much, ns.  0: it saves as much as alone.
	 */
	uint64_t after;
	int64_t then;
	struct reason_count *reason;
	size_t reasons;
	struct window_cost *window; /* may have a window more than once */
	size_t windows;
	struct packed changes; /* for replays of all ranks (joint.h) */
	struct instance worst; /* of the most frequent reason among the most certain instances */
};

struct finding {
	enum rule rule;
	int masked; /* of waits that others may hide, and not a finding yet */
	int64_t process;
	struct cost cost;
	struct finding_place **place; /* grouped by line, then lines by worth */
	size_t count;
	struct id_map by_lines;
	int replayed;   /* saving is from a replay, else a bound: only best is valid */
	int is_bounded; /* a replay says that it is at most so much, ns */
	int64_t most;
	struct saving saving;
	struct part part; /* share of saving */
};

struct findings {
	struct db *db;
	struct words *words;
	struct places *places;
	struct stretches windows; /* of a sampled run; else none */
	struct savings *savings;  /* during findings_replay() */
	struct finding **finding;
	size_t count;
	struct id_map by_key; /* owns the findings */
	struct id_map runs;   /* struct run_length of a process with findings */
	struct id_map line_waits;
};

/*
 * The places of a finding with the same line to change.  Start with { NULL, 0 };
 * finding_next_line() moves to the next one, and returns 0 at the end.
 */
struct finding_line {
	struct finding_place **place;
	size_t count;
};
int finding_next_line(const struct finding *finding, struct finding_line *line);

/*
 * line_waits.c: counts the waits at the lines of needless ones.  Returns 0, or -1 after a message;
 * then how many of those made there, by its type of call, no finding calls needless, 0: none but
 * single ones.
 */
int findings_count_waits(struct findings *findings);
int64_t findings_needed_there(struct findings *findings, const struct finding_place *place,
	int64_t *made);

/* Sorts lines by their own saving, once that is known. */
void finding_sort_by_saving(struct finding *finding);

void cost_add(struct cost *sum, const struct cost *cost);

/* Returns waited plus delayed, ns. */
static inline int64_t cost_of(const struct cost *cost)
{
	return cost->waited + cost->delayed;
}

/*
 * Returns the most that can be saved, ns: the work of the busiest stream remains, except for
 * operations that become shorter.
 */
int64_t cost_bound(const struct cost *cost, const struct run_length *run);

/*
 * Return the confidence of a place, by its rule or its most certain instance; of a finding, that of
 * its most certain place.
 */
enum confidence place_confidence(const struct finding_place *place);
enum confidence finding_confidence(const struct finding *finding);

/* Does it save enough?  Is it also likely or certain, if it is about time? */
int finding_is_worth_it(const struct finding *finding);
int finding_is_shown(const struct finding *finding);

/* Sets its share of the run, and without a replay its saving by bounds. */
void finding_weigh(const struct findings *findings, struct finding *finding);

/* Returns the share of a saving of a process: in its loop, if most of the cost is there. */
struct part findings_part(const struct findings *findings, int64_t process, int64_t saving,
	const struct cost *cost);

/*
 * Replays the run without each finding, and without each line of findings with several; adds
 * findings of masked waits.  Fills table replay.  Returns 0, or -1 after a message.
 */
int findings_replay(struct findings *findings);

/* Changes its calls for the next estimate. */
void finding_change(struct replay *replay, const struct finding *finding);

/* Is it about time that it may be worth to replay? */
int finding_is_wanted(const struct findings *findings, const struct finding *finding);

/*
 * Replays each line of a finding with several lines.  Where lines take work out of an order of
 * streams, and save most only together, each of them says so.
 */
void finding_replay_lines(struct replay *replay, struct finding *finding);

/*
 * For a process whose findings were replayed one by one: sets what they save in the order of fixes,
 * the savings of masked ones and of those about the host's pace, and its row of table replay.
 */
void findings_replay_together(struct findings *findings, int64_t process);

/* Fills table rank_replay, and changes of places.  Returns 0, or -1 after a message. */
int findings_pack_ranks(struct findings *findings);

/* Adds so many occurrences to the window of a place in which they were. */
void finding_place_sample(const struct findings *findings, struct finding_place *place,
	const struct instance *instance, int64_t count);

/* Writes what a finding, which is that row, is in all of the run.  0, or -1 after a message. */
int finding_write_sample(const struct findings *findings, const struct finding *finding,
	int64_t row);

/* Writes findings and their places, in their order.  Returns 0, or -1 after a message. */
int findings_write(struct findings *findings);

/*
 * Advice in place of a rule's: about calls that a library makes below a line of the program
 * (libraries.def), where the program cannot change the call, but how it uses the library; and about
 * a line of a script that reads a value of the device by an operator of its library (reads.def),
 * which may hide that it does.
 */
struct code_frames;

struct advice {
	const char *text; /* NULL: none */
	int is_unfetched; /* with it the result is not copied to the host, nor waited for */
};

/* For a driver call that reads a value, or of a library.  Returns 0, or -1 after a message. */
int advice_find(struct db *db, struct code_frames *frames, int64_t call, int is_read,
	struct advice *advice);

#endif
