/* SPDX-License-Identifier: Apache-2.0 */
#include "relay.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "memory.h"
#include "workers.h"

enum {
	BATCH = 64 << 10, /* bytes that are handed on together: a part of a processor's cache */
	BATCHES = 8,
};

struct piece {
	int (*work)(void *arg, void *bytes);
	void *arg;
	size_t size; /* with this header, rounded up */
	size_t unused;
};
_Static_assert(sizeof(struct piece) % 16 == 0, "alignment of what follows");

struct batch {
	unsigned char *bytes;
	size_t used;
};

struct relay {
	struct batch batch[BATCHES]; /* a ring */
	pthread_t thread;
	int has_thread;
	_Atomic int failed;
	/* Under the mutex: batches that were handed on, and done; whether no more will come. */
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	size_t sent, done;
	int ends;
};

static void do_batch(struct relay *relay, struct batch *batch)
{
	for (size_t at = 0; at < batch->used && !relay->failed;) {
		struct piece *piece = (void *)(batch->bytes + at);

		if (piece->work(piece->arg, piece + 1))
			relay->failed = 1;
		at += piece->size;
	}
	batch->used = 0;
}

static void *do_batches(void *arg)
{
	struct relay *relay = arg;

	pthread_mutex_lock(&relay->mutex);
	for (;;) {
		while (relay->done == relay->sent && !relay->ends)
			pthread_cond_wait(&relay->changed, &relay->mutex);
		if (relay->done == relay->sent)
			break;
		pthread_mutex_unlock(&relay->mutex);
		do_batch(relay, &relay->batch[relay->done % BATCHES]);
		pthread_mutex_lock(&relay->mutex);
		relay->done++;
		pthread_cond_signal(&relay->changed);
	}
	pthread_mutex_unlock(&relay->mutex);
	return NULL;
}

/* Signals are for the caller's thread. */
static void start_thread(struct relay *relay)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	relay->has_thread = !pthread_create(&relay->thread, NULL, do_batches, relay);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

struct relay *relay_new(void)
{
	struct relay *relay = xcalloc(1, sizeof(*relay));

	pthread_mutex_init(&relay->mutex, NULL);
	pthread_cond_init(&relay->changed, NULL);
	if (workers_processors(2) > 1)
		start_thread(relay);
	return relay;
}

/* Hands on the batch that is being filled, and waits until at most so many are not done. */
static void hand_on(struct relay *relay, size_t most)
{
	if (!relay->has_thread) {
		do_batch(relay, &relay->batch[0]);
		return;
	}
	pthread_mutex_lock(&relay->mutex);
	relay->sent++;
	pthread_cond_signal(&relay->changed);
	while (relay->sent - relay->done > most)
		pthread_cond_wait(&relay->changed, &relay->mutex);
	pthread_mutex_unlock(&relay->mutex);
}

/* Only the caller's thread changes the number of those that were handed on. */
static struct batch *current(struct relay *relay)
{
	return &relay->batch[relay->sent % BATCHES];
}

void *relay_add(struct relay *relay, int (*work)(void *arg, void *bytes), void *arg, size_t size)
{
	size_t all = (sizeof(struct piece) + size + 15) & ~(size_t)15;
	struct batch *batch = current(relay);
	struct piece *piece;

	if (relay->failed)
		return NULL;
	if (batch->used + all > BATCH) {
		hand_on(relay, BATCHES - 1);
		batch = current(relay);
	}
	if (!batch->bytes)
		batch->bytes = xrealloc(NULL, 1, BATCH);
	piece = (void *)(batch->bytes + batch->used);
	*piece = (struct piece){ .work = work, .arg = arg, .size = all };
	batch->used += all;
	return piece + 1;
}

int relay_end(struct relay *relay)
{
	hand_on(relay, 0);
	return relay->failed ? -1 : 0;
}

void relay_free(struct relay *relay)
{
	if (!relay)
		return;
	if (relay->has_thread) {
		pthread_mutex_lock(&relay->mutex);
		relay->ends = 1;
		pthread_cond_signal(&relay->changed);
		pthread_mutex_unlock(&relay->mutex);
		pthread_join(relay->thread, NULL);
	}
	for (size_t i = 0; i < BATCHES; i++)
		free(relay->batch[i].bytes);
	pthread_mutex_destroy(&relay->mutex);
	pthread_cond_destroy(&relay->changed);
	free(relay);
}
