/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads: calls of a thread before it creates another one precede all calls of the new thread;
 * joining it orders the other way.  C11's functions are wrapped like POSIX's, as they do not call
 * these.  Births are numbered before the first CUDA call, too, as another thread than the joining
 * one may make that call.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <threads.h>

#include "host.h"
#include "resolve.h"
#include "shim.h"

#define EXPORT __attribute__((visibility("default")))
#define STARTS 512
#define THREADS 4096 /* a power of two */
#define TRIES 64

typedef void *(*start_function)(void *);

/* Threads between pthread_create() and their start function. */
static struct start {
	_Atomic int taken;
	uint32_t birth;
	void *function; /* a start_function, or C11's thrd_start_t */
	void *argument;
} starts[STARTS];

/* The latest birth by pthread_t, which is reused once a thread has been joined. */
static struct {
	_Atomic uint64_t thread;
	_Atomic uint32_t birth;
} threads[THREADS];

static _Atomic uint32_t births;

/* clang-format off */
#define WRAPPED(X) \
	X(pthread_create) X(pthread_join) X(pthread_tryjoin_np) X(pthread_timedjoin_np) \
	X(pthread_clockjoin_np) X(thrd_create) X(thrd_join)
/* clang-format on */
enum wrapped {
#define X(name) REAL_##name,
	WRAPPED(X)
#undef X
		WRAPPED_COUNT
};

static void *real_function(enum wrapped which)
{
	static void *reals[WRAPPED_COUNT];
	static const char *const names[] = {
#define X(name) #name,
		WRAPPED(X)
#undef X
	};
	void *found = __atomic_load_n(&reals[which], __ATOMIC_RELAXED);

	if (found)
		return found;
	/* Not dlvsym(): it skips unversioned hooks of other tools. */
	found = resolve_real_dlsym()(RTLD_NEXT, names[which]);
	__atomic_store_n(&reals[which], found, __ATOMIC_RELAXED);
	return found;
}

/* Not during the call: another thread may be loading a library, and wait for this one meanwhile. */
__attribute__((constructor)) static void find(void)
{
	for (int i = 0; i < WRAPPED_COUNT; i++)
		real_function((enum wrapped)i);
}

static struct start *take_start(void *function, void *argument)
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

/* Returns the slot of the thread or a free one, else that of the oldest: it was joined long ago. */
static uint32_t find_place(uint64_t thread)
{
	uint32_t place = (uint32_t)(thread >> 12) & (THREADS - 1), oldest = place;

	for (unsigned tries = 0; tries < TRIES; tries++, place = (place + 1) & (THREADS - 1)) {
		uint64_t found = threads[place].thread;

		if (!found || found == thread)
			return place;
		if (threads[place].birth < threads[oldest].birth)
			oldest = place;
	}
	return oldest;
}

static void remember(uint64_t thread, uint32_t birth)
{
	/* Another thread may take the slot: then retry. */
	for (unsigned tries = 0; tries < TRIES; tries++) {
		uint32_t place = find_place(thread);
		uint64_t found = threads[place].thread;

		if (found != thread &&
			!atomic_compare_exchange_strong(&threads[place].thread, &found, thread))
			continue;
		threads[place].birth = birth;
		return;
	}
}

/* The thread has started: its entry becomes free. */
static struct start arrive(struct start *start)
{
	struct start own = { .birth = start->birth,
		.function = start->function,
		.argument = start->argument };

	/* Done by the new thread: the creator's pthread_t may be gone by then. */
	remember((uint64_t)pthread_self(), start->birth);
	thread_state()->birth = start->birth;
	atomic_store(&start->taken, 0);
	return own;
}

static void *begin(void *argument)
{
	struct start start = arrive(argument);

	return ((start_function)start.function)(start.argument);
}

static int begin_c11(void *argument)
{
	struct start start = arrive(argument);

	return ((thrd_start_t)start.function)(start.argument);
}

static uint32_t birth_of(uint64_t thread)
{
	uint32_t place = (uint32_t)(thread >> 12) & (THREADS - 1);

	for (unsigned tries = 0; tries < TRIES; tries++, place = (place + 1) & (THREADS - 1)) {
		uint64_t found = threads[place].thread;

		if (found == thread)
			return threads[place].birth;
		if (!found)
			break;
	}
	return 0;
}

