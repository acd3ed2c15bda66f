/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replays a run without the device: estimates its duration if some calls were changed.  Private to
 * this room; savings.h is for others.
 *
 * Each thread is a sequence of calls with the host's own time in between.  A call takes its
 * unblocked time, and returns no sooner than the work it waits for is complete.  An operation
 * starts once it was submitted and everything that it is ordered after has ended, and takes its
 * measured time.  Other delays of the run are ignored, so that the error of a replay without
 * changes shows how far replays can be trusted.
 *
 * The order among streams is CUDA's (order.h), kept here as times: the ends of the work of a
 * stream, of the legacy stream and of the blocking streams, and of the work that an event captured.
 * Calls are replayed in the order of the run.  Waits between threads by other means than CUDA and
 * pthread_join are not recorded: time outside of calls remains as it was, unless a thread was
 * silent until another one had done its part (handovers.h).
 *
 * Not thread-safe.  Memory is proportional to the number of calls that submit, order or wait, and
 * four bytes for each other one.
 */
#ifndef CUFENCE_REPLAY_H
#define CUFENCE_REPLAY_H

#include "bounds.h"
#include "constants.h"
#include "id_map.h"
#include "map.h"
#include "pinned_copies.h"
#include "run_evidence.h"
#include "savings.h"
#include "scope.h"

/*
 * Set-up that a line of the program repeats: it loads code, as cuFFT does for a plan, and unloads
 * it again before it loads the same code the next time.  A set-up is a row of a thread's calls from
 * one line without work in between, in which code is loaded or unloaded: with the memory that is
 * allocated and freed there, with the tables that are copied into that memory or into variables of
 * a module, and with the time between these calls, which the library or the runtime compiler
 * spends.  Kept, it happens once.
 *
 * A set-up is the same as the one before if the sizes of its memory and tables are, and the first
 * kernel that the thread launches after it has the same name and image.  Which load an unload
 * belongs to is not recorded: the thread's last one without.
 */
struct set_up {
	uint32_t thread;
	uint32_t line;       /* number of the line that loads the code */
	int64_t from, until; /* entry of its first call, return of its last one, ns */
	uint64_t code;       /* a hash of what it sets up; 0: unknown */
	uint32_t loaded;     /* modules that it loaded and that are not unloaded yet */
	uint32_t ended_by;   /* the set-up that unloaded the last one, 0: none */
	int loads, unloads;
	int is_repeated; /* nothing of it is needed if the set-up before it is kept */
};

/* Zero-initialized is empty. */
struct set_ups {
	struct set_up *list; /* by thread, then in order of time; the first one is no set-up */
	size_t count, lines;
};

/* Returns 0, or -1 after a message; the list is the caller's to free() in any case. */
int set_ups_find(struct set_ups *set_ups, const struct run *run, struct db *db);

/* How operations affect each other when they could run at the same time. */
enum replay_contention {
	REPLAY_LIKELY, /* kernels that fill the device run one after the other */
	REPLAY_LEAST,  /* kernels do not affect each other */
	REPLAY_MOST, /* kernels that need half of the device or more run one after the other, and so
		      * do operations on the same allocation; of frees only the wait is left out */
	REPLAY_QUICK,    /* as likely, with a faster host, as in another process */
	REPLAY_RECORDED, /* as likely, and calls include the cost of recording: to compare with the
			  * measured run */
	REPLAY_CONTENTIONS
};

#define REPLAY_NUMBERS 7
#define REPLAY_NONE UINT32_MAX
#define REPLAY_LONG_AGO (INT64_MIN / 2) /* far from overflow when added to */
#define REPLAY_NEVER INT64_MAX

