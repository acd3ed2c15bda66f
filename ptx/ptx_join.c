/* SPDX-License-Identifier: Apache-2.0 */
/* Joins at the ends of paths: two values, or two states, become one. */
#include "ptx_walk.h"

#include <stdlib.h>

void ptx_make_set(struct ptx_walk *walk, struct ptx_value *value, const uint32_t *word,
	uint32_t count)
{
	struct ptx_set set = { 0 };

	value->base = BASE_UNKNOWN;
	value->id = 0;
	if (count > sizeof(set.word) / sizeof(*set.word))
		return;
	set.count = count;
	memcpy(set.word, word, count * sizeof(*word));
	for (uint32_t i = 0; i <= walk->set_count; i++) {
		if (i == walk->set_count) {
			if (i == 256 || PTX_ROOM(walk->set, walk->set_room, walk->set_count))
				return;
			walk->set[walk->set_count++] = set;
		}
		if (!memcmp(&walk->set[i], &set, sizeof(set))) {
			value->base = BASE_WORDS;
			value->id = i;
			return;
		}
	}
}

static uint32_t words_of(const struct ptx_walk *walk, const struct ptx_value *value,
	const uint32_t **word)
{
	if (value->base == BASE_WORD) {
		*word = &value->id;
		return 1;
	}
	*word = walk->set[value->id].word;
	return walk->set[value->id].count;
}

static int is_word(const struct ptx_value *value)
{
	return value->base == BASE_WORD || value->base == BASE_WORDS;
}

static int is_null(const struct ptx_value *value)
{
	return ptx_is_constant(value) && !value->low;
}

void ptx_join_base(struct ptx_walk *walk, struct ptx_value *into, const struct ptx_value *other)
{
	if (into->base == other->base && into->id == other->id) {
		into->pointer &= other->pointer;
	} else if (is_null(other)) {
		return; /* nothing is there */
	} else if (is_null(into)) {
		into->base = other->base;
		into->id = other->id;
		into->pointer = other->pointer;
	} else if (is_word(into) && is_word(other)) {
		const uint32_t *a, *b;
		uint32_t a_count = words_of(walk, into, &a), b_count = words_of(walk, other, &b);
		uint32_t both[2 * PTX_SET_WORDS], count = 0, i = 0, j = 0;

		while (i < a_count || j < b_count) {
			uint32_t next = j == b_count || (i < a_count && a[i] <= b[j]) ? a[i] : b[j];

			i += i < a_count && a[i] == next;
			j += j < b_count && b[j] == next;
			both[count++] = next;
		}
		ptx_make_set(walk, into, both, count);
	} else {
		into->base = BASE_UNKNOWN;
		into->id = 0;
	}
}

/* Finds the values of which both are the same half; returns 0 for different halves. */
int ptx_halves_of_one(const struct ptx_value *a, const struct ptx_value *b,
	struct ptx_value whole[2])
{
	const struct ptx_value *plain = a->half ? b : a, *half = a->half ? a : b;

	whole[0] = ptx_whole(a);
	whole[1] = ptx_whole(b);
	if (a->half == b->half)
		return 1;
	/* A number is its own low half; for null both halves are 0. */
	return !plain->half &&
		(half->half == HALF_LOW || (is_null(plain) && half->base != BASE_NUMBER));
}

struct ptx_value ptx_join(struct ptx_frame *frame, const struct ptx_value *a,
	const struct ptx_state *a_state, const struct ptx_value *b, const struct ptx_state *b_state,
	uint32_t symbol, struct ptx_range *range)
{
	struct ptx_value joined = *a, whole[2];
	struct ptx_range both;

	if (ptx_same(a, b))
		return joined;
	if (a->half || b->half) {
		if (!ptx_halves_of_one(a, b, whole)) {
			joined = ptx_interval(INT32_MIN, UINT32_MAX);
			joined.loaded = 1;
			return joined;
		}
		joined = ptx_join(frame, &whole[0], a_state, &whole[1], b_state, symbol, range);
		joined.half = a->half ? a->half : b->half;
		return joined;
	}
	ptx_join_base(frame->walk, &joined, b);
	joined.loaded |= b->loaded;
	if (a->base != b->base && is_null(b))
		return joined;
	if (a->base != b->base && is_null(a)) {
		joined = *b;
		return joined;
	}
	if (ptx_same_terms(a->term, a->count, b->term, b->count)) {
		both = ptx_hull((struct ptx_range){ a->low, a->high },
			(struct ptx_range){ b->low, b->high });
		joined.low = both.low;
		joined.high = both.high;
		if (joined.count || symbol == PTX_NO_SYMBOL || both.low == both.high)
			return joined;
	}
	both = ptx_hull(ptx_bounds(a, a_state), ptx_bounds(b, b_state));
	joined.count = 0;
	joined.low = both.low;
	joined.high = both.high;
	if (symbol != PTX_NO_SYMBOL) {
		joined.low = joined.high = 0;
		joined.count = 1;
		joined.term[0] = (struct ptx_term){ symbol, 1 };
		*range = both;
	}
	return joined;
}

size_t ptx_state_size(const struct ptx_function *function)
{
	return sizeof(struct ptx_state) + function->slot_count * sizeof(struct ptx_value);
}

void ptx_copy_knowledge(struct ptx_state *to, const struct ptx_state *from)
{
	memcpy(to, from, sizeof(*to));
}

void ptx_copy_state(const struct ptx_function *function, struct ptx_state *to,
	const struct ptx_state *from)
{
	memcpy(to, from, ptx_state_size(function));
}
