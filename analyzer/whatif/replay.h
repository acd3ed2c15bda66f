/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replays a run without the device: estimates its duration if some calls were changed.
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
 * Not thread-safe.  Memory is proportional to the number of calls that submit, order or wait.
 */
#ifndef CUFENCE_REPLAY_H
#define CUFENCE_REPLAY_H

#include <stddef.h>
#include <stdint.h>

#include "db.h"

/* How operations affect each other when they could run at the same time. */
enum replay_contention {
	REPLAY_LIKELY, /* kernels that fill the device run one after the other */
	REPLAY_LEAST,  /* kernels do not affect each other */
	REPLAY_MOST, /* kernels that need half of the device or more run one after the other, and so
		      * do operations on the same allocation */
	REPLAY_QUICK,    /* as likely, with a faster host, as in another process */
	REPLAY_RECORDED, /* as likely, and calls include the cost of recording: to compare with the
			  * measured run */
	REPLAY_CONTENTIONS
};

struct replay;
struct replays;

/*
 * Reads all processes of a database whose tables wait and hold are filled.  Returns NULL after a
 * message.
 */
struct replays *replays_open(struct db *db);
void replays_close(struct replays *replays);

/* Returns NULL if the process made no call. */
struct replay *replays_of(const struct replays *replays, int64_t process);

/* Returns why the run cannot be replayed, as the end of a sentence; NULL if it can. */
const char *replay_refusal(const struct replay *replay);

/* Returns the number of calls of a replay; time and memory are proportional to it. */
size_t replay_size(const struct replay *replay);

/* Returns the measured time from the first call to the last end, ns. */
int64_t replay_measured(const struct replay *replay);

/*
 * Changes a call (bits of enum change; still_needs: a call, 0: none) until replay_restore().  A
 * change of a wait or an order applies to every call of the same kind from the same site: fixing a
 * line fixes all its calls.  With still_needs the other calls wait for its stream.  CHANGE_CALL,
 * CHANGE_NODE and CHANGE_OUTSIDE apply to the given calls only.
 */
void replay_change(struct replay *replay, int64_t call, unsigned change, int64_t still_needs);
void replay_restore(struct replay *replay);

/*
 * Leaves out all waits for results until replay_restore(), as if the host never read a value:
 * synchronous copies to the host become asynchronous, and nothing waits right after an Async one.
 */
void replay_change_results(struct replay *replay);

/* A place whose calls wait as a side effect instead of a changed call. */
struct replay_taker {
	int64_t call;   /* one of them */
	int64_t longer; /* additional time, ns, in sum */
};

/*
 * Admits the place of an explicit wait that nothing is known to need to those that may be changed
 * when they wait instead of others.  Returns 0, or -1 when out of memory.
 */
int replay_admit(struct replay *replay, int64_t call);

/*
 * Finds the places whose calls waited longer in the last replay_run() than in the original run:
 * they wait instead of the changed calls.  Returns their number, up to most, sorted by additional
 * time.
 */
size_t replay_takers(const struct replay *replay, struct replay_taker *taker, size_t most);

/* Returns the length of the changed run, ns. */
int64_t replay_run(struct replay *replay, enum replay_contention contention);

/*
 * Returns how long a thread (row of table thread) is blocked in the last replay_run(), in the calls
 * that it entered from start until, by the recorded times, ns.
 */
int64_t replay_blocked(const struct replay *replay, int64_t thread, int64_t start, int64_t until);

#endif
