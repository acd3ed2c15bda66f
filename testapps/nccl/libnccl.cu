// SPDX-License-Identifier: Apache-2.0
// Stands for NCCL, with a kernel of a name like NCCL's, which takes as long as a collective of
// ranks that all come at once: 200 us, or NCCL_TEST_NS. It gets its buffers encoded, as NCCL's
// kernels read theirs from memory: nothing but the call says what it reads and writes. It copies
// what is there of its own rank; other ranks there are none.
//
// On the simulated device the ranks of a program meet if NCCL_TEST_MEET names a file, which they
// share: a collective's kernels end so many ns after the last rank's has started. They number
// communicators and collectives alike, and their virtual clocks begin with the processes.
//
// Version 5 of NCCL's profiler interface announces calls to the library that NCCL_PROFILER_PLUGIN
// names, in NCCL's order: a group, each call in it, after the launch its buffers (in a capture
// never), and the group's end.
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

#include "nccl_calls.h"

static const uint64_t CODE = 0x5a5a5a5a5a5a5a5a;
static const int MOST = 64;

static const int COMMUNICATORS = 4, RANKS = 64;
static const unsigned MEETINGS = 4096;
static const int PATIENCE = 60; // seconds for which a rank waits for the others

// The times at which kernels started, ns + 1.
typedef std::atomic<uint64_t> Meeting[RANKS];

struct ncclComm {
	int ranks, rank, device;
	uint64_t hash;    // the same in all ranks
	void *context;    // of the profiler
	Meeting *meeting; // of its collectives, NULL: others are not waited for
	unsigned met;
};

struct Work {
	const void *from;
	void *to;
	size_t bytes;
	cudaStream_t stream;
	ncclComm_t comm; // NULL: a message, which not all ranks have
	void *handle;    // of the profiler
};

// A call as it is announced.
struct Call {
	const char *function;
	size_t count;
	ncclDataType_t type;
	int root; // or peer
	const void *from;
	void *to;
	bool is_message;
};

enum {
	COLLECTIVE = 1 << 1,
	MESSAGE = 1 << 2,
	GROUP_CALL = 1 << 8,
	COLLECTIVE_CALL = 1 << 9,
	MESSAGE_CALL = 1 << 10
};

struct Event {
	uint64_t type;
	void *parent;
	int rank;
	union {
		struct {
			const char *function;
			size_t count;
			const char *type;
			int root;
			void *stream;
			bool captured;
		} collective_call;
		struct {
			const char *function;
			size_t count;
			const char *type;
			void *stream;
			bool captured;
		} message_call;
		struct {
			uint64_t sequence;
			const char *function;
			const void *from;
			void *to;
			size_t count;
			int root;
			const char *type;
			uint8_t channels, warps;
			const char *algorithm, *protocol;
			void *group;
		} collective;
		struct {
			const char *function;
			void *buffer;
			const char *type;
			size_t count;
			int peer;
			uint8_t channels;
			void *group;
		} message;
	};
};

struct Profiler {
	const char *name;
	ncclResult_t (*init)(void **context, uint64_t hash, int *events, const char *name,
		int nodes, int ranks, int rank, void *log);
	ncclResult_t (*start)(void *context, void **handle, Event *event);
	ncclResult_t (*stop)(void *handle);
	ncclResult_t (*state)(void *handle, int state, void *arguments);
	ncclResult_t (*finalize)(void *context);
};

static const Profiler *profiler;
static int profiled; // its events
static thread_local void *group_handle;

static thread_local Work group[MOST];
static thread_local Call calls[MOST];
static thread_local int groups, grouped;

__device__ static unsigned long long now()
{
	unsigned long long ns;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
	return ns;
}

__global__ void ncclDevKernel_Generic_4(unsigned long long spin_ns, uint64_t from, uint64_t to,
	uint64_t bytes)
{
	unsigned long long start = now();
	const char *source = (const char *)(from ^ CODE);
	char *target = (char *)(to ^ CODE);

	if (source != target)
		for (size_t i = threadIdx.x; i < bytes; i += blockDim.x)
			target[i] = source[i];
	while (now() - start < spin_ns)
		;
}

static unsigned long long collective_ns()
{
	const char *text = getenv("NCCL_TEST_NS");

	return text ? strtoull(text, NULL, 10) : 200 * 1000;
}

// Returns the part of the file for the next communicator.
static Meeting *meetings()
{
	static int made;
	const char *path = getenv("NCCL_TEST_MEET");
	size_t bytes = MEETINGS * sizeof(Meeting);
	int file =
		path && made < COMMUNICATORS ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
	void *memory = MAP_FAILED;

	if (file >= 0 && !ftruncate(file, COMMUNICATORS * bytes))
		memory =
			mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, made++ * bytes);
	if (file >= 0)
		close(file);
	return memory == MAP_FAILED ? NULL : (Meeting *)memory;
}

