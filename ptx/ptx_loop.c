/* SPDX-License-Identifier: Apache-2.0 */
/* Heads of loops: join what enters a loop with what comes back. */
#include "ptx_walk.h"

/*
 * Limits of how often a range may grow before it becomes unbounded, and shrink after that: a wider
 * range accesses more, at a lower confidence.
 */
#define GROW_LIMIT 2
#define SHRINK_LIMIT 3
/* Limit of changes of the entry value before a register is given up, and has any value. */
#define RESET_LIMIT 8
/* Passes after which a register's value at a loop's head only grows. */
#define PATIENCE 24

static uint32_t rounds_of(struct ptx_frame *frame, uint32_t block)
{
	return ptx_symbol(frame->walk, frame->path, block, WHICH_ROUNDS);
}

/* Replaces the symbol in value by its bounds. */
static void fold(struct ptx_value *value, const struct ptx_state *state, uint32_t symbol)
{
	int64_t factor = ptx_factor(value, symbol);
	struct ptx_range range;
	unsigned at = 0;

	if (!factor)
		return;
	range = ptx_add_range(ptx_scale_range(state->range[symbol], factor),
		(struct ptx_range){ value->low, value->high });
	while (value->term[at].symbol != symbol)
		at++;
	value->count--;
	memmove(&value->term[at], &value->term[at + 1], (value->count - at) * sizeof(*value->term));
	value->low = range.low;
	value->high = range.high;
}

/* An outer loop enters again: until here the symbols have their values of the previous time. */
static void end_last_time(struct ptx_frame *frame, uint32_t block, struct ptx_state *state)
{
	uint32_t rounds = rounds_of(frame, block);

	for (uint32_t i = 0; i < frame->function->slot_count; i++) {
		uint32_t own = PTX_NO_SYMBOL;

		if (state->many[i].count)
			own = ptx_known_symbol(frame->walk, frame->path, block, WHICH_JOIN + i);
		if (rounds != PTX_NO_SYMBOL)
			fold(&state->many[i], state, rounds);
		if (own != PTX_NO_SYMBOL)
			fold(&state->many[i], state, own);
	}
	if (rounds != PTX_NO_SYMBOL)
		ptx_forget(state, rounds);
}

/* Returns the range extended by what was found; after GROW_LIMIT times it becomes unbounded. */
static struct ptx_range widen(struct ptx_loop_register *reg, struct ptx_range found)
{
	struct ptx_range *range = &reg->range;
	int inside = found.low >= range->low && found.high <= range->high;

	if (inside && found.low == range->low && found.high == range->high)
		return *range;
	if (inside) {
		if (reg->shrunk < SHRINK_LIMIT) {
			reg->shrunk++;
			*range = found;
		}
		return *range;
	}
	if (reg->grown >= GROW_LIMIT + SHRINK_LIMIT)
		reg->shrunk = SHRINK_LIMIT;
	if (reg->grown++ < GROW_LIMIT && range->low <= range->high) {
		*range = ptx_hull(*range, found);
		return *range;
	}
	if (range->low > range->high) {
		*range = found;
		return *range;
	}
	if (found.low < range->low)
		range->low = INT64_MIN;
	if (found.high > range->high)
		range->high = INT64_MAX;
	return *range;
}

/* Returns 1 if the value that comes back is the expected one. */
static int is_even(const struct ptx_value *back, const struct ptx_value *expected, uint32_t rounds)
{
	struct ptx_value earlier = *back;
	struct ptx_value round = ptx_constant(1);

	/* In terms of the rounds when the head is reached again, there was one less. */
	if (ptx_add_terms(&earlier, &round, -ptx_factor(back, rounds)))
		return 0;
	return ptx_same(&earlier, expected);
}

static struct ptx_value evenly(const struct ptx_loop_register *reg, const struct ptx_value *entry,
	uint32_t rounds)
{
	struct ptx_value value = *entry, symbol = ptx_symbol_value(rounds);

	if (reg->step && ptx_add_terms(&value, &symbol, reg->step))
		return *entry;
	return value;
}

/* Returns the register's growth in the first round, 0: not a constant. */
static int64_t find_step(const struct ptx_value *entry, const struct ptx_value *back)
{
	int64_t step, step_high;

	if (entry->half != back->half || entry->base != back->base || entry->id != back->id ||
		!ptx_same_terms(entry->term, entry->count, back->term, back->count) ||
		entry->low == INT64_MIN || entry->high == INT64_MAX || back->low == INT64_MIN ||
		back->high == INT64_MAX || __builtin_sub_overflow(back->low, entry->low, &step) ||
		__builtin_sub_overflow(back->high, entry->high, &step_high) || step != step_high)
		return 0;
	return step;
}

