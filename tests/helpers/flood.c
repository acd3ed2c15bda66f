/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes records as fast as possible, until killed: flood THREADS CALLS ACCOUNT. Each thread makes
 * so many calls and counts completed ones in its word of the file ACCOUNT, which survives the kill;
 * the word after the last thread's is 1 once all threads have begun and 2 when all are done.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "driver_calls.h"

#define MAX_THREADS 64

static struct account {
	_Atomic uint64_t returned;
	uint64_t thread;    /* its id */
	uint64_t unused[6]; /* each entry is one cache line */
} * account;
static unsigned threads, calls;
static pthread_barrier_t all;
static void *context;

static void *flood(void *mine)
{
	struct account *my = mine;

	cuda.set_current(context);
	my->thread = (uint64_t)syscall(SYS_gettid);
	pthread_barrier_wait(&all);
	account[threads].returned = 1;
	for (unsigned i = 0; i < calls; i++) {
		/* Destroying nothing fails at once: the cheapest call with a record of its own. */
		cuda.release(12345);
		atomic_store_explicit(&my->returned, i + 1, memory_order_release);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[MAX_THREADS];
	size_t bytes;
	int fd;

	if (argc != 4)
		return 2;
	threads = (unsigned)atoi(argv[1]);
	calls = (unsigned)atoi(argv[2]);
	bytes = (threads + 1) * sizeof(*account);
	fd = open(argv[3], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (threads > MAX_THREADS || fd < 0 || ftruncate(fd, (off_t)bytes))
		return 2;
	account = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (account == MAP_FAILED)
		return 2;
	cuda_find();
	cuda_begin();
	cuda.retain(&context, 0);
	pthread_barrier_init(&all, NULL, threads);
	for (unsigned i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, flood, &account[i]);
	for (unsigned i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	account[threads].returned = 2;
	return 0;
}
