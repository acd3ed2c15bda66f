/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives of NCCL.  The record of a call is written when it returns, and says when it was
 * entered: launches of its thread in between are its own.  Those in a group are submitted by
 * ncclGroupEnd, with one kernel or a few for each stream; their buffers become operands of each.
 *
 * As a launch comes before the record of the collective, these are noted during the scan.
 */
#include "loader.h"

#include <stdlib.h>

#include "load_accept.h"
#include "memory.h"

struct communicator {
	uint64_t handle, identity;
	int64_t ranks, rank, device;
	uint32_t created, destroyed; /* numbers of calls */
};

struct collective {
	const struct record *record;
	struct call_fields fields;
	uint32_t call;       /* number; 0: left out, or refused */
	size_t communicator; /* index + 1 */
	uint32_t launch;     /* number of the call, 0: none */
	int64_t operation;   /* row, 0: none */
	int captured;
};

/* One call that submits collectives. */
struct submission {
	uint64_t began, returned; /* ticks */
	size_t first, count;      /* of the thread's collectives */
	int known;                /* all of them were recorded, with their sizes */
};

struct thread_collectives {
	struct collective *collective;
	size_t count, submitted; /* submitted: those before are in a submission */
	struct submission *submission;
	size_t submissions;
	size_t next_collective, next_submission; /* in order of entry */
};

struct nccl {
	struct communicator *communicator;
	size_t communicator_count;
	struct map handles;                /* handle -> communicator, index + 1 */
	struct thread_collectives *thread; /* by row - threads before this process - 1 */
	size_t thread_count;
};

static int64_t or_null(int64_t number)
{
	return number < 0 ? DB_NULL : number;
}

static int is_size(uint64_t bytes)
{
	return bytes < SIZE_MOST;
}

static struct nccl *nccl_of(struct loaded_process *p)
{
	if (!p->nccl)
		p->nccl = xcalloc(1, sizeof(*p->nccl));
	return p->nccl;
}

/* The collectives of a thread, by its row; NULL: it has none. */
static struct thread_collectives *collectives_of(const struct loader *loader, uint32_t thread)
{
	const struct nccl *nccl = loader->p.nccl;
	size_t index = thread - (size_t)loader->thread - 1;

	return nccl && index < nccl->thread_count ? &nccl->thread[index] : NULL;
}

static struct thread_collectives *need_collectives(struct loader *loader, uint32_t thread)
{
	struct nccl *nccl = nccl_of(&loader->p);

	while (!collectives_of(loader, thread))
		*array_push(nccl->thread, nccl->thread_count) = (struct thread_collectives){ 0 };
	return collectives_of(loader, thread);
}

static void submit(struct thread_collectives *thread, const struct call_record *record,
	uint64_t began, size_t count)
{
	struct submission *made = array_push(thread->submission, thread->submissions);

	*made = (struct submission){ .began = began,
		.returned = record->enter,
		.first = thread->submitted,
		.count = thread->count - thread->submitted,
		.known = count == thread->count - thread->submitted };
	for (size_t i = thread->submitted; i < thread->count; i++) {
		const uint64_t *value = thread->collective[i].fields.value;

		made->known &=
			is_size(value[FIELD_send_bytes]) && is_size(value[FIELD_receive_bytes]);
	}
	thread->submitted = thread->count;
}

void loader_note_collective(struct loader *loader, uint32_t thread,
	const struct call_record *record)
{
	const struct call_type_record *type = loader->p.type[record->call].record;
	struct call_fields fields = { 0 };
	struct thread_collectives *own;

	if (!type || type->kind >= KIND_COUNT || kind_family(type->kind) != FAMILY_collective ||
		record->result)
		return;
	own = need_collectives(loader, thread);
	for (unsigned i = 0; i < type->field_count; i++)
		if ((uint8_t)type->data[i] < FIELD_KIND_COUNT)
			fields.value[(uint8_t)type->data[i]] = record->field[i];
	if (type->kind == KIND_GROUP_END)
		submit(own, record, fields.value[FIELD_began], fields.value[FIELD_elements]);
	if (type->kind != KIND_COLLECTIVE)
		return;
	*array_push(own->collective, own->count) =
		(struct collective){ .record = &record->head, .fields = fields };
	if (!(fields.value[FIELD_flags] & COLLECTIVE_GROUPED))
		submit(own, record, fields.value[FIELD_began], 1);
}

