/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether two sets of bytes overlap.  The text: the bytes that calls read and write, from the
 * tables.
 */
#include "cases.h"

#include "conflict.h"
#include "run_columns.h"

/* Of the last call: "allocation direction low..high evidence", '~' before what is not exact. */
ANSWER(access)
{
	static const char *const evidences[] = {
		[EVIDENCE_NONE] = "none",
		[EVIDENCE_CONVENTION] = "convention",
		[EVIDENCE_CONST] = "const",
		[EVIDENCE_MACHINE] = "machine",
		[EVIDENCE_PTX] = "ptx",
		[EVIDENCE_EXACT] = "exact",
	};
	static char text[512];
	struct access_reader *reader = access_open(&p->m.db);
	const struct accesses *found = access_read(reader, p->m.calls);
	FILE *out = fmemopen(text, sizeof(text), "w");

	assert_non_null(found);
	for (size_t i = 0; i < found->count; i++) {
		const struct memory_access *access = &found->access[i];

		fprintf(out, "%s%lld%c %lld..%lld %s, ", access->exact ? "" : "~",
			(long long)access->allocation, "rwa?"[access->direction],
			(long long)(access->low % ADDRESS), (long long)(access->high % ADDRESS),
			evidences[access->evidence]);
	}
	fputs(found->complete ? "complete" : "more", out);
	fclose(out);
	access_close(reader);
	return text;
}

/* How much the calls a and b matter to each other. */
ANSWER(conflict)
{
	static const char *const names[] = {
		[CONFLICT_NONE] = "none",
		[CONFLICT_UNKNOWN] = "unknown",
		[CONFLICT_MAYBE] = "maybe",
		[CONFLICT_SHOWN] = "shown",
	};
	struct access_reader *reader = access_open(&p->m.db);
	int64_t call = program_call(p, "a"), other = program_call(p, "b");
	const struct accesses *a = access_read(reader, call), *b = access_read(reader, other);
	enum conflict found;

	assert_true(a && b);
	found = accesses_conflict(a, b);
	assert_int_equal(accesses_conflict(b, a), found);
	/* Remembered, in either order. */
	for (int i = 0; i < 2; i++)
		for (enum conflict least = CONFLICT_UNKNOWN; least <= CONFLICT_SHOWN; least++) {
			assert_int_equal(access_may_conflict(reader, call, other, least),
				found >= least);
			assert_int_equal(access_may_conflict(reader, other, call, least),
				found >= least);
		}
	access_close(reader);
	return names[found];
}

static struct memory_access columns(int64_t first, int64_t width, int64_t pitch, int64_t rows)
{
	struct memory_access access = {
		.allocation = 1,
		.low = first,
		.high = first + (rows - 1) * pitch + width,
		.start = first,
		.run = width,
		.stride = { { pitch, rows } },
		.stride_count = 1,
		.direction = ACCESS_WRITE,
		.sure = 1,
		.exact = 1,
	};

	return access;
}

TEST(test_columns_side_by_side_do_not_meet)
{
	struct memory_access left = columns(0, 64, 128, 100), right = columns(64, 64, 128, 100);
	struct memory_access wide = columns(60, 8, 128, 100), row = columns(128, 128, 128, 1);

	assert_int_equal(access_overlap(&left, &right), OVERLAP_NONE);
	assert_int_equal(access_overlap(&left, &wide), OVERLAP_SURE);
	assert_int_equal(access_overlap(&right, &wide), OVERLAP_SURE);
	assert_int_equal(access_overlap(&left, &row), OVERLAP_SURE);
	left.exact = 0;
	assert_int_equal(access_overlap(&left, &wide), OVERLAP_MAYBE);
	assert_int_equal(access_overlap(&left, &right), OVERLAP_NONE);
}

TEST(test_every_other_element_is_apart_from_the_others)
{
	struct memory_access even = columns(0, 4, 8, 1000), odd = columns(4, 4, 8, 1000);
	struct memory_access third = columns(4, 4, 12, 600);

	assert_int_equal(access_overlap(&even, &odd), OVERLAP_NONE);
	assert_int_equal(access_overlap(&even, &third), OVERLAP_SURE);
}

