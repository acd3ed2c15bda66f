/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stack use of CUDA calls, in bytes: of the first one of a process, on its own thread, of later
 * ones on new threads, and of a signal handler on an alternate stack.  The stacks are filled with a
 * pattern before. "stack_use least": the first call on a thread with the minimum stack.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "driver_calls.h"

#define BYTES (64 * 1024)
#define PAINT 0x5a

static int result;

/* Returns the address above the untouched part. */
static size_t used(const unsigned char *stack)
{
	size_t untouched = 0;

	while (untouched < BYTES && stack[untouched] == PAINT)
		untouched++;
	return BYTES - untouched;
}

static unsigned char *painted(void)
{
	void *stack = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (stack == MAP_FAILED)
		exit(2);
	return memset(stack, PAINT, BYTES);
}

static void *begin(void *unused)
{
	result |= cuda_begin();
	return unused;
}

static void *work(void *unused)
{
	void *stream = NULL;
	unsigned long long memory;

	result |= cuda.new_stream(&stream, 0) | cuda.allocate(&memory, 4096) |
		cuda.set(memory, 0, 64, stream) | cuda.wait(stream) | cuda.release(memory);
	return unused;
}

static void *nothing(void *unused)
{
	return unused;
}

static size_t on_thread(void *(*function)(void *))
{
	unsigned char *stack = painted();
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstack(&attributes, stack, BYTES);
	if (pthread_create(&thread, &attributes, function, NULL))
		exit(2);
	pthread_join(thread, NULL);
	return used(stack);
}

static void handle_with_work(int signal)
{
	work(NULL);
}

static void handle(int signal)
{
}

static size_t in_handler(void (*handler)(int))
{
	unsigned char *stack = painted();
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_ONSTACK };
	stack_t alternate = { .ss_sp = stack, .ss_size = BYTES };

	if (sigaltstack(&alternate, NULL) || sigaction(SIGUSR1, &action, NULL))
		exit(2);
	raise(SIGUSR1);
	return used(stack);
}

static int on_least_stack(void)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 16384);
	if (pthread_create(&thread, &attributes, begin, NULL))
		return 2;
	pthread_join(thread, NULL);
	printf("least stack %d\n", result);
	return 0;
}

int main(int argc, char **argv)
{
	size_t thread, handler;

	cuda_find();
	if (argc > 1)
		return on_least_stack();
	thread = on_thread(nothing);
	handler = in_handler(handle);
	printf("first %zu\n", on_thread(begin) - thread);
	printf("thread %zu\n", on_thread(work) - thread);
	printf("handler %zu\n", in_handler(handle_with_work) - handler);
	return result;
}
