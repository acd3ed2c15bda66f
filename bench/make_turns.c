/* SPDX-License-Identifier: Apache-2.0 */
/*
 * make_turns CALLS FILE [RANK RANKS]: the trace of an invented training loop, for bench/many,
 * bench/ranks and tests of long runs.  A turn has 64 calls of one thread.  Three workers, each with
 * a stream, get a batch, launch ten kernels and record an event.  A fourth stream waits for two of
 * the events (the third is forgotten: a missing fence), reduces what they left, and copies the
 * result to the host, which waits for it.  Memory is freed between the first worker's and the
 * others' (blocking-free); at the end the device is synchronized.  Kernels last 5 to 15 us by
 * chance.  One of several ranks reduces the result with the others before it copies it; all of them
 * come at the same time.  RANKS 0: a process that has a device of its own, and no ranks.
 */
#include <stdio.h>
#include <stdlib.h>

#include "maker.h"

#define BUFFER 0x700000000000ull
#define PINNED 0x600000000000ull
#define ROOM (1u << 20) /* from one buffer to the next */

enum { WORKERS = 3, REDUCER = 4, LAUNCHES = 10, TEMPORARY = 2 * REDUCER + 1 };

static uint64_t chance = 88172645463325252;

/* xorshift, G. Marsaglia 2003 */
static uint64_t length(void)
{
	chance ^= chance << 13;
	chance ^= chance >> 7;
	chance ^= chance << 17;
	return 5000 + chance % 10000;
}

static uint64_t buffer(unsigned number)
{
	return BUFFER + (uint64_t)number * ROOM;
}

static void set_up(struct maker *maker)
{
	for (unsigned i = 1; i <= REDUCER; i++) {
		MAKE(maker, .call = CALL_cuStreamCreate, .stream = i, .site = 65);
		MAKE(maker, .call = CALL_cuEventCreate, .event = i, .site = 65);
	}
	MAKE(maker, .call = CALL_cuMemHostAlloc, .ptr = PINNED, .bytes = 1 << 20, .site = 65);
	for (unsigned i = 0; i < TEMPORARY; i++)
		MAKE(maker, .call = CALL_cuMemAlloc_v2, .ptr = buffer(i), .bytes = ROOM,
			.site = 65);
}

static void work(struct maker *maker, unsigned worker)
{
	unsigned site = 1 + (worker - 1) * (LAUNCHES + 2), own = 2 * worker;

	MAKE(maker, .call = CALL_cuMemcpyHtoDAsync_v2, .stream = worker, .runs = DEVICE_MEMCPY,
		.from_host = 1, .dst = buffer(own), .src = PINNED + worker * 65536, .bytes = 65536,
		.ns = 3000, .site = site++);
	for (unsigned i = 0; i < LAUNCHES; i++)
		MAKE(maker, .call = CALL_cuLaunchKernel, .stream = worker, .kernel = 2,
			.pointer = { buffer(own + (i + 1) % 2), buffer(own + i % 2) },
			.ns = length(), .site = site++);
	MAKE(maker, .call = CALL_cuEventRecord, .event = worker, .stream = worker, .site = site);
}

static void reduce(struct maker *maker, uint64_t collective)
{
	unsigned site = 1 + WORKERS * (LAUNCHES + 2);

	for (unsigned i = 1; i < WORKERS; i++)
		MAKE(maker, .call = CALL_cuStreamWaitEvent, .event = i, .stream = REDUCER,
			.site = site++);
	for (unsigned i = 0; i < 21; i++)
		MAKE(maker, .call = CALL_cuLaunchKernel, .stream = REDUCER, .kernel = 2,
			.pointer = { buffer(0), buffer(2 + 2 * (i % WORKERS)) }, .ns = length(),
			.site = site++);
	if (collective) {
		MAKE(maker, .call = CALL_cuLaunchKernel, .stream = REDUCER, .kernel = 1,
			.pointer = { buffer(0) }, .site = 66);
		MAKE(maker, .call = CALL_ncclAllReduce, .stream = REDUCER, .ptr = buffer(0),
			.bytes = MAKER_BYTES, .sequence = collective, .site = 66);
	}
	MAKE(maker, .call = CALL_cuMemcpyDtoHAsync_v2, .stream = REDUCER, .runs = DEVICE_MEMCPY,
		.to_host = 1, .dst = PINNED, .src = buffer(0), .bytes = 4096, .ns = 2000,
		.site = site++);
	MAKE(maker, .call = CALL_cuStreamSynchronize, .stream = REDUCER, .waits = 1,
		.site = site++);
}

static void turn(struct maker *maker, uint64_t collective)
{
	MAKE(maker, .call = CALL_cuMemAlloc_v2, .ptr = buffer(TEMPORARY), .bytes = ROOM,
		.site = 62);
	work(maker, 1);
	MAKE(maker, .call = CALL_cuMemFree_v2, .ptr = buffer(TEMPORARY), .waits = 1, .site = 63);
	for (unsigned worker = 2; worker <= WORKERS; worker++)
		work(maker, worker);
	reduce(maker, collective);
	MAKE(maker, .call = CALL_cuCtxSynchronize, .waits = 1, .site = 64);
}

int main(int argc, char **argv)
{
	uint64_t calls = argc == 3 || argc == 5 ? strtoull(argv[1], NULL, 10) : 0;
	uint64_t rank = argc == 5 ? strtoull(argv[3], NULL, 10) : 0;
	uint64_t ranks = argc == 5 ? strtoull(argv[4], NULL, 10) : 0, turns = 0;
	struct maker *maker;

	if (!calls) {
		fputs("usage: make_turns CALLS FILE [RANK RANKS] (of a file that does not exist)\n",
			stderr);
		return 2;
	}
	maker = maker_new_process(argv[2], (unsigned)rank, 1, REDUCER, REDUCER);
	set_up(maker);
	if (ranks)
		MAKE(maker, .call = CALL_ncclCommInitRank, .ranks = ranks, .rank = rank,
			.site = 65);
	for (uint64_t made = 0; made < calls; made += ranks ? 66 : 64)
		turn(maker, ranks ? ++turns : 0);
	maker_finish(maker);
	return 0;
}
