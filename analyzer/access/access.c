/* SPDX-License-Identifier: Apache-2.0 */
#include "access_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "memory.h"
#include "unnamed_memory.h"

void accesses_release(struct accesses *accesses)
{
	free(accesses->access);
	*accesses = (struct accesses){ 0 };
}

int access_some_reach(struct db *db)
{
	return db_int(db,
		       "SELECT EXISTS (SELECT 1 FROM kernel_code WHERE reaches) "
		       "OR EXISTS (SELECT 1 FROM shape_code WHERE reaches)",
		       0) != 0;
}

static int64_t add_bytes(int64_t address, int64_t bytes)
{
	int64_t sum;

	if (__builtin_add_overflow(address, bytes, &sum))
		return bytes < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}

void access_add(struct accesses *accesses, const struct memory_access *access, int64_t start,
	int64_t bytes)
{
	struct memory_access *slot;
	int64_t end = add_bytes(start, bytes);

	if (accesses->count == accesses->room) {
		accesses->room = accesses->room ? 2 * accesses->room : 8;
		accesses->access =
			xrealloc(accesses->access, accesses->room, sizeof(*accesses->access));
	}
	slot = &accesses->access[accesses->count];
	*slot = *access;
	if (slot->low < start)
		slot->low = start;
	if (slot->high > end)
		slot->high = end;
	/* An access outside of its allocation is ignored: such a record may be wrong. */
	if (slot->low >= slot->high)
		return;
	if (!slot->stride_count) {
		slot->start = slot->low;
		slot->run = slot->high - slot->low;
	}
	accesses->count++;
}

static void move(struct memory_access *access, int64_t by)
{
	if (access->low != INT64_MIN)
		access->low = add_bytes(access->low, by);
	if (access->high != INT64_MAX)
		access->high = add_bytes(access->high, by);
	access->start = add_bytes(access->start, by);
}

/* Adds an access to another allocation whose memory the same addresses access, or may. */
static void add_twin(struct access_reader *reader, struct accesses *accesses,
	const struct memory_access *access, const struct run_twin *twin)
{
	const struct run_allocation *row = run_allocation(reader->run, twin->allocation);
	const struct run_allocation *other = run_allocation(reader->run, twin->other);
	struct memory_access there = *access;

	there.allocation = twin->other;
	if (twin->is_known) {
		move(&there, add_bytes(add_bytes(other->address, twin->shift), -row->address));
		access_add(accesses, &there, other->address, other->span);
		return;
	}
	there.low = INT64_MIN;
	there.high = INT64_MAX;
	there.stride_count = there.sure = there.exact = 0;
	there.maybe = 1;
	access_add(accesses, &there, other->address, other->span);
}

static void add_twins(struct access_reader *reader, struct accesses *accesses,
	const struct memory_access *access, uint32_t allocation)
{
	const struct run_twin *end, *twin = run_twins(reader->run, allocation, &end);

	for (; twin < end; twin++)
		add_twin(reader, accesses, access, twin);
}

static void add_within(struct access_reader *reader, struct accesses *accesses,
	struct memory_access *access, uint32_t allocation)
{
	const struct run_allocation *row = run_allocation(reader->run, allocation);

	if (row->has_twins)
		add_twins(reader, accesses, access, allocation);

	/*
	 * Accesses are compared by memory, not by address: memory may be mapped twice, or in parts.
	 */
	if (row->same) {
		const struct run_allocation *same = run_allocation(reader->run, row->same);

		move(access, same->address + row->shift - row->address);
		allocation = row->same;
		row = same;
	}
	access->allocation = allocation;
	/* The bytes of an array have an address space of their own. */
	access_add(accesses, access, row->address,
		row->kind == ALLOCATION_ARRAY ? INT64_MAX : row->span);
}

static enum access_direction direction_of(uint32_t role)
{
	return role == OPERAND_DST ? ACCESS_WRITE : ACCESS_READ;
}

static void add_operand(struct access_reader *reader, const struct access_rows *rows,
	struct accesses *accesses, const struct run_operand *end)
{
	const struct run_payload *payload = rows->payload;
	const struct run_allocation *row = run_allocation(reader->run, end->allocation);
	struct memory_access access = {
		.low = end->address,
		.high = payload->has_bytes ? add_bytes(end->address, payload->bytes)
					   : add_bytes(row->address, row->bytes),
		.direction = (uint8_t)direction_of(end->role),
		.evidence = EVIDENCE_EXACT,
		.sure = 1,
		.exact = payload->has_bytes,
		.loose = end->role == OPERAND_SRC_ANY,
	};

	add_within(reader, accesses, &access, end->allocation);
}