/* A thread being created. */
struct making {
	struct call_frame frame;
	int recorded;
	struct start *start; /* NULL: not numbered */
	uint64_t birth;
};

/* Threads created by CUDA's libraries are ignored. */
static void making_begin(struct making *making, enum call_id id, void *frame_address,
	void *function, void *argument)
{
	int within = thread_depth(thread_state(), FRAME_HOST, frame_address);

	making->recorded = host_begin(&making->frame, id, frame_address);
	making->start = within || shim.stage == SHIM_OFF ? NULL : take_start(function, argument);
	making->birth = making->start ? making->start->birth : 0;
}

static void making_end(struct making *making, int rc)
{
	if (making->start && rc)
		atomic_store(&making->start->taken, 0);
	if (making->recorded)
		frame_end(&making->frame, rc, &making->birth, 1);
}

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
	start_function function, void *argument)
{
	int (*real)(pthread_t *, const pthread_attr_t *, start_function, void *);
	struct making making;
	int rc;

	*(void **)&real = real_function(REAL_pthread_create);
	if (!real)
		return EAGAIN;
	making_begin(&making, CALL_pthread_create, __builtin_frame_address(0), (void *)function,
		argument);
	rc = making.start ? real(thread, attributes, begin, making.start)
			  : real(thread, attributes, function, argument);
	making_end(&making, rc);
	return rc;
}

EXPORT int thrd_create(thrd_t *thread, thrd_start_t function, void *argument)
{
	int (*real)(thrd_t *, thrd_start_t, void *);
	struct making making;
	int rc;

	*(void **)&real = real_function(REAL_thrd_create);
	if (!real)
		return thrd_error;
	making_begin(&making, CALL_thrd_create, __builtin_frame_address(0), (void *)function,
		argument);
	rc = making.start ? real(thread, begin_c11, making.start)
			  : real(thread, function, argument);
	making_end(&making, rc);
	return rc;
}

/* A thread being joined. */
struct joining {
	struct call_frame frame;
	int recorded;
	uint32_t made;
	uint64_t thread, birth;
};

static void joining_begin(struct joining *joining, enum call_id id, void *frame_address,
	uint64_t thread)
{
	/* Repeated attempts are recorded only when they succeed. */
	joining->recorded =
		id != CALL_pthread_tryjoin_np && host_begin(&joining->frame, id, frame_address);
	joining->thread = thread;
	joining->made = atomic_load(&births);
	joining->birth = birth_of(thread);
}

static void joining_end(struct joining *joining, enum call_id id, void *frame_address, int rc)
{
	uint32_t now = birth_of(joining->thread);

	/* The joined thread may have made the first CUDA call. */
	if (!joining->recorded && (rc || !host_begin(&joining->frame, id, frame_address)))
		return;
	/* Recording may have started meanwhile; the pthread_t may belong to a newer thread. */
	if (now <= joining->made)
		joining->birth = now;
	frame_end(&joining->frame, rc, &joining->birth, 1);
}

#define JOIN(name, missing, params, args) \
	EXPORT int name params \
	{ \
		int(*real) params; \
		struct joining joining; \
		int rc; \
\
		*(void **)&real = real_function(REAL_##name); \
		if (!real) \
			return missing; \
		joining_begin(&joining, CALL_##name, __builtin_frame_address(0), \
			(uint64_t)thread); \
		rc = real args; \
		joining_end(&joining, CALL_##name, __builtin_frame_address(0), rc); \
		return rc; \
	}

JOIN(pthread_join, ESRCH, (pthread_t thread, void **result), (thread, result))
JOIN(pthread_tryjoin_np, ESRCH, (pthread_t thread, void **result), (thread, result))
JOIN(pthread_timedjoin_np, ESRCH, (pthread_t thread, void **result, const struct timespec *until),
	(thread, result, until))
JOIN(pthread_clockjoin_np, ESRCH,
	(pthread_t thread, void **result, clockid_t clock, const struct timespec *until),
	(thread, result, clock, until))
JOIN(thrd_join, thrd_error, (thrd_t thread, int *result), (thread, result))