/* Their number does not matter: a million pieces are not compared one by one. */
TEST(test_pieces_of_one_stride_meet_or_never_do)
{
	struct memory_access even = columns(0, 4, 8, 1000000), odd = columns(4, 4, 8, 1000000);
	struct memory_access late = columns(7999996, 4, 8, 1000000), low = odd;
	struct memory_access between = columns(2, 4, 8, 1000000), wide = columns(4, 5, 8, 1000000);

	assert_int_equal(access_overlap(&even, &odd), OVERLAP_NONE);
	assert_int_equal(access_overlap(&odd, &even), OVERLAP_NONE);
	assert_int_equal(access_overlap(&even, &late), OVERLAP_NONE);
	assert_int_equal(access_overlap(&even, &between), OVERLAP_SURE);
	assert_int_equal(access_overlap(&odd, &between), OVERLAP_SURE);
	assert_int_equal(access_overlap(&even, &wide), OVERLAP_SURE);
	/* What begins before the other one, and what is not sure to be accessed. */
	low.low = low.start = -4000004;
	assert_int_equal(access_overlap(&even, &low), OVERLAP_NONE);
	low.low = low.start = -4000002;
	assert_int_equal(access_overlap(&even, &low), OVERLAP_SURE);
	low.exact = 0;
	assert_int_equal(access_overlap(&even, &low), OVERLAP_MAYBE);
	low.low = low.start = -4000004;
	assert_int_equal(access_overlap(&even, &low), OVERLAP_NONE);
}

TEST(test_pieces_of_strides_with_a_common_divisor)
{
	struct memory_access even = columns(0, 4, 8, 1000000), odd = columns(4, 4, 16, 500000);
	struct memory_access fourth = columns(8, 4, 16, 500000), sixth = columns(12, 4, 24, 300000);
	struct memory_access third = columns(4, 4, 12, 600000);

	assert_int_equal(access_overlap(&even, &odd), OVERLAP_NONE);
	assert_int_equal(access_overlap(&even, &fourth), OVERLAP_SURE);
	assert_int_equal(access_overlap(&odd, &fourth), OVERLAP_NONE);
	assert_int_equal(access_overlap(&even, &sixth), OVERLAP_NONE);
	assert_int_equal(access_overlap(&odd, &sixth), OVERLAP_SURE);
	assert_int_equal(access_overlap(&odd, &third), OVERLAP_SURE);
}

/* Every other element of a tile, in rows of a pitch. */
static struct memory_access tile(int64_t first, int64_t pitch, int64_t rows)
{
	struct memory_access access = columns(first, 4, pitch, rows);

	access.stride[access.stride_count++] = (struct access_stride){ 8, 100 };
	access.high += 99 * 8;
	return access;
}

TEST(test_tiles_meet_in_a_row_or_in_none)
{
	struct memory_access even = tile(0, 4096, 1000000), odd = tile(4, 4096, 1000000);
	struct memory_access next = tile(800, 4096, 1000000), other = tile(2048, 8192, 500000);
	struct memory_access over = tile(792, 8192, 500000), row = columns(796, 4, 1, 1);

	row.stride_count = 0;
	assert_int_equal(access_overlap(&even, &odd), OVERLAP_NONE);
	assert_int_equal(access_overlap(&even, &next), OVERLAP_NONE);
	assert_int_equal(access_overlap(&even, &other), OVERLAP_NONE);
	assert_int_equal(access_overlap(&even, &over), OVERLAP_SURE);
	assert_int_equal(access_overlap(&over, &odd), OVERLAP_NONE);
	assert_int_equal(access_overlap(&even, &row), OVERLAP_NONE);
	assert_int_equal(access_overlap(&odd, &row), OVERLAP_SURE);
}

TEST(test_too_many_pieces_may_meet)
{
	/* By the pitch, odd rows of the one have the remainders of even rows of the other. */
	struct memory_access even = tile(0, 1004, 1000000), odd = tile(4, 1004, 1000000);

	assert_int_equal(access_overlap(&even, &odd), OVERLAP_MAYBE);
}

TEST(test_strides_downwards_may_meet)
{
	struct memory_access up = columns(0, 4, 8, 1000), down = columns(8000, 4, -8, 1000);
	struct memory_access none = columns(0, 4, 0, 1000);

	down.low = 8;
	down.high = 8004;
	none.high = 8000;
	assert_int_equal(access_overlap(&up, &down), OVERLAP_MAYBE);
	assert_int_equal(access_overlap(&up, &none), OVERLAP_MAYBE);
	down.low = 8000;
	assert_int_equal(access_overlap(&up, &down), OVERLAP_NONE);
}

TEST(test_a_set_covers_what_lies_in_its_pieces)
{
	struct memory_access wide = columns(0, 64, 128, 100), part = columns(400, 8, 128, 97);
	struct memory_access piece = columns(128, 64, 0, 1), across = columns(60, 8, 128, 50);
	struct memory_access more = columns(128, 64, 128, 100);

	piece.stride_count = 0;
	assert_true(access_covers(&wide, &wide));
	assert_true(access_covers(&wide, &part));
	assert_true(access_covers(&wide, &piece));
	assert_false(access_covers(&wide, &across));
	assert_false(access_covers(&wide, &more));
	assert_false(access_covers(&part, &wide));
	wide.exact = 0;
	assert_false(access_covers(&wide, &part));
}