/* Acts of a call in a replay; a mask. */
enum step_act {
	STEP_SUBMITS = 1 << 0,     /* submits an operation of any length to its stream */
	STEP_RECORDS = 1 << 1,     /* records an event */
	STEP_AWAITS = 1 << 2,      /* its stream waits for an event */
	STEP_WAITS = 1 << 3,       /* the host waits for the work in scope */
	STEP_WAITS_OWN = 1 << 4,   /* ... and for the call's own operation */
	STEP_WAITS_FIRST = 1 << 5, /* ... before it submits */
	STEP_EXPLICIT = 1 << 6,    /* an explicit wait */
	STEP_MAKES_THREAD = 1 << 7,
	STEP_JOINS_THREAD = 1 << 8,
	STEP_HOST_WORK = 1 << 9,      /* a host function, whose duration is not recorded */
	STEP_HAS_OP = 1 << 10,        /* times of its operation are known */
	STEP_BECOMES_ASYNC = 1 << 11, /* a synchronous copy or memset, asynchronous when changed */
	STEP_MEASURED = 1 << 12,      /* it is in table wait */
	STEP_HOLDS_OTHERS = 1 << 13,  /* blocks submissions of other threads meanwhile */
	STEP_CAN_BE_HELD = 1 << 14,   /* may be blocked by such a call */
	STEP_STAGED = 1 << 15,        /* the host copies, because the memory is pageable */
	STEP_ONCE = 1 << 16,          /* the fix is to call it once, not every time */
	STEP_FIRST = 1 << 17,         /* the first of its place, at its address or in its context */
	STEP_FETCHES = 1 << 18,       /* an explicit wait, right after a copy to the host */
	STEP_SETS_UP = 1 << 19,       /* part of a repeated set-up, */
	STEP_SETS_UP_ANEW = 1 << 20,  /* or of one that is needed */
};

enum { STEP_LINKS = 7 };
enum step_engine { ENGINE_NONE, ENGINE_KERNEL, ENGINE_H2D, ENGINE_D2H, ENGINE_COUNT };

struct replay_step {
	int64_t call;
	int64_t enter, exit;  /* as measured, ns */
	int64_t start, end;   /* of its operations, as measured */
	int64_t gap;          /* the thread's own time since its previous step, ns */
	int64_t gap_recorded; /* part of gap that is due to recording calls that are no steps, ns */
	int64_t resumed;      /* from the end of what it was handed over by to its entry, ns */
	int64_t own;          /* the call's unblocked time, ns */
	int64_t recorded;     /* part of own that is due to recording */
	int64_t waited;       /* waiting time by table wait */
	int64_t lag;          /* from the end of the work it waited for to its return */
	int32_t launch;       /* from its entry to the start of the operation, */
	int32_t delayed;      /* and the part of it that is due to recording */
	int32_t handover;     /* from the end of the work that it comes after to its start */
	int32_t around;       /* time of the runtime call around it, ns */
	int32_t after_holder; /* from the return of the other thread's call that blocked it */
	int64_t bytes;        /* size of a staged copy */
	int64_t trimmed;      /* time in which a pool gave memory back or mapped it again, ns */
	int64_t pinning;      /* time to pin memory that was not copied before, ns */
	uint32_t nodes;       /* number of nodes of the graph that it makes, launches or destroys */
	float share;          /* part of the device's threads that a kernel occupies */
	uint32_t thread, other_thread, stream, event, context, other_context, exec;
	uint32_t apart;                 /* new stream for changed work of its stream and thread */
	uint32_t site;                  /* row of the outermost call's site, 0: unknown */
	const struct handover *silence; /* before it, and what ended that; NULL: none */
	uint32_t handed_by; /* the thread whose last call it came after outside of CUDA, */
	union {             /* other steps, REPLAY_NONE: none */
		uint32_t links[STEP_LINKS];
		struct {
			uint32_t handed_step; /* or that whose host function it came after */
			uint32_t held_for;    /* the host waited for its operation, by table wait */
			uint32_t held_by;     /* of another thread, which blocked it, likewise */
			uint32_t maker; /* allocated what it frees, or made the graph it launches */
			uint32_t behind; /* its operation waited for the end of this one's ... */
			uint32_t behind_via; /* ... which this one caused */
			uint32_t follows;    /* its thread's operation before a host function */
		};
	};
	uint32_t set_up;    /* line of the repeated set-up that it is part of or comes after */
	int64_t setting_up; /* part of gap that is due to that, ns */
	uint32_t accident;  /* the first one of which it is the later operation */
	uint32_t meets;     /* number of the meeting that its kernel is part of */
	uint32_t operands, operand_count; /* range in replay.operand */
	uint32_t act;
	uint8_t scope, stream_kind, kind, engine;
	int16_t device;        /* -1: unknown */
	uint8_t shares_device; /* it overlapped another large kernel in the run */
};

/* Memory that an operation uses, by number of struct memory. */
struct replay_operand {
	uint32_t exact, allocation;
	int reads; /* the operation surely does not write it */
};

/* What became of a step in a replay. */
struct step_result {
	int64_t end;    /* of its operation, or of the call that waited */
	int64_t held;   /* ns that the call is held */
	int64_t delays; /* ns by which its place in the order of streams delays these */
};

