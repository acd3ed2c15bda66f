/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the trace of an invented program, call by call: one context of one device, blocking
 * streams, events and threads by number, each submission with its operation.  Host time passes by
 * the call.  Operations start when their stream, the events it waits for and the legacy stream
 * allow it, however many run at once.  A wait returns when the work it waits for has ended.  Exits
 * after a message if the file cannot be written.
 *
 *	struct maker *maker = maker_new("a.cft", threads, streams, events);
 *	MAKE(maker, .call = CALL_cuStreamCreate, .stream = 3);
 *	MAKE(maker, .call = CALL_cuLaunchKernel, .stream = 3, .kernel = 2, .pointer = { a, b });
 *	maker_finish(maker);
 */
#ifndef CUFENCE_BENCH_MAKER_H
#define CUFENCE_BENCH_MAKER_H

#include <stdint.h>

#include "calls.h"
#include "record.h"

/* Kernels, whose code is in the trace: number N, from 1 on, stores 64 KiB at its first pointer and
 * loads as much at each of N - 1 others. */
enum {
	MAKER_KERNELS = 20,
	MAKER_BYTES = 65536,
	MAKER_GRID = 64,
	MAKER_BLOCK = 256,
	MAKER_SITES = 72,
	MAKER_OPERATION_NS = 60000
};

struct made {
	unsigned call;           /* enum call_id */
	unsigned thread, stream; /* stream 0: the legacy stream */
	unsigned kernel;         /* of a launch: it has so many pointers */
	uint64_t pointer[MAKER_KERNELS];
	enum device_kind runs; /* its operation, 0: none; of launches it is known */
	unsigned event;        /* from 1 on */
	uint64_t ptr, dst, src, bytes, graph, node, exec;
	int from_host, to_host; /* of a copy */
	int not_ready;          /* of a query */
	int waits;              /* until the work of its stream has ended */
	unsigned site;          /* from 1 to MAKER_SITES; 0: the one of its kind of call */
	uint64_t ns;            /* how long its operation runs; 0: MAKER_OPERATION_NS */
	uint64_t ranks, rank;   /* of a communicator of NCCL that is made: there is one */
	uint64_t sequence;      /* of a collective, whose kernel is the launch before it */
};

struct maker;

struct maker *maker_new(const char *path, unsigned threads, unsigned streams, unsigned events);

/* Of a process by number, each of which has a device of its own; maker_new() is of the first, 0. */
struct maker *maker_new_process(const char *path, unsigned number, unsigned threads,
	unsigned streams, unsigned events);
void maker_call(struct maker *maker, const struct made *made);
void maker_finish(struct maker *maker);

#define MAKE(maker, ...) maker_call(maker, &(struct made){ __VA_ARGS__ })

#endif
