/* SPDX-License-Identifier: Apache-2.0 */
/*
 * failed_work FAILED DONE: memsets of an address that is no memory, and memsets that succeed;
 * results are ignored, as by a program that does not check them.
 */
#include "driver_calls.h"

int main(int argc, char **argv)
{
	int failed = argc > 1 ? atoi(argv[1]) : 0, done = argc > 2 ? atoi(argv[2]) : 0;
	unsigned long long memory = 0;
	void *stream = NULL;

	cuda_find();
	if (cuda_begin() || cuda.allocate(&memory, 1024) || cuda.new_stream(&stream, 0))
		return 1;
	for (int i = 0; i < failed; i++)
		cuda.set(8, 0, 64, stream);
	for (int i = 0; i < done; i++)
		cuda.set(memory, 0, 64, stream);
	cuda.wait(stream);
	return 0;
}
