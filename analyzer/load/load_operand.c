/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The allocations that a submitting call names: operands of copies and memsets, and parameter words
 * of launches that point into an allocation.  The recorder keeps more words than needed; a word
 * counts only if an allocation alive at the call contains it.
 */
#include "loader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "run_build.h"
#include "unnamed_memory.h"

#define HAS(fields, kind) ((fields)->present & 1ull << FIELD_##kind)

struct operands {
	struct loader *loader;
	int64_t call; /* row */
};

/* One operand of a copy: rows of contiguous bytes, grouped into slices. */
struct extent {
	enum operand_role role;
	int64_t item;
	uint64_t address, bytes, pitch, rows, slice, slices;
	int64_t allocation; /* row, 0: none */
};

/* Returns the row of the allocation that contains an address, 0: none. */
static int64_t allocation_at(struct loader *loader, uint64_t address)
{
	uint32_t life = ranges_find(&loader->p.live_memory, address);

	return life ? loader->allocation + loader->p.allocations.life[life - 1].row : 0;
}

static int add_operand(void *run, void *operand)
{
	return run_add_operand(run, operand);
}

/* Adds the operand to the columns of the run, if they are being filled. */
static int keep_operand(struct loader *loader, int64_t call, enum operand_role role, int64_t offset,
	uint64_t address, int64_t allocation)
{
	struct run_operand *row;

	if (!loader->db->run)
		return 0;
	row = relay_add(loader->relay, add_operand, loader->db->run, sizeof(*row));
	if (!row)
		return -1;
	*row = (struct run_operand){
		.call = (uint32_t)call,
		.allocation = (uint32_t)allocation,
		.address = (int64_t)address,
		.role = role,
		.offset = offset == DB_NULL ? UINT32_MAX : (uint32_t)offset,
	};

	return 0;
}

static int add_row(const struct operands *operands, enum operand_role role, int64_t offset,
	uint64_t address, int64_t allocation)
{
	struct loader *loader = operands->loader;

	return bulk_add(loader->operands,
		       ROW(operand, operands->call, cell_text(operand_roles[role]), offset, address,
			       allocation)) ||
			bulk_add_key(loader->operand_call, operands->call,
				bulk_last(loader->operands)) ||
			keep_operand(loader, operands->call, role, offset, address, allocation)
		? -1
		: 0;
}

static void note_named(struct loaded_process *p, uint64_t address)
{
	if (p->named_count == p->named_room) {
		p->named_room = p->named_room ? 2 * p->named_room : 64;
		p->named = xrealloc(p->named, p->named_room, sizeof(*p->named));
	}
	p->named[p->named_count++] = address;
}

/* offset: DB_NULL for an operand of a copy or memset.  Returns 1 if in an allocation, 0 if not. */
static int add(const struct operands *operands, enum operand_role role, int64_t offset,
	uint64_t address)
{
	int64_t allocation = allocation_at(operands->loader, address);

	if (!allocation)
		return 0;
	if (add_row(operands, role, offset, address, allocation))
		return -1;
	note_named(&operands->loader->p, address);
	return 1;
}

/* A parameter word of a launch, inside an allocation or not. */
static int add_word(const struct operands *operands, uint32_t offset, uint64_t value)
{
	struct loaded_process *p = &operands->loader->p;
	int found = add(operands, OPERAND_WORD, offset, value);

	if (found > 0 && p->pointed_count < sizeof(p->pointed) / sizeof(*p->pointed))
		p->pointed[p->pointed_count++] = launch_pointed(offset, value);
	if (!found && p->stray_count < LAUNCH_WORDS_MAX)
		p->stray[p->stray_count++] = (struct launch_word){ offset, value };
	return found < 0 ? -1 : 0;
}

static int add_words(const struct operands *operands, const struct call_record *record,
	unsigned field_count)
{
	const char *at = (const char *)&record->field[field_count];
	int buffer = record->head.flags & CALL_BUFFER;

	for (unsigned i = 0; buffer && i < record->pointer_count; i++) {
		if (add_word(operands, i * 8, record->field[field_count + i]))
			return -1;
	}
	for (unsigned i = 0; !buffer && i < record->pointer_count; i++) {
		struct launch_pointer word;

		memcpy(&word, at + i * sizeof(word), sizeof(word));
		if (add_word(operands, word.offset,
			    word.pointer[0] | (uint64_t)word.pointer[1] << 32))
			return -1;
	}
	return 0;
}