/* Does a changed call take no time, as it was done before? */
enum replay_once {
	ONCE_NOT = 0,
	ONCE_SURE = 1 << 0,
	ONCE_LIKELY = 1 << 1, /* in REPLAY_MOST it takes its time */
};

/* The changes of a step. */
struct replay_change {
	uint8_t bits;
	uint8_t once;         /* enum replay_once, bits */
	uint32_t still_needs; /* step */
	uint32_t only_stream; /* the host waits for this stream only */
};

/* A data dependency of a step, which only the wait of another one orders. */
struct replay_accident {
	uint32_t earlier, via; /* steps */
	uint32_t next;         /* number of the step's next one, REPLAY_NONE: the last */
};

/*
 * A collective that no rank leaves before all have come, in one rank.  Alone its kernel takes as
 * long as it did; in a joint replay (joint.h) it ends at end, REPLAY_NEVER: not known yet.
 */
struct replay_meeting {
	int64_t identity, sequence; /* of the communicator, and its number there */
	uint32_t step;
	int is_joint;
	int64_t arrival, end; /* ns */
};

/* The ends of the work so far. */
struct replay_context {
	int64_t legacy, blocking, all;
	uint32_t legacy_by; /* the step of the legacy stream's last work */
	int device;
};

struct replay_thread {
	int64_t now;
	int64_t ahead;     /* submission time of other streams' work; REPLAY_NEVER: unchanged */
	uint32_t ahead_of; /* the stream before whose work it is submitted */
	/* The step that waits for another thread's end, until the next step. */
	uint32_t join;
};

struct replay_stream {
	int64_t tail;
	int64_t since;       /* start of its current uninterrupted work */
	int host_work;       /* its last operation ran on the host */
	int loose;           /* a wait for an event was removed: only memory orders it */
	int awaits;          /* it ends with a wait for an event */
	int64_t before;      /* its tail without the waits for events since its last operation */
	uint32_t awaited_by; /* that of them which ended last, REPLAY_NONE: none lasted */
};

/* Intervals in which an engine is busy, sorted; count of them, from first on. */
#define BOOKINGS 128
struct booking {
	struct span taken[8 * BOOKINGS];
	size_t first, count;
};

/* Consecutive turns of a long run's loop that are replayed. */
struct replay_sample {
	int64_t from, until; /* of the run's time, ns: calls entered in between are steps */
	int64_t length;      /* of that, without pauses of the loop */
	/* The end of all work so far in the last replay, and in the last one without changes. */
	int64_t ended, ended_unchanged;
};

