/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detached threads that free the memory in which their creator stored their pthread_t: it must not
 * be read once they run.  Prints "0" and "done".
 */
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "driver_calls.h"

#define THREADS 500

struct page {
	pthread_t thread;
	char *start;
};

static _Atomic int ended;

static void *give_back(void *start)
{
	munmap(*(char **)start, sizeof(struct page));
	ended++;
	return NULL;
}

int main(void)
{
	pthread_attr_t detached;

	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	cuda_find();
	printf("%d\n", cuda_begin());
	for (int i = 0; i < THREADS; i++) {
		struct page *mine = mmap(NULL, sizeof(*mine), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (mine == MAP_FAILED)
			return 1;
		mine->start = (char *)mine;
		if (pthread_create(&mine->thread, &detached, give_back, &mine->start))
			return 1;
		while (ended <= i)
			usleep(10);
	}
	puts("done");
	return 0;
}