/* Returns 1 and the value at the head if the register grows by a constant, as far as is known. */
static int try_evenly(struct ptx_loop_register *reg, const struct ptx_value *entry,
	const struct ptx_value *back, uint32_t rounds, struct ptx_value *value)
{
	if (reg->failed || rounds == PTX_NO_SYMBOL || entry->base == BASE_UNKNOWN)
		return 0;
	if (!reg->has_entry || !ptx_same(&reg->entry, entry)) {
		/* The value that came back belongs to another entry: the next pass decides. */
		if (reg->has_entry && ++reg->resets > RESET_LIMIT)
			return 0;
		reg->has_entry = 1;
		reg->entry = *entry;
	} else if (back && !reg->step) {
		reg->step = ptx_same(entry, back) ? 0 : find_step(entry, back);
		if (!reg->step && !ptx_same(entry, back))
			return 0;
		/* The first step is assumed until the next pass. */
	} else if (back) {
		struct ptx_value expected = evenly(reg, entry, rounds);

		if (!is_even(back, &expected, rounds))
			return 0;
	}
	*value = evenly(reg, entry, rounds);
	return 1;
}

/* A value that comes back has passed the loop's comparison, so it bounds the value at the head. */
static void bound_evenly(struct ptx_frame *frame, struct ptx_head *head, uint32_t slot,
	struct ptx_state *state, const struct ptx_value *value)
{
	struct ptx_loop_register *reg = &head->reg[slot];
	struct ptx_range before = reg->range, found = { INT64_MIN, INT64_MAX };
	const struct ptx_value *entry = &state->many[slot];

	if (!head->back || !reg->step || entry->low != entry->high)
		return;
	if (reg->bounded)
		found = ptx_hull(ptx_bounds(entry, state),
			ptx_bounds(&head->back->many[slot], head->back));
	else
		reg->range = found;
	reg->bounded = 1;
	found = widen(reg, found);
	frame->changed |= found.low != before.low || found.high != before.high;
	found = ptx_add_range(found,
		(struct ptx_range){ ptx_multiply_bound(entry->low, -1),
			ptx_multiply_bound(entry->low, -1) });
	ptx_constrain(state, value->term, value->count, found);
}

/* Joins what enters and what comes back into value, and returns the range of its number. */
static struct ptx_range join_entry(struct ptx_frame *frame, const struct ptx_head *head,
	struct ptx_value *value, const struct ptx_state *state, const struct ptx_value *back)
{
	struct ptx_range range;
	struct ptx_value whole[2];
	uint8_t half = value->half;

	if (!back)
		return ptx_bounds(value, state);
	if ((half || back->half) && !ptx_halves_of_one(value, back, whole)) {
		*value = ptx_interval(INT32_MIN, UINT32_MAX);
		value->loaded = 1;
		return (struct ptx_range){ INT32_MIN, UINT32_MAX };
	}
	range = ptx_hull(ptx_bounds(value, state), ptx_bounds(back, head->back));
	ptx_join_base(frame->walk, value, back);
	value->loaded |= back->loaded;
	value->half = half ? half : back->half;
	return range;
}

static int is_kept(const struct ptx_value *old, const struct ptx_value *entry,
	const struct ptx_value *back)
{
	return ptx_same(old, entry) && (!back || ptx_same(old, back));
}

/*
 * After many passes: joins all values that the register ever had, without bounds.  There are few
 * such steps, so the passes come to an end.
 */
static struct ptx_value all_it_was(struct ptx_frame *frame, const struct ptx_head *head,
	uint32_t slot, const struct ptx_value *entry)
{
	const struct ptx_value *other[2] = { entry, head->back ? &head->back->many[slot] : NULL };
	struct ptx_value value = head->last->many[slot], whole[2];

	if (is_kept(&value, other[0], other[1]))
		return value;
	for (int i = 0; i < 2 && other[i]; i++) {
		uint8_t half = value.half ? value.half : other[i]->half;

		if ((value.half || other[i]->half) && !ptx_halves_of_one(&value, other[i], whole)) {
			value = ptx_interval(INT64_MIN, INT64_MAX);
			value.loaded = 1;
			return value;
		}
		ptx_join_base(frame->walk, &value, other[i]);
		value.loaded |= other[i]->loaded;
		value.half = half;
	}
	value.count = 0;
	value.low = INT64_MIN;
	value.high = INT64_MAX;
	return value;
}

