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
/* Computing time without a call after which time advances anyway, ns of the thread's CPU clock. */
#define PATIENCE (500 * MS)
/* Pauses with all threads sleeping outside CUDA before the keeper advances time. */
#define KEEPER_PAUSE (5 * MS)
#define KEEPER_PAUSES 4
/* Length of a pause in which a host function may wake a thread. */
#define PAUSE (MS / 5)
#define HOST_PAUSES (PATIENCE / PAUSE)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_cond_t keeper_work = PTHREAD_COND_INITIALIZER;
static struct thread *threads;
/* Initial-exec: leak checkers fail with dynamic thread-local storage of dlopen'ed libraries. */
static _Thread_local struct thread *self __attribute__((tls_model("initial-exec")));
static pthread_key_t exit_key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Atomic uint64_t calls; /* calls begun and ended */
static uint64_t calls_seen;
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
	wait_until_real(&changed, PAUSE);
}

void thread_changed(void)
{
	pthread_cond_broadcast(&changed);
}

/* Reads a file of a thread in /proc; false if the thread has ended. */
static bool read_task(int tid, const char *name, char *text, size_t size)
{
	char path[64];
	ssize_t length;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/%s", tid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	length = read(fd, text, size - 1);
	close(fd);
	text[length > 0 ? length : 0] = 0;
	return length > 0;
}

/* Is the thread waiting for a file or a page, and not for another thread? */
static bool waits_for_file(int tid)
{
	static const long file_calls[] = {
		-1,
		SYS_write,
		SYS_writev,
		SYS_pwrite64,
		SYS_openat,
		SYS_close,
		SYS_fallocate,
		SYS_ftruncate,
		SYS_mmap,
		SYS_munmap,
		SYS_mprotect,
		SYS_madvise,
		SYS_fsync,
		SYS_fdatasync,
		SYS_unlinkat,
		SYS_newfstatat,
		SYS_pread64,
#ifdef SYS_open /* newer machines have only the calls above */
		SYS_open,
		SYS_unlink,
		SYS_rename,
#endif
	};
	char text[512];
	long number;

	if (!read_task(tid, "syscall", text, sizeof(text)) || sscanf(text, "%ld", &number) != 1)
		return false;
	for (size_t i = 0; i < sizeof(file_calls) / sizeof(file_calls[0]); i++) {
		if (number == file_calls[i])
			return true;
	}
	return false;
}

bool thread_asleep(int tid)
{
	char text[512];
	const char *end;

	if (!read_task(tid, "stat", text, sizeof(text)))
		return true;
	end = strrchr(text, ')');
	return end && end[1] && strchr("SZXx", end[2]) && !waits_for_file(tid);
}

/* Will this thread stay idle until time advances? */
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

static uint64_t computed(const struct thread *thread)
{
	struct timespec t;

	if (clock_gettime(thread->clock, &t))
		return 0;
	return (uint64_t)t.tv_sec * 1000 * MS + (uint64_t)t.tv_nsec;
}

/* Was there a call since the last check? */
static bool called(void)
{
	uint64_t now = atomic_load(&calls);

	if (now == calls_seen)
		return false;
	calls_seen = now;
	for (struct thread *t = threads; t; t = t->next)
		t->computed = computed(t);
	return true;
}

/*
 * Is a thread computing for long, as when it polls memory? Measured by its CPU clock: a busy or
 * suspended machine must not affect virtual time.
 */
static bool computing(void)
{
	if (called())
		return false;
	for (const struct thread *t = threads; t; t = t->next) {
		if (computed(t) > t->computed + PATIENCE)
			return true;
	}
	return false;
}

bool thread_hold(bool (*held)(void *argument), void *argument)
{
	if (!held(argument))
		return false;
	self->held = held;
	self->argument = argument;
	while (held(argument)) {
		if ((!others_idle() && !computing()) || !time_step())
			thread_pause();
	}
	self->held = NULL;
	self->waited = true;
	thread_changed();
	return true;
}

/* Is another thread about to continue after a completed wait? */
static bool waking(void)
{
	for (const struct thread *t = threads; t; t = t->next) {
		if (t != self && t->held && !t->held(t->argument))
			return true;
	}
	return false;
}

/*
 * Is the calling thread itself about to continue? Two such threads would wait for each other
 * forever.
 */
static bool released(void)
{
	return self && self->held && !self->held(self->argument);
}

bool time_settle(void)
{
	/* A host function may spin until the program continues: limited. */
	for (unsigned i = 0; !released() && (waking() || host_awake()) && i < HOST_PAUSES; i++)
		thread_pause();
	return !released();
}

void thread_enter_call(struct thread *thread)
{
	atomic_store(&thread->in_call, 1);
	atomic_fetch_add(&calls, 1);
}

void thread_leave_call(struct thread *thread)
{
	atomic_fetch_add(&calls, 1);
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

/* Advances time while no thread is in a call: the program sleeps, or polls memory. */
static void *keeper(void *unused)
{
	unsigned asleep = 0;
	uint64_t seen = 0;

	sim_lock();
	for (;;) {
		wait_until_real(&changed, KEEPER_PAUSE);
		asleep = seen == atomic_load(&calls) && others_idle() ? asleep + 1 : 0;
		seen = atomic_load(&calls);
		if (someone_held()) {
			asleep = 0;
			continue;
		}
		while (computing() ||
			(asleep >= KEEPER_PAUSES && seen == atomic_load(&calls) && others_idle())) {
			if (time_step())
				continue;
			/* Memory may change without a call. */
			if (time_watches())
				break;
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

/* The value may be another one: C libraries of other link namespaces overwrite it. */
static void thread_exit(void *value)
{
	struct thread *thread = self;

	if (!thread)
		return;
	self = NULL;
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
	pthread_getcpuclockid(pthread_self(), &thread->clock);
	thread->computed = computed(thread);
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