/* Against a map of bytes.  Half of the strides have a common divisor. */
TEST(test_strides_are_the_bytes_they_stand_for)
{
	unsigned seed = 12345;

	for (int round = 0; round < 2000; round++) {
		struct memory_access set[2];
		uint8_t map[2][16384] = { { 0 } };
		int meet = 0, unit = round % 2 ? 1 : 8;

		for (int s = 0; s < 2; s++) {
			int number[6];

			for (int i = 0; i < 6; i++) {
				seed = seed * 1103515245u + 12345u;
				number[i] = (int)(seed >> 16 & 0xff);
			}
			set[s] = columns(number[0], 1 + number[1] % 16, 0, 1);
			set[s].stride_count = 2;
			set[s].stride[0] = (struct access_stride){ unit * (60 + number[2]),
				1 + number[3] % 6 };
			set[s].stride[1] = (struct access_stride){ unit * (17 + number[4] % 8),
				1 + number[5] % 3 };
			set[s].high = 16384;
			for (int i = 0; i < set[s].stride[0].count; i++)
				for (int j = 0; j < set[s].stride[1].count; j++)
					memset(&map[s][set[s].start + i * set[s].stride[0].bytes +
						       j * set[s].stride[1].bytes],
						1, (size_t)set[s].run);
		}
		for (int i = 0; i < 16384; i++)
			meet |= map[0][i] & map[1][i];
		assert_int_equal(access_overlap(&set[0], &set[1]),
			meet ? OVERLAP_SURE : OVERLAP_NONE);
	}
}

static struct memory_access piece(int64_t low, int64_t bytes, int exact, enum evidence evidence)
{
	return (struct memory_access){ .allocation = 1,
		.low = low,
		.high = low + bytes,
		.start = low,
		.run = bytes,
		.direction = ACCESS_WRITE,
		.evidence = (uint8_t)evidence,
		.sure = 1,
		.exact = (uint8_t)exact };
}

static int same_bytes(struct memory_access one, struct memory_access other)
{
	int same = access_conflict(&one, &other).same_bytes;

	assert_int_equal(same, access_conflict(&other, &one).same_bytes);
	return same;
}

/* A byte that both access, not one that they may access. */
TEST(test_the_bytes_that_both_access_are_known_or_not)
{
	struct memory_access copy = piece(0, 64, 1, EVIDENCE_EXACT), other = copy;

	assert_int_equal(same_bytes(copy, piece(32, 64, 1, EVIDENCE_PTX)), 1);
	assert_int_equal(same_bytes(copy, piece(32, 64, 1, EVIDENCE_MACHINE)), 1);
	assert_int_equal(same_bytes(copy, piece(64, 64, 1, EVIDENCE_PTX)), 0);
	assert_int_equal(same_bytes(copy, piece(32, 64, 0, EVIDENCE_PTX)), 0);
	assert_int_equal(same_bytes(copy, piece(0, 128, 0, EVIDENCE_PTX)), 0);
	assert_int_equal(same_bytes(copy, piece(16, 32, 0, EVIDENCE_PTX)), 1);
	assert_int_equal(same_bytes(piece(0, 64, 0, EVIDENCE_PTX), piece(0, 64, 0, EVIDENCE_PTX)),
		0);
	assert_int_equal(same_bytes(copy, piece(0, 64, 1, EVIDENCE_CONVENTION)), 0);
	assert_int_equal(same_bytes(copy, piece(0, 64, 1, EVIDENCE_ANNOTATION)), 0);
	other.sure = 0;
	assert_int_equal(same_bytes(copy, other), 0);
	other = copy;
	other.maybe = 1;
	assert_int_equal(same_bytes(copy, other), 0);
	other = copy;
	other.direction = ACCESS_UNKNOWN;
	assert_int_equal(same_bytes(copy, other), 0);
	copy.direction = other.direction = ACCESS_READ;
	assert_int_equal(same_bytes(copy, other), 0);
}

/* The last one closes it; an own reader stays apart. */
TEST(test_readers_of_an_analysis_share_what_they_read)
{
	struct program p;
	struct access_reader *first, *second, *own;
	const struct accesses *accesses;

	program_begin(&p);
	program_do(&p, "a: upload_async n1 pinned #64; b: upload_async n1 pinned #64");
	p.m.db.run = run_open(&p.m.db);
	first = access_share(&p.m.db, 0);
	second = access_share(&p.m.db, 0);
	own = access_open(&p.m.db);
	assert_non_null(first);
	assert_ptr_equal(first, second);
	assert_ptr_not_equal(first, own);
	accesses = access_read(first, program_call(&p, "a"));
	assert_non_null(accesses);
	/* Of an equal call, and of the same one. */
	assert_ptr_equal(access_read(first, program_call(&p, "b")), accesses);
	access_close(first);
	assert_ptr_equal(p.m.db.run->accesses, second);
	assert_ptr_equal(access_read(second, program_call(&p, "a")), accesses);
	access_close(second);
	assert_null(p.m.db.run->accesses);
	access_close(own);
	run_close(p.m.db.run);
	p.m.db.run = NULL;
	program_finish(&p, "");
}
