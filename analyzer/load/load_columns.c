/* SPDX-License-Identifier: Apache-2.0 */
#include "load_columns.h"

#include <string.h>

#include "run_build.h"

static uint32_t id_of(int64_t row)
{
	return row == DB_NULL ? 0 : (uint32_t)row;
}

static int64_t time_of(int64_t at)
{
	return at == DB_NULL ? RUN_NEVER : at;
}

static int64_t field(const struct loaded_call *call, enum field_kind kind, int64_t otherwise)
{
	const struct call_fields *fields = &call->fields;

	return fields->present & 1ull << kind ? (int64_t)fields->value[kind] : otherwise;
}

/* As the names of memory in table call are read. */
static uint8_t memory_of(unsigned kind)
{
	switch (kind) {
	case MEMORY_ARRAY:
	case MEMORY_DEVICE_STATIC:
		return MEMORY_DEVICE;
	case MEMORY_MANAGED_STATIC:
		return MEMORY_MANAGED;
	default:
		return kind <= MEMORY_MANAGED ? (uint8_t)kind : MEMORY_UNKNOWN;
	}
}

static enum call_kind kind_of(const struct call_type_record *type)
{
	if (type->runtime)
		return KIND_RUNTIME;
	return type->kind < KIND_COUNT ? type->kind : KIND_OTHER;
}

static void fill_payload(struct run_payload *payload, const struct loader *loader,
	const struct loaded_call *call)
{
	payload->ptr = field(call, FIELD_ptr, 0);
	payload->bytes = loader_bytes_of(call);
	if (payload->bytes == DB_NULL)
		payload->bytes = 0;
	payload->grid = (uint64_t)field(call, FIELD_grid, 0);
	payload->block = (uint64_t)field(call, FIELD_block, 0);
	payload->result = call->returned ? ((const struct call_record *)call->record)->result : 0;
	payload->process = (uint32_t)loader->process;
	payload->context = call->context;
	payload->event = (uint32_t)call->event;
	payload->kernel = call->kernel;
	payload->src = memory_of(call->src_memory);
	payload->dst = memory_of(call->dst_memory);
	payload->pageable =
		run_pageable(payload, field(call, FIELD_dst, 0), field(call, FIELD_src, 0));
}

int loader_keep_call(struct loader *loader, const struct loaded_call *call, int64_t enter,
	int64_t exit, int64_t site)
{
	struct run_call_facts facts;

	if (!loader->db->run)
		return 0;
	memset(&facts, 0, sizeof(facts));
	facts.id = (uint32_t)(loader->call + call->number);
	facts.parent = call->parent ? (uint32_t)(loader->call + call->parent) : 0;
	facts.site = id_of(site);
	facts.thread = call->thread;
	facts.stream = call->stream ? (uint32_t)(loader->stream + call->stream) : 0;
	facts.type = (uint32_t)call->type->id;
	facts.kind = kind_of(call->type->record);
	facts.enter = enter;
	facts.exit = time_of(exit);
	facts.returned = call->returned;
	facts.direction = field(call, FIELD_direction, COPY_DEFAULT);
	fill_payload(&facts.payload, loader, call);
	return run_add_call(loader->db->run, &facts);
}

static enum work_kind work_kind_of(const struct device_record *device)
{
	switch (device->kind) {
	case DEVICE_KERNEL:
		return WORK_KERNEL;
	case DEVICE_MEMCPY:
		return WORK_MEMCPY;
	case DEVICE_MEMSET:
		return WORK_MEMSET;
	case DEVICE_PEER:
		return WORK_PEER;
	case DEVICE_GRAPH:
		return WORK_GRAPH;
	default:
		return WORK_OTHER;
	}
}

int loader_keep_operation(struct loader *loader, const struct device_record *device,
	const struct loaded_call *call, int64_t start, int64_t end, int64_t context, int64_t stream)
{
	struct run_work_facts facts;

	if (!loader->db->run)
		return 0;
	memset(&facts, 0, sizeof(facts));
	facts.id = (uint32_t)loader->operation;
	facts.call = call ? (uint32_t)(loader->call + call->number) : 0;
	facts.start = time_of(start);
	facts.end = time_of(end);
	facts.where.process = (uint32_t)loader->process;
	facts.where.context = id_of(context);
	facts.where.stream = id_of(stream);
	facts.where.device = device->device;
	facts.where.kind = (uint8_t)work_kind_of(device);
	if (device->kind == DEVICE_MEMCPY)
		facts.where.copy_kind = device->detail;
	return run_add_work(loader->db->run, &facts);
}

static enum operand_role role_of(const char *name)
{
	switch (name[0]) {
	case 'd':
		return OPERAND_DST;
	case 's':
		return OPERAND_SRC;
	case 'w':
		return OPERAND_WORD;
	case 'n':
		return OPERAND_NODE;
	}
	return OPERAND_OTHER;
}

int loader_keep_operand(struct loader *loader, int64_t call, const char *role, int64_t offset,
	uint64_t address, int64_t allocation)
{
	struct run_operand row = {
		.call = (uint32_t)call,
		.allocation = (uint32_t)allocation,
		.address = (int64_t)address,
		.role = role_of(role),
		.offset = offset == DB_NULL ? UINT32_MAX : (uint32_t)offset,
	};

	return loader->db->run ? run_add_operand(loader->db->run, &row) : 0;
}

int loader_keep_launch(struct loader *loader, int64_t call, int64_t shape)
{
	return loader->db->run ? run_add_launch(loader->db->run, (uint32_t)call, (uint32_t)shape)
			       : 0;
}
