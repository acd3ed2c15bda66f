/* SPDX-License-Identifier: Apache-2.0 */
/* The wrappers: a template for calls in general, and one for those that make communicators. */
#include "nccl.h"

#include <string.h>

#include "host.h"

#define EXPORT __attribute__((visibility("default")))

enum { PENDING = 16 };

/* NCCL's groups belong to a thread. */
struct nccl_thread {
	uintptr_t within; /* address of the wrapper's frame, 0: outside of NCCL */
	uint32_t groups;  /* open, nested in each other */
	uint32_t grouped; /* collectives in them */
	uint32_t pending; /* communicators that ncclGroupEnd makes */
	struct {
		ncclComm_t *where;
		uint64_t identity;
		int32_t ranks, rank;
		uint16_t call;
	} made[PENDING];
};
static __thread struct nccl_thread nccl_thread;

/* A call within another one is a part of it: ncclBcast calls ncclBroadcast. */
static int is_within(void *frame_address)
{
	return nccl_thread.within && (uintptr_t)frame_address < nccl_thread.within;
}

static uint64_t nccl_grouped(void)
{
	return nccl_thread.grouped;
}

static uint64_t nccl_flags(int op)
{
	return COLLECTIVE_REDUCTION(op) | (nccl_thread.groups ? COLLECTIVE_GROUPED : 0);
}

static void record(enum call_id id, int result, const uint64_t *field, void *frame_address)
{
	struct call_frame frame;

	if (host_begin(&frame, id, frame_address))
		frame_end(&frame, result, field, call_types[id].field_count);
}

static void record_made(enum call_id id, const struct nccl_communicator *made, void *frame_address)
{
	uint64_t field[] = { made->handle, made->identity, (uint64_t)(int64_t)made->ranks,
		(uint64_t)(int64_t)made->rank, (uint64_t)(int64_t)made->device };

	record(id, 0, field, frame_address);
}

static void add(enum call_id id, struct nccl_communicator *made, void *frame_address)
{
	/* A rank without a color has no communicator. */
	if (!made->handle)
		return;
	nccl_add(made);
	record_made(id, made, frame_address);
}

static void add_pending(void *frame_address)
{
	uint32_t count = nccl_thread.pending;

	nccl_thread.pending = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct nccl_communicator made = { (uint64_t)(uintptr_t)*nccl_thread.made[i].where,
			nccl_thread.made[i].identity, nccl_thread.made[i].ranks,
			nccl_thread.made[i].rank, -1 };

		add((enum call_id)nccl_thread.made[i].call, &made, frame_address);
	}
}

/* In a group the handles are there once the group ends. */
static void make(enum call_id id, int result, ncclComm_t *where, int count, int ranks, int rank,
	uint64_t identity, void *frame_address)
{
	if (result && result != NCCL_IN_PROGRESS)
		return;
	for (int i = 0; where && i < count; i++) {
		struct nccl_communicator made = { .identity = identity,
			.ranks = ranks,
			.rank = rank < 0 && count > 1 ? i : rank,
			.device = -1 };

		if (!nccl_thread.groups) {
			made.handle = (uint64_t)(uintptr_t)where[i];
			add(id, &made, frame_address);
		} else if (nccl_thread.pending < PENDING) {
			uint32_t at = nccl_thread.pending++;

			nccl_thread.made[at].where = &where[i];
			nccl_thread.made[at].identity = identity;
			nccl_thread.made[at].ranks = ranks;
			nccl_thread.made[at].rank = made.rank;
			nccl_thread.made[at].call = (uint16_t)id;
		}
	}
}

/* Notes what follows from a call for the thread and the communicator; 1: it is recorded. */
static ALWAYS_INLINE int note(enum call_kind kind, int result, const uint64_t *field)
{
	switch (kind) {
	case KIND_COLLECTIVE:
		nccl_thread.grouped += nccl_thread.groups && !result;
		return 1;
	case KIND_COMMUNICATOR_END:
		if (!nccl_thread.groups)
			nccl_remove((ncclComm_t)(uintptr_t)field[0]);
		return 1;
	case KIND_GROUP_START:
		nccl_thread.groups += !result;
		return 0;
	case KIND_GROUP_END:
		if (nccl_thread.groups && --nccl_thread.groups)
			return 0;
		nccl_thread.grouped = 0;
		return 1;
	default:
		return 0;
	}
}

static ALWAYS_INLINE void end(enum call_id id, enum call_kind kind, int result,
	const uint64_t *field, void *frame_address)
{
	/* The work is submitted, by another thread. */
	if (result == NCCL_IN_PROGRESS)
		result = NCCL_SUCCESS;
	if (!note(kind, result, field))
		return;
	record(id, result, field, frame_address);
	if (kind == KIND_GROUP_END && nccl_thread.pending && !result)
		add_pending(frame_address);
	if (kind == KIND_GROUP_END)
		nccl_thread.pending = 0;
}