/* --- rows, slices and batches --- */

/* Merges contiguous rows, and contiguous slices. */
static void join_pieces(struct extent *extent)
{
	if (extent->pitch < extent->bytes)
		extent->pitch = extent->bytes;
	if (extent->slice < extent->pitch * extent->rows)
		extent->slice = extent->pitch * extent->rows;
	if (extent->rows <= 1 || extent->pitch == extent->bytes) {
		extent->bytes *= extent->rows;
		extent->rows = 1;
		extent->pitch = 0;
	}
	if (extent->slices <= 1)
		extent->slice = 0;
	if (extent->rows == 1 && extent->slices > 1 && extent->slice == extent->bytes) {
		extent->bytes *= extent->slices;
		extent->slices = 1;
		extent->slice = 0;
	}
}

static int add_extent(const struct operands *operands, const struct extent *extent)
{
	int64_t allocation = extent->allocation;

	return db_add(operands->loader->db,
		ROW(extent, operands->call, cell_text(operand_roles[extent->role]), extent->item,
			extent->address, cell_id(allocation), extent->bytes, extent->pitch,
			extent->rows, extent->slice, extent->slices));
}

static int add_shape(const struct operands *operands, const struct call_fields *fields,
	struct extent *extent)
{
	if (!extent->bytes || !extent->rows)
		return 0;
	if (!HAS(fields, depth) || !extent->slices)
		extent->slices = 1;
	join_pieces(extent);
	return extent->rows > 1 || extent->slices > 1 ? add_extent(operands, extent) : 0;
}

/* An array operand of a copy. */
static int add_array_end(const struct operands *operands, const struct loaded_call *call,
	struct extent *extent, uint64_t array, uint64_t position)
{
	uint64_t begin;

	extent->allocation = loader_find_array(operands->loader, array, call->enter, &begin);
	extent->address = begin + GRID_X(position) + GRID_Y(position) * ARRAY_PITCH +
		GRID_Z(position) * ARRAY_SLICE;
	extent->pitch = ARRAY_PITCH;
	extent->slice = ARRAY_SLICE;
	if (!extent->allocation)
		return 0;
	return add_row(operands, extent->role, DB_NULL, extent->address, extent->allocation) ||
			add_shape(operands, &call->fields, extent)
		? -1
		: 0;
}

/* An operand of a copy or memset, with its shape if given. */
static int add_end(const struct operands *operands, enum operand_role role,
	const struct loaded_call *call, enum field_kind pitch, enum field_kind height)
{
	int is_dst = pitch == FIELD_dst_pitch;
	const struct call_fields *fields = &call->fields;
	uint64_t array = fields->value[is_dst ? FIELD_dst_array : FIELD_src_array];
	struct extent extent = {
		.role = role,
		.address = fields->value[is_dst ? FIELD_dst : FIELD_src],
		.bytes = fields->value[FIELD_width],
		.pitch = fields->value[pitch],
		.rows = fields->value[FIELD_height],
		.slices = fields->value[FIELD_depth],
	};
	int found;

	if (array)
		return add_array_end(operands, call, &extent, array,
			fields->value[is_dst ? FIELD_dst_position : FIELD_src_position]);
	found = add(operands, role, DB_NULL, extent.address);
	if (found > 0)
		extent.allocation = allocation_at(operands->loader, extent.address);
	extent.slice = extent.pitch * fields->value[height];
	return found > 0 ? add_shape(operands, fields, &extent) : found;
}

/* An operand of one copy of a batch; for arrays the element size is unknown. */
static int add_item(const struct operands *operands, struct extent *extent)
{
	int found = add(operands, extent->role, extent->item, extent->address);

	if (!found)
		operands->loader->p.unnamed = 1;
	extent->allocation = allocation_at(operands->loader, extent->address);
	join_pieces(extent);
	return found < 0 || add_extent(operands, extent) ? -1 : 0;
}

/* cuda.h, CU_MEMCPY_SRC_ACCESS_ORDER_STREAM; words of CUmemcpyAttributes, and of an item. */
#define ORDER_OF_STREAM 1
#define ATTRIBUTE_WORDS 3
#define ITEM_WORDS 3

