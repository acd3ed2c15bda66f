// SPDX-License-Identifier: Apache-2.0
// Three blocking streams work on fields of their own; before each of its kernels a counter is
// cleared by cudaMemset, which goes to the legacy stream and orders all of them (CUDA C++
// Programming Guide, "Implicit Synchronization"). The fix clears it in the field's stream.
#include "app.h"

static const int STEPS = 20, FIELDS = 3;
static const size_t SIZE = 1 << 14;

int main()
{
	load_kernels();
	cudaStream_t stream[FIELDS];
	float *field[FIELDS], *counter[FIELDS];

	for (int i = 0; i < FIELDS; i++) {
		stream[i] = new_stream(cudaStreamDefault);
		field[i] = device_floats(SIZE, 0);
		counter[i] = device_floats(1, 0);
	}
	CHECK(cudaDeviceSynchronize());
	for (int step = 0; step < STEPS; step++)
		for (int i = 0; i < FIELDS; i++) {
#ifdef FIXED
			CHECK(cudaMemsetAsync(counter[i], 0, sizeof(float), stream[i]));
#else
			CHECK(cudaMemset(counter[i], 0, sizeof(float)));
#endif
			cufence::accumulate<<<8, 256, 0, stream[i]>>>(MILLISECOND / 2, field[i],
				counter[i], 1);
			CHECK(cudaGetLastError());
		}
	print_device("field", field[0], SIZE);
	return 0;
}