struct Arrival {
	Meeting *meeting;
	int ranks, rank;
};

// Called when the kernel starts.
static uint64_t wait_for_ranks(void *argument, uint64_t start)
{
	Arrival *arrival = (Arrival *)argument;
	const struct timespec pause = { 0, 20000 };
	time_t begun = time(NULL);
	uint64_t last = start;

	(*arrival->meeting)[arrival->rank] = start + 1;
	for (int i = 0; i < arrival->ranks; i++) {
		uint64_t there;

		while (!(there = (*arrival->meeting)[i])) {
			if (time(NULL) > begun + PATIENCE) {
				fprintf(stderr, "libnccl: rank %d does not come\n", i);
				abort();
			}
			nanosleep(&pause, NULL);
		}
		if (there - 1 > last)
			last = there - 1;
	}
	delete arrival;
	return last - start + collective_ns();
}

// Lets the next kernel of this thread wait for the other ranks.
static void expect_meeting(ncclComm_t comm)
{
	typedef void Next(uint64_t(*length)(void *, uint64_t), void *argument);
	void *cuda = dlopen("libcuda.so.1", RTLD_LAZY);
	Next *next = cuda ? (Next *)dlsym(cuda, "cufence_sim_next_kernel") : NULL;

	if (next && !comm)
		next(NULL, NULL);
	else if (next && comm->meeting && comm->met < MEETINGS)
		next(wait_for_ranks,
			new Arrival{ &comm->meeting[comm->met++], comm->ranks, comm->rank });
	if (cuda)
		dlclose(cuda);
}

static ncclResult_t submit(const Work &work)
{
	unsigned long long ns = collective_ns();
	uint64_t from = (uint64_t)work.from ^ CODE, to = (uint64_t)work.to ^ CODE;
	uint64_t bytes = work.from && work.to ? work.bytes : 0;
	void *arguments[] = { &ns, &from, &to, &bytes };
	int meets = work.comm && work.comm->meeting;
	cudaError_t error;

	if (meets)
		expect_meeting(work.comm);
	error = cudaLaunchKernel((const void *)ncclDevKernel_Generic_4, dim3(1), dim3(256),
		arguments, 0, work.stream);
	// What was captured has not taken it.
	if (meets)
		expect_meeting(NULL);
	return error == cudaSuccess ? ncclSuccess : ncclInvalidArgument;
}

static const char *type_name(ncclDataType_t type)
{
	return type == ncclInt32 ? "ncclInt32" : "ncclFloat32";
}

static bool is_captured(cudaStream_t stream)
{
	cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;

	cudaStreamIsCapturing(stream, &status);
	return status != cudaStreamCaptureStatusNone;
}

// Returns the handle of the call.
static void *announce(const Call &call, ncclComm_t comm, cudaStream_t stream)
{
	Event event = {};
	void *handle = NULL;

	if (!profiled)
		return NULL;
	if (!group_handle) {
		event.type = GROUP_CALL;
		profiler->start(comm->context, &group_handle, &event);
	}
	event = Event{};
	event.type = call.is_message ? MESSAGE_CALL : COLLECTIVE_CALL;
	event.parent = group_handle;
	if (call.is_message)
		event.message_call = { call.function, call.count, type_name(call.type), stream,
			is_captured(stream) };
	else
		event.collective_call = { call.function, call.count, type_name(call.type),
			call.root, stream, is_captured(stream) };
	profiler->start(comm->context, &handle, &event);
	if (handle)
		profiler->stop(handle);
	return handle;
}

static void announce_buffers(const Call &call, ncclComm_t comm, const Work &work)
{
	Event event = {};
	void *handle;

	if (!profiled || is_captured(work.stream))
		return;
	event.type = call.is_message ? MESSAGE : COLLECTIVE;
	event.parent = work.handle;
	if (call.is_message)
		event.message = { call.function, call.from ? (void *)call.from : call.to,
			type_name(call.type), call.count, call.root, 1, NULL };
	else
		event.collective = { 0, call.function, call.from, call.to, call.count, call.root,
			type_name(call.type), 1, 1, "Ring", "Simple", NULL };
	profiler->start(comm ? comm->context : NULL, &handle, &event);
}

static void announce_end()
{
	if (group_handle)
		profiler->stop(group_handle);
	group_handle = NULL;
}

// A group has one kernel for each stream.
static ncclResult_t enqueue(const Call &call, const void *from, void *to, ncclComm_t comm,
	cudaStream_t stream)
{
	Work work = { from, to, call.count * 4, stream, call.is_message ? NULL : comm,
		announce(call, comm, stream) };
	ncclResult_t result;

	if (!groups) {
		result = submit(work);
		announce_buffers(call, comm, work);
		announce_end();
		return result;
	}
	if (grouped == MOST)
		return ncclInvalidArgument;
	calls[grouped] = call;
	group[grouped++] = work;
	return ncclSuccess;
}

