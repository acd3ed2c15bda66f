/* SPDX-License-Identifier: Apache-2.0 */
/* Life cycle: the first CUDA call of a process, forked children, process exit. */
#include "shim.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "allocation.h"
#include "collector.h"
#include "faults.h"
#include "gate.h"
#include "guarded.h"
#include "holding.h"
#include "host_functions.h"
#include "join.h"
#include "lives.h"
#include "origin.h"
#include "python.h"
#include "resolve.h"
#include "system.h"
#include "unwind.h"
#include "usage.h"
#include "window.h"

static uint32_t nobody[2];

struct shim shim = { .alive = nobody };

__thread struct thread_state this_thread;

/* Resources of ended threads, for reuse: a program may start very many short threads. */
static struct {
	_Atomic int lock;
	unsigned count;
	uint32_t generation;
	struct trace_chunk left[64];
} spare;

static pthread_key_t thread_key;

/* A page whose word is 1 here and 0 in any forked child (MADV_WIPEONFORK). */
static int mark_alive(void)
{
	if (shim.alive == nobody) {
		void *page = system_map(4096, 0, -1, 0);

		if (page == MAP_FAILED)
			return -1;
		system_advise(page, 4096, MADV_WIPEONFORK);
		shim.alive = page;
	}
	shim.alive[0] = 1;
	return 0;
}

static uint32_t admitted(void)
{
	return shim.stage == SHIM_ON && shim.alive[0] && !window_now.outside
		? ~window_now.generation
		: 0;
}

void shim_admit(void)
{
	uint32_t now;

	/* Repeats if the value changed meanwhile: the other thread may have written before. */
	do {
		now = admitted();
		shim.alive[1] = now;
	} while (now != admitted());
}

/* In a forked child another thread's lock may be held forever: never wait. */
static int try_lock(_Atomic int *lock)
{
	return !atomic_exchange_explicit(lock, 1, memory_order_acquire);
}

static void unlock(_Atomic int *lock)
{
	atomic_store_explicit(lock, 0, memory_order_release);
}

/* 1: it was passed on for reuse. */
static int hand_on(struct thread_state *thread)
{
	int room = 0;

	if (!thread->chunk.header || !try_lock(&spare.lock))
		return 0;
	if (spare.generation != window_now.generation) {
		spare.generation = window_now.generation;
		spare.count = 0;
	}
	room = spare.count < sizeof(spare.left) / sizeof(spare.left[0]);
	if (room)
		spare.left[spare.count++] = thread->chunk;
	unlock(&spare.lock);
	return room;
}

/* The value may be another one: C libraries of other link namespaces overwrite it. */
static void thread_ended(void *value)
{
	struct thread_state *thread = thread_state();

	gate_forget(thread);
	if (thread->generation != window_now.generation)
		return;
	if (lives_has(thread))
		lives_leave(thread);
	/* Cancelled in the middle of a record: the next thread would publish an incomplete one. */
	if (thread->busy || !hand_on(thread))
		trace_chunk_close(&shim.writer, &thread->chunk);
	if (thread->tables)
		system_unmap(thread->tables, sizeof(*thread->tables));
	thread->chunk.header = NULL;
	thread->tables = NULL;
	thread->generation = thread->ready = 0;
	thread->busy = 0;
	thread->depth = 0;
}

int thread_equip(struct thread_state *thread)
{
	int saved = errno;
	void *tables = system_map(sizeof(*thread->tables), 0, -1, 0);

	errno = saved;
	if (tables == MAP_FAILED) {
		trace_count(&shim.writer, COUNT_DROPPED_RECORDS, 1);
		return -1;
	}
	thread->tables = tables;
	return 0;
}

/* Filters of system calls need not allow prctl(), which pthread_getname_np() makes. */
static size_t read_name(char *name, size_t size)
{
	int fd = system_open("/proc/thread-self/comm", O_RDONLY, 0);
	ssize_t length = fd < 0 ? 0 : system_read(fd, name, size);

	if (fd >= 0)
		system_close(fd);
	return length > 0 && name[length - 1] == '\n' ? (size_t)length - 1 : 0;
}

static void thread_name(struct thread_state *thread)
{
	char name[32];
	size_t length = read_name(name, sizeof(name));
	struct thread_record *record;

	record = trace_reserve(&shim.writer, &thread->chunk, sizeof(*record) + length,
		RECORD_THREAD);
	if (!record)
		return;
	record->thread = thread->chunk.thread;
	record->birth = thread->birth;
	record->name_length = (uint32_t)length;
	memcpy(record->name, name, length);
	trace_commit(&thread->chunk);
}

void thread_watch(struct thread_state *thread)
{
	pthread_setspecific(thread_key, thread);
}

