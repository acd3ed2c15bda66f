/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs with problems: faults MODE [NUMBER]. Each prints the results of its CUDA calls, so that
 * changed results are detected; the function of a mode describes it.
 */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "driver_calls.h"

static unsigned long long memory;

static int work(int rounds)
{
	int results = 0;

	for (int i = 0; i < rounds; i++)
		results |= cuda.set(memory, 0, 64, NULL) | cuda.query(NULL) * 0 | cuda.wait(NULL);
	return results;
}

static void work_and_say(const char *when, int rounds)
{
	errno = ENOTTY;
	printf("%s: %d", when, work(rounds));
	printf(", bad free %d", cuda.release(12345));
	printf(", errno %s\n", errno == ENOTTY ? "kept" : "changed");
	fflush(stdout);
}

static void start(void)
{
	int result = cuda_begin();

	printf("start: %d %d\n", result, cuda.allocate(&memory, 4096));
	fflush(stdout);
}

/* --- ends ------------------------------------------------------------------------------------ */

static void end_abort(int rounds)
{
	work_and_say("before", rounds);
	abort();
}

static void end_quick(int rounds)
{
	work_and_say("before", rounds);
	quick_exit(4);
}

static void *exit_thread(void *rounds)
{
	cuda_begin();
	work_and_say("thread", (int)(intptr_t)rounds);
	exit(5);
}

/* The thread exits the process while main waits for it. */
static void end_in_thread(int rounds)
{
	pthread_t thread;

	pthread_create(&thread, NULL, exit_thread, (void *)(intptr_t)rounds);
	pthread_join(thread, NULL);
}

/* main has ended before the thread exits the process. */
static void end_of_main(int rounds)
{
	pthread_t thread;

	pthread_create(&thread, NULL, exit_thread, (void *)(intptr_t)rounds);
	pthread_exit(NULL);
}

static int destructing;

static void registered_before(void)
{
	work_and_say("handler registered before CUDA", 10);
}

static void registered_after(void)
{
	work_and_say("handler registered after CUDA", 10);
}

__attribute__((destructor)) static void destructor(void)
{
	if (destructing)
		work_and_say("destructor", 10);
}

/* Like destructors of static C++ objects, which are also ordered by atexit(). */
static void end_destructors(int rounds)
{
	destructing = 1;
	atexit(registered_after);
	work_and_say("main", rounds);
}

/* --- problems while running ------------------------------------------------------------------ */

/* The trace's folder is removed while the trace is written. */
static void lose_folder(int rounds)
{
	const char *folder = getenv("LOST_FOLDER");
	char command[4200];

	work_and_say("before", rounds);
	snprintf(command, sizeof(command), "rm -rf '%s'", folder ? folder : "/nonexistent");
	unsetenv("LD_PRELOAD");
	if (system(command))
		puts("not removed");
	work_and_say("after", rounds);
}

/* All device memory is allocated before any work: nothing is left for CUPTI. */
static void fill_memory(int rounds)
{
	unsigned long long taken;

	for (size_t bytes = (size_t)1 << 40; bytes >= 1 << 16; bytes /= 2)
		while (!cuda.allocate(&taken, bytes))
			;
	work_and_say("full", rounds);
}

static size_t address_space(void)
{
	FILE *in = fopen("/proc/self/statm", "r");
	size_t pages = 0;

	if (!in || fscanf(in, "%zu", &pages) != 1)
		exit(2);
	fclose(in);
	return pages * 4096;
}

static void *touch_stack(void *unused)
{
	volatile char space[256 * 1024];

	for (size_t i = 0; i < sizeof(space); i += 4096)
		space[i] = 1;
	return unused;
}

/*
 * The program's own memory is allocated already: heap, stack, stacks of a few threads.  From here
 * on the address space may grow only by so many pages.
 */
