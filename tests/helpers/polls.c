/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queries eight streams in turn, 1000 times each, with handles at all distances that heaps produce;
 * then two streams, with other calls in between: 400 queries, each with a record of its own.
 */
#include <stdint.h>

#include "driver_calls.h"

int main(void)
{
	uintptr_t handle = 0x500000000000;
	int result;

	cuda_find();
	result = cuda_begin();
	for (uintptr_t distance = 16; distance <= 65536; distance *= 2)
		for (int i = 0; i < 8000; i++)
			result |= cuda.query((void *)(handle + (uintptr_t)(i % 8) * distance));
	for (int i = 0; i < 100; i++) {
		void *two[2] = { (void *)0x600000000000, (void *)0x600000000010 };

		for (int turn = 0; turn < 4; turn++) {
			result |= cuda.query(two[turn == 1 || turn == 2]);
			if (turn % 2)
				result |= cuda.wait(two[0]);
		}
	}
	printf("%d\n", result);
	return 0;
}