/* Adds an extent of rows and slices.  Slices come first, so that strides decrease. */
static void add_extent(struct access_reader *reader, const struct access_rows *rows,
	struct accesses *accesses, const struct run_extent *extent)
{
	struct memory_access access = {
		.low = extent->address,
		.high = add_bytes(extent->address, extent->span),
		.direction = (uint8_t)direction_of(extent->role),
		.start = extent->address,
		.run = extent->bytes,
		.evidence = EVIDENCE_EXACT,
		.sure = 1,
		.exact = 1,
		.loose = extent->role == OPERAND_SRC_ANY,
	};

	if (extent->slices > 1)
		access.stride[access.stride_count++] =
			(struct access_stride){ extent->slice, extent->slices };
	if (extent->rows > 1)
		access.stride[access.stride_count++] =
			(struct access_stride){ extent->pitch, extent->rows };
	add_within(reader, accesses, &access, extent->allocation);
}

/* Returns 1 if all extents are in known allocations, 0 if not, -1 after a message. */
static int add_extents(struct access_reader *reader, const struct access_rows *rows,
	struct accesses *accesses)
{
	int known = 1;

	for (const struct run_extent *row = rows->extent; row < rows->extents_end; row++)
		if (!row->allocation)
			known = 0;
		else
			add_extent(reader, rows, accesses, row);
	return known;
}

/* Returns 1 if extents were added for that direction: then the operand has no other bytes. */
static int has_extent(const struct accesses *accesses, size_t first, int direction)
{
	for (size_t i = first; i < accesses->count; i++)
		if (accesses->access[i].direction == direction)
			return 1;
	return 0;
}

/* Memory of a symbol without an allocation belongs to a variable or constant. */
#define SYMBOL (PTX_REACH_VARIABLE | PTX_REACH_CONSTANT)
#define SYMBOL_STORE (PTX_REACH_VARIABLE_STORE | PTX_REACH_CONSTANT_STORE)

static int is_memory_of_device(uint8_t memory)
{
	return memory == MEMORY_DEVICE || memory == MEMORY_MANAGED;
}

/* Reads a copy, a memset, or values that a stream writes or waits for. */
static int read_operands(struct access_reader *reader, const struct access_rows *rows,
	struct accesses *accesses)
{
	const struct run_payload *payload = rows->payload;
	int missing = is_memory_of_device(payload->dst) + 2 * is_memory_of_device(payload->src);
	size_t first = accesses->count;
	int known = add_extents(reader, rows, accesses);

	if (known < 0)
		return -1;
	for (const struct run_operand *end = rows->operand; end < rows->operands_end; end++) {
		int direction = direction_of(end->role);

		if (end->role == OPERAND_WORD)
			continue;
		/* Kernels may use a variable without naming it as an operand. */
		if (!run_is_variable(reader->run, end->allocation))
			missing &= direction == ACCESS_WRITE ? ~1 : ~2;
		if (!has_extent(accesses, first, direction))
			add_operand(reader, rows, accesses, end);
	}
	accesses->named = !(rows->content & CONTENT_UNNAMED);
	accesses->complete = known && accesses->named;
	/* Device memory without an allocation belongs to a variable. */
	if (missing)
		accesses->reaches |= missing & 1 ? SYMBOL | SYMBOL_STORE : SYMBOL;
	return 0;
}

static void add_claim(struct access_reader *reader, struct accesses *accesses,
	const struct run_operand *word, const struct run_claim *claim, int evidence)
{
	static const uint8_t directions[] = {
		[CLAIM_ATOMIC] = ACCESS_ATOMIC,
		[CLAIM_LOAD] = ACCESS_READ,
		[CLAIM_STORE] = ACCESS_WRITE,
	};
	struct memory_access access = {
		.direction = directions[claim->direction],
		.evidence = claim->evidence ? claim->evidence : (uint8_t)evidence,
		.sure = claim->sure,
		.low = claim->low == INT64_MIN ? INT64_MIN : add_bytes(word->address, claim->low),
		.high = claim->high == INT64_MAX ? INT64_MAX
						 : add_bytes(word->address, claim->high),
		.run = claim->run,
		.exact = claim->exact,
		.early = claim->early,
		.spins = claim->spins,
	};

	access.start = access.low;
	for (; access.stride_count < claim->strides; access.stride_count++)
		access.stride[access.stride_count] =
			(struct access_stride){ claim->stride[access.stride_count].bytes,
				claim->stride[access.stride_count].count };
	add_within(reader, accesses, &access, word->allocation);
}

static void add_word(struct access_reader *reader, struct accesses *accesses,
	const struct run_operand *word)
{
	struct memory_access access = {
		.low = INT64_MIN,
		.high = INT64_MAX,
		.direction = ACCESS_UNKNOWN,
		.evidence = EVIDENCE_NONE,
	};

	add_within(reader, accesses, &access, word->allocation);
}

