/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what is known about kernel code: tables kernel_code, shape_code and kernel_access. */
#include <stdlib.h>
#include <string.h>

#include "evidence.h"
#include "run_internal.h"

const char *const evidence_names[EVIDENCE_COUNT] = {
#define EVIDENCE(symbol, name, text) #name,
#include "evidence.def"
};

static const char *const evidence_texts[EVIDENCE_COUNT] = {
#define EVIDENCE(symbol, name, text) text,
#include "evidence.def"
};

const char *evidence_text(const char *name)
{
	return evidence_texts[run_name(evidence_names, EVIDENCE_COUNT,
		(const unsigned char *)name)];
}

static uint8_t evidence_at(sqlite3_stmt *row, int column)
{
	return (uint8_t)run_name(evidence_names, EVIDENCE_COUNT, sqlite3_column_text(row, column));
}

static int read_kernels(struct run *run, struct db *db)
{
	struct run_reader reader;
	int rc = run_reader_open(&reader, run, db, "kernel",
		"SELECT k.id, k.parameter_count NOT NULL, c.reaches, c.complete, c.evidence, "
		"ifnull(1 + d.waits, 0), ifnull(1 + d.triggers, 0) "
		"FROM kernel k LEFT JOIN kernel_code c ON c.kernel = k.id "
		"LEFT JOIN kernel_dependence d ON d.kernel = k.id");

	if (!rc)
		run->kernel = run_new_rows(db, "kernel", sizeof(*run->kernel), &run->kernel_count);
	while (run->kernel && (rc = run_reader_next(&reader)) > 0)
		run->kernel[run_reader_id(&reader, 0)] = (struct run_kernel){
			.knows_parameters = sqlite3_column_int(reader.rows, 1) != 0,
			.reaches = sqlite3_column_int(reader.rows, 2),
			.complete = sqlite3_column_int(reader.rows, 3) != 0,
			.evidence = evidence_at(reader.rows, 4),
			.waits = (uint8_t)sqlite3_column_int(reader.rows, 5),
			.triggers = (uint8_t)sqlite3_column_int(reader.rows, 6),
		};
	run_reader_close(&reader);
	return run->kernel && !rc ? 0 : -1;
}

static int read_shapes(struct run *run, struct db *db)
{
	struct run_reader reader;
	int rc = run_reader_open(&reader, run, db, "shape_code",
		"SELECT shape, reaches, complete FROM shape_code");

	if (!rc)
		run->shape = run_new_rows(db, "shape_code", sizeof(*run->shape), &run->shape_count);
	for (size_t i = 0; i < run->shape_count; i++)
		run->shape[i].reaches = -1;
	while (run->shape && (rc = run_reader_next(&reader)) > 0)
		run->shape[run_reader_id(&reader, 0)] =
			(struct run_shape){ .reaches = sqlite3_column_int(reader.rows, 1),
				.complete = sqlite3_column_int(reader.rows, 2) != 0 };
	run_reader_close(&reader);
	return run->shape && !rc ? 0 : -1;
}

static int64_t bound(sqlite3_stmt *row, int column, int64_t none)
{
	return sqlite3_column_type(row, column) == SQLITE_NULL ? none
							       : sqlite3_column_int64(row, column);
}

static void read_claim(struct run_reader *reader, struct run_claim *claim)
{
	static const char *const directions[] = {
		[CLAIM_LOAD] = "load",
		[CLAIM_STORE] = "store",
	};
	sqlite3_stmt *row = reader->rows;

	*claim = (struct run_claim){
		.shape = run_reader_id(reader, 0),
		.kernel = run_reader_id(reader, 1),
		.offset = (uint32_t)sqlite3_column_int64(row, 2),
		.direction =
			(uint8_t)run_name(directions, CLAIM_STORE + 1, sqlite3_column_text(row, 3)),
		.sure = sqlite3_column_int(row, 4) != 0,
		.exact = sqlite3_column_int(row, 5) != 0,
		.low = bound(row, 6, INT64_MIN),
		.high = bound(row, 7, INT64_MAX),
		.run = sqlite3_column_int64(row, 8),
		.early = sqlite3_column_int(row, 15) != 0,
		.spins = sqlite3_column_int(row, 16) != 0,
		.evidence = evidence_at(row, 17),
	};
	while (claim->strides < CLAIM_STRIDES &&
		sqlite3_column_type(row, 9 + 2 * claim->strides) != SQLITE_NULL) {
		int column = 9 + 2 * claim->strides++;

		claim->stride[claim->strides - 1].bytes = sqlite3_column_int64(row, column);
		claim->stride[claim->strides - 1].count = sqlite3_column_int64(row, column + 1);
	}
}

static int by_word(const void *a, const void *b)
{
	const struct run_claim *x = a, *y = b;

	if (x->shape != y->shape)
		return x->shape < y->shape ? -1 : 1;
	if (x->kernel != y->kernel)
		return x->kernel < y->kernel ? -1 : 1;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

/*
 * A kernel that waits for a memory value continues when another store changes it.  If the kernel
 * also stores there, it may wait for its own blocks, as at a grid barrier; otherwise it waits for
 * other work.
 */
static void find_outside(struct run *run)
{
	const struct run_claim *claim = (const struct run_claim *)run->claims.rows;
	uint64_t first = 0, end;

	for (; first < run->claims.count; first = end) {
		int spins = 0, writes = 0;

		for (end = first; end < run->claims.count && !by_word(&claim[first], &claim[end]);
			end++) {
			spins |= claim[end].spins;
			writes |= !claim[end].spins && claim[end].direction != CLAIM_LOAD;
		}
		if (!spins || writes)
			continue;
		if (!claim[first].shape)
			run->kernel[claim[first].kernel].outside = 1;
		else if (run_shape(run, claim[first].shape))
			run->shape[claim[first].shape].outside = 1;
	}
}

static int read_claims(struct run *run, struct db *db)
{
	struct run_reader reader;
	int rc =
		run_reader_open(&reader, run, db, "kernel_access",
			"SELECT shape, kernel, offset, direction, sure, exact, low, high, run, "
			"stride1, count1, stride2, count2, stride3, count3, early, spins, evidence "
			"FROM kernel_access") ||
		run_open_list(&run->claims, run, db, "SELECT count(*) FROM kernel_access",
			sizeof(struct run_claim));

	while (!rc && (rc = run_reader_next(&reader)) > 0) {
		struct run_claim *claim = column_need(&run->claims, run->claims.count);

		rc = claim ? 0 : -1;
		if (claim)
			read_claim(&reader, claim);
	}
	run_reader_close(&reader);
	if (rc)
		return -1;
	column_sort(&run->claims, by_word);
	find_outside(run);
	return 0;
}

int run_read_code(struct run *run, struct db *db)
{
	return read_kernels(run, db) || read_shapes(run, db) || read_claims(run, db) ? -1 : 0;
}

const struct run_claim *run_claims(const struct run *run, uint32_t kernel, uint32_t shape,
	uint32_t offset, const struct run_claim **end)
{
	const struct run_claim *claims = (const struct run_claim *)run->claims.rows;
	const struct run_claim wanted = { .shape = shape, .kernel = kernel, .offset = offset };
	uint64_t low = 0, high = run->claims.count, first;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (by_word(&claims[middle], &wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (first = low; low < run->claims.count && !by_word(&claims[low], &wanted);)
		low++;
	*end = claims + low;
	return first < low ? claims + first : NULL;
}
