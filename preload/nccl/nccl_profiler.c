/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NCCL's profiler interface, version 5 (NCCL 2.28 and later; NCCL's ext-profiler/README.md): for an
 * NCCL that is linked into the program, whose calls reach no wrapper.  NCCL loads this library as
 * its plugin if NCCL_PROFILER_PLUGIN names it.  Where wrappers see the calls it asks for no events.
 *
 * NCCL announces, on the thread of the program: a group, which a call outside of ncclGroupStart is
 * by itself; each collective or message in it, with its stream; once the kernel was launched, the
 * same with its buffers; the group's end.  There the calls are recorded as the wrappers do.  Where
 * NCCL launches on a thread of its own (ncclConfig_t.blocking = 0) and in captures, buffers stay
 * unknown.  The reduction is not announced.
 */
#include <string.h>
#include <strings.h>

#include "nccl.h"

enum { GROUPS = 64, GROUP_MOST = 32 };

/* ncclProfile... */
enum {
	EVENT_COLLECTIVE = 1 << 1,
	EVENT_MESSAGE = 1 << 2,
	EVENT_GROUP_CALL = 1 << 8,
	EVENT_COLLECTIVE_CALL = 1 << 9,
	EVENT_MESSAGE_CALL = 1 << 10,
};

/* ncclProfilerEventDescr_v5_t, as far as it is read. */
struct event {
	uint64_t type;
	void *parent;
	int rank;
	union {
		struct {
			const char *function;
			size_t count;
			const char *datatype;
			int root;
			CUstream stream;
		} collective_call;
		struct {
			const char *function;
			size_t count;
			const char *datatype;
			CUstream stream;
		} message_call;
		struct {
			uint64_t sequence;
			const char *function;
			const void *from;
			void *to;
		} collective;
		struct {
			const char *function;
			void *buffer;
			const char *datatype;
			size_t count;
			int peer;
		} message;
	};
};

/* ncclProfiler_v5_t */
struct profiler {
	const char *name;
	ncclResult_t (*init)(void **context, uint64_t identity, int *events, const char *name,
		int nodes, int ranks, int rank, void (*log)(void));
	ncclResult_t (*start)(void *context, void **handle, const struct event *event);
	ncclResult_t (*stop)(void *handle);
	ncclResult_t (*state)(void *handle, int state, void *arguments);
	ncclResult_t (*finalize)(void *context);
};

/* Handles are numbers: one of another thread, or of a group that has ended, is not found. */
static struct {
	_Atomic uint64_t handles, communicators;
} profiler;

/* A group in progress.  Threads share them: what is a thread's own takes from the least stack. */
static struct group {
	_Atomic int taken;
	uintptr_t handle;
	uint32_t count; /* calls so far, also those beyond GROUP_MOST */
	struct {
		uintptr_t handle;
		struct nccl_announced call;
	} part[GROUP_MOST];
} groups[GROUPS];

/* NULL: none, or there was no room, and its calls are not recorded. */
static __thread struct group *group;

static uintptr_t new_handle(void)
{
	return (uintptr_t)atomic_fetch_add(&profiler.handles, 1) + 1;
}

static ncclResult_t start_communicator(void **context, uint64_t identity, int *events,
	const char *name, int nodes, int ranks, int rank, void (*log)(void))
{
	uint64_t number = atomic_fetch_add(&profiler.communicators, 1) + 1;
	struct nccl_communicator made = { number, nccl_announced_identity(identity), ranks, rank,
		-1 };

	*context = (void *)(uintptr_t)number;
	*events = 0;
	if (nccl_is_wrapped())
		return NCCL_SUCCESS;
	*events = EVENT_GROUP_CALL | EVENT_COLLECTIVE_CALL | EVENT_MESSAGE_CALL | EVENT_COLLECTIVE |
		EVENT_MESSAGE;
	nccl_record_communicator(&made, __builtin_frame_address(0));
	return NCCL_SUCCESS;
}

static ncclResult_t end_communicator(void *context)
{
	if (!nccl_is_wrapped())
		nccl_record_end((ncclComm_t)context, __builtin_frame_address(0));
	return NCCL_SUCCESS;
}

