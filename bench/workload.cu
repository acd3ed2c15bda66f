/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The overhead benchmark times this: workload [-x SCALE] [-s FOLDER] [NAME...] runs each named loop
 * after a warm-up and prints for each
 *
 *	NAME SUBMIT TOTAL ROUNDS
 *
 * SUBMIT is the host's nanoseconds in the calls, TOTAL the time until the device was done with
 * them, both per round of the loop; ROUNDS is how many there were.  Loops named after a call submit
 * a burst that fits into the launch queue, so that SUBMIT is the cost of the call and not of a
 * device that cannot keep up; "launches" and "mixed" run on without a pause.
 *
 * workload -c [PASSES] prints the number of the core that is the quickest now: one whose other
 * hardware thread is busy, with a stranger's work on a virtual machine, takes up to twice as long
 * for everything.
 *
 * The same name at once again needs no warm-up.  Without names they are read from standard input,
 * a line each; the line "core N" binds the thread to that core and is repeated.  With -s input and
 * output are the pipes FOLDER/ask and FOLDER/say.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include "kernels.h"

#define CHECK(call)                                                                                \
	do {                                                                                       \
		cudaError_t error_ = (call);                                                       \
		if (error_ != cudaSuccess) {                                                       \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__,                         \
				cudaGetErrorString(error_));                                       \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

enum { STREAMS = 4, BURST = 256, NODES = 1000, POLLS = 1000 };
enum { CHAINS = 8, STEPS = 1000, CALIBRATIONS = 60, PASSES = 2, LINE = 64 };
#define POLL_NS 4000000ull /* far longer than POLLS polls take under any tool */

static cudaStream_t stream[STREAMS];
static cudaEvent_t event[STREAMS];
static float *device_data[STREAMS], *host_data;
enum { FETCHED = 65536 };
static char *fetched_device, *fetched; /* FETCHED bytes, fetched: pinned */
static cudaGraphExec_t graph;

struct times {
	double submit, total; /* ns, summed over all rounds */
	long rounds;
};

static double now_ns()
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/*
 * Fixed work, about 5 microseconds of chains that do not wait for each other and use no memory: it
 * takes all of what a core can do at once, so another thread on the same core shows.
 */
static double chains_ns()
{
	unsigned long long chain[CHAINS] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	double start = now_ns();

	for (int i = 0; i < STEPS; i++)
		for (int k = 0; k < CHAINS; k++) {
			chain[k] = k % 2 ? chain[k] * 5 + 1 : (chain[k] ^ chain[k] >> 7) + 3;
			__asm__ volatile("" : "+r"(chain[k]));
		}
	return now_ns() - start;
}

/* The quickest of three, which an interrupt leaves alone and a busy neighbour does not. */
static double calibrate()
{
	double quickest = chains_ns();

	for (int i = 0; i < 2; i++) {
		double ns = chains_ns();

		quickest = ns < quickest ? ns : quickest;
	}
	return quickest;
}

static int compare(const void *a, const void *b)
{
	double first = *(const double *)a, second = *(const double *)b;

	return (first > second) - (first < second);
}

static bool bind_to(int core)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(core, &one);
	return !sched_setaffinity(0, sizeof(one), &one);
}

/* Takes the lower quartile of each visit to a core: a single time may be too short to recur. */
static int print_quickest_core(int passes)
{
	static double ns[CALIBRATIONS];
	double quickest = 0;
	int quickest_core = -1;
	cpu_set_t allowed;

	if (sched_getaffinity(0, sizeof(allowed), &allowed)) {
		perror("workload: sched_getaffinity");
		return 1;
	}
	for (int visit = 0; visit < passes * CPU_SETSIZE; visit++) {
		int core = visit % CPU_SETSIZE;

		if (!CPU_ISSET(core, &allowed) || !bind_to(core))
			continue;
		for (double &each : ns)
			each = calibrate();
		qsort(ns, CALIBRATIONS, sizeof(*ns), compare);
		if (quickest_core >= 0 && ns[CALIBRATIONS / 4] >= quickest)
			continue;
		quickest = ns[CALIBRATIONS / 4];
		quickest_core = core;
	}
	printf("%d\n", quickest_core);
	return quickest_core < 0;
}

