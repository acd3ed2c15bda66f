/* SPDX-License-Identifier: Apache-2.0 */
/* calls.def and passed.def together say something about every driver call that cudart asks for. */
#include "unit.h"

#include <fnmatch.h>

#include "calls.h"
#include "db.h"

enum { PER_THREAD = 2 }; /* flags of cuGetProcAddress */

static const struct row {
	const char *base;
	int since, flags;
} rows[] = {
#define DRIVER(symbol, base, since, params, args, fields, kind, traits) { #base, since, 0 },
#define DRIVER_PT(symbol, base, since, suffix, pt_since, params, args, fields, kind, traits) \
	{ #base, since, 0 }, { #base, pt_since, PER_THREAD },
#include "calls.def"
};

static const struct passed {
	const char *pattern, *reason;
} passed[] = {
#define PASSED(pattern, reason) { #pattern, reason },
#include "passed.def"
};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static int is_row(const struct row *wanted)
{
	for (size_t i = 0; i < COUNT(rows); i++)
		if (!strcmp(rows[i].base, wanted->base) && rows[i].since == wanted->since &&
			rows[i].flags == wanted->flags)
			return 1;
	return 0;
}

static const struct passed *passed_as(const char *name)
{
	for (size_t i = 0; i < COUNT(passed); i++)
		if (!fnmatch(passed[i].pattern, name, 0))
			return &passed[i];
	return NULL;
}

static FILE *open_entry_points(void)
{
	const char *folder = getenv("TEST_DATA");
	char path[4096];

	snprintf(path, sizeof(path), "%s/cudart13_entry_points.txt",
		folder ? folder : "tests/data");
	return fopen(path, "r");
}

TEST(every_entry_point_is_wrapped_or_passed_through_for_a_reason)
{
	char line[256], name[128], last[128] = "";
	unsigned names[2] = { 0 }, wrong = 0;
	FILE *file = open_entry_points();

	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		struct row wanted = { .base = name };
		const struct passed *reason;
		int wrapped;

		if (sscanf(line, "%127s %d %d", name, &wanted.since, &wanted.flags) != 3)
			continue;
		wrapped = is_row(&wanted);
		reason = passed_as(name);
		if (wrapped == !!reason) {
			printf("%s %d/%d: %s\n", name, wanted.since, wanted.flags,
				wrapped ? "a row, and in passed.def" : "no row, not in passed.def");
			wrong++;
		}
		if (strcmp(name, last))
			names[wrapped]++;
		strcpy(last, name);
	}
	fclose(file);
	assert_int_equal(wrong, 0);
	assert_true(names[0] + names[1] > 300);
	printf("calls.def: %d rows; of %u names cudart asks for: %u wrapped, %u passed through\n",
		CALL_COUNT, names[0] + names[1], names[1], names[0]);
}

TEST(no_row_is_passed_through)
{
	for (size_t i = 0; i < COUNT(rows); i++)
		if (passed_as(rows[i].base))
			fail_msg("%s is a row, and '%s' of passed.def", rows[i].base,
				passed_as(rows[i].base)->pattern);
}

TEST(every_reason_is_one)
{
	for (size_t i = 0; i < COUNT(passed); i++)
		assert_true(strlen(passed[i].reason) > 8);
}

TEST(fields_fit)
{
	for (unsigned i = 0; i < CALL_COUNT; i++) {
		uint64_t seen = 0;

		assert_true(call_types[i].field_count <= CALL_MAX_FIELDS);
		for (unsigned f = 0; f < call_types[i].field_count; f++) {
			uint64_t bit = 1ull << call_types[i].field[f];
			if (seen & bit && call_types[i].field[f] != FIELD_event)
				fail_msg("%s has two of '%s'", call_types[i].name,
					field_names[call_types[i].field[f]]);
			seen |= bit;
		}
	}
}