static void enter_register(struct ptx_frame *frame, uint32_t block, uint32_t slot,
	struct ptx_state *state, uint32_t rounds)
{
	struct ptx_head *head = frame->head[block];
	struct ptx_loop_register *reg = &head->reg[slot];
	const struct ptx_value *back = head->back ? &head->back->many[slot] : NULL;
	struct ptx_value value = state->many[slot], entry = value;
	uint32_t symbol = PTX_NO_SYMBOL;
	struct ptx_range range;

	if (frame->passes >= PATIENCE) {
		state->many[slot] = all_it_was(frame, head, slot, &entry);
		return;
	}
	if (try_evenly(reg, &state->many[slot], back, rounds, &value)) {
		bound_evenly(frame, head, slot, state, &value);
		state->many[slot] = value;
		return;
	}
	if (!reg->failed) {
		reg->failed = 1;
		reg->grown = reg->shrunk = 0;
		reg->range = (struct ptx_range){ 1, 0 };
	}
	if (back &&
		ptx_find_twin(&frame->twins[1], block, &entry, state, back, head->back,
			&state->many[slot]))
		return;
	range = join_entry(frame, head, &value, state, back);
	range = widen(reg, range);
	if (frame->function->reg[frame->function->slot_reg[slot]].relevant == RELEVANT_ADDRESS)
		symbol = ptx_symbol(frame->walk, frame->path, block, WHICH_JOIN + slot);
	value.count = 0;
	value.low = range.low;
	value.high = range.high;
	if (symbol != PTX_NO_SYMBOL && range.low < range.high) {
		value.low = value.high = 0;
		value.count = 1;
		value.term[0] = (struct ptx_term){ symbol, 1 };
		ptx_redefine(state, symbol, range);
	}
	if (back)
		ptx_note_twin(&frame->twins[1], block, &entry, back, &value);
	state->many[slot] = value;
}

static int is_high(const struct ptx_head *head, uint32_t slot)
{
	return head->back && head->back->many[slot].half == HALF_HIGH;
}

/*
 * A 64-bit number that enters as one of 32 bits has the high half 0, and comes back as a half of a
 * value whose low half is in another register.  Returns 1 with the half of that register's value.
 */
static int enter_high(struct ptx_frame *frame, uint32_t block, uint32_t slot,
	struct ptx_state *state)
{
	const struct ptx_head *head = frame->head[block];
	const struct ptx_value *entry = &state->many[slot], *back = &head->back->many[slot];

	if (!ptx_is_constant(entry) || entry->low || back->base != BASE_NUMBER)
		return 0;
	for (uint32_t i = 0; i < frame->function->slot_count; i++) {
		const struct ptx_loop_register *low = &head->reg[i];

		if (is_high(head, i) || head->back->many[i].base != BASE_NUMBER || low->failed ||
			!low->has_entry || low->entry.half ||
			ptx_bounds(&low->entry, state).low < 0 ||
			!ptx_is_congruent(frame->walk, &head->back->many[i], back))
			continue;
		state->many[slot] = ptx_take_half(state, &state->many[i], HALF_HIGH);
		return 1;
	}
	return 0;
}

/*
 * After many passes, symbols that only one of two passes made do not count: no register here has
 * them, and what is made after the head is made before it is used.
 */
static int are_ranges_as_last_time(const struct ptx_frame *frame, const struct ptx_range *last,
	const struct ptx_range *range)
{
	if (frame->passes < PATIENCE)
		return !memcmp(last, range, frame->walk->symbol_count * sizeof(*range));
	for (uint32_t i = 0; i < frame->walk->symbol_count; i++)
		if (last[i].low <= last[i].high && range[i].low <= range[i].high &&
			(last[i].low != range[i].low || last[i].high != range[i].high))
			return 0;
	return 1;
}

static int is_as_last_time(struct ptx_frame *frame, const struct ptx_head *head,
	const struct ptx_state *state)
{
	for (uint32_t i = 0; i < frame->function->slot_count; i++)
		if (!ptx_same(&head->last->many[i], &state->many[i]))
			return 0;
	if (head->last->fact_count != state->fact_count ||
		head->last->split_count != state->split_count)
		return 0;
	return are_ranges_as_last_time(frame, head->last->range, state->range);
}