struct replay {
	const struct run *run;
	int64_t process;
	const char *refusal;   /* why it cannot be replayed, the end of a sentence; NULL: it can */
	const char *bound;     /* why savings are only bounds then, likewise */
	int window;            /* as walk_call.stretch */
	int64_t unknown_since; /* as unknown.h: later calls are left out */
	const struct run_loop *run_loop; /* NULL: none */
	int64_t first, last, measured; /* times of the steps, ns; the first call to the last end */
	/*
	 * Samples of a loop that is too long to be replayed, in order; none: all of the run is
	 * replayed.  Their length and that of the loop, ns; the time between them, in which threads
	 * are left as they were.
	 */
	struct replay_sample *sample;
	size_t samples;
	int64_t sampled_turns, sampled, loop, skipped;
	int64_t loop_steps; /* number of steps of the loop, in a run that is too long */
	struct pinned_rate pinned;
	int64_t recording;  /* time that recording adds to a call, ns; 0: simulated */
	int64_t event_wait; /* time that a stream needs for consecutive event waits, ns */
	struct replay_step *step;
	size_t step_count;
	uint32_t *step_of; /* call -> step, of all processes: see replay_step_of() */
	struct replay_operand *operand;
	size_t operand_count;
	union { /* row -> number; of aparts: stream and thread -> number */
		struct map numbers[REPLAY_NUMBERS];
		struct {
			struct map threads, streams, aparts, events, contexts, execs, memories;
		};
	};
	struct map places;    /* site and kind -> their last step */
	struct map silences;  /* call before one -> the step after it */
	struct map admitted;  /* site and kind -> changes that may join others: enum change */
	uint32_t *same_place; /* by step: the previous step of its place */
	struct replay_accident *accident; /* by number */
	size_t accident_count;
	struct replay_meeting *meeting; /* in order of steps */
	size_t meeting_count;
	struct replay_change *change;
	const struct set_ups *set_ups; /* NULL: unpacked */
	size_t lines;                  /* of those */
	uint8_t *once;                 /* by line: its set-up is kept, not repeated */
	/* Estimates (savings.c). */
	int64_t as_it_was[REPLAY_CONTENTIONS]; /* the length of the unchanged replay, ns */
	double error;                          /* relative error of that */
	int64_t changes;                       /* number of changes since replay_restore() */
	uint64_t made;                         /* a hash of the changes, in their order */
	struct map kept;                       /* made ^ contention -> saving */
	struct map spread;                     /* made -> error of an extrapolated saving */
	/* Replays with changes so far, those of them for single lines, and their steps. */
	int64_t replays, replays_of_lines, steps_replayed;
	int is_cut;
	struct replay_row row;
	/* State of the current replay. */
	enum replay_contention contention;
	uint32_t at;    /* the next step */
	int is_pending; /* it cannot end before other ranks come */
	struct step_result *now,
		*unchanged; /* by step: in this one, and in the last unchanged one */
	struct replay_thread *thread;
	struct replay_stream *stream;
	int64_t *event, *exec;
	struct replay_context *context;
	struct replay_holder {
		uint32_t thread;
		int64_t from, until, released;
	} holder; /* the last call that blocked others; what it waited for ended at released */
	int64_t *apart; /* by number: end of the changed work there */
	int orders;     /* an order is changed: memory dependencies count */
	int results;    /* a copy of a result is changed */
	int moves;      /* work is taken out of an order of streams */
	struct replay_memory {
		struct memory_use {
			int64_t used, written; /* end of work that uses it, and that may write it */
		} changed, all;                /* of changed work, of all work */
		uint8_t outside;               /* it is used by work outside of legacy streams */
	} * memory;                            /* by number */
	struct booking *booking;               /* by device and engine */
	int device_count;
	void **room; /* owns what is by step and by number, but the steps */
	size_t room_count;
};

struct savings {
	struct db *db;
	uint32_t *step_of;
	struct id_map processes; /* struct replay, of those that made a call */
	struct set_ups set_ups;
};

static inline void raise_to(int64_t *time, int64_t to)
{
	if (*time < to)
		*time = to;
}

/* Is it how the host gets a result: a synchronous copy, or the wait right after an Async one? */
static inline int replay_is_result(const struct replay_step *step)
{
	return (step->act & STEP_BECOMES_ASYNC && step->engine == ENGINE_D2H) ||
		step->act & STEP_FETCHES;
}

/* Returns the step of a call; REPLAY_NONE if it is no step. */
static inline uint32_t replay_step_of(const struct replay *replay, int64_t call)
{
	uint32_t step = run_call(replay->run, call) ? replay->step_of[call] : REPLAY_NONE;

	return step < replay->step_count && replay->step[step].call == call ? step : REPLAY_NONE;
}

/* Return where its work is; NULL: in none. */
static inline struct replay_stream *replay_stream_of(const struct replay *replay,
	const struct replay_step *step)
{
	return step->stream == REPLAY_NONE ? NULL : &replay->stream[step->stream];
}

static inline struct replay_context *replay_context_at(const struct replay *replay, uint32_t number)
{
	return number == REPLAY_NONE ? NULL : &replay->context[number];
}

/* Returns the key of a place: calls of one kind at one site change together. */
static inline uint64_t replay_place(const struct replay_step *step)
{
	return (uint64_t)step->site << 8 | step->kind;
}

/* --- reading the run: replay_load.c, then replay_order.c, replay_learn.c --- */

/* Reads the calls of all processes.  Returns 0, or -1 after a message. */
int replay_load(struct savings *savings, struct db *db);

/*
 * Sets the reasons why a process is not replayed, or why its savings are bounds.  Returns 0, or -1
 * after a message.
 */
int replay_find_refusal(struct replay *replay, struct db *db);

/* --- long runs: replay_samples.c --- */

/* Returns a limit; tests set a lower one by a variable, as few programs reach it. */
int64_t replay_limit(const char *variable, int64_t usual);

/*
 * Chooses samples of the loop, which has loop_steps, evenly spaced.  Returns 0 if there is no loop
 * with enough turns.
 */
int replay_choose_samples(struct replay *replay);

