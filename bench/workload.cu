/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the overhead benchmark times: workload [-x SCALE] [-q NS] [-s FOLDER] [NAME...] runs each
 * named loop after a warm-up and prints for each
 *
 *	sample NAME SUBMIT TOTAL CALLS STRETCHES DISTURBED
 *
 * SUBMIT is the host's nanoseconds in the calls, TOTAL the time until the device was done with
 * them, both per round of the loop; CALLS is how many rounds there were.  Loops named after a call
 * submit in bursts that fit into the launch queue, so that SUBMIT is the cost of the call and not
 * of a device that cannot keep up; "launches" and "mixed" run on without a pause.
 *
 * The same name at once again needs no warm-up.  Without names they are read from standard input,
 * a line each; the line "core N" binds the thread to that core and is repeated.  With -s input and
 * output are the pipes FOLDER/ask and FOLDER/say.
 *
 * A core whose other hardware thread is busy, with a stranger's work on a virtual machine, runs
 * everything up to twice as slowly, for a tenth of a second or for the life of a process.  With -q
 * only stretches count (a burst, a graph launch, a whole loop that does not pause) before and after
 * which the core took at most SLOWER times NS for fixed work.  Stretches are run until as many
 * counted as were wanted, at most TRIES times as many; if less than a quarter counted, the line
 * begins with "disturbed".  STRETCHES were run, DISTURBED of them did not count.
 * workload -c [PASSES] prints the NS of the quickest core of those allowed, and its number.
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

enum { STREAMS = 4, BURST = 256, MOST_BURSTS = 1000, NODES = 1000, POLLS = 1000 };
enum { CHAINS = 8, STEPS = 1000, CALIBRATIONS = 60, PASSES = 40, TRIES = 4 };
enum { WARM_UP = 10 /* a tenth of a repetition */, LINE = 64 };
#define SLOWER 1.15
#define POLL_NS 4000000ull /* far longer than POLLS polls take under any tool */

static cudaStream_t stream[STREAMS];
static cudaEvent_t event[STREAMS];
static float *device_data[STREAMS], *host_data;
static cudaGraphExec_t graph;

static double undisturbed_ns; /* what calibrate() takes on such a core; 0: everything counts */

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

