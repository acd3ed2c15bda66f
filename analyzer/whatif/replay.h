/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replays a run without the device: how long it would have taken if some calls were changed.
 *
 * Each thread is a row of calls with the host's own time in between; a call takes its unblocked
 * time, and returns no sooner than what it waits for is complete.  An operation starts once it was
 * submitted and what it is ordered after has ended, and takes as long as it did.  Further delays of
 * the run are left out, so that a replay without any change shows how far it can be trusted.
 *
 * The order among streams is CUDA's (order.h), kept here as times: the end of a stream's work, of
 * the legacy stream's and of the blocking streams', what an event stands for.  Calls are replayed
 * in the order of the run.  Waits between threads by other means than CUDA and pthread_join are not
 * recorded: time outside of calls stays as it was.
 *
 * One thread; memory is in proportion to the calls that submit, order or wait.
 */
#ifndef CUFENCE_REPLAY_H
#define CUFENCE_REPLAY_H

#include <stddef.h>
#include <stdint.h>

#include "db.h"

/* How operations that come to run at the same time get on. */
enum replay_contention {
	REPLAY_LIKELY,   /* kernels that fill the device run one after the other */
	REPLAY_LEAST,    /* kernels never get in each other's way */
	REPLAY_MOST,     /* kernels that need half of the device or more run one after the other,
			  * and so do operations on the same allocation */
	REPLAY_QUICK,    /* as likely, on a host as quick as another process may find it */
	REPLAY_RECORDED, /* as likely, and calls include the cost of recording: to compare with the
			  * run as it was measured */
	REPLAY_CONTENTIONS
};

struct replay;
struct replays;

/* All processes of a database whose tables wait and hold are filled; NULL after a message. */
struct replays *replays_open(struct db *db);
void replays_close(struct replays *replays);

/* NULL: the process made no call. */
struct replay *replays_of(const struct replays *replays, int64_t process);

/* Why the run cannot be replayed, as the end of a sentence; NULL: it can. */
const char *replay_refusal(const struct replay *replay);

/* Calls of a replay: its time and memory are in proportion. */
size_t replay_size(const struct replay *replay);

/* From the first call to the last end, ns: as it was measured. */
int64_t replay_measured(const struct replay *replay);

/*
 * Changes a call (bits of enum change; still_needs: a call, 0: none) until replay_restore().  A
 * change of a wait or an order applies to every call of the same kind from the same place: fixing a
 * line fixes all its calls.  With still_needs the other calls wait for its stream.  Calls that are
 * not made, or become nodes of a graph, are only those given.
 */
void replay_change(struct replay *replay, int64_t call, unsigned change, int64_t still_needs);
void replay_restore(struct replay *replay);

/* A place whose calls wait as a side effect. */
struct replay_taker {
	int64_t call;   /* one of them */
	int64_t longer; /* ns, in sum */
};

/*
 * The places whose calls waited for longer in the last replay_run() than in the run as it was: they
 * took over a wait that is gone.  At most that many, those that took over the most first.
 */
size_t replay_takers(const struct replay *replay, struct replay_taker *taker, size_t most);

/* Length of the changed run, ns. */
int64_t replay_run(struct replay *replay, enum replay_contention contention);

/* ns by which a call returns or its operation ends earlier through the changes, at most, with
 * kernels that do not compete; undoes the changes. */
int64_t replay_most_gained(struct replay *replay);

#endif