void thread_begin(struct thread_state *thread)
{
	struct trace_chunk chunk = { 0 };

	thread->context_handle = 0;
	thread->context = 0;
	thread->generation = window_now.generation;
	if (try_lock(&spare.lock)) {
		if (spare.generation == window_now.generation && spare.count)
			chunk = spare.left[--spare.count];
		unlock(&spare.lock);
	}
	/* The tables of a previous generation are reset to zeros. */
	if (thread->tables)
		system_advise(thread->tables, sizeof(*thread->tables), MADV_DONTNEED);
	chunk.thread = (uint32_t)syscall(SYS_gettid);
	thread->chunk = chunk;
	thread_watch(thread);
	thread_name(thread);
}

void *thread_reserve(struct thread_state *thread, size_t bytes, enum record_type type)
{
	int saved = errno;
	uint32_t used;
	void *record;

	if (thread->generation != window_now.generation)
		thread_begin(thread);
	if (lives_has(thread))
		lives_make_room(thread, (bytes + TRACE_ALIGN - 1) & ~(size_t)(TRACE_ALIGN - 1));
	trace_forget_announced(&thread->chunk);
	used = thread->chunk.used;
	record = trace_reserve(&shim.writer, &thread->chunk, bytes, type);
	/* The window was emptied: the file has grown. */
	if (thread->chunk.used < used)
		window_grown();
	errno = saved;
	return record;
}

void thread_empty(struct thread_state *thread)
{
	int saved = errno;

	if (lives_has(thread))
		return;
	trace_empty(&shim.writer, &thread->chunk);
	window_grown();
	errno = saved;
}

static uint64_t realtime_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void shim_end(struct thread_state *thread)
{
	int saved = errno;

	if (shim.stage != SHIM_ON || !*shim.alive)
		return;
	/* What follows is of the whole process. */
	if (lives_has(thread))
		lives_leave(thread);
	holding_end();
	guarded_finish(thread);
	collector_flush(1);
	clock_calibrate(thread, 100);
	if (usage_is_filtered())
		trace_count(&shim.writer, COUNT_UNLISTED_MODULES, 1);
	else
		module_note_all(thread);
	trace_finish(&shim.writer);
	shim.ended = thread;
	errno = saved;
}

void shim_end_apart(void)
{
	struct thread_state *thread = thread_state();

	if (!gate_is_empty())
		return;
	thread->busy = STACK_PLACE;
	shim_end(thread);
	thread->busy = 0;
}

static int is_within(const stack_t *stack, uintptr_t address)
{
	return address - (uintptr_t)stack->ss_sp < stack->ss_size;
}

int frame_was_left(uintptr_t where, uintptr_t now)
{
	stack_t handlers;

	if (syscall(SYS_sigaltstack, NULL, &handlers) || handlers.ss_flags & SS_DISABLE ||
		is_within(&handlers, where) == is_within(&handlers, now))
		return now >= where;
	return is_within(&handlers, where);
}

/* Was the recorder's frame overwritten by a function called since then? */
static int is_gone(const struct thread_state *thread)
{
	uintptr_t slot = (thread->outermost & ~(uintptr_t)1) + sizeof(slot);

	return !system_readable(slot) || *(const volatile uint32_t *)slot != thread->caller;
}

COLD int thread_forget(struct thread_state *thread, uintptr_t frame)
{
	int saved = errno;

	if (frame < thread->outermost ? is_gone(thread)
				      : frame_was_left(thread->outermost, frame)) {
		thread->depth = 0;
		thread->correlation = 0;
	}
	errno = saved;
	return thread->depth;
}

/* Runs before cudart's own exit handlers. */
static void at_end(void)
{
	shim_end(thread_state());
}

void shim_resume(void)
{
	static unsigned resumed;

	/* Handlers registered during exit run after the handler that made this call. */
	if (resumed++ >= 1000)
		return;
	shim.ended = NULL;
	trace_reopen(&shim.writer);
	atexit(at_end);
}

/* Returns 0 if the name does not fit. */
static int name_file(char *path, size_t size, uint32_t pid, unsigned n)
{
	struct joined joined = { path, size, 0 };

	join(&joined, origin_folder());
	join(&joined, "/cufence.");
	join_number(&joined, pid);
	if (n) {
		join(&joined, ".");
		join_number(&joined, n);
	}
	join(&joined, ".cft");
	return joined_whole(&joined);
}

