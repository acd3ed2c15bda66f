/* SPDX-License-Identifier: Apache-2.0 */
/* Asks eight streams in turn, 1000 times each, with handles at all distances that heaps have. */
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
	printf("%d\n", result);
	return 0;
}
