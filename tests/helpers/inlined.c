/* SPDX-License-Identifier: Apache-2.0 */
/* Allocates in a function that was inlined into others. */
#include "driver_calls.h"

#define INLINED static inline __attribute__((always_inline))

INLINED unsigned long long take(void)
{
	unsigned long long memory = 0;

	if (cuda.allocate(&memory, 4096))
		exit(1);
	return memory;
}

INLINED unsigned long long make_room(void)
{
	return take() + 1;
}

__attribute__((noinline)) static unsigned long long work(void)
{
	return make_room() + 1;
}

int main(void)
{
	cuda_find();
	return cuda_begin() || work() == 2;
}