/* "ncclFloat32"; -1: unknown. */
static int datatype_of(const char *name)
{
	/* As ncclDataType_t numbers them. */
	static const char *const names[] = { "Int8", "Uint8", "Int32", "Uint32", "Int64", "Uint64",
		"Float16", "Float32", "Float64", "Bfloat16", "Float8e4m3", "Float8e5m2" };

	for (int i = 0; name && i < (int)(sizeof(names) / sizeof(*names)); i++)
		if (!strncmp(name, "nccl", 4) && !strcasecmp(name + 4, names[i]))
			return i;
	return -1;
}

static void *begin_group(void)
{
	for (int i = 0; i < GROUPS && !group; i++)
		if (!atomic_exchange(&groups[i].taken, 1))
			group = &groups[i];
	if (!group)
		return NULL;
	group->handle = new_handle();
	group->count = 0;
	return (void *)group->handle;
}

/* Returns its handle.  Calls for which there is no room are counted only. */
static void *add_call(const char *function, struct nccl_announced call)
{
	uint32_t at = group ? group->count++ : GROUP_MOST;

	call.function = nccl_function_named(function);
	call.began = nccl_now();
	if (at >= GROUP_MOST) {
		nccl_count_call(&call);
		return NULL;
	}
	group->part[at].handle = new_handle();
	group->part[at].call = call;
	return (void *)group->part[at].handle;
}

/* NULL: it is another thread's, or there was no room. */
static struct nccl_announced *call_of(const void *handle)
{
	for (uint32_t i = 0; group && handle && i < group->count && i < GROUP_MOST; i++)
		if (group->part[i].handle == (uintptr_t)handle)
			return &group->part[i].call;
	return NULL;
}

static void note_buffers(struct nccl_announced *call, const void *from, void *to)
{
	if (!call)
		return;
	call->from = from;
	call->to = to;
	call->has_buffers = 1;
}

static void note_message(struct nccl_announced *call, void *buffer, int peer)
{
	note_buffers(call, buffer, buffer);
	if (call)
		call->peer = peer;
}

static ncclResult_t start_event(void *context, void **handle, const struct event *event)
{
	struct nccl_announced call = { .comm = context, .peer = -1 };

	*handle = NULL;
	switch (event->type) {
	case EVENT_GROUP_CALL:
		*handle = begin_group();
		break;
	case EVENT_COLLECTIVE_CALL:
		call.count = event->collective_call.count;
		call.datatype = datatype_of(event->collective_call.datatype);
		call.peer = event->collective_call.root;
		call.stream = event->collective_call.stream;
		*handle = add_call(event->collective_call.function, call);
		break;
	case EVENT_MESSAGE_CALL:
		call.count = event->message_call.count;
		call.datatype = datatype_of(event->message_call.datatype);
		call.stream = event->message_call.stream;
		*handle = add_call(event->message_call.function, call);
		break;
	case EVENT_COLLECTIVE:
		note_buffers(call_of(event->parent), event->collective.from, event->collective.to);
		break;
	case EVENT_MESSAGE:
		note_message(call_of(event->parent), event->message.buffer, event->message.peer);
		break;
	default:
		break;
	}
	return NCCL_SUCCESS;
}

static ncclResult_t stop_event(void *handle)
{
	struct group *ended = group;
	uint32_t kept;

	if (!handle || !ended || (uintptr_t)handle != ended->handle)
		return NCCL_SUCCESS;
	kept = ended->count < GROUP_MOST ? ended->count : GROUP_MOST;
	for (uint32_t i = 0; i < kept; i++)
		nccl_record_call(&ended->part[i].call, ended->count > 1,
			__builtin_frame_address(0));
	if (ended->count > 1)
		nccl_record_group(ended->count, ended->part[kept - 1].call.began,
			__builtin_frame_address(0));
	group = NULL;
	ended->taken = 0;
	return NCCL_SUCCESS;
}

static ncclResult_t ignore_state(void *handle, int state, void *arguments)
{
	return NCCL_SUCCESS;
}

extern const struct profiler ncclProfiler_v5;
__attribute__((visibility("default"))) const struct profiler ncclProfiler_v5 = { "cufence",
	start_communicator, start_event, stop_event, ignore_state, end_communicator };
