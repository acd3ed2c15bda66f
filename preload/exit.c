/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that end by _exit(), which skips exit handlers.  It is used by signal handlers, and by
 * children whose exec failed; these must not be delayed.  But Python's multiprocessing ends every
 * forked child this way: a call from the interpreter itself counts as a normal exit, and the trace
 * is closed.  A thread waits for that for a limited time only, as a watchdog makes the same call in
 * a process that hangs.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "python.h"
#include "resolve.h"
#include "shim.h"
#include "system.h"

#define EXPORT __attribute__((visibility("default")))
#define PATIENCE_MS 2000

static void (*real_exit)(int);
static _Atomic int done;

/* Not during the call: in a forked child the loader's lock may be held forever. */
__attribute__((constructor)) static void find(void)
{
	*(void **)&real_exit = resolve_real_dlsym()(RTLD_NEXT, "_exit");
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
	for (int i = 0; !rc && !done && i < PATIENCE_MS; i++) {
		system_sleep(1000000);
	}
}

EXPORT void _exit(int status)
{
	/* After vfork() a child shares its parent's memory: its process id is different. */
	if (shim.stage == SHIM_ON && *shim.alive && !thread_state()->busy &&
		shim.writer.header->pid == (uint32_t)getpid() &&
		python_holds(__builtin_return_address(0)))
		end_in_order();
	if (real_exit)
		real_exit(status);
	for (;;)
		syscall(SYS_exit_group, status);
}
