/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files findings*.c share: findings while they are collected, weighed and stored.
 */
#ifndef CUFENCE_FINDINGS_PARTS_H
#define CUFENCE_FINDINGS_PARTS_H

#include <stddef.h>

#include "findings.h"
#include "idmap.h"
#include "run_length.h"
#include "savings.h"

/* Sums over instances, ns. */
struct cost {
	int64_t count;
	int64_t waited;    /* the host, in the calls */
	int64_t delayed;   /* work on the device */
	int64_t avoidable; /* of waited: what the run would save at most */
	int64_t shorter;   /* of avoidable: what operations take less */
	int64_t in_loop;   /* of waited and delayed: within the process's loop */
};

/* The loop of a process (table loop): ns, and how many turns. */
struct loop_span {
	int64_t start, until, end, turns;
};

/* What a saving is a part of. */
struct part {
	double share;
	int64_t turns; /* of the loop whose part share is, 0: it is of the run */
	int64_t turn;  /* ns of it that each turn saves */
};

struct changes {
	struct changed_call *call;
	size_t count;
};

/* 0, or -1 after a message. */
int changes_add(struct changes *changes, const struct changed_call *changed);

/* The instances of a finding at one pair of lines. */
struct finding_place {
	int64_t site, other_site; /* that stand for the lines; 0: unknown */
	int64_t line;             /* of these the one to be changed */
	struct cost cost;
	int64_t line_cost;      /* waited and delayed of all places with this line */
	struct changes changed; /* by its instances; none: they do not say */
	struct changes with;    /* by theirs, too, if that alone saves too little */
	int joined;             /* it does: with is changed as well */
	int shown;              /* with its finding */
	int replayed;           /* alone is known */
	int64_t alone;          /* ns saved if of the finding's lines only this is changed */
	struct instance worst;
};

struct finding {
	enum rule rule;
	int64_t process;
	struct cost cost;
	struct finding_place **place; /* first those of a line, then the lines in order of worth */
	size_t count;
	struct idmap by_lines;
	int replayed; /* saving is of a replay, else of bounds: only best */
	struct saving saving;
	struct part part; /* that saving is */
};

struct findings {
	struct db *db;
	struct words *words;
	struct places *places;
	struct finding **finding, **masked;
	size_t count, masked_count;
	struct idmap by_key, masked_by_key; /* own the findings */
	struct idmap runs;                  /* struct run_length of a process */
	struct idmap loops;                 /* struct loop_span of a process that has one */
};

/* The places of a finding with one line to change; from { NULL, 0 } on, the next one: 0 if none. */
struct finding_line {
	struct finding_place **place;
	size_t count;
};
int finding_next_line(const struct finding *finding, struct finding_line *line);

/* Leaves the lines that are enough for a finding, which may be none, the costliest first, and sums
 * up their cost. */
void finding_take_lines(struct finding *finding);

/* The lines that save most by themselves first, once that is known. */
void finding_sort_by_worth(struct finding *finding);

/* Waited and delayed, ns. */
int64_t cost_of(const struct cost *cost);

/* What is saved at most: the work of the busiest stream remains, but for what takes less of it. */
int64_t cost_bound(const struct cost *cost, const struct run_length *run);

/* Of a place, by its rule or by its surest instance; of a finding, that of its surest place. */
enum confidence place_confidence(const struct finding_place *place);
enum confidence finding_confidence(const struct finding *finding);

/* It saves enough; it does, if it is about time, and is likely or certain. */
int finding_is_worth_it(const struct finding *finding);
int finding_is_shown(const struct finding *finding);

/* Its share of the run, and without a replay its saving by bounds. */
int finding_weigh(struct findings *findings, struct finding *finding);

/* What a saving of a process is a part of: of its loop, where most of the cost is. */
struct part findings_part(const struct findings *findings, int64_t process,
	const struct run_length *run, int64_t saving, const struct cost *cost);

/* Of a process; NULL after a message. */
const struct run_length *findings_run(struct findings *findings, int64_t process);

/* Replays the run without each finding, and without each line of those with several; fills table
 * replay but for what the findings save together.  *savings is NULL if none can be replayed. */
int findings_replay(struct findings *findings, struct savings **savings);

/* The same of findings about the host's own pace, in addition to those that are shown. */
int findings_replay_pace(struct findings *findings, struct savings *savings);

/* 0, or -1 after a message. */
int finding_list_add(struct finding ***list, size_t *count, struct finding *finding);

/* Changes the finding's calls for the next estimate. */
void finding_change(struct savings *savings, const struct finding *finding);

/* Calls that would wait in place of the changed ones are fixed with the finding. */
int finding_add_takers(struct savings *savings, struct finding *finding);

/* Findings of masked waits, in addition to those shown; 0, or -1 after a message. */
int findings_unmask(struct findings *findings, struct savings *savings);

/* What the findings shown save together, into table replay. */
int findings_replay_together(struct findings *findings, struct savings *savings);

/* Writes a finding and its places, which are in their order.  0, or -1 after a message. */
struct finding_rows;
struct finding_rows *finding_rows_open(struct findings *findings);
int finding_rows_write(struct finding_rows *rows, const struct finding *finding);
void finding_rows_close(struct finding_rows *rows);

#endif
