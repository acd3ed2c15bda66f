/* SPDX-License-Identifier: Apache-2.0 */
/* The same call on some 100 000 paths: eight functions that call each other in any order. */
#include "driver_calls.h"

#define PATHS 100000

static unsigned path;
static int result;

#define FUNCTION(name) \
	static int name(int depth); \
	static int name(int depth) \
	{ \
		volatile int below = go_on(depth); \
		return below; \
	}

static int go_on(int depth);
FUNCTION(zero)
FUNCTION(one)
FUNCTION(two)
FUNCTION(three)
FUNCTION(four)
FUNCTION(five)
FUNCTION(six)
FUNCTION(seven)

static int (*const functions[8])(int) = { zero, one, two, three, four, five, six, seven };

__attribute__((always_inline)) static inline int go_on(int depth)
{
	return depth ? functions[path >> 3 * (depth - 1) & 7](depth - 1) : cuda.query(NULL);
}

int main(void)
{
	cuda_find();
	result = cuda_begin();
	/* An odd factor: other paths, none repeated. */
	for (unsigned i = 0; i < PATHS; i++) {
		path = i * 2654435761u >> 8;
		result |= functions[i & 7](8);
	}
	printf("%d\n", result);
	return 0;
}