extern "C" {

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
	// The same in each run, as all else is on the simulated device.
	static int made;

	memset(id, 0, sizeof(*id));
	snprintf(id->internal, sizeof(id->internal), "%d", ++made);
	return ncclSuccess;
}

static void load_profiler()
{
	const char *name = getenv("NCCL_PROFILER_PLUGIN");
	void *library = name && !profiler ? dlopen(name, RTLD_NOW | RTLD_LOCAL) : NULL;

	if (library)
		profiler = (const Profiler *)dlsym(library, "ncclProfiler_v5");
}

static ncclComm_t make(int ranks, int rank, uint64_t hash)
{
	ncclComm_t comm =
		new ncclComm{ ranks, rank, 0, hash, NULL, ranks <= RANKS ? meetings() : NULL, 0 };

	cudaGetDevice(&comm->device);
	load_profiler();
	if (profiler)
		profiler->init(&comm->context, hash, &profiled, NULL, 1, ranks, rank, NULL);
	return comm;
}

ncclResult_t ncclCommInitRank(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank)
{
	*comm = make(ranks, rank, strtoull(id.internal, NULL, 10));
	return ncclSuccess;
}

ncclResult_t ncclCommInitAll(ncclComm_t *comm, int count, const int *devices)
{
	for (int i = 0; i < count; i++)
		comm[i] = make(count, i, 4711);
	return ncclSuccess;
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *part, void *config)
{
	*part = color < 0 ? NULL : make(comm->ranks / 2, comm->rank / 2, comm->hash * 1000 + color);
	return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
	if (profiler)
		profiler->finalize(comm->context);
	delete comm;
	return ncclSuccess;
}

ncclResult_t ncclCommCount(const ncclComm_t comm, int *count)
{
	*count = comm->ranks;
	return ncclSuccess;
}

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int *rank)
{
	*rank = comm->rank;
	return ncclSuccess;
}

ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int *device)
{
	*device = comm->device;
	return ncclSuccess;
}

ncclResult_t ncclGroupStart()
{
	groups++;
	return ncclSuccess;
}

ncclResult_t ncclGroupEnd()
{
	if (!groups)
		return ncclInvalidArgument;
	if (--groups)
		return ncclSuccess;
	for (int i = 0; i < grouped; i++) {
		int seen = 0;

		for (int j = 0; j < i; j++)
			seen |= group[j].stream == group[i].stream;
		if (!seen && submit(group[i]))
			return ncclInvalidArgument;
	}
	for (int i = 0; i < grouped; i++)
		announce_buffers(calls[i], group[i].comm, group[i]);
	announce_end();
	grouped = 0;
	return ncclSuccess;
}

ncclResult_t ncclAllReduce(const void *from, void *to, size_t count, ncclDataType_t type,
	ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream)
{
	return enqueue({ "AllReduce", count, type, 0, from, to }, from, to, comm, stream);
}

ncclResult_t ncclAllGather(const void *from, void *to, size_t count, ncclDataType_t type,
	ncclComm_t comm, cudaStream_t stream)
{
	return enqueue({ "AllGather", count, type, 0, from, to }, from,
		(char *)to + comm->rank * count * 4, comm, stream);
}

ncclResult_t ncclReduceScatter(const void *from, void *to, size_t count, ncclDataType_t type,
	ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream)
{
	return enqueue({ "ReduceScatter", count, type, 0, from, to },
		(const char *)from + comm->rank * count * 4, to, comm, stream);
}

ncclResult_t ncclBroadcast(const void *from, void *to, size_t count, ncclDataType_t type, int root,
	ncclComm_t comm, cudaStream_t stream)
{
	return enqueue({ "Broadcast", count, type, root, from, to }, from, to, comm, stream);
}

// As NCCL's own: through the exported function.
ncclResult_t ncclBcast(void *buffer, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
	cudaStream_t stream)
{
	return ncclBroadcast(buffer, buffer, count, type, root, comm, stream);
}

ncclResult_t ncclReduce(const void *from, void *to, size_t count, ncclDataType_t type,
	ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream)
{
	return enqueue({ "Reduce", count, type, root, from, to }, from,
		comm->rank == root ? to : NULL, comm, stream);
}

ncclResult_t ncclSend(const void *from, size_t count, ncclDataType_t type, int peer,
	ncclComm_t comm, cudaStream_t stream)
{
	return enqueue({ "Send", count, type, peer, from, NULL, true }, from, NULL, comm, stream);
}

ncclResult_t ncclRecv(void *to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
	cudaStream_t stream)
{
	return enqueue({ "Recv", count, type, peer, NULL, to, true }, NULL, to, comm, stream);
}
}