static bool undisturbed()
{
	return undisturbed_ns <= 0 || calibrate() <= SLOWER * undisturbed_ns;
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

/* Of each visit to a core its lower quartile: a single one may be too quick to be had again. */
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
	printf("%.0f %d\n", quickest, quickest_core);
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

/* BURST calls, then the device's time to finish. */
static void burst(void (*call)(int), long, struct times *times)
{
	double start, submitted;

	if (call == wait) {
		cufence::spin<<<1, 32, 0, stream[0]>>>(2000000);
		CHECK(cudaEventRecord(event[0], stream[0]));
	}
	start = now_ns();
	for (int i = 0; i < BURST; i++)
		call(i);
	submitted = now_ns();
	CHECK(cudaDeviceSynchronize());
	times->submit += submitted - start;
	times->total += now_ns() - start;
	times->rounds += BURST;
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
static void polls(void (*)(int), long, struct times *times)
{
	int unfinished = 0;
	double start;

	cufence::spin<<<1, 32, 0, stream[0]>>>(POLL_NS);
	start = now_ns();
	for (int k = 0; k < POLLS; k++)
		unfinished += cudaStreamQuery(stream[0]) == cudaErrorNotReady;
	times->submit += now_ns() - start;
	times->total = times->submit;
	times->rounds += POLLS;
	CHECK(cudaDeviceSynchronize());
	if (unfinished != POLLS) {
		fprintf(stderr, "workload: only %d of %d polls met a busy stream\n", unfinished,
			(int)POLLS);
		exit(1);
	}
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

static void replay(void (*)(int), long, struct times *times)
{
	double start;

	if (!graph)
		make_graph();
	start = now_ns();
	CHECK(cudaGraphLaunch(graph, stream[0]));
	times->submit += now_ns() - start;
	CHECK(cudaDeviceSynchronize());
	times->total += now_ns() - start;
	times->rounds++;
}

/* count: stretches of a repetition, of a steady one its calls; about 50 to 100 ms on an H200. */
static const struct workload {
	const char *name;
	void (*call)(int);
	void (*stretch)(void (*call)(int), long count, struct times *times);
	long count;
} workloads[] = {
	{ "launch", launch, burst, 80 },
	{ "copy", copy, burst, 60 },
	{ "record", record, burst, 200 },
	{ "wait", wait, burst, 30 },
	{ "query", query, burst, 400 },
	{ "poll", NULL, polls, 16 },
	{ "launches", launch, steady, 30000 },
	{ "mixed", mixed, steady, 6000 },
	{ "graph", NULL, replay, 100 },
};

struct repetition {
	struct times times; /* of the stretches that counted */
	long wanted, counted, run;
};

/* What a call costs is what it costs in the median burst: others were interrupted. */
static void repeat(const struct workload *workload, long count, struct repetition *all)
{
	double submit[MOST_BURSTS];
	long kept;
	bool before = undisturbed();

	all->wanted = workload->stretch == steady ? 1 : count;
	for (; all->counted < all->wanted && all->run < TRIES * all->wanted; all->run++) {
		struct times one = {};
		bool after;

		workload->stretch(workload->call, count, &one);
		after = undisturbed();
		if (before && after) {
			submit[all->counted++ % MOST_BURSTS] = one.submit;
			all->times.submit += one.submit;
			all->times.total += one.total;
			all->times.rounds += one.rounds;
		}
		before = after;
	}
	kept = all->counted < MOST_BURSTS ? all->counted : MOST_BURSTS;
	if (workload->stretch == burst && kept) {
		qsort(submit, (size_t)kept, sizeof(*submit), compare);
		all->times.submit = submit[kept / 2] * (double)all->counted;
	}
}

static void print(const char *name, const struct repetition *all)
{
	const struct times *times = &all->times;
	double rounds = times->rounds ? (double)times->rounds : 1;

	printf("%s %s %.2f %.2f %ld %ld %ld\n",
		all->counted * 4 < all->wanted ? "disturbed" : "sample", name,
		times->submit / rounds, times->total / rounds, times->rounds, all->run,
		all->run - all->counted);
}

static int run(const char *name, double scale, bool warm_up)
{
	const struct workload *found = NULL;
	struct repetition repetition = {};
	struct times unused = {};
	cudaError_t last;
	long count, before;

	for (const struct workload &workload : workloads)
		if (!strcmp(workload.name, name))
			found = &workload;
	if (!found) {
		fprintf(stderr, "workload: no '%s'\n", name);
		return 2;
	}
	count = (long)((double)found->count * scale);
	count = count > 0 ? count : 1;
	before = found->stretch == steady ? 1 : 1 + count / WARM_UP;
	for (long i = 0; warm_up && i < before; i++)
		found->stretch(found->call, 1 + count / WARM_UP, &unused);
	repeat(found, count, &repetition);
	print(name, &repetition);
	last = cudaGetLastError();
	CHECK(last == cudaErrorNotReady ? cudaSuccess : last);
	return 0;
}

/* What is asked for, line by line, each answered by a line.  Others had their turns since. */
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
	while ((option = getopt(argc, argv, "x:q:s:")) != -1) {
		if (option == 'x')
			scale = atof(optarg);
		else if (option == 'q')
			undisturbed_ns = atof(optarg);
		else if (option == 's')
			folder = optarg;
		else
			scale = 0;
	}
	if (!(scale > 0)) {
		fprintf(stderr, "usage: workload -c [PASSES] | [-x SCALE] [-q NS] [-s FOLDER] "
				"[NAME...]\n");
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