/* Fields are values before the call; number: of fields. */
#define IN(field, expression) (uint64_t)(uintptr_t)(expression),
#define REAL(symbol, params) \
	ncclResult_t(*call_real) params = \
		(ncclResult_t(*) params)nccl_real(NCCL_##symbol, __builtin_return_address(0)); \
	void *call_frame_address = __builtin_frame_address(0); \
	ncclResult_t call_result;

#define NCCL(symbol, params, args, fields, kind) \
	EXPORT ncclResult_t symbol params; \
	ncclResult_t symbol params \
	{ \
		REAL(symbol, params) \
\
		if (!call_real) \
			return NCCL_SYSTEM_ERROR; \
		if (is_within(call_frame_address)) \
			return call_real args; \
		const uint64_t call_field[] = { fields }; \
		nccl_thread.within = (uintptr_t)call_frame_address; \
		call_result = call_real args; \
		nccl_thread.within = 0; \
		end(CALL_##symbol, kind, call_result, call_field, call_frame_address); \
		return call_result; \
	}
#define NCCL_INIT(symbol, params, args, where, count, ranks, rank, identity) \
	EXPORT ncclResult_t symbol params; \
	ncclResult_t symbol params \
	{ \
		REAL(symbol, params) \
\
		if (!call_real) \
			return NCCL_SYSTEM_ERROR; \
		if (is_within(call_frame_address)) \
			return call_real args; \
		const uint64_t call_identity = identity; \
		nccl_thread.within = (uintptr_t)call_frame_address; \
		call_result = call_real args; \
		nccl_thread.within = 0; \
		make(CALL_##symbol, call_result, where, count, ranks, rank, call_identity, \
			call_frame_address); \
		return call_result; \
	}
#include "calls.def"

const struct nccl_entry nccl_entries[NCCL_COUNT] = {
#define NCCL(symbol, params, args, fields, kind) { #symbol, (void *)symbol },
#include "calls.def"
};

/* --- calls that the profiler interface announced --- */

/* The fields of a wrapper's record, from what was announced.  The reduction was not. */
#define ANNOUNCED(type, name, value) __attribute__((unused)) type const name = value;
#define NCCL(symbol, params, args, fields, kind) \
	static void fill_##symbol(const struct nccl_announced *call, uint64_t *field) \
	{ \
		ANNOUNCED(void *, from, (void *)(uintptr_t)call->from) \
		ANNOUNCED(void *, to, call->to) \
		ANNOUNCED(void *, buffer, call->to) \
		ANNOUNCED(size_t, count, call->count) \
		ANNOUNCED(int, datatype, call->datatype) \
		ANNOUNCED(int, op, 0) \
		ANNOUNCED(int, root, call->peer) \
		ANNOUNCED(int, peer, call->peer) \
		ANNOUNCED(ncclComm_t, comm, call->comm) \
		ANNOUNCED(CUstream, stream, call->stream) \
		const uint64_t filled[] = { fields }; \
\
		memcpy(field, filled, sizeof(filled)); \
	}
#define NCCL_INIT(symbol, params, args, where, count, ranks, rank, identity)
#include "calls.def"

static const struct {
	enum call_id id;
	void (*fill)(const struct nccl_announced *call, uint64_t *field);
} rows[NCCL_COUNT] = {
#define NCCL(symbol, params, args, fields, kind) { CALL_##symbol, fill_##symbol },
#define NCCL_INIT(symbol, params, args, where, count, ranks, rank, identity) \
	{ CALL_##symbol, NULL },
#include "calls.def"
};

enum nccl_function nccl_function_named(const char *name)
{
	int i = 0;

	while (i < NCCL_COUNT &&
		(call_types[rows[i].id].kind != KIND_COLLECTIVE || !name ||
			strcmp(nccl_entries[i].name + strlen("nccl"), name)))
		i++;
	return (enum nccl_function)i;
}

void nccl_record_communicator(const struct nccl_communicator *made, void *frame_address)
{
	nccl_follow(made);
	record_made(CALL_ncclCommInitRank, made, frame_address);
}

void nccl_record_end(ncclComm_t comm, void *frame_address)
{
	const uint64_t field[] = { (uint64_t)(uintptr_t)comm };

	nccl_remove(comm);
	record(CALL_ncclCommDestroy, 0, field, frame_address);
}

static void set_field(enum call_id id, uint64_t *field, enum field_kind kind, uint64_t value)
{
	for (unsigned i = 0; i < call_types[id].field_count; i++)
		if (call_types[id].field[i] == kind)
			field[i] = value;
}

void nccl_record_call(const struct nccl_announced *call, int grouped, void *frame_address)
{
	uint64_t field[CALL_MAX_FIELDS];
	enum call_id id;

	if (call->function == NCCL_COUNT)
		return;
	id = rows[call->function].id;
	rows[call->function].fill(call, field);
	set_field(id, field, FIELD_began, call->began);
	set_field(id, field, FIELD_flags, grouped ? COLLECTIVE_GROUPED : 0);
	if (!call->has_buffers) {
		set_field(id, field, FIELD_send_bytes, UINT64_MAX);
		set_field(id, field, FIELD_receive_bytes, UINT64_MAX);
	}
	record(id, 0, field, frame_address);
}

void nccl_record_group(uint64_t count, uint64_t began, void *frame_address)
{
	const uint64_t field[] = { count, began };

	record(CALL_ncclGroupEnd, 0, field, frame_address);
}

void nccl_count_call(const struct nccl_announced *call)
{
	uint64_t field[CALL_MAX_FIELDS];

	if (call->function != NCCL_COUNT)
		rows[call->function].fill(call, field);
}