/* Sixteen argument words: the duration, four pointers, eleven scalars.  It computes nothing. */
__global__ void sixteen(unsigned long long spin_ns, float *a, const float *b, const float *c,
	float *d, size_t n, size_t m, size_t k, double alpha, double beta, size_t lda, size_t ldb,
	size_t ldc, size_t ldd, size_t first, size_t last)
{
	if (spin_ns == ~0ull)
		a[first] = b[last] * (float)alpha + c[n] * (float)beta +
			   d[m + k + lda + ldb + ldc + ldd];
}

static void launch(int i)
{
	sixteen<<<1, 32, 0, stream[i % STREAMS]>>>(0, device_data[0], device_data[1],
		device_data[2], device_data[3], 256, 16, 16, 1.5, 0.5, 16, 16, 16, 16, 0, 255);
}

static void copy(int i)
{
	cudaMemcpyAsync(host_data + i % STREAMS * 256, device_data[i % STREAMS], 1024,
		cudaMemcpyDeviceToHost, stream[i % STREAMS]);
}

static void record(int i)
{
	cudaEventRecord(event[i % STREAMS], stream[i % STREAMS]);
}

/* On an event that is pending: burst() holds stream 0. */
static void wait(int i)
{
	cudaStreamWaitEvent(stream[1 + i % (STREAMS - 1)], event[0], 0);
}

static void query(int i)
{
	cudaStreamQuery(stream[i % STREAMS]);
}

static void mixed(int i)
{
	cudaStream_t first = stream[i % STREAMS], second = stream[(i + 1) % STREAMS];

	cudaMemcpyAsync(host_data, device_data[0], 1024, cudaMemcpyDeviceToHost, first);
	cudaEventRecord(event[i % STREAMS], first);
	cudaStreamWaitEvent(second, event[i % STREAMS], 0);
	cufence::spin<<<1, 32, 0, second>>>(0);
}

/* Calls that fit into the launch queue, then the device's time to finish. */
static void burst(void (*call)(int), long count, struct times *times)
{
	double start, submitted;

	if (call == wait) {
		cufence::spin<<<1, 32, 0, stream[0]>>>(2000000);
		CHECK(cudaEventRecord(event[0], stream[0]));
	}
	start = now_ns();
	for (long i = 0; i < count; i++)
		call((int)i);
	submitted = now_ns();
	CHECK(cudaDeviceSynchronize());
	times->submit += submitted - start;
	times->total += now_ns() - start;
	times->rounds += count;
}

/* A loop that never pauses. */
static void steady(void (*call)(int), long count, struct times *times)
{
	double start = now_ns();

	for (long i = 0; i < count; i++)
		call((int)i);
	times->submit += now_ns() - start;
	CHECK(cudaDeviceSynchronize());
	times->total += now_ns() - start;
	times->rounds += count;
}

/* Queries of a stream that is busy for all of them; it is an error if it is not. */
static void polls(void (*)(int), long count, struct times *times)
{
	int unfinished = 0;
	double start;

	cufence::spin<<<1, 32, 0, stream[0]>>>(POLL_NS);
	start = now_ns();
	for (long i = 0; i < count; i++)
		unfinished += cudaStreamQuery(stream[0]) == cudaErrorNotReady;
	times->submit += now_ns() - start;
	times->total = times->submit;
	times->rounds += count;
	CHECK(cudaDeviceSynchronize());
	if (unfinished != count) {
		fprintf(stderr, "workload: only %d of %ld polls met a busy stream\n", unfinished,
			count);
		exit(1);
	}
}

/* A copy to pinned memory, the wait for it and a look at what came: what a guard of that memory
 * costs. */
static void fetches(void (*)(int), long count, struct times *times)
{
	double start = now_ns();
	volatile char *came = fetched;

	for (long i = 0; i < count; i++) {
		CHECK(cudaMemcpyAsync(fetched, fetched_device, FETCHED, cudaMemcpyDeviceToHost,
			stream[0]));
		CHECK(cudaStreamSynchronize(stream[0]));
		for (int at = 0; at < FETCHED; at += 4096)
			(void)came[at];
	}
	times->submit += now_ns() - start;
	times->total = times->submit;
	times->rounds += count;
}

/* A chain of NODES tiny kernels. */
static void make_graph()
{
	cudaGraph_t built;

	CHECK(cudaStreamBeginCapture(stream[0], cudaStreamCaptureModeGlobal));
	for (int i = 0; i < NODES; i++)
		cufence::spin<<<1, 32, 0, stream[0]>>>(0);
	CHECK(cudaStreamEndCapture(stream[0], &built));
	CHECK(cudaGraphInstantiate(&graph, built, 0));
}

