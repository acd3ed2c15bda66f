/* SPDX-License-Identifier: Apache-2.0 */
/* Two threads that both make the first CUDA calls of their process: 100 failing frees each. */
#include <pthread.h>

#include "driver_calls.h"

static void *work(void *failed)
{
	cuda_begin();
	for (int i = 0; i < 100; i++)
		*(int *)failed += cuda.release(4) != 0;
	return NULL;
}

int main(void)
{
	int failed[2] = { 0, 0 };
	pthread_t thread;

	cuda_find();
	pthread_create(&thread, NULL, work, &failed[0]);
	work(&failed[1]);
	pthread_join(thread, NULL);
	printf("%d\n", failed[0] + failed[1]);
	return 0;
}
