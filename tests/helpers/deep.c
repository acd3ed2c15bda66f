/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same call 50 times from each of two callers, below 20 functions, as with templates that are
 * not inlined.
 */
#include "driver_calls.h"

#define ROUNDS 50

static int result;

#define LEVEL(name, below) \
	__attribute__((noinline)) static int name(void) \
	{ \
		volatile int from_below = below; \
		return from_below; \
	}

LEVEL(level_1, cuda.query(NULL))
LEVEL(level_2, level_1())
LEVEL(level_3, level_2())
LEVEL(level_4, level_3())
LEVEL(level_5, level_4())
LEVEL(level_6, level_5())
LEVEL(level_7, level_6())
LEVEL(level_8, level_7())
LEVEL(level_9, level_8())
LEVEL(level_10, level_9())
LEVEL(level_11, level_10())
LEVEL(level_12, level_11())
LEVEL(level_13, level_12())
LEVEL(level_14, level_13())
LEVEL(level_15, level_14())
LEVEL(level_16, level_15())
LEVEL(level_17, level_16())
LEVEL(level_18, level_17())
LEVEL(level_19, level_18())
LEVEL(level_20, level_19())
LEVEL(first, level_20())
LEVEL(second, level_20())

int main(void)
{
	cuda_find();
	result = cuda_begin();
	for (int i = 0; i < ROUNDS; i++)
		result |= first() | second();
	printf("%d\n", result);
	return 0;
}