static void replay(void (*)(int), long count, struct times *times)
{
	if (!graph)
		make_graph();
	for (long i = 0; i < count; i++) {
		double start = now_ns();

		CHECK(cudaGraphLaunch(graph, stream[0]));
		times->submit += now_ns() - start;
		CHECK(cudaDeviceSynchronize());
		times->total += now_ns() - start;
		times->rounds++;
	}
}

/* count: rounds of a turn, which lasts 1 to 20 ms on an H200. */
static const struct workload {
	const char *name;
	void (*call)(int);
	void (*run)(void (*call)(int), long count, struct times *times);
	long count;
} workloads[] = {
	{ "launch", launch, burst, BURST },
	{ "copy", copy, burst, BURST },
	{ "record", record, burst, BURST },
	{ "wait", wait, burst, BURST },
	{ "query", query, burst, 16 * BURST },
	{ "poll", NULL, polls, POLLS },
	{ "launches", launch, steady, 5000 },
	{ "mixed", mixed, steady, 1500 },
	{ "graph", NULL, replay, 8 },
	{ "fetch", NULL, fetches, 200 },
};

static const struct workload *find(const char *name)
{
	for (const struct workload &workload : workloads)
		if (!strcmp(workload.name, name))
			return &workload;
	fprintf(stderr, "workload: no '%s'\n", name);
	return NULL;
}

/* The warm-up is a fourth of a turn. */
static int run(const char *name, double scale, bool warm_up)
{
	const struct workload *workload = find(name);
	struct times times = {}, unused = {};
	double rounds;
	cudaError_t last;
	long count;

	if (!workload)
		return 2;
	count = (long)((double)workload->count * scale);
	count = count > 0 ? count : 1;
	if (warm_up)
		workload->run(workload->call, (count + 3) / 4, &unused);
	workload->run(workload->call, count, &times);
	rounds = (double)times.rounds;
	printf("%s %.2f %.2f %ld\n", name, times.submit / rounds, times.total / rounds,
		times.rounds);
	last = cudaGetLastError();
	CHECK(last == cudaErrorNotReady ? cudaSuccess : last);
	return 0;
}

/* Answers each line of input by a line.  Other programs ran in between. */
static int serve(double scale)
{
	char line[LINE];
	int status = 0, core;

	while (!status && fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "core %d", &core) != 1) {
			status = run(line, scale, true);
		} else if (bind_to(core)) {
			printf("%s\n", line);
		} else {
			fprintf(stderr, "workload: cannot run on core %d\n", core);
			status = 1;
		}
		fflush(stdout);
	}
	return status;
}

static bool open_pipes(const char *folder)
{
	char ask[4096], say[4096];

	snprintf(ask, sizeof(ask), "%s/ask", folder);
	snprintf(say, sizeof(say), "%s/say", folder);
	if (freopen(ask, "r", stdin) && freopen(say, "w", stdout))
		return true;
	perror(folder);
	return false;
}

static void set_up()
{
	CHECK(cudaMallocHost(&host_data, STREAMS * 1024));
	CHECK(cudaMallocHost(&fetched, FETCHED));
	CHECK(cudaMalloc(&fetched_device, FETCHED));
	for (int i = 0; i < STREAMS; i++) {
		CHECK(cudaStreamCreateWithFlags(&stream[i], cudaStreamNonBlocking));
		CHECK(cudaEventCreateWithFlags(&event[i], cudaEventDisableTiming));
		CHECK(cudaMalloc(&device_data[i], 4096));
	}
}

int main(int argc, char **argv)
{
	const char *folder = NULL;
	int status = 0, option;
	double scale = 1;

	if (argc > 1 && !strcmp(argv[1], "-c"))
		return print_quickest_core(argc > 2 ? atoi(argv[2]) : PASSES);
	while ((option = getopt(argc, argv, "x:s:")) != -1) {
		if (option == 'x')
			scale = atof(optarg);
		else if (option == 's')
			folder = optarg;
		else
			scale = 0;
	}
	if (!(scale > 0)) {
		fprintf(stderr, "usage: workload -c [PASSES] | [-x SCALE] [-s FOLDER] [NAME...]\n");
		return 2;
	}
	if (folder && !open_pipes(folder))
		return 1;
	set_up();
	if (optind == argc)
		return serve(scale);
	for (int i = optind; i < argc && !status; i++)
		status = run(argv[i], scale, i == optind || strcmp(argv[i], argv[i - 1]));
	return status;
}
