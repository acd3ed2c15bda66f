/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moved KIND: work of the legacy default stream between that of blocking streams, of which it needs
 * nothing.  Each kind has something else that the legacy stream orders.
 *
 * bound    work of a blocking stream uses the same memory now and then; where FIXES_SURPRISE is set
 *          it is submitted by other calls from the middle on
 * graph    nothing else; where FIXES_SURPRISE is set such work is captured from the middle on
 * used     other uses of the legacy stream: events, copies, memsets, waits
 * waits    the host waits for the legacy stream, and needs the legacy work only
 * result   the same, and reads what another stream copied to it
 * thread   the work that uses the same memory is another thread's
 * left     another thread uses the legacy stream by a call that is not moved
 * through  two blocking streams share memory, with only the legacy work in between
 * host     the host waits for a stream that comes after the legacy work, and so after another one
 * function a host function runs in one of the streams
 */
#include <string.h>

#include "app.h"

static const int ROUNDS = 12;
static const size_t SIZE = 1 << 12;

static struct {
	cudaStream_t stream[2], apart;
	cudaEvent_t event[2];
	float *tile[2], *particles, *kept, *host;
	int moves, count;
} run;

static NOINLINE void advance(int i)
{
	cufence::touch<<<2, 256, 0, run.stream[i]>>>(2 * MILLISECOND, run.tile[i], SIZE);
	CHECK(cudaGetLastError());
}

/* The simulated device runs no kernels, but copies and memsets show in what order they came. */
static NOINLINE void move_particles()
{
	cudaLaunchConfig_t config = {};

	config.gridDim = dim3(2);
	config.blockDim = dim3(256);
	CHECK(cudaLaunchKernelEx(&config, cufence::touch, MILLISECOND, run.particles, SIZE));
	cufence::touch<<<2, 256>>>(MILLISECOND, run.particles, SIZE);
	CHECK(cudaGetLastError());
	CHECK(cudaMemsetAsync(run.particles, ++run.moves, SIZE * sizeof(float) / 2, 0));
}

static inline __attribute__((always_inline)) void keep(cudaStream_t stream)
{
	cufence::touch<<<2, 256, 0, stream>>>(MILLISECOND, run.particles, SIZE);
	CHECK(cudaGetLastError());
	CHECK(cudaMemcpyAsync(run.kept + run.count++ * SIZE, run.particles, SIZE * sizeof(float),
		cudaMemcpyDeviceToDevice, stream));
}

static NOINLINE void keep_particles(cudaStream_t stream)
{
	keep(stream);
}

/* The same where no call path was seen. */
static NOINLINE void keep_elsewhere(cudaStream_t stream)
{
	keep(stream);
}

static void use_bound(int round, int is_surprise)
{
	if (round % 3 != 2)
		return;
	if (is_surprise)
		keep_elsewhere(run.stream[0]);
	else
		keep_particles(run.stream[0]);
}

static void keep_by_graph()
{
	cudaGraph_t graph;
	cudaGraphExec_t exec;

	CHECK(cudaStreamBeginCapture(run.stream[0], cudaStreamCaptureModeGlobal));
	keep_elsewhere(run.stream[0]);
	CHECK(cudaStreamEndCapture(run.stream[0], &graph));
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	CHECK(cudaGraphLaunch(exec, run.stream[0]));
}

/* A stream that does not wait for the legacy one, ordered with it by events. */
static void keep_apart()
{
	CHECK(cudaEventRecord(run.event[0], 0));
	CHECK(cudaStreamWaitEvent(run.apart, run.event[0], 0));
	keep_particles(run.apart);
	CHECK(cudaEventRecord(run.event[1], run.apart));
	CHECK(cudaStreamWaitEvent(0, run.event[1], 0));
}

static void print_particles(const char *what)
{
	CHECK(cudaMemcpy(run.host, run.particles, SIZE * sizeof(float), cudaMemcpyDeviceToHost));
	printf("%s %.6e\n", what, checksum(run.host, SIZE));
}

