/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that end by _exit(), _Exit() or abort(), which skip exit handlers.  These are used by
 * signal handlers, by children whose exec failed, and by watchdogs of processes that hang; the
 * thread may hold any lock.  So another thread, which exists already, takes the records that CUPTI
 * still holds, and this one waits for a short time only.  After _exit() and _Exit() that thread
 * also closes the trace if no thread is in a CUDA call: forked children end in this way.
 *
 * Python's multiprocessing ends every forked child by _exit(): a call from the interpreter itself
 * counts as a normal exit, whatever other threads do, and has more time.
 *
 * Signal handlers of ours there are none: what they would have to call is not safe in them, and
 * Python, for one, turns SIGINT into an exception.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "collector.h"
#include "python.h"
#include "resolve.h"
#include "shim.h"
#include "system.h"

#define EXPORT __attribute__((visibility("default")))
#define PATIENCE_MS 200
#define PYTHON_PATIENCE_MS 2000

static void (*real_exit)(int);
static void (*real_abort)(void);
static _Atomic int done;

/* Not during the call: in a forked child the loader's lock may be held forever. */
__attribute__((constructor)) static void find(void)
{
	*(void **)&real_exit = resolve_real_dlsym()(RTLD_NEXT, "_exit");
	*(void **)&real_abort = resolve_real_dlsym()(RTLD_NEXT, "abort");
}

static void *say_last_word(void *thread)
{
	shim_end(thread);
	done = 1;
	return NULL;
}

static void end_in_order(void)
{
	struct thread_state *thread = thread_state();
	uintptr_t was_busy = thread->busy;
	int rc;
	pthread_t helper;

	thread->busy = STACK_PLACE;
	rc = pthread_create(&helper, NULL, say_last_word, thread);
	thread->busy = was_busy;
	for (int i = 0; !rc && !done && i < PYTHON_PATIENCE_MS; i++) {
		system_sleep(1000000);
	}
}

/* After vfork() a child shares its parent's memory: its process id is different. */
static int records_this_process(void)
{
	return shim.stage == SHIM_ON && *shim.alive &&
		shim.writer.header->pid == (uint32_t)getpid();
}

static _Noreturn void end(int status, const void *caller)
{
	if (records_this_process()) {
		if (!thread_state()->busy && python_holds(caller))
			end_in_order();
		else
			collector_ask(PATIENCE_MS, 1);
	}
	if (real_exit)
		real_exit(status);
	for (;;)
		syscall(SYS_exit_group, status);
}

EXPORT void _exit(int status)
{
	end(status, __builtin_return_address(0));
}

EXPORT void _Exit(int status)
{
	end(status, __builtin_return_address(0));
}

EXPORT void abort(void)
{
	if (records_this_process())
		collector_ask(PATIENCE_MS, 0);
	if (real_abort)
		real_abort();
	for (;;)
		syscall(SYS_exit_group, 127);
}
