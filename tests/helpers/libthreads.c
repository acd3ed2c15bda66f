/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Another tool that hooks pthread_create() and pthread_join(): counts calls that reach it, and
 * prints the counts to stderr when the program ends.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static atomic_int created, joined;

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *),
	void *argument)
{
	int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

	*(void **)&next = dlsym(RTLD_NEXT, "pthread_create");
	atomic_fetch_add(&created, 1);
	return next(thread, attributes, function, argument);
}

int pthread_join(pthread_t thread, void **result)
{
	int (*next)(pthread_t, void **);

	*(void **)&next = dlsym(RTLD_NEXT, "pthread_join");
	atomic_fetch_add(&joined, 1);
	return next(thread, result);
}

__attribute__((destructor)) static void print_counts(void)
{
	fprintf(stderr, "%d created, %d joined\n", created, joined);
}
