/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that runs the functions of cuLaunchHostFunc, one at a time, like the real driver's. */
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cuda_engine.h"
#include "cuda_thread.h"

static struct op *first, *last; /* linked by op.engine_next; the first one is running */
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
static bool started;
static int running_tid; /* 0: the thread has not started the first op */
static _Atomic int returned;
static _Thread_local bool is_self __attribute__((tls_model("initial-exec")));

bool host_is_self(void)
{
	return is_self;
}

bool host_awake(void)
{
	return first && (!running_tid || atomic_load(&returned) || !thread_asleep(running_tid));
}

static void *run_functions(void *unused)
{
	is_self = true;
	sim_lock();
	for (;;) {
		while (!first)
			pthread_cond_wait(&work, sim_mutex());
		running_tid = (int)syscall(SYS_gettid);
		sim_unlock();
		first->function(first->data);
		/* From here on this thread waits only for the lock: time must not advance. */
		atomic_store(&returned, 1);
		sim_lock();
		struct op *op = first;

		first = op->engine_next;
		if (!first)
			last = NULL;
		running_tid = 0;
		atomic_store(&returned, 0);
		op_finish_host(op);
		thread_changed();
	}
	return NULL;
}

static void start_thread(void)
{
	pthread_attr_t attributes;
	pthread_t thread;

	started = true;
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_create(&thread, &attributes, run_functions, NULL);
	pthread_attr_destroy(&attributes);
}

void host_prepare(void)
{
	if (!started)
		start_thread();
}

void host_start(struct op *op)
{
	op->engine_next = NULL;
	if (last)
		last->engine_next = op;
	else
		first = op;
	last = op;
	pthread_cond_signal(&work);
}
