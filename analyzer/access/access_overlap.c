/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of bytes with strides: finds whether two have a byte in common. */
#include "access.h"

/* Limit of pieces compared before the answer is "maybe": a race stays, at a lower confidence. */
#define PIECE_LIMIT 20000

struct piece {
	int64_t low, high;
};

/* The rest of a set: pieces at the strides from level on, beginning at start. */
struct rest {
	const struct memory_access *access;
	unsigned level;
	int64_t start;
};

static int64_t add(int64_t a, int64_t b)
{
	int64_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return a < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}

static int64_t length_of(int64_t bytes, int64_t count)
{
	int64_t length;

	return __builtin_mul_overflow(bytes, count - 1, &length) ? INT64_MAX : length;
}

static int64_t end_of(const struct rest *rest)
{
	int64_t end = add(rest->start, rest->access->run);

	for (unsigned i = rest->level; i < rest->access->stride_count; i++)
		end = add(end,
			length_of(rest->access->stride[i].bytes, rest->access->stride[i].count));
	return end < rest->access->high ? end : rest->access->high;
}

static struct piece bounds_of(const struct rest *rest)
{
	struct piece piece = { rest->start, end_of(rest) };

	if (piece.low < rest->access->low)
		piece.low = rest->access->low;
	return piece;
}

static int64_t divisor_of(int64_t a, int64_t b)
{
	while (b) {
		int64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* Pieces of run bytes, each a multiple of step from the first one. */
struct grid {
	int64_t run, step;
};

/* Returns a grid with all bytes of the rest: shorter strides are filled up. */
static struct grid grid_of(const struct rest *rest, int64_t shortest)
{
	struct grid grid = { rest->access->run, 0 };

	for (unsigned i = rest->level; i < rest->access->stride_count; i++) {
		const struct access_stride *stride = &rest->access->stride[i];

		if (stride->bytes < shortest)
			grid.run = add(grid.run, length_of(stride->bytes, stride->count));
		else
			grid.step = divisor_of(stride->bytes, grid.step);
	}
	return grid;
}

/* Bytes whose remainders by a divisor of all strides differ are different bytes. */
static int differ_by_step(const struct rest *a, const struct rest *b, int64_t shortest)
{
	struct grid x = grid_of(a, shortest), y = grid_of(b, shortest);
	int64_t step = divisor_of(x.step, y.step), from;

	if (__builtin_sub_overflow(b->start, a->start, &from))
		return 0;
	from %= step;
	from += from < 0 ? step : 0;
	return from >= x.run && y.run <= step - from;
}

/* Pieces side by side in each turn of a stride, however many there are: columns, or fields. */
static int are_interleaved(const struct rest *a, const struct rest *b)
{
	const struct rest *side[] = { a, b };

	for (int s = 0; s < 2; s++)
		for (unsigned i = side[s]->level; i < side[s]->access->stride_count; i++)
			if (differ_by_step(a, b, side[s]->access->stride[i].bytes))
				return 1;
	return 0;
}

static enum access_overlap compare(const struct rest *a, const struct rest *b, unsigned *left);

/* Compares the pieces of a's next stride that overlap b's bounds. */
static enum access_overlap split(const struct rest *a, const struct rest *b, unsigned *left)
{
	const struct access_stride *stride = &a->access->stride[a->level];
	struct piece wanted = bounds_of(b);
	struct rest first = { a->access, a->level + 1, a->start };
	int64_t length = add(end_of(&first), -a->start), index = 0;

	if (wanted.low > a->start + length)
		index = (wanted.low - a->start - length) / stride->bytes;
	for (; index < stride->count; index++) {
		struct rest part = first;

		part.start = add(a->start, length_of(stride->bytes, index + 1));
		if (part.start >= wanted.high)
			return OVERLAP_NONE;
		if (!*left)
			return OVERLAP_MAYBE;
		--*left;
		switch (compare(&part, b, left)) {
		case OVERLAP_SURE:
			return OVERLAP_SURE;
		case OVERLAP_MAYBE:
			return OVERLAP_MAYBE;
		default:
			break;
		}
	}
	return OVERLAP_NONE;
}

static enum access_overlap compare(const struct rest *a, const struct rest *b, unsigned *left)
{
	struct piece x = bounds_of(a), y = bounds_of(b);

	if (x.low >= x.high || y.low >= y.high || x.high <= y.low || y.high <= x.low ||
		are_interleaved(a, b))
		return OVERLAP_NONE;
	if (a->level < a->access->stride_count)
		return split(a, b, left);
	if (b->level < b->access->stride_count)
		return split(b, a, left);
	return OVERLAP_SURE;
}

/* Strides are multiples of bytes upwards; no call and no code has shown others. */
static int goes_upwards(const struct memory_access *access)
{
	for (unsigned i = 0; i < access->stride_count; i++)
		if (access->stride[i].bytes <= 0)
			return 0;
	return 1;
}

enum access_overlap access_overlap(const struct memory_access *a, const struct memory_access *b)
{
	struct rest x = { a, 0, a->start }, y = { b, 0, b->start };
	unsigned left = PIECE_LIMIT;
	enum access_overlap found;

	if (a->allocation != b->allocation || a->high <= b->low || b->high <= a->low)
		return OVERLAP_NONE;
	if (!goes_upwards(a) || !goes_upwards(b))
		return OVERLAP_MAYBE;
	found = compare(&x, &y, &left);
	if (found == OVERLAP_SURE && !(a->exact && b->exact && a->sure && b->sure))
		return OVERLAP_MAYBE;
	return found;
}

/* Every piece of b is in a piece of a.  Only strides that a has, too, are compared. */
static int covers_pieces(const struct memory_access *a, const struct memory_access *b)
{
	int64_t from, left;
	unsigned at = 0;

	if (__builtin_sub_overflow(b->start, a->start, &from) || from < 0)
		return 0;
	for (unsigned i = 0; i < a->stride_count; i++) {
		const struct access_stride *stride = &a->stride[i];
		int64_t count = 1, first;

		if (stride->bytes <= 0)
			return 0;
		if (at < b->stride_count && b->stride[at].bytes == stride->bytes)
			count = b->stride[at++].count;
		first = from / stride->bytes;
		if (__builtin_sub_overflow(stride->count, first, &left) || left < count)
			return 0;
		from %= stride->bytes;
	}
	return at == b->stride_count && !__builtin_sub_overflow(a->run, from, &left) &&
		b->run <= left;
}

int access_covers(const struct memory_access *a, const struct memory_access *b)
{
	return a->allocation == b->allocation && a->exact && a->sure && a->low <= b->low &&
		a->high >= b->high && (!a->stride_count || covers_pieces(a, b));
}
