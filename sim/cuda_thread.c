/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda_thread.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "cuda_engine.h"

#define MS 1000000ull
/* Real time without a call after which time moves although some thread computes, ns. */
#define PATIENCE (500 * MS)
/* The same when all threads sleep outside CUDA; short sleeps must not depend on the scheduler. */
#define SLEEP_PATIENCE (20 * MS)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_cond_t keeper_work = PTHREAD_COND_INITIALIZER;
static struct thread *threads;
/* Initial-exec: leak checkers stumble over dynamic thread-local storage of dlopen'ed libraries. */
static _Thread_local struct thread *self __attribute__((tls_model("initial-exec")));
static pthread_key_t exit_key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Atomic uint64_t last_call; /* real ns */
static bool keeper_idle;

void sim_lock(void)
{
	pthread_mutex_lock(&lock);
}

void sim_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

pthread_mutex_t *sim_mutex(void)
{
	return &lock;
}

void *must_realloc(void *memory, size_t bytes)
{
	void *grown = realloc(memory, bytes);

	if (!grown) {
		fputs("cufence simulator: out of memory\n", stderr);
		abort();
	}
	return grown;
}

static uint64_t real_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 * MS + (uint64_t)t.tv_nsec;
}

static void wait_until_real(pthread_cond_t *condition, uint64_t ns)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_nsec += (long)ns;
	if (t.tv_nsec >= 1000000000) {
		t.tv_sec++;
		t.tv_nsec -= 1000000000;
	}
	pthread_cond_timedwait(condition, &lock, &t);
}

void thread_pause(void)
{
	wait_until_real(&changed, MS / 5);
}

void thread_changed(void)
{
	pthread_cond_broadcast(&changed);
}

bool thread_asleep(int tid)
{
	char path[64], text[512];
	const char *end;
	ssize_t length;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return true;
	length = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (length <= 0)
		return true;
	text[length] = 0;
	end = strrchr(text, ')');
	return end && end[1] && strchr("SZXx", end[2]);
}

/* Will this thread do nothing until time moves? */
static bool idle(const struct thread *thread)
{
	if (thread->held)
		return thread->held(thread->argument);
	return !atomic_load(&thread->in_call) && thread_asleep(thread->tid);
}

static bool others_idle(void)
{
	for (const struct thread *t = threads; t; t = t->next) {
		if (t != self && !idle(t))
			return false;
	}
	return true;
}

static bool quiet_for(uint64_t ns)
{
	return real_now() - atomic_load(&last_call) > ns;
}

bool thread_hold(bool (*held)(void *argument), void *argument)
{
	if (!held(argument))
		return false;
	self->held = held;
	self->argument = argument;
	while (held(argument)) {
		if ((!others_idle() && !quiet_for(PATIENCE)) || !time_step())
			thread_pause();
	}
	self->held = NULL;
	self->waited = true;
	thread_changed();
	return true;
}

/* Was another thread's wait satisfied, and has it not gone on yet? */
static bool waking(void)
{
	for (const struct thread *t = threads; t; t = t->next) {
		if (t != self && t->held && !t->held(t->argument))
			return true;
	}
	return false;
}

/* Is the calling thread itself one that may go on?  Two that wait for each other never would. */
static bool released(void)
{
	return self && self->held && !self->held(self->argument);
}

bool time_settle(void)
{
	/* A host function may spin until the program goes on: not for ever. */
	while (!released() && (waking() || host_awake()) && !quiet_for(PATIENCE))
		thread_pause();
	return !released();
}

void thread_enter_call(struct thread *thread)
{
	atomic_store(&thread->in_call, 1);
	atomic_store(&last_call, real_now());
}

void thread_leave_call(struct thread *thread)
{
	atomic_store(&last_call, real_now());
	atomic_store(&thread->in_call, 0);
}

static bool someone_held(void)
{
	for (const struct thread *t = threads; t; t = t->next) {
		if (t->held)
			return true;
	}
	return false;
}

/* Moves time when nobody is in a call: the program sleeps, or waits for memory to change. */
static void *keeper(void *unused)
{
	sim_lock();
	for (;;) {
		wait_until_real(&changed, 5 * MS);
		if (someone_held())
			continue;
		while (quiet_for(PATIENCE) || (quiet_for(SLEEP_PATIENCE) && others_idle())) {
			if (time_step())
				continue;
			keeper_idle = true;
			while (keeper_idle)
				pthread_cond_wait(&keeper_work, &lock);
		}
	}
	return NULL;
}

void keeper_wake(void)
{
	if (!keeper_idle)
		return;
	keeper_idle = false;
	pthread_cond_signal(&keeper_work);
}

static void thread_exit(void *argument)
{
	struct thread *thread = argument;

	sim_lock();
	*thread->link = thread->next;
	if (thread->next)
		thread->next->link = thread->link;
	sim_unlock();
	free(thread);
}

static void start_once(void)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_key_create(&exit_key, thread_exit);
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_create(&thread, &attributes, keeper, NULL);
	pthread_attr_destroy(&attributes);
}

static struct thread *thread_register(void)
{
	struct thread *thread = must_realloc(NULL, sizeof(*thread));

	memset(thread, 0, sizeof(*thread));
	thread->tid = (int)syscall(SYS_gettid);
	pthread_once(&once, start_once);
	pthread_setspecific(exit_key, thread);
	sim_lock();
	thread->next = threads;
	thread->link = &threads;
	if (threads)
		threads->link = &thread->next;
	threads = thread;
	sim_unlock();
	return self = thread;
}

struct thread *thread_self(void)
{
	return self ? self : thread_register();
}