/* 32 bytes and 8 per field: what happens often stays within 64. */
TEST(frequent_records_are_small)
{
	for (unsigned i = 0; i < CALL_COUNT; i++) {
		const struct call_type *type = &call_types[i];
		int rows_or_array = 0;

		for (unsigned f = 0; f < type->field_count; f++)
			rows_or_array |= type->field[f] == FIELD_width ||
				type->field[f] == FIELD_dst_array ||
				type->field[f] == FIELD_src_array;
		if ((type->kind == KIND_COPY_ASYNC && !rows_or_array) ||
			type->kind == KIND_LAUNCH || type->kind == KIND_EVENT_RECORD ||
			type->kind == KIND_STREAM_WAIT || type->kind == KIND_GRAPH_LAUNCH ||
			type->kind == KIND_ALLOC_ASYNC || type->kind == KIND_FREE_ASYNC)
			assert_in_range(type->field_count, 1, 4);
	}
}

/* TRAIT_ALLOCATES and TRAIT_FREES make promises about the first fields. */
TEST(memory_comes_first)
{
	for (unsigned i = 0; i < CALL_COUNT; i++) {
		const struct call_type *type = &call_types[i];

		if (type->traits & (TRAIT_ALLOCATES | TRAIT_FREES))
			assert_int_equal(type->field[0], FIELD_ptr);
		if (type->traits & TRAIT_ALLOCATES)
			assert_int_equal(type->field[1], FIELD_bytes);
	}
}

/* The columns of kinds.def agree with each other about each kind. */
TEST(traits_agree)
{
	for (enum call_kind kind = 0; kind < KIND_COUNT; kind++) {
		enum kind_family family = kind_family(kind);
		enum kind_waits waits = kind_waits(kind);

		if ((kind_has(kind, K_ACCESSES) && !kind_has(kind, K_WORK)) ||
			(kind_has(kind, K_IDLE) && kind_has(kind, K_WORK | K_SILENT)) ||
			(kind_has(kind, K_ONCE) && !kind_has(kind, K_RESOURCE)) ||
			(kind_has(kind, K_RESOURCE) && waits < WAITS_DEVICE) ||
			(kind_has(kind, K_OUTSIDE) && !kind_has(kind, K_SILENT)) ||
			((family == FAMILY_copy || family == FAMILY_set) !=
				(kind_has(kind, K_ACCESSES) && family != FAMILY_launch &&
					family != FAMILY_graph_launch)) ||
			(family == FAMILY_wait && waits == WAITS_NOTHING) ||
			(waits == WAITS_BY_MEMORY && !kind_has(kind, K_ACCESSES)))
			fail_msg("%s contradicts itself", call_kind_names[kind]);
	}
}

/* The table of the database says what kinds.def says, column for column. */
TEST(the_database_has_the_traits)
{
	static const char *const names[] = {
#define X(symbol, name, bit) #name,
		KIND_TRAITS(X)
#undef X
	};
	enum { FIRST = 3 }; /* after name, family and waits */
	struct db db;
	sqlite3_stmt *q;

	assert_int_equal(db_create(&db, ":memory:"), 0);
	q = db_prepare(&db, "SELECT * FROM call_kind ORDER BY rowid");
	assert_int_equal(sqlite3_column_count(q), FIRST + COUNT(names));
	for (enum call_kind kind = 0; kind < KIND_COUNT; kind++) {
		assert_int_equal(db_step(q), 1);
		assert_string_equal(sqlite3_column_text(q, 0), call_kind_names[kind]);
		for (unsigned i = 0; i < COUNT(names); i++) {
			assert_string_equal(sqlite3_column_name(q, FIRST + (int)i), names[i]);
			assert_int_equal(sqlite3_column_int(q, FIRST + (int)i),
				kind_has(kind, 1u << i));
		}
	}
	assert_int_equal(db_step(q), 0);
	sqlite3_finalize(q);
	db_close(&db);
}