static int create_file(void)
{
	struct trace_start start = {
		.pid = (uint32_t)getpid(),
		.parent_pid = (uint32_t)getppid(),
		.clock = shim.clock,
		.features =
			FEATURE_CALLS | (shim.clock == CLOCK_TICKS_VIRTUAL ? FEATURE_SIMULATED : 0),
		.realtime_ns = shim.virtual_clock ? shim.virtual_clock() : realtime_ns(),
	};
	static char path[4096],
		message[4300]; /* used only by the thread that starts the recorder */
	struct joined joined = { message, sizeof(message), 0 };
	int rc = -EEXIST;

	/* After an exec the process id is the same. */
	for (unsigned n = 0; rc == -EEXIST && n < 1000; n++)
		rc = name_file(path, sizeof(path), start.pid, n)
			? trace_create(&shim.writer, path, &start)
			: -ENAMETOOLONG;
	if (!rc)
		return 0;
	join(&joined, "cufence: cannot write '");
	join(&joined, path);
	join(&joined, "': ");
	join(&joined, strerror(-rc));
	join(&joined, "; this process is not traced\n");
	origin_print_message(message);
	return rc;
}

/* The trace was truncated: its mapping is replaced by private memory. */
static int lose_page(const siginfo_t *info, void *context)
{
	return trace_lose(&shim.writer, (uintptr_t)info->si_addr);
}

static int start(void)
{
	const char *disable = origin_setting("CUFENCE_DISABLE");
	static int at_end_registered;

	if (disable && *disable && strcmp(disable, "0"))
		return SHIM_OFF;
	if (mark_alive()) {
		origin_print_message(
			"cufence: no memory for the recorder; this process is not traced\n");
		return SHIM_OFF;
	}
	origin_check_settings();
	clock_init(driver_library());
	usage_init();
	driver_look_up();
	*(void **)&shim.current_context = driver_symbol("cuCtxGetCurrent");
	faults_watch(SIGBUS, lose_page);
	if (create_file()) {
		faults_leave(SIGBUS);
		return SHIM_OFF;
	}
	window_now.generation++;
	window_now.thread = (intptr_t)((char *)thread_state() - (char *)__builtin_thread_pointer());
	window_init();
	unwind_init();
	if (!at_end_registered && !pthread_key_create(&thread_key, thread_ended)) {
		at_end_registered = 1;
		atexit(at_end);
		at_quick_exit(at_end);
	}
	return SHIM_ON;
}

/* In a forked child, at its first CUDA call: the parent's file must not be written. */
static void become_child(void)
{
	int on = SHIM_ON;

	if (!atomic_compare_exchange_strong(&shim.stage, &on, SHIM_STARTING))
		return;
	/* The page of requests goes with it, and there may be no other one. */
	window_now.asked = &window_now.answered;
	trace_abandon(&shim.writer);
	collector_child();
	guarded_child();
	holding_child();
	host_functions_reset();
	context_reset();
	lives_reset();
	gate_reset();
	spare.count = 0;
	spare.lock = 0;
	site_reset();
	python_reset();
	module_reset();
	function_reset();
	image_reset();
	words_reset();
	string_reset();
	allocation_reset();
	shim.stage = SHIM_IDLE;
}

/* Counted before the trace was open. */
static _Atomic uint64_t early[COUNTER_COUNT];

int shim_count(enum trace_counter counter)
{
	int open = *shim.alive && shim.writer.header;

	if (open)
		trace_count(&shim.writer, counter, 1);
	else
		early[counter]++;
	return open;
}

/* Creating the trace took too long: calls of other threads may not be recorded. */
static _Atomic int late;

static void first_records(void)
{
	struct thread_state *thread = thread_state();

	clock_calibrate(thread, 100);
	window_begin(thread);
	property_write_all(thread);
	guarded_start(thread);
	holding_start(thread);
	python_init(thread);
	late = 0;
	for (unsigned i = 0; i < COUNTER_COUNT; i++)
		trace_count(&shim.writer, i, atomic_exchange(&early[i], 0));
}

int shim_begin(void)
{
	int stage = atomic_load_explicit(&shim.stage, memory_order_acquire);

	if (stage == SHIM_ON && *shim.alive)
		return 1;
	if (stage == SHIM_ON) {
		become_child();
		stage = shim.stage;
	}
	if (stage == SHIM_IDLE) {
		int saved = errno;
		if (atomic_compare_exchange_strong(&shim.stage, &stage, SHIM_STARTING)) {
			stage = start();
			/* Set before the first records: writing them checks it again. */
			atomic_store_explicit(&shim.stage, stage, memory_order_release);
			shim_admit();
			if (stage == SHIM_ON)
				first_records();
		}
		errno = saved;
	}
	/* Bounded: the starting thread may need a lock that the caller holds. */
	for (int i = 0; stage == SHIM_STARTING && i < 1000; i++) {
		system_sleep(100000);
		stage = atomic_load_explicit(&shim.stage, memory_order_acquire);
	}
	/*
	 * In a child forked during the start, every call would wait; if the start succeeds later,
	 * recording begins then.
	 */
	if (stage == SHIM_STARTING) {
		late = 1;
		atomic_compare_exchange_strong(&shim.stage, &stage, SHIM_OFF);
	}
	if (stage != SHIM_ON && late)
		early[COUNT_DROPPED_RECORDS]++;
	return stage == SHIM_ON;
}