static void use_legacy(int round)
{
	switch (round % 6) {
	case 1:
		keep_apart();
		break;
	case 2:
		print_particles("copied");
		break;
	case 3:
		/* It comes long after what is moved next would. */
		for (int i = 0; i < 3; i++)
			advance(1);
		CHECK(cudaMemset(run.particles, round, SIZE * sizeof(float)));
		break;
	case 4:
		CHECK(cudaMemcpyAsync(run.host, run.particles, SIZE * sizeof(float),
			cudaMemcpyDeviceToHost, 0));
		CHECK(cudaStreamSynchronize(0));
		printf("waited %.6e\n", checksum(run.host, SIZE));
		break;
	default:
		break;
	}
}

static void *keep_in_thread(void *unused)
{
	keep_particles(run.stream[1]);
	return NULL;
}

static void *set_in_thread(void *unused)
{
	CHECK(cudaMemset(run.particles, 0, SIZE * sizeof(float)));
	return NULL;
}

static void hand_over(void *(*function)(void *))
{
	pthread_t thread;

	pthread_create(&thread, NULL, function, NULL);
	pthread_join(thread, NULL);
}

static void share()
{
	cufence::accumulate<<<2, 256, 0, run.stream[1]>>>(MILLISECOND, run.tile[0], run.kept, SIZE);
	CHECK(cudaGetLastError());
	move_particles();
}

static void read_early()
{
	CHECK(cudaMemcpyAsync(run.host, run.tile[0], SIZE * sizeof(float), cudaMemcpyDeviceToHost,
		run.stream[0]));
	move_particles();
	advance(1);
	CHECK(cudaStreamSynchronize(run.stream[1]));
	printf("read %.6e\n", checksum(run.host, SIZE));
}

static void read_result(int round)
{
	CHECK(cudaMemsetAsync(run.tile[1], round, SIZE * sizeof(float), run.stream[1]));
	CHECK(cudaMemcpyAsync(run.host, run.tile[1], SIZE * sizeof(float), cudaMemcpyDeviceToHost,
		run.stream[1]));
	move_particles();
	CHECK(cudaStreamSynchronize(0));
	printf("result %.6e\n", checksum(run.host, SIZE));
}

static void do_nothing(void *unused)
{
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";

	load_kernels();
	for (int i = 0; i < 2; i++) {
		run.stream[i] = new_stream(cudaStreamDefault);
		run.event[i] = new_event();
		run.tile[i] = device_floats(SIZE, 0);
	}
	run.apart = new_stream();
	run.particles = device_floats(SIZE, 0);
	run.kept = device_floats(ROUNDS * SIZE, 0);
	run.host = pinned_floats(SIZE);
	CHECK(cudaDeviceSynchronize());
	for (int round = 0; round < ROUNDS; round++) {
		int is_surprise = getenv("FIXES_SURPRISE") && round >= ROUNDS / 2;

		advance(0);
		move_particles();
		advance(1);
		if (!strcmp(kind, "bound"))
			use_bound(round, is_surprise);
		else if (!strcmp(kind, "graph") && is_surprise && round % 2)
			keep_by_graph();
		else if (!strcmp(kind, "used"))
			use_legacy(round);
		else if (!strcmp(kind, "waits"))
			CHECK(cudaStreamSynchronize(0));
		else if (!strcmp(kind, "result"))
			read_result(round);
		else if (!strcmp(kind, "thread") && round % 4 == 3)
			hand_over(keep_in_thread);
		else if (!strcmp(kind, "left") && round % 4 == 3)
			hand_over(set_in_thread);
		else if (!strcmp(kind, "through"))
			share();
		else if (!strcmp(kind, "host"))
			read_early();
		else if (!strcmp(kind, "function"))
			CHECK(cudaLaunchHostFunc(run.stream[0], do_nothing, NULL));
	}
	CHECK(cudaStreamSynchronize(0));
	for (int i = 0; i < 2; i++)
		print_device("tile", run.tile[i], SIZE);
	print_device("particles", run.particles, SIZE);
	print_device("kept", run.kept, ROUNDS * SIZE);
	return 0;
}
