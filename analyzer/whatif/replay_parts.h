/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the parts of a replay work together, private to replay*.c: replay_load.c reads the run,
 * replay_order.c finds out in which order threads submitted what they did at the same time,
 * replay_host.c finds out how long host functions took and replay_learn.c what each call and
 * operation takes by itself, replay_change.c changes calls, replay.c runs it, replay_clocks.c keeps
 * the order as times, replay_device.c the device's engines, replay_gain.c compares two runs,
 * replay_accidents.c knows which data needs the order that a wait happens to give.
 */
#ifndef CUFENCE_REPLAY_PARTS_H
#define CUFENCE_REPLAY_PARTS_H

#include <stddef.h>

#include "change.h"
#include "idmap.h"
#include "map.h"
#include "pinned_copies.h"
#include "replay.h"
#include "scope.h"

#define REPLAY_NONE UINT32_MAX
#define REPLAY_LONG_AGO (INT64_MIN / 2) /* leaves room to add to */
#define REPLAY_NEVER INT64_MAX

/* What a call does in a replay; several may be true. */
enum step_act {
	STEP_SUBMITS = 1 << 0,     /* gives its stream an operation, of any length */
	STEP_RECORDS = 1 << 1,     /* an event */
	STEP_AWAITS = 1 << 2,      /* its stream waits for an event */
	STEP_WAITS = 1 << 3,       /* the host waits for what is in scope */
	STEP_WAITS_OWN = 1 << 4,   /* ... and for the call's own operation */
	STEP_WAITS_FIRST = 1 << 5, /* ... before it submits */
	STEP_EXPLICIT = 1 << 6,    /* it exists in order to wait */
	STEP_MAKES_THREAD = 1 << 7,
	STEP_JOINS_THREAD = 1 << 8,
	STEP_HOST_WORK = 1 << 9,      /* its operation runs on the host: how long is not recorded */
	STEP_HAS_OP = 1 << 10,        /* times of its operation are known */
	STEP_BECOMES_ASYNC = 1 << 11, /* a synchronous copy or memset */
	STEP_MEASURED = 1 << 12,      /* it is in table wait */
	STEP_HOLDS_OTHERS = 1 << 13,  /* meanwhile no other thread can submit to the device */
	STEP_CAN_BE_HELD = 1 << 14,   /* by such a call */
	STEP_STAGED = 1 << 15,        /* the host copies, as the memory is pageable */
	STEP_ONCE = 1 << 16,          /* the fix is to call it once, not every time */
	STEP_FIRST = 1 << 17,         /* of its place, at its address or in its context */
};

enum step_engine { ENGINE_NONE, ENGINE_KERNEL, ENGINE_H2D, ENGINE_D2H, ENGINE_COUNT };

struct replay_step {
	int64_t call;
	int64_t enter, exit;  /* as measured, ns */
	int64_t start, end;   /* of its operations, as measured */
	int64_t gap;          /* host time since the thread's last step */
	int64_t own;          /* the call's unblocked time */
	int64_t recorded;     /* of that: cost of recording */
	int64_t waited;       /* table wait: beyond that */
	int64_t lag;          /* from the end of what it waited for to its return */
	int32_t launch;       /* from its entry to the start of the operation */
	int32_t handover;     /* from the end of what that comes after to its start */
	int32_t around;       /* ns of the runtime call around it */
	int32_t after_holder; /* from the end of the other thread's call that blocked it */
	int64_t bytes;        /* of a staged copy */
	int64_t pinning;      /* ns: memory that was not copied before would be pinned first */
	uint32_t nodes;       /* of the graph that it makes, launches or destroys */
	float share;          /* of the device's threads that a kernel occupies */
	uint32_t thread, other_thread, stream, event, context, other_context, exec;
	uint32_t apart;      /* where its stream's changed work of its thread goes */
	uint32_t site;       /* row of the outermost call's site, 0: unknown */
	uint32_t held_for;   /* step whose end the host waited for, by table wait */
	uint32_t held_by;    /* another thread's step that blocked it, by table wait */
	uint32_t maker;      /* step that made what it frees, or the graph that it launches */
	uint32_t behind;     /* step whose end the operation waited for on the device */
	uint32_t behind_via; /* step that made it */
	uint32_t follows;    /* host function: its thread's operation before it */
	uint32_t operands, operand_count; /* in replay.operand */
	uint32_t act;
	uint8_t scope, stream_kind, kind, engine;
	int16_t device;        /* -1: unknown */
	uint8_t shares_device; /* it overlapped with another such kernel as it was */
};

/* Memory that an operation uses: numbers of struct memory. */
struct replay_operand {
	uint32_t exact, allocation;
	int reads; /* it is known that the operation does not write there */
};

/* What the fix of a call changes, by step. */
struct replay_change {
	uint8_t bits;
	uint8_t once;         /* costs nothing: it was done before */
	uint32_t still_needs; /* step */
	uint32_t only_stream; /* the host waits for this one alone */
};

/* An operation needs what an earlier one did, and only because a call waits it comes after it. */
struct replay_accident {
	uint32_t later, earlier, via; /* steps */
};

/* The end of the work so far. */
struct replay_context {
	int64_t legacy, blocking, all;
	int device;
};

struct replay_thread {
	int64_t now;
	int64_t ahead;     /* other streams' work is submitted by then; REPLAY_NEVER: when it is */
	uint32_t ahead_of; /* the stream that it is submitted before */
	/* the step that waits for another thread's end, until the next */
	uint32_t join;
};