static void limit_address_space(int pages)
{
	pthread_t thread[6];
	struct rlimit limit;

	mallopt(M_ARENA_MAX, 1);
	mallopt(M_TRIM_THRESHOLD, 64 << 20);
	mallopt(M_MMAP_THRESHOLD, 64 << 20);
	free(malloc(32 << 20));
	touch_stack(NULL);
	for (int i = 0; i < 6; i++)
		pthread_create(&thread[i], NULL, touch_stack, NULL);
	for (int i = 0; i < 6; i++)
		pthread_join(thread[i], NULL);
	limit.rlim_cur = limit.rlim_max = address_space() + (size_t)pages * 4096;
	setrlimit(RLIMIT_AS, &limit);
}

static void sleep_for_ever(void *unused)
{
	for (;;)
		pause();
}

__attribute__((noinline)) static int wait_for_ever(void *stream)
{
	return cuda.wait(stream) + 1;
}

/* A host function that does not return blocks the stream that main waits for. */
static void hang(int rounds)
{
	void *stream = NULL;

	work_and_say("before", rounds);
	printf("hang: %d\n", cuda.new_stream(&stream, 1));
	cuda.call_host(stream, sleep_for_ever, NULL);
	fflush(stdout);
	printf("returned %d\n", wait_for_ever(stream));
}

static void *touch_little(void *argument)
{
	volatile char some[2048];

	for (size_t i = 0; i < sizeof(some); i++)
		some[i] = 1;
	return some[0] ? argument : NULL;
}

/* A thread with the minimum stack, from which thread-local storage of libraries is taken. */
static void small_stack(int rounds)
{
	pthread_attr_t least;
	pthread_t thread;
	int result;

	pthread_attr_init(&least);
	pthread_attr_setstacksize(&least, 16384);
	result = pthread_create(&thread, &least, touch_little, &memory);
	printf("thread: %d\n", result ? result : pthread_join(thread, NULL));
	work_and_say("joined", rounds);
}

static void *load_slowly(void *unused)
{
	return dlopen(getenv("SLOW_LIBRARY"), RTLD_NOW);
}

/* Another thread holds the loader's lock; most of these calls are the first of the process. */
static void while_loading(int rounds)
{
	void *stream = NULL;
	pthread_t thread, other;
	int result;

	pthread_create(&thread, NULL, load_slowly, NULL);
	usleep(100000);
	result = cuda.new_stream(&stream, 1) | cuda.set(memory, 1, 64, stream) | cuda.wait(stream);
	result |= pthread_create(&other, NULL, touch_little, &memory);
	result |= pthread_join(other, NULL);
	printf("meanwhile: %d\n", result);
	work_and_say("loading", rounds);
	_exit(6);
}

/* As daemons do; later it opens files of its own, which must contain only what it writes. */
static void close_all(int rounds)
{
	int own[20], strange = 0;

	chdir("/");
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
	for (int i = 0; i < 20; i++)
		own[i] = fileno(tmpfile());
	/* One at each number that another file may have had. */
	for (int fd = own[19] + 1; fd < 1024; fd++)
		dup2(own[19], fd);
	work_and_say("closed", rounds);
	for (int i = 0; i < 20; i++)
		strange += lseek(own[i], 0, SEEK_END) != 0;
	printf("%d of 20 files are not empty\n", strange);
}

static void just_work(int rounds)
{
	work_and_say("work", rounds);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(int);
	} modes[] = {
		{ "work", just_work },
		{ "abort", end_abort },
		{ "quick_exit", end_quick },
		{ "thread_exit", end_in_thread },
		{ "main_exit", end_of_main },
		{ "destructors", end_destructors },
		{ "lose_folder", lose_folder },
		{ "full_memory", fill_memory },
		{ "hang", hang },
		{ "close_all", close_all },
		{ "small_stack", small_stack },
		{ "while_loading", while_loading },
	};
	const char *mode = argc > 1 ? argv[1] : "";
	int number = argc > 2 ? atoi(argv[2]) : 10;

	if (!strcmp(mode, "nothing"))
		return 0;
	cuda_find();
	if (!strcmp(mode, "destructors"))
		atexit(registered_before);
	if (!strcmp(mode, "limit")) {
		limit_address_space(number);
		mode = "work";
		number = 10;
	}
	start();
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (!strcmp(modes[i].name, mode))
			modes[i].run(number);
	return 0;
}
