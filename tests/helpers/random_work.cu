/* SPDX-License-Identifier: Apache-2.0 */
/*
 * random_work SEED: a loop of random work in the legacy default stream and four others, each step
 * at a call path of its own, with buffers that streams have for themselves, more or less.  What it
 * prints shows in what order copies and memsets came (tests/random_moves).
 */
#include "app.h"

static const int STEPS = 12, ROUNDS = 6, BUFFERS = 6, STREAMS = 5;
static const size_t SIZE = 1 << 10;

enum what { TOUCH, SET, COPY, FENCE, FETCH, WAIT };

struct step {
	enum what what;
	cudaEvent_t event;
	unsigned stream, other, from, to, every, at;
	unsigned long long spin_ns;
};

static struct {
	struct step step[STEPS];
	cudaStream_t stream[STREAMS];
	float *buffer[BUFFERS], *host;
	unsigned round, sets, seed;
} run;

static unsigned pick(unsigned n)
{
	run.seed = run.seed * 1103515245u + 12345u;
	return (run.seed >> 16) % n;
}

static void fetch(int number, const float *from, cudaStream_t stream)
{
	float *host = run.host + number * SIZE;

	CHECK(cudaMemcpyAsync(host, from, SIZE * sizeof(float), cudaMemcpyDeviceToHost, stream));
	CHECK(cudaStreamSynchronize(stream));
	printf("%u.%d %.9e\n", run.round, number, checksum(host, SIZE));
}

static inline __attribute__((always_inline)) void make(int number)
{
	const struct step *step = &run.step[number];
	cudaStream_t stream = run.stream[step->stream];
	float *from = run.buffer[step->from], *to = run.buffer[step->to];

	if (step->what == TOUCH || step->what == SET) {
		cufence::touch<<<2, 256, 0, stream>>>(step->spin_ns, to, SIZE);
		CHECK(cudaGetLastError());
	}
	if (step->what == SET)
		CHECK(cudaMemsetAsync(to, ++run.sets, SIZE * (1 + step->from % 2) * 2, stream));
	if (step->what == COPY && from != to)
		CHECK(cudaMemcpyAsync(to, from, SIZE * sizeof(float), cudaMemcpyDeviceToDevice,
			stream));
	if (step->what == FENCE) {
		CHECK(cudaEventRecord(step->event, stream));
		CHECK(cudaStreamWaitEvent(run.stream[step->other], step->event, 0));
	}
	if (step->what == FETCH)
		fetch(number, from, stream);
	if (step->what == WAIT)
		CHECK(cudaStreamSynchronize(stream));
}

template <int NUMBER> static NOINLINE void make_one()
{
	if (run.round % run.step[NUMBER].every == run.step[NUMBER].at)
		make(NUMBER);
}

template <int COUNT> struct steps {
	static void make_all()
	{
		steps<COUNT - 1>::make_all();
		make_one<COUNT - 1>();
	}
};
template <> struct steps<0> {
	static void make_all()
	{
	}
};

static unsigned pick_buffer(unsigned stream, unsigned own)
{
	return pick(4) <= own ? stream : pick(BUFFERS);
}

static void choose()
{
	static const enum what kinds[] = { TOUCH, TOUCH, SET, SET, SET, COPY, COPY, FENCE, FETCH,
		WAIT };
	unsigned own = 1 + pick(2);

	for (struct step &step : run.step) {
		step.what = kinds[pick(sizeof(kinds) / sizeof(*kinds))];
		step.stream = pick(3) ? pick(STREAMS) : 0;
		step.other = pick(STREAMS);
		step.from = pick_buffer(step.stream, own);
		step.to = pick_buffer(step.stream, own);
		step.every = 1 + pick(3) / 2;
		step.at = pick(step.every);
		step.spin_ns = (1 + pick(5)) * MILLISECOND / 2;
		step.event = new_event();
	}
}

int main(int argc, char **argv)
{
	run.seed = (unsigned)atoi(argc > 1 ? argv[1] : "") * 7919u + 13;
	load_kernels();
	/* The first one is the legacy stream. */
	run.stream[1] = new_stream(cudaStreamDefault);
	run.stream[2] = new_stream(cudaStreamDefault);
	run.stream[3] = new_stream();
	run.stream[4] = cudaStreamPerThread;
	for (int i = 0; i < BUFFERS; i++)
		run.buffer[i] = device_floats(SIZE, i + 1);
	run.host = pinned_floats(SIZE * STEPS);
	choose();
	CHECK(cudaDeviceSynchronize());
	for (run.round = 0; run.round < ROUNDS; run.round++)
		steps<STEPS>::make_all();
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < BUFFERS; i++)
		print_device("buffer", run.buffer[i], SIZE);
	return 0;
}