static void read_words(struct access_reader *reader, const struct access_rows *rows, int evidence,
	struct accesses *accesses)
{
	for (const struct run_operand *word = rows->operand; word < rows->operands_end; word++) {
		const struct run_claim *end, *claim;

		if (word->role != OPERAND_WORD)
			continue;
		claim = run_claims(reader->run, rows->payload->kernel, rows->shape, word->offset,
			&end);
		for (; claim && claim < end; claim++)
			add_claim(reader, accesses, word, claim, evidence);
	}
}

/* An incomplete kernel may access all memory that it was given. */
static void read_unknown_words(struct access_reader *reader, const struct access_rows *rows,
	int evidence, struct accesses *accesses)
{
	for (const struct run_operand *word = rows->operand; word < rows->operands_end; word++) {
		const struct run_claim *end;

		/* Accesses to a variable that the code names are known from the code. */
		if (word->role == OPERAND_WORD && word->offset < PTX_PARAMETER_LIMIT &&
			(evidence >= EVIDENCE_MACHINE ||
				!run_claims(reader->run, rows->payload->kernel, rows->shape,
					word->offset, &end)))
			add_word(reader, accesses, word);
	}
}

/*
 * Reads the launch of a kernel that runs collectives: their buffers, as the calls say them.  What
 * else it accesses is NCCL's own memory.  Returns 0 if a buffer is in no known allocation.
 */
static int read_collective(struct access_reader *reader, const struct access_rows *rows,
	struct accesses *accesses)
{
	accesses->named = accesses->complete = add_extents(reader, rows, accesses);
	return accesses->complete;
}

/* Reads a launch, whose kernel may be unknown. */
static void read_kernel(struct access_reader *reader, const struct access_rows *rows,
	struct accesses *accesses)
{
	const struct run_kernel *kernel = run_kernel(reader->run, rows->payload->kernel);
	const struct run_shape *shape = run_shape(reader->run, rows->shape);
	int evidence = kernel->evidence;

	if (rows->extent && read_collective(reader, rows, accesses))
		return;
	accesses->complete = shape ? shape->complete : kernel->complete;
	accesses->reaches |= run_reaches(reader->run, rows->payload->kernel, rows->shape);
	accesses->named = 1;
	read_words(reader, rows, evidence, accesses);
	if (!accesses->complete)
		read_unknown_words(reader, rows, evidence, accesses);
}

enum touches {
	TOUCHES_NOTHING,
	TOUCHES_ENDS,  /* exactly its operands */
	TOUCHES_WORDS, /* what a kernel was given, and possibly more */
};

static enum touches touches_of(enum call_kind kind)
{
	if (kind == KIND_DISCARD) /* the previous contents are lost */
		return TOUCHES_WORDS;
	if (kind_has(kind, K_IDLE))
		return TOUCHES_NOTHING;
	switch (kind_family(kind)) {
	case FAMILY_copy:
	case FAMILY_set:
	case FAMILY_memory_value:
		return TOUCHES_ENDS;
	case FAMILY_placement: /* the memory moves, its contents do not change */
	case FAMILY_stream:
	case FAMILY_event_create:
	case FAMILY_event:
	case FAMILY_event_wait:
	case FAMILY_wait:
		return TOUCHES_NOTHING;
	default:
		return TOUCHES_WORDS;
	}
}

static int node_touches_nothing(const char *type)
{
	return !strcmp(type, "empty") || !strcmp(type, "wait") || !strcmp(type, "record") ||
		!strcmp(type, "alloc") || !strcmp(type, "free");
}

static int add_node(struct access_reader *reader, const struct access_rows *rows, const char *type,
	struct accesses *accesses)
{
	accesses->named = 1;
	accesses->complete = 0;
	if (!strcmp(type, "copy") || !strcmp(type, "set"))
		return read_operands(reader, rows, accesses);
	if (!strcmp(type, "kernel")) {
		read_kernel(reader, rows, accesses);
		return 0;
	}
	if (node_touches_nothing(type))
		accesses->complete = 1;
	else
		accesses->named = !strcmp(type, "host");
	return 0;
}

static int add_call(struct access_reader *reader, const struct access_rows *rows,
	struct accesses *accesses)
{
	accesses->named = 1;
	accesses->complete = 0;
	switch (touches_of(rows->kind)) {
	case TOUCHES_NOTHING:
		accesses->complete = 1;
		return 0;
	case TOUCHES_ENDS:
		return read_operands(reader, rows, accesses);
	default:
		read_kernel(reader, rows, accesses);
		return 0;
	}
}

int access_add_operation(struct access_reader *reader, const struct access_rows *rows,
	const char *node_type, struct accesses *accesses)
{
	return node_type ? add_node(reader, rows, node_type, accesses)
			 : add_call(reader, rows, accesses);
}