/* Is a call entered then outside of the samples? */
int replay_is_skipped(const struct replay *replay, int64_t enter);

/* Notes in samples that the work up to the step, the next one in order, ended by then. */
void replay_note_sample(struct replay *replay, uint32_t number, int64_t last);

/* Returns what stands for a time in all of the loop, ns. */
int64_t replay_extrapolated(const struct replay *replay, int64_t time);

/* Returns the error of the extrapolated saving of the last replay, ns, by how samples differ. */
int64_t replay_spread(const struct replay *replay);

/* Sorts the steps of several threads by submission, and finds which blocked those of others. */
void replay_sort(struct replay *replay, const struct run_evidence *evidence);

/*
 * Finds which part of a call's own time recording takes, and how much later an idle device starts
 * its work for that.  is_first: of launches of an executable graph.
 */
void replay_learn_recording(struct replay_step *step, int is_first);

/* Finds the meetings, of sorted steps.  Returns 0, or -1 after a message. */
int replay_find_meetings(struct replay *replay, struct db *db);

/* Makes what is by step and by number, for a replay whose steps are known.  Frees all of one. */
void replay_make_room(struct replay *replay);
void replay_free(void *replay);

/* Finds what follows from the operands: memory that is used outside of legacy streams. */
void replay_note_places(struct replay *replay);

/* Finds each step's own time, and what it came after outside of CUDA. */
void replay_learn(struct replay *replay);

/*
 * Sets the saving and its interval, of a process or of all ranks together.  saved: in replays of
 * each kind but REPLAY_RECORDED, ns; measured: how long the run took; changes: number of changed
 * calls; error: of a replay of the unchanged run, as a part of it.
 */
void saving_between(struct saving *saving, const int64_t saved[REPLAY_RECORDED], int64_t measured,
	int64_t changes, double error);

/* --- packed replays and changes (joint.h): replay_packed.c --- */

/*
 * Unpacks at most so many steps, for replay_free().  Sets *from to the start of the loop, or of the
 * run, ns.  NULL: the data are damaged, as each number is in the range that a replay needs.
 */
struct replay *packed_read(const void *data, size_t size, size_t most, int64_t *from);

/*
 * Adds changes to those of the replay, also if it has fewer steps.  Returns 0, or -1 if the data
 * are damaged.
 */
int packed_change(struct replay *replay, const void *data, size_t size);

/* --- changes: replay.c --- */

/* Reads the accidental orders.  Returns 0, or -1 after a message. */
int replay_find_accidents(struct replay *replay, struct db *db);

/*
 * Changes a call until replay_restore().  A change of a wait or an order applies to every call of
 * the same kind from the same site: fixing a line fixes all its calls.  With still_needs the other
 * calls wait for its stream.  That may be the call's own operation, which another call is to wait
 * for.  CHANGE_CALL, CHANGE_NODE and CHANGE_OUTSIDE apply to the given calls only.
 */
void replay_change(struct replay *replay, const struct changed_call *changed);
void replay_restore(struct replay *replay);

/* --- a replay; CUDA's order and the device's engines as times: replay_clocks.c --- */

/* Returns the length of the changed run, ns. */
int64_t replay_run(struct replay *replay, enum replay_contention contention);

/*
 * The same in pieces: begins it; continues it up to a meeting whose end is not known, which has an
 * arrival then: returns 1, or 0 at the end of the run.
 */
void replay_start(struct replay *replay, enum replay_contention contention);
int replay_continue(struct replay *replay);

/* Resets all clocks. */
void replay_begin(struct replay *replay);

/* Returns the end of the work that the step's operation comes after, without changes. */
int64_t replay_ready(const struct replay *replay, const struct replay_step *step);

/* Returns the end of the work that the host waits for in the step, besides its own operation. */
int64_t replay_scope(const struct replay *replay, const struct replay_step *step);

/* Returns until when a blocking call of another thread blocks the step, if it is entered now. */
int64_t replay_held_until(const struct replay *replay, const struct replay_step *step,
	int64_t entry);

/* Records that the step was in the driver from entry to back. */
void replay_note_holder(struct replay *replay, const struct replay_step *step, int64_t entry,
	int64_t back);

/* Records that the step's operation, event record or event wait ends at end. */
void replay_note(struct replay *replay, const struct replay_step *step, int64_t end);

/* Reserves an engine for length from ready on, and returns the start. */
int64_t booking_reserve(struct booking *booking, int64_t ready, int64_t length);

#endif
