// SPDX-License-Identifier: Apache-2.0
// Two devices each advance a field of their own; each step, a border that the first one has made
// goes to the second one by cudaMemcpyPeer. The call returns at once, but the copy is work of the
// legacy streams of both devices: it comes after all that their blocking streams have to do, and
// what these get later after it. The fix copies by cudaMemcpyPeerAsync in the stream that makes the
// border, with events.
#include "app.h"

static const int STEPS = 10;
static const size_t SIZE = 1 << 14, BORDER = 1 << 10;

struct device {
	cudaStream_t work, borders;
	float *field, *border;
	cudaEvent_t ready; /* the border was made, or used */
};

/* Every other step is a long one: on both devices, so that none of them has more to do. */
static NOINLINE void advance(const struct device *device, int number, int step)
{
	CHECK(cudaSetDevice(number));
	cufence::touch<<<4, 256, 0, device->work>>>(
		step % 2 == number ? MILLISECOND : MILLISECOND / 10, device->field, SIZE);
	CHECK(cudaGetLastError());
}

static NOINLINE void use_border(const struct device *device, int number)
{
	CHECK(cudaSetDevice(number));
	cufence::touch<<<4, 256, 0, device->borders>>>(MILLISECOND / 20, device->border, BORDER);
	CHECK(cudaGetLastError());
}

static NOINLINE void send_border(const struct device *from, const struct device *to)
{
	size_t bytes = BORDER * sizeof(*from->border);

	CHECK(cudaSetDevice(0));
#ifdef FIXED
	CHECK(cudaStreamWaitEvent(from->borders, to->ready, 0));
	CHECK(cudaMemcpyPeerAsync(to->border, 1, from->border, 0, bytes, from->borders));
	CHECK(cudaEventRecord(from->ready, from->borders));
	CHECK(cudaStreamWaitEvent(to->borders, from->ready, 0));
#else
	CHECK(cudaMemcpyPeer(to->border, 1, from->border, 0, bytes));
#endif
}

int main()
{
	struct device device[2];

	for (int i = 0; i < 2; i++) {
		CHECK(cudaSetDevice(i));
		load_kernels();
		device[i].work = new_stream(cudaStreamDefault);
		device[i].borders = new_stream(cudaStreamDefault);
		device[i].field = device_floats(SIZE, 0);
		device[i].border = device_floats(BORDER, 0);
		device[i].ready = new_event();
		CHECK(cudaDeviceSynchronize());
	}
	for (int step = 0; step < STEPS; step++) {
		for (int i = 0; i < 2; i++)
			advance(&device[i], i, step);
		use_border(&device[0], 0);
		send_border(&device[0], &device[1]);
		use_border(&device[1], 1);
		CHECK(cudaEventRecord(device[1].ready, device[1].borders));
	}
	for (int i = 0; i < 2; i++) {
		CHECK(cudaSetDevice(i));
		print_device("field", device[i].field, SIZE);
		print_device("border", device[i].border, BORDER);
	}
	return 0;
}