/* With srcAccessOrder "during the call" or "any", the source is not read in stream order. */
static enum operand_role source_role(uint64_t order)
{
	return (uint32_t)order <= ORDER_OF_STREAM ? OPERAND_SRC : OPERAND_SRC_ANY;
}

static int add_boxes(const struct operands *operands, const uint64_t *word, size_t count)
{
	for (size_t i = 0; i < count; i++, word += BATCH_OP_WORDS) {
		const uint64_t *box = &word[BATCH_OP_EXTENT];

		for (int end = 0; end < 2; end++) {
			const uint64_t *operand = &word[end ? BATCH_OP_DST : BATCH_OP_SRC];
			const uint64_t *other = &word[end ? BATCH_OP_SRC : BATCH_OP_DST];
			struct extent extent = { .role = end ? OPERAND_DST
							     : source_role(word[BATCH_OP_ORDER]),
				.item = (int64_t)i,
				.address = operand[1],
				.bytes = box[0],
				.rows = box[1],
				.slices = box[2] };

			if ((uint32_t)operand[0] != BATCH_OPERAND_POINTER ||
				(uint32_t)other[0] != BATCH_OPERAND_POINTER) {
				operands->loader->p.unnamed = 1;
				continue;
			}
			extent.pitch = operand[2] ? operand[2] : box[0];
			extent.slice = extent.pitch * (operand[3] ? operand[3] : box[1]);
			if (add_item(operands, &extent))
				return -1;
		}
	}
	return 0;
}

/*
 * Stores whether the call may touch memory that none of its rows name.  Returns 0, or -1 after a
 * message.
 */
static int write_unnamed(const struct operands *operands, const struct loaded_call *call)
{
	return operands->loader->p.unnamed
		? loader_write_object(operands->loader, call, "content", CONTENT_UNNAMED)
		: 0;
}

/* Addresses and sizes of the copies, attributes, and the first copy of each attribute. */
struct batch {
	const uint64_t *word;
	size_t count, attributes;
};

static uint64_t batch_word(const struct batch *batch, unsigned column, size_t item)
{
	return batch->word[column * batch->count + item];
}

/* Finds the last attribute that begins at this copy or before. */
static enum operand_role batch_source(const struct batch *batch, size_t item, size_t *attribute)
{
	const uint64_t *attributes = &batch->word[ITEM_WORDS * batch->count];
	const uint64_t *first = &attributes[ATTRIBUTE_WORDS * batch->attributes];

	while (*attribute + 1 < batch->attributes && first[*attribute + 1] <= item)
		++*attribute;
	return batch->attributes ? source_role(attributes[ATTRIBUTE_WORDS * *attribute])
				 : OPERAND_SRC;
}

static int add_items(const struct operands *operands, const struct batch *batch)
{
	size_t attribute = 0;

	for (size_t i = 0; i < batch->count; i++) {
		const enum operand_role roles[] = { OPERAND_DST,
			batch_source(batch, i, &attribute) };

		for (unsigned end = 0; end < 2; end++) {
			struct extent extent = { .role = roles[end],
				.item = (int64_t)i,
				.address = batch_word(batch, end, i),
				.bytes = batch_word(batch, 2, i),
				.rows = 1,
				.slices = 1 };

			if (add_item(operands, &extent))
				return -1;
		}
	}
	return 0;
}

static int add_batch(const struct operands *operands, const struct loaded_call *call)
{
	size_t count = call->fields.value[FIELD_count], more = call->fields.value[FIELD_more];
	struct batch batch = { loader_list_words(call, count, ITEM_WORDS, more), count,
		more / (ATTRIBUTE_WORDS + 1) };
	int rc = 0;

	if (!batch.word)
		operands->loader->p.unnamed = 1;
	else if (count)
		rc = add_items(operands, &batch);
	else
		rc = add_boxes(operands, batch.word, more / BATCH_OP_WORDS);
	return rc ? rc : write_unnamed(operands, call);
}

/* --- values that streams write and wait for --- */

/* cuda.h, CUstreamBatchMemOpParams: words of an operation, and its types. */
#define MEMOP_WORDS 6
enum { MEMOP_TYPE, MEMOP_ADDRESS };
enum {
	MEMOP_WAIT_32 = 1,
	MEMOP_WRITE_32 = 2,
	MEMOP_FLUSH = 3,
	MEMOP_WAIT_64 = 4,
	MEMOP_WRITE_64 = 5,
	MEMOP_BARRIER = 6,
};