/* --- launches --- */

static struct submission *submission_of(const struct loader *loader, const struct loaded_call *call)
{
	struct thread_collectives *thread = collectives_of(loader, call->thread);
	struct submission *next;

	if (!thread || call->kind != KIND_LAUNCH || call->failed)
		return NULL;
	while (thread->next_submission < thread->submissions &&
		thread->submission[thread->next_submission].returned <= call->enter)
		thread->next_submission++;
	if (thread->next_submission == thread->submissions)
		return NULL;
	next = &thread->submission[thread->next_submission];
	return next->began <= call->enter ? next : NULL;
}

static int is_in_stream(const struct collective *collective, const struct loaded_call *call)
{
	return collective->fields.value[FIELD_stream] == call->fields.value[FIELD_stream];
}

/*
 * NCCL may run a group of several streams in one of them, for which the others wait: such kernels
 * are nobody's.
 */
int loader_write_buffers(struct loader *loader, const struct loaded_call *call)
{
	const struct submission *submission = submission_of(loader, call);
	int rc = 0;

	for (size_t i = 0; submission && submission->known && i < submission->count && !rc; i++) {
		const struct collective *collective =
			&collectives_of(loader, call->thread)->collective[submission->first + i];
		const uint64_t *value = collective->fields.value;

		if (!is_in_stream(collective, call))
			continue;
		if (value[FIELD_send_bytes])
			rc = loader_write_buffer(loader, call, 0, (int64_t)i, value[FIELD_send],
				value[FIELD_send_bytes]);
		if (value[FIELD_receive_bytes] && !rc)
			rc = loader_write_buffer(loader, call, 1, (int64_t)i, value[FIELD_receive],
				value[FIELD_receive_bytes]);
	}
	return rc;
}

/* Row of the kernel of the call, whose operations were written last; 0: none. */
static int64_t kernel_of(const struct loader *loader)
{
	const struct loaded_process *p = &loader->p;
	size_t operations = 0;

	for (size_t i = 0; i < p->taken_count; i++)
		operations += p->taken[i]->kind != DEVICE_OVERHEAD;
	return operations == 1 ? loader->operation : 0;
}

static void note_launch(struct loader *loader, const struct loaded_call *call)
{
	const struct submission *submission = submission_of(loader, call);

	for (size_t i = 0; submission && i < submission->count; i++) {
		struct collective *collective =
			&collectives_of(loader, call->thread)->collective[submission->first + i];

		if (!is_in_stream(collective, call))
			continue;
		collective->launch = call->number;
		collective->captured = loader_is_captured(loader, call);
		collective->operation = kernel_of(loader);
	}
}

/* --- communicators --- */

static struct communicator *new_communicator(struct nccl *nccl, uint64_t handle)
{
	struct communicator *made = array_push(nccl->communicator, nccl->communicator_count);

	*made = (struct communicator){ .handle = handle, .ranks = -1, .rank = -1, .device = -1 };
	map_set(&nccl->handles, handle, nccl->communicator_count);
	return made;
}

static void make_communicator(struct nccl *nccl, const struct loaded_call *call)
{
	const uint64_t *value = call->fields.value;
	struct communicator *made = new_communicator(nccl, value[FIELD_handle]);

	made->identity = value[FIELD_name];
	made->ranks = (int32_t)value[FIELD_ranks];
	made->rank = (int32_t)value[FIELD_peer];
	made->device = (int32_t)value[FIELD_device];
	made->created = call->number;
}

static void end_communicator(struct nccl *nccl, const struct loaded_call *call)
{
	uint64_t known = map_get(&nccl->handles, call->fields.value[FIELD_handle], 0);

	if (known && !nccl->communicator[known - 1].destroyed)
		nccl->communicator[known - 1].destroyed = call->number;
}

static void take_collective(struct loader *loader, const struct loaded_call *call)
{
	struct thread_collectives *thread = collectives_of(loader, call->thread);
	struct nccl *nccl = loader->p.nccl;
	uint64_t handle = call->fields.value[FIELD_handle];
	size_t at = thread ? thread->next_collective : 0;

	while (thread && at < thread->count && thread->collective[at].record != call->record)
		at++;
	if (!thread || at == thread->count)
		return;
	thread->next_collective = at + 1;
	if (!map_get(&nccl->handles, handle, 0))
		new_communicator(nccl, handle);
	thread->collective[at].communicator = (size_t)map_get(&nccl->handles, handle, 0);
	thread->collective[at].call = call->number;
}

