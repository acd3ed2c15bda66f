/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nccl_own LIBRARY: NCCL as if it were linked into the program: its functions are found by libc's
 * own dlsym, so that no recorder sees the calls.  All devices reduce, alone and in a group with a
 * broadcast, ten times.  Prints what is wrong with the results.
 */
#define _GNU_SOURCE /* dlvsym */
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>

enum { DEVICES = 8, COUNT = 1 << 18, TIMES = 10, FLOAT32 = 7, SUM = 0 };

typedef struct ncclComm *comm;
static int (*init_all)(comm *comms, int count, const int *devices);
static int (*destroy)(comm);
static int (*start)(void), (*end)(void);
static int (*all_reduce)(const void *, void *, size_t, int, int, comm, CUstream);
static int (*broadcast)(const void *, void *, size_t, int, int, comm, CUstream);

static struct {
	CUcontext context;
	CUdeviceptr from, to;
	CUstream stream;
} rank[DEVICES];

static int bad;

static void *find(void *library, const char *name)
{
	void *libc = dlopen("libc.so.6", RTLD_LAZY);
	void *(*real)(void *, const char *) = NULL;

	*(void **)&real = dlvsym(libc, "dlsym", "GLIBC_2.34");
	if (!real)
		*(void **)&real = dlvsym(dlopen("libdl.so.2", RTLD_LAZY), "dlsym", "GLIBC_2.2.5");
	return real ? real(library, name) : NULL;
}

static int find_all(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	*(void **)&init_all = find(library, "ncclCommInitAll");
	*(void **)&destroy = find(library, "ncclCommDestroy");
	*(void **)&start = find(library, "ncclGroupStart");
	*(void **)&end = find(library, "ncclGroupEnd");
	*(void **)&all_reduce = find(library, "ncclAllReduce");
	*(void **)&broadcast = find(library, "ncclBroadcast");
	return library && init_all && destroy && start && end && all_reduce && broadcast;
}

static void make(int i)
{
	bad |= cuDevicePrimaryCtxRetain(&rank[i].context, i) | cuCtxSetCurrent(rank[i].context) |
		cuMemAlloc(&rank[i].from, COUNT * 4) | cuMemAlloc(&rank[i].to, COUNT * 4) |
		cuStreamCreate(&rank[i].stream, CU_STREAM_NON_BLOCKING) |
		cuMemsetD32(rank[i].from, 0x3f800000, COUNT); /* 1.0 */
}

static void communicate(int count, comm *comms)
{
	bad |= start();
	for (int i = 0; i < count; i++)
		bad |= cuCtxSetCurrent(rank[i].context) |
			all_reduce((void *)rank[i].from, (void *)rank[i].to, COUNT, FLOAT32, SUM,
				comms[i], rank[i].stream);
	bad |= end() | start();
	for (int i = 0; i < count; i++)
		bad |= broadcast((void *)rank[i].to, (void *)rank[i].to, COUNT / 2, FLOAT32, 0,
			       comms[i], rank[i].stream) |
			all_reduce((void *)rank[i].from, (void *)rank[i].from, COUNT / 4, FLOAT32,
				SUM, comms[i], rank[i].stream);
	bad |= end();
}

int main(int argc, char **argv)
{
	comm comms[DEVICES];
	float last = 0;
	int count = 0;

	if (argc < 2 || cuInit(0) || cuDeviceGetCount(&count) || !find_all(argv[1]))
		return 2;
	count = count < DEVICES ? count : DEVICES;
	for (int i = 0; i < count; i++)
		make(i);
	bad |= init_all(comms, count, NULL);
	for (int i = 0; i < TIMES; i++)
		communicate(count, comms);
	for (int i = 0; i < count; i++) {
		bad |= cuCtxSetCurrent(rank[i].context) | cuStreamSynchronize(rank[i].stream) |
			cuMemcpyDtoH(&last, rank[i].to + (COUNT - 1) * 4, 4);
		bad |= last != (float)count;
	}
	for (int i = 0; i < count; i++)
		bad |= destroy(comms[i]);
	printf("%d devices, %d wrong\n", count, bad != 0);
	return bad != 0;
}