static int add_value(const struct operands *operands, int writes, uint64_t address, uint64_t bytes,
	int64_t item)
{
	struct extent extent = { .role = writes ? OPERAND_DST : OPERAND_SRC,
		.item = item,
		.address = address,
		.bytes = bytes,
		.rows = 1,
		.slices = 1 };

	return add_item(operands, &extent);
}

/* Barriers touch no memory; unknown operations (reductions) may touch any. */
static int add_memop(const struct operands *operands, const uint64_t *word, int64_t item)
{
	uint32_t type = (uint32_t)word[MEMOP_TYPE];
	int writes = type == MEMOP_WRITE_32 || type == MEMOP_WRITE_64;

	switch (type) {
	case MEMOP_WAIT_32:
	case MEMOP_WRITE_32:
		return add_value(operands, writes, word[MEMOP_ADDRESS], 4, item);
	case MEMOP_WAIT_64:
	case MEMOP_WRITE_64:
		return add_value(operands, writes, word[MEMOP_ADDRESS], 8, item);
	case MEMOP_FLUSH:
	case MEMOP_BARRIER:
		return 0;
	default:
		operands->loader->p.unnamed = 1;
		return 0;
	}
}

static int add_values(const struct operands *operands, const struct loaded_call *call)
{
	const struct call_fields *fields = &call->fields;
	size_t count = HAS(fields, count) ? fields->value[FIELD_count] : 0;
	const uint64_t *word = NULL;
	int rc = 0;

	if (call->kind == KIND_STREAM_MEMOP)
		word = loader_list_words(call, count, MEMOP_WORDS, 0);
	else
		rc = add_value(operands, call->kind == KIND_STREAM_VALUE_WRITE,
			fields->value[FIELD_ptr], fields->value[FIELD_bytes], 0);
	if (call->kind == KIND_STREAM_MEMOP && count && !word)
		operands->loader->p.unnamed = 1;
	for (size_t i = 0; word && i < count && !rc; i++)
		rc = add_memop(operands, word + i * MEMOP_WORDS, (int64_t)i);
	return rc ? rc : write_unnamed(operands, call);
}

int loader_write_buffer(struct loader *loader, const struct loaded_call *call, int writes,
	int64_t item, uint64_t address, uint64_t bytes)
{
	struct operands operands = { .loader = loader, .call = loader->call + call->number };
	struct extent extent = { .role = writes ? OPERAND_DST : OPERAND_SRC,
		.item = item,
		.address = address,
		.bytes = bytes,
		.rows = 1,
		.slices = 1 };

	return add_item(&operands, &extent);
}

int loader_write_operands(struct loader *loader, const struct loaded_call *call)
{
	struct operands operands = { .loader = loader, .call = loader->call + call->number };
	const struct call_fields *fields = &call->fields;

	loader->p.stray_count = loader->p.pointed_count = loader->p.named_count = 0;
	loader->p.unnamed = 0;
	if (call->failed)
		return 0;
	if (call->kind == KIND_COPY_BATCH)
		return add_batch(&operands, call);
	if (kind_family((enum call_kind)call->kind) == FAMILY_memory_value)
		return add_values(&operands, call);
	if ((HAS(fields, dst) &&
		    add_end(&operands, OPERAND_DST, call, FIELD_dst_pitch, FIELD_dst_height)) ||
		(HAS(fields, src) &&
			add_end(&operands, OPERAND_SRC, call, FIELD_src_pitch, FIELD_src_height)))
		return -1;
	return loader_write_buffers(loader, call) ||
			add_words(&operands, (const struct call_record *)call->record,
				call->type->record->field_count)
		? -1
		: 0;
}

int loader_write_graph_operands(struct loader *loader, const struct loaded_call *call,
	const uint64_t *address, size_t count)
{
	struct operands operands = { .loader = loader, .call = loader->call + call->number };
	int64_t last = 0;

	for (size_t i = 0; i < count; i++) {
		int64_t allocation = allocation_at(loader, address[i]);

		if (allocation && allocation != last &&
			add_row(&operands, OPERAND_NODE, DB_NULL, address[i], allocation))
			return -1;
		if (allocation)
			last = allocation;
	}
	return 0;
}