void loader_take_collective(struct loader *loader, const struct loaded_call *call)
{
	if (call->failed)
		return;
	switch (call->kind) {
	case KIND_LAUNCH:
		note_launch(loader, call);
		break;
	case KIND_COMMUNICATOR:
		make_communicator(nccl_of(&loader->p), call);
		break;
	case KIND_COMMUNICATOR_END:
		end_communicator(nccl_of(&loader->p), call);
		break;
	case KIND_COLLECTIVE:
		take_collective(loader, call);
		break;
	default:
		break;
	}
}

/* --- rows --- */

/* ncclInt8 to ncclFloat8e5m2 */
static const char *const types[] = { "int8", "uint8", "int32", "uint32", "int64", "uint64",
	"float16", "float32", "float64", "bfloat16", "float8e4m3", "float8e5m2" };

/* A damaged record may say any time. */
static int64_t began_at(struct loader *loader, const struct collective *collective)
{
	const struct call_record *record = (const struct call_record *)collective->record;
	int64_t began = clock_host_ns(&loader->p.clock, collective->fields.value[FIELD_began]);
	int64_t returned = loader_host_time(loader, record->enter);

	return began == CLOCK_NONE || began > returned ? returned : began;
}

static int write_collective(struct loader *loader, const struct collective *collective)
{
	const uint64_t *value = collective->fields.value;
	uint64_t sequence = value[FIELD_value], type = value[FIELD_type];
	uint64_t elements = value[FIELD_elements];

	return db_add(loader->db,
		ROW(collective, DB_NULL, loader->process,
			loader->communicator + (int64_t)collective->communicator,
			sequence && sequence <= UINT32_MAX ? (int64_t)sequence : DB_NULL,
			loader->call + collective->call, began_at(loader, collective),
			collective->launch ? loader->call + collective->launch : DB_NULL,
			cell_id(collective->operation), collective->captured,
			is_size(elements) ? (int64_t)elements : (int64_t)SIZE_MOST,
			cell_text(type < sizeof(types) / sizeof(*types) ? types[type] : NULL),
			COLLECTIVE_REDUCTION(value[FIELD_flags]),
			or_null((int32_t)value[FIELD_peer]),
			is_size(value[FIELD_send_bytes]) ? (int64_t)value[FIELD_send_bytes]
							 : DB_NULL,
			is_size(value[FIELD_receive_bytes]) ? (int64_t)value[FIELD_receive_bytes]
							    : DB_NULL));
}

static int write_communicator(struct loader *loader, const struct communicator *made, int64_t row)
{
	return db_add(loader->db,
		ROW(communicator, row, loader->process, made->handle,
			made->identity ? (int64_t)made->identity : DB_NULL, or_null(made->ranks),
			or_null(made->rank), or_null(made->device),
			made->created ? loader->call + made->created : DB_NULL,
			made->destroyed ? loader->call + made->destroyed : DB_NULL));
}

int loader_write_collectives(struct loader *loader)
{
	struct nccl *nccl = loader->p.nccl;
	int rc = 0;

	for (size_t i = 0; nccl && i < nccl->communicator_count && !rc; i++)
		rc = write_communicator(loader, &nccl->communicator[i],
			loader->communicator + (int64_t)i + 1);
	for (size_t i = 0; nccl && i < nccl->thread_count; i++)
		for (size_t j = 0; j < nccl->thread[i].count && !rc; j++)
			if (nccl->thread[i].collective[j].call)
				rc = write_collective(loader, &nccl->thread[i].collective[j]);
	if (nccl)
		loader->communicator += (int64_t)nccl->communicator_count;
	return rc;
}

void loader_release_collectives(struct loaded_process *p)
{
	struct nccl *nccl = p->nccl;

	if (!nccl)
		return;
	for (size_t i = 0; i < nccl->thread_count; i++) {
		free(nccl->thread[i].collective);
		free(nccl->thread[i].submission);
	}
	map_release(&nccl->handles);
	free(nccl->communicator);
	free(nccl->thread);
	free(nccl);
	p->nccl = NULL;
}