struct replay_stream {
	int64_t tail;
	int64_t since; /* it has had work without a break since its submission */
	int host_work; /* the last operation ran on the host */
	int loose;     /* a wait for an event is gone: only memory counts */
	int awaits;    /* the last thing in it is a wait for an event */
};

/* Intervals in which an engine is busy, in order: count from first on. */
#define BOOKINGS 128
struct booking {
	struct {
		int64_t start, end;
	} taken[8 * BOOKINGS];
	size_t first, count;
};

struct replay {
	int64_t process;
	const char *refusal;
	int64_t first, last, measured; /* the steps' times */
	struct pinned_rate pinned;
	int64_t recording;  /* ns that recording adds to a call; 0: simulated */
	int64_t event_wait; /* ns of a stream for consecutive waits for events */
	struct replay_step *step;
	size_t step_count;
	uint32_t *by_call; /* by place in the run: the step; NULL: the same */
	struct replay_operand *operand;
	size_t operand_count;
	struct map threads, streams, events, contexts, execs, memories; /* row -> number */
	struct map aparts;                /* stream and thread -> number */
	struct map places;                /* site and kind -> the last step of them */
	uint32_t *same_place;             /* by step: the one before it */
	struct replay_accident *accident; /* in order of the later step */
	size_t accident_count;
	struct replay_change *change;
	int changed;
	/* As the replay goes. */
	int64_t *end; /* by step: of its operation, or of the call that waited */
	struct replay_times {
		int64_t end, back; /* of the operation; of the call */
		int64_t held;      /* ns of the call */
	} * times, *other_times;   /* by step, of the last run; of another to compare with */
	int64_t *held;             /* by step, of the last run without changes */
	struct replay_thread *thread;
	struct replay_stream *stream;
	int64_t *event, *exec;
	struct replay_context *context;
	struct replay_holder {
		uint32_t thread;
		int64_t from, until;
	} holder;       /* the last call that blocked others */
	int64_t *apart; /* by number: the end of the changed work there */
	int orders;     /* an order is changed: memory counts */
	int results;    /* a copy that brings a result is changed */
	struct memory_use {
		int64_t used, written; /* the end of work that uses it, of such that may write */
	} * memory, *memory_all;       /* by number: of changed work, of all work */
	unsigned char *outside;        /* work outside of legacy streams uses it */
	struct booking *booking;       /* by device and engine */
	int device_count;
};

struct replays {
	struct idmap processes; /* struct replay */
};

/* A synchronous copy to the host. */
static inline int replay_is_result(const struct replay_step *step)
{
	return step->act & STEP_BECOMES_ASYNC && step->engine == ENGINE_D2H;
}

/* It makes, changes or launches a graph. */
static inline int replay_is_about_graphs(const struct replay_step *step)
{
	switch (kind_family(step->kind)) {
	case FAMILY_graph:
	case FAMILY_exec:
	case FAMILY_capture:
	case FAMILY_graph_launch:
		return 1;
	default:
		return 0;
	}
}

/* Calls of one kind at one site change together. */
static inline uint64_t replay_place(const struct replay_step *step)
{
	return (uint64_t)step->site << 8 | step->kind;
}

void replay_forget_changes(struct replay *replay);

/* The step of a call; REPLAY_NONE: it is none. */
uint32_t replay_step_of(const struct replay *replay, int64_t call);

/* A step and a time of it. */
struct timed {
	int64_t at;
	uint64_t step;
};

/* Those of the same time stay in order; *list, from malloc(), is replaced; -1: out of memory. */
int replay_sort_times(struct timed **list, size_t count);

/* Puts the steps of several threads in the order of submission; 0, or -1: out of memory. */
int replay_sort(struct replay *replay);

/* Reads the run; 0, or -1 after a message. */
int replay_load(struct replays *replays, struct db *db);

/* Puts in refusal, where estimates would be guesses; 0, or -1 after a message. */
int replay_refuse(struct replay *replay, struct db *db);

/* Reads the orders that came about by accident; 0, or -1 after a message. */
int replay_find_accidents(struct replay *replay, struct db *db);

/* The end of the operations whose data the step needs, and which no wait keeps before it now. */
int64_t replay_needed(const struct replay *replay, uint32_t number);

/* Sets the time of host functions where it can be derived; -1: out of memory. */
int replay_find_host_work(struct replay *replay);

/* Finds each step's own time. */
int replay_learn(struct replay *replay);

/* Empties all clocks. */
void replay_begin(struct replay *replay);

/* The end of what the step's operation comes after, where nothing is changed. */
int64_t replay_ready(const struct replay *replay, const struct replay_step *step);

/* The end of what the host waits for in the step, besides its own operation. */
int64_t replay_scope(const struct replay *replay, const struct replay_step *step);

/* When a call of another thread that holds others lets the step go, if that is entered now. */
int64_t replay_held_until(const struct replay *replay, const struct replay_step *step,
	int64_t entry);

/* The step was in the driver from entry to back. */
void replay_note_holder(struct replay *replay, const struct replay_step *step, int64_t entry,
	int64_t back);

/* The step's operation, event record or event wait is over at end. */
void replay_note(struct replay *replay, const struct replay_step *step, int64_t end);

/* Takes an engine for as long from ready on: the start. */
int64_t booking_take(struct booking *booking, int64_t ready, int64_t length);

/* What a call does, and what becomes of it when it is changed: enum step_act. */
unsigned replay_acts(const struct walk_call *call);

#endif
