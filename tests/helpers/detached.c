/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detached threads that give back the memory in which their creator was told who they are: nobody
 * may look there once they run.  Prints "0" and "done".
 */
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "driver_calls.h"

#define THREADS 500

static _Atomic int ended;

static void *give_back(void *mine)
{
	munmap(mine, 4096);
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
		pthread_t *mine = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (mine == MAP_FAILED || pthread_create(mine, &detached, give_back, mine))
			return 1;
		while (ended <= i)
			usleep(10);
	}
	puts("done");
	return 0;
}
