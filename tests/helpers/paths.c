/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same call on 400 paths, 20 times each: at 100 stack depths, each below four callers that have
 * the same wrapper frame address and direct caller.
 */
#include "driver_calls.h"

#define DEPTHS 100
#define ROUNDS 20

static int result;

#define PATH(name) \
	__attribute__((noinline)) static int name(int depth) \
	{ \
		volatile int below = ask(depth); \
		return below; \
	}

/* The volatile result prevents tail calls, so that each level has a frame. */
__attribute__((noinline)) static int ask(int depth)
{
	volatile int below = depth ? ask(depth - 1) : cuda.query(NULL);

	return below;
}
PATH(first)
PATH(second)
PATH(third)
PATH(fourth)

__attribute__((noinline)) static int deeper(int depth, int more)
{
	volatile int below = depth ? deeper(depth - 1, more)
				   : first(more) | second(more) | third(more) | fourth(more);

	return below;
}

int main(void)
{
	cuda_find();
	result = cuda_begin();
	for (int i = 0; i < ROUNDS; i++)
		for (int depth = 0; depth < DEPTHS; depth++)
			result |= deeper(depth, 2);
	printf("%d\n", result);
	return 0;
}
