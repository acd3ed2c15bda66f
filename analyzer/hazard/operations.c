/* SPDX-License-Identifier: Apache-2.0 */
#include "operations.h"

#include <stdlib.h>

/* Lists of accesses kept at once: a program whose every launch is different keeps no more. */
#define MOST_KNOWN 65536

static void release_nothing(void *object)
{
	(void)object;
}

static void free_accesses(void *object)
{
	struct accesses *accesses = object;

	accesses_release(accesses);
	free(accesses);
}

static int find_told(struct operations *operations, struct db *db)
{
	sqlite3_stmt *q = db_prepare(db, "SELECT DISTINCT kernel FROM kernel_access");
	int step = -1;

	while (q && (step = db_step(q)) > 0)
		if (idmap_put(&operations->told, sqlite3_column_int64(q, 0), operations)) {
			step = -1;
			break;
		}
	sqlite3_finalize(q);
	return step;
}

int operations_init(struct operations *operations, struct db *db)
{
	operations->reader = access_open(db);
	operations->operands = (struct run_cursor){ .rows = &db->run->operands };
	operations->launches = (struct run_cursor){ .rows = &db->run->launches };
	return operations->reader ? find_told(operations, db) : -1;
}

void operations_release(struct operations *operations)
{
	access_close(operations->reader);
	idmap_release(&operations->told, release_nothing);
	idmap_release(&operations->known, free_accesses);
	accesses_release(&operations->once);
}

/* FNV-1a, by words. */
static uint64_t mix(uint64_t hash, uint64_t word)
{
	return (hash ^ word) * UINT64_C(0x100000001b3);
}

/* Of the operands, and whether one of them is of interest. */
static uint64_t hash_operands(struct operations *operations, const struct walk_call *call,
	const struct idmap *interest, int *wanted)
{
	const struct run_operand *operand;
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	while ((operand = run_cursor_at(&operations->operands, call->id))) {
		operations->operands.at++;
		*wanted |= idmap_get(interest, operand->allocation) != NULL;
		hash = mix(hash, operand->allocation);
		hash = mix(hash, (uint64_t)operand->address);
		hash = mix(hash, (uint64_t)operand->offset << 32 | operand->role);
	}
	return hash;
}

static const struct accesses *read_launch(struct operations *operations,
	const struct walk_call *call, uint64_t hash)
{
	const struct run_ended *launch = run_cursor_at(&operations->launches, call->id);
	struct accesses *accesses;

	hash = mix(mix(hash, (uint64_t)call->kernel), launch ? launch->what : 0);
	/* An id is positive. */
	hash = (hash ^ hash >> 63) & INT64_MAX;
	hash += !hash;
	accesses = idmap_get(&operations->known, (int64_t)hash);
	if (accesses)
		return accesses;
	if (operations->count++ == MOST_KNOWN) {
		idmap_release(&operations->known, free_accesses);
		operations->known = (struct idmap){ 0 };
		operations->count = 1;
	}
	accesses = idmap_need(&operations->known, (int64_t)hash, sizeof(*accesses));
	return accesses && !access_read(operations->reader, call->id, accesses) ? accesses : NULL;
}

int operations_read(struct operations *operations, const struct walk_call *call,
	const struct idmap *interest, const struct accesses **accesses)
{
	int wanted = 0;
	uint64_t hash = hash_operands(operations, call, interest, &wanted);

	*accesses = NULL;
	if (!wanted || !kind_has(call->kind, K_ACCESSES))
		return 0;
	if (call->kind == KIND_LAUNCH) {
		if (!idmap_get(&operations->told, call->kernel))
			return 0;
		*accesses = read_launch(operations, call, hash);
		return *accesses ? 0 : -1;
	}
	if (access_read(operations->reader, call->id, &operations->once))
		return -1;
	*accesses = &operations->once;
	return 0;
}
