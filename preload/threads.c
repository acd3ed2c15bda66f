/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads: what one did before it made another comes before all that one does, and joining it
 * comes after.  (C11's thrd_create calls libc's function directly and is not seen.)
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

#include "host.h"
#include "resolve.h"
#include "shim.h"

#define EXPORT __attribute__((visibility("default")))
#define STARTS 512
#define THREADS 4096 /* a power of two */

typedef void *(*start_function)(void *);
typedef int (*create_function)(pthread_t *, const pthread_attr_t *, start_function, void *);
typedef int (*join_function)(pthread_t, void **);

/* Threads between pthread_create() and their first instruction. */
static struct start {
	_Atomic int taken;
	uint32_t birth;
	start_function function;
	void *argument;
} starts[STARTS];

/* The latest birth by pthread_t, which comes again once a thread has been joined. */
static struct {
	_Atomic uint64_t thread;
	_Atomic uint32_t birth;
} threads[THREADS];

static _Atomic uint32_t births;

static void *real_function(const char *name, void **cached)
{
	void *found = __atomic_load_n(cached, __ATOMIC_RELAXED);

	if (found)
		return found;
	/* Not dlvsym(): it passes over hooks of other tools, whose names have no version. */
	found = resolve_real_dlsym()(RTLD_NEXT, name);
	__atomic_store_n(cached, found, __ATOMIC_RELAXED);
	return found;
}

static struct start *take_start(start_function function, void *argument)
{
	for (unsigned i = 0; i < STARTS; i++) {
		int none = 0;

		if (!atomic_compare_exchange_strong(&starts[i].taken, &none, 1))
			continue;
		starts[i].birth = atomic_fetch_add(&births, 1) + 1;
		starts[i].function = function;
		starts[i].argument = argument;
		return &starts[i];
	}
	return NULL;
}

static void remember(pthread_t thread, uint32_t birth)
{
	uint32_t place = (uint32_t)((uint64_t)thread >> 12) & (THREADS - 1);

	for (unsigned tries = 0; tries < 64; tries++, place = (place + 1) & (THREADS - 1)) {
		uint64_t found = threads[place].thread;

		if (found && found != (uint64_t)thread)
			continue;
		if (!found && !atomic_compare_exchange_strong(&threads[place].thread, &found,
				      (uint64_t)thread) && found != (uint64_t)thread)
			continue;
		threads[place].birth = birth;
		return;
	}
	trace_count(&shim.writer, COUNT_DROPPED_ENTRIES, 1);
}

static void *begin(void *argument)
{
	struct start *start = argument;
	start_function function = start->function;
	void *own = start->argument;

	/* Here, not by the creator: where the program keeps its pthread_t may be gone by then. */
	remember(pthread_self(), start->birth);
	thread_state()->birth = start->birth;
	atomic_store(&start->taken, 0);
	return function(own);
}

static uint32_t birth_of(pthread_t thread)
{
	uint32_t place = (uint32_t)((uint64_t)thread >> 12) & (THREADS - 1);

	for (unsigned tries = 0; tries < 64; tries++, place = (place + 1) & (THREADS - 1)) {
		uint64_t found = threads[place].thread;

		if (found == (uint64_t)thread)
			return threads[place].birth;
		if (!found)
			break;
	}
	return 0;
}

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
	start_function function, void *argument)
{
	static void *cached;
	create_function real = (create_function)real_function("pthread_create", &cached);
	struct call_frame frame;
	struct start *start;
	uint64_t birth;
	int rc;

	if (!real)
		return EAGAIN;
	if (!host_begin(&frame, CALL_pthread_create, __builtin_frame_address(0)))
		return real(thread, attributes, function, argument);
	start = take_start(function, argument);
	birth = start ? start->birth : 0;
	rc = start ? real(thread, attributes, begin, start)
		   : real(thread, attributes, function, argument);
	if (start && rc)
		atomic_store(&start->taken, 0);
	frame_end(&frame, rc, &birth, 1);
	return rc;
}

EXPORT int pthread_join(pthread_t thread, void **result)
{
	static void *cached;
	join_function real = (join_function)real_function("pthread_join", &cached);
	struct call_frame frame;
	uint32_t made, now;
	uint64_t birth;
	int rc;

	if (!real)
		return ESRCH;
	if (!host_begin(&frame, CALL_pthread_join, __builtin_frame_address(0)))
		return real(thread, result);
	made = atomic_load(&births);
	birth = birth_of(thread);
	rc = real(thread, result);
	/* It may have begun meanwhile; its pthread_t may be that of one that was made since. */
	now = birth_of(thread);
	if (now <= made)
		birth = now;
	frame_end(&frame, rc, &birth, 1);
	return rc;
}