static uint32_t block_of(const struct ptx_function *function, uint32_t instruction)
{
	uint32_t low = 0, high = function->block_count;

	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (function->block[middle].first <= instruction)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* Returns 1 if the symbol may change between rounds of the loop. */
static int may_change(const struct ptx_frame *frame, uint32_t head, uint32_t number)
{
	const struct ptx_symbol *symbol = &frame->walk->symbol[number];
	int of_block = symbol->which == WHICH_ROUNDS || symbol->which >= WHICH_JOIN;

	if (number < PTX_FIXED_SYMBOLS || symbol->path < frame->path)
		return 0;
	if (symbol->which >= WHICH_PARAMETER && symbol->which < WHICH_SELECTED)
		return 0;
	/* Symbols of functions called in the loop change; those of callers were made before. */
	if (symbol->path > frame->path)
		return 1;
	return ptx_dominates(frame->function, head,
		of_block ? symbol->place : block_of(frame->function, symbol->place));
}

struct inside {
	const struct ptx_frame *frame;
	uint32_t head;
};

static int may_split_change(const void *arg, const struct ptx_split *split)
{
	const struct inside *inside = arg;

	for (uint32_t i = 0; i < split->count; i++)
		if (may_change(inside->frame, inside->head, split->term[i].symbol))
			return 1;
	return may_change(inside->frame, inside->head, split->quotient) ||
		may_change(inside->frame, inside->head, split->remainder);
}

static void forget_inside(struct ptx_frame *frame, uint32_t head, struct ptx_state *state)
{
	for (uint32_t i = 0; i < state->fact_count;) {
		struct ptx_fact *fact = &state->fact[i];
		uint32_t at = 0;

		while (at < fact->count && !may_change(frame, head, fact->term[at].symbol))
			at++;
		if (at < fact->count)
			*fact = state->fact[--state->fact_count];
		else
			i++;
	}
	ptx_drop_splits(state, may_split_change, &(struct inside){ frame, head });
}

/* Apart from the loop's rounds, the fact is about symbols that do not change in it. */
static int is_about_rounds(const struct ptx_frame *frame, uint32_t block,
	const struct ptx_fact *fact, uint32_t rounds)
{
	int is_it = 0;

	for (uint32_t i = 0; i < fact->count; i++) {
		if (fact->term[i].symbol == rounds)
			is_it = 1;
		else if (may_change(frame, block, fact->term[i].symbol))
			return 0;
	}
	return is_it;
}

/*
 * Returns 1 if the state that comes back obeys a condition that the state at the head does not
 * contain: the state at the head has rounds that no thread runs.
 */
static int knows_less(const struct ptx_frame *frame, uint32_t block, const struct ptx_state *state,
	uint32_t rounds)
{
	const struct ptx_state *back = frame->head[block]->back;

	for (uint32_t i = 0; back && i < back->fact_count; i++) {
		const struct ptx_fact *fact = &back->fact[i];
		struct ptx_value sum = { .count = (uint8_t)fact->count };
		struct ptx_range all, obeyed = fact->range;
		int64_t step;

		if (!is_about_rounds(frame, block, fact, rounds))
			continue;
		memcpy(sum.term, fact->term, sizeof(sum.term));
		step = ptx_factor(&sum, rounds);
		obeyed = ptx_add_range(obeyed, (struct ptx_range){ step, step });
		all = ptx_bounds(&sum, state);
		fold(&sum, state, rounds);
		obeyed = ptx_hull(obeyed, ptx_sum_range(sum.term, sum.count, state));
		if (all.low < obeyed.low || all.high > obeyed.high)
			return 1;
	}
	return 0;
}

void ptx_enter_loop(struct ptx_frame *frame, uint32_t block, struct ptx_state *state)
{
	struct ptx_head *head = frame->head[block];
	uint32_t rounds = rounds_of(frame, block);

	end_last_time(frame, block, state);
	forget_inside(frame, block, state);
	if (rounds != PTX_NO_SYMBOL) {
		/* Finds the range of the loop's rounds: 0 and all that the way back allows. */
		struct ptx_range found = { 0, 0 };

		if (head->back) {
			found.high = ptx_add_bound(head->back->range[rounds].high, 1);
			if (head->back->range[rounds].low > head->back->range[rounds].high)
				found.high = 1;
			/* Counting up to the limit would take too many passes. */
			if (!head->rounds.has_entry)
				found.high = INT64_MAX;
			head->rounds.has_entry = 1;
		}
		if (!head->back && !head->rounds.has_entry)
			head->rounds.range = found;
		state->range[rounds] = widen(&head->rounds, found);
	}
	frame->twins[1].count = 0;
	for (uint32_t i = 0; i < frame->function->slot_count; i++)
		if (!is_high(head, i))
			enter_register(frame, block, i, state, rounds);
	for (uint32_t i = 0; i < frame->function->slot_count; i++)
		if (is_high(head, i) && !enter_high(frame, block, i, state))
			enter_register(frame, block, i, state, rounds);
	head->knows_less = rounds != PTX_NO_SYMBOL && knows_less(frame, block, state, rounds);
	if (!is_as_last_time(frame, head, state)) {
		frame->changed = 1;
		ptx_copy_state(frame->function, head->last, state);
	}
}
