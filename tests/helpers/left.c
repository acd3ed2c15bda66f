/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that leave CUDA calls without returning, on a driver that does nothing: left MODE; the
 * function of a mode describes it.  Then 1000 memsets follow, none nested in another call, by a
 * thread that is created and joined.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "driver_calls.h"

#define ROUNDS 300

static sigjmp_buf back;
static volatile int ready;

static void *set_memory(void *unused)
{
	int result = cuda_begin();

	for (int i = 0; i < 1000; i++)
		result |= cuda.set(0x7f0000000000, 1, 64, NULL);
	return (void *)(intptr_t)result;
}

static void jump(int signal)
{
	siglongjmp(back, 1);
}

static void jump_from_function(void *unused)
{
	siglongjmp(back, 1);
}

/* Leaves a call in progress, which "waits" in the function. */
static void leave_calls(void)
{
	volatile int jumps = 0;

	if (sigsetjmp(back, 1))
		jumps++;
	if (jumps < ROUNDS)
		cuda.call_host(NULL, jump_from_function, NULL);
	printf("jumped: %d\n", jumps);
}

/* Anywhere, mostly in the recorder, as nothing else takes time here. */
static void leave_anywhere(void)
{
	volatile int jumps = 0;
	struct itimerval soon = { .it_value.tv_usec = 0 };

	signal(SIGALRM, jump);
	if (sigsetjmp(back, 1))
		jumps++;
	if (jumps < ROUNDS) {
		soon.it_value.tv_usec = 200 + jumps;
		setitimer(ITIMER_REAL, &soon, NULL);
		for (;;)
			cuda.release(4);
	}
	printf("jumped: %d\n", jumps);
}

static void *call_for_ever(void *unused)
{
	int before;

	cuda_begin();
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &before);
	for (ready = 1;;)
		cuda.release(4);
	return NULL;
}

/* Threads are cancelled anywhere; the next ones reuse their resources. */
static void cancel(void)
{
	int cancelled = 0;

	for (int i = 0; i < ROUNDS; i++) {
		pthread_t thread;
		void *result;

		ready = 0;
		pthread_create(&thread, NULL, call_for_ever, NULL);
		while (!ready)
			usleep(10);
		usleep((unsigned)i % 50);
		pthread_cancel(thread);
		pthread_join(thread, &result);
		cancelled += result == PTHREAD_CANCELED;
	}
	printf("cancelled: %d\n", cancelled);
}

static void *call_much(void *unused)
{
	cuda_begin();
	while (!ready)
		;
	for (int i = 0; i < 20000; i++)
		cuda.release(4);
	ready++;
	pthread_testcancel();
	return NULL;
}

/* A thread to be cancelled continues as long as it only calls CUDA. */
static void cancel_later(void)
{
	pthread_t thread;
	void *result;

	pthread_create(&thread, NULL, call_much, NULL);
	pthread_cancel(thread);
	ready = 1;
	pthread_join(thread, &result);
	printf("all calls: %d, cancelled: %d\n", ready - 1, result == PTHREAD_CANCELED);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} modes[] = {
		{ "calls", leave_calls },
		{ "anywhere", leave_anywhere },
		{ "cancel", cancel },
		{ "cancel_later", cancel_later },
	};
	pthread_t thread;
	void *result;

	cuda_find();
	printf("begin: %d\n", cuda_begin());
	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++)
		if (!strcmp(modes[i].name, argv[1]))
			modes[i].run();
	printf("here: %d\n", (int)(intptr_t)set_memory(NULL));
	pthread_create(&thread, NULL, set_memory, NULL);
	pthread_join(thread, &result);
	printf("there: %d\n", (int)(intptr_t)result);
	return 0;
}
