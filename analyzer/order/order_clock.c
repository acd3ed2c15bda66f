/* SPDX-License-Identifier: Apache-2.0 */
#include "order_clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "sorted.h"

/* A context's key stands for all its streams; the next key is its legacy stream's. */
static uint32_t set_key(uint32_t set)
{
	return set & ~ORDER_BLOCKING;
}

static size_t bytes_of(size_t count)
{
	return sizeof(struct order_clock) + count * sizeof(struct order_entry);
}

/*
 * Returns that number of entries plus up to an eighth: when clocks grow by one entry at a time,
 * freed memory fits the next ones.
 */
static size_t room_for(size_t count)
{
	size_t step = 1;

	while (16 * step <= count)
		step *= 2;
	return (count + step - 1) / step * step;
}

struct order_clock *order_clock_ref(struct order_clock *clock)
{
	if (clock)
		clock->refs++;
	return clock;
}

void order_clock_unref(struct order_clock *clock)
{
	if (!clock || --clock->refs)
		return;
	*clock->bytes -= bytes_of(clock->size);
	free(clock);
}

static struct order_entry *find(struct order_entry *entry, size_t count, uint32_t key)
{
	size_t low =
		sorted_number(entry, count, sizeof(*entry), offsetof(struct order_entry, key), key);

	return low < count && entry[low].key == key ? &entry[low] : NULL;
}

static const struct order_entry *find_in(const struct order_clock *clock, uint32_t key)
{
	return clock ? find((struct order_entry *)clock->entry, clock->count, key) : NULL;
}

static enum order_strength strength_of(const struct order_entry *entry, uint32_t seq)
{
	for (int i = ORDER_LEVELS; entry && i-- > 0;)
		if (entry->seq[i] >= seq)
			return (enum order_strength)(i + 1);
	return ORDER_UNORDERED;
}

/* Does own cover the epoch: same agent, or legacy stream and a blocking stream? */
static int own_covers(const struct order_epoch *own, uint32_t key, uint32_t set, uint32_t seq)
{
	if (!own || own->seq < seq)
		return 0;
	return own->key == key || (set & ORDER_BLOCKING && own->key == set_key(set) + 1);
}

static enum order_strength better(enum order_strength a, enum order_strength b)
{
	return a > b ? a : b;
}

enum order_strength order_clock_strength(const struct order_clock *clock,
	const struct order_epoch *own, const struct order_epoch *epoch)
{
	enum order_strength best;

	if (own_covers(own, epoch->key, epoch->set, epoch->seq))
		return ORDER_GUARANTEED;
	best = strength_of(find_in(clock, epoch->key), epoch->seq);
	if (best < ORDER_GUARANTEED && epoch->set)
		best = better(best, strength_of(find_in(clock, set_key(epoch->set)), epoch->seq));
	if (best < ORDER_GUARANTEED && epoch->set & ORDER_BLOCKING)
		best = better(best,
			strength_of(find_in(clock, set_key(epoch->set) + 1), epoch->seq));
	if (best < ORDER_GUARANTEED)
		best = better(best, strength_of(find_in(clock, ORDER_ALL_KEY), epoch->seq));
	return best;
}

static uint32_t max_guaranteed(const struct order_clock *clock, uint32_t key, uint32_t covered)
{
	uint32_t seq = order_clock_reach(clock, key, ORDER_GUARANTEED);

	return seq > covered ? seq : covered;
}

uint32_t order_clock_covers_key(const struct order_clock *clock, const struct order_epoch *own,
	uint32_t key)
{
	return max_guaranteed(clock, key, own && own->key == key ? own->seq : 0);
}

uint32_t order_clock_covers_set(const struct order_clock *clock, const struct order_epoch *own,
	uint32_t set)
{
	uint32_t covered = max_guaranteed(clock, ORDER_ALL_KEY, 0);

	if (set)
		covered = max_guaranteed(clock, set_key(set), covered);
	if (!(set & ORDER_BLOCKING))
		return covered;
	if (own && own->key == set_key(set) + 1 && own->seq > covered)
		covered = own->seq;
	return max_guaranteed(clock, set_key(set) + 1, covered);
}

uint32_t order_clock_covers(const struct order_clock *clock, const struct order_epoch *own,
	const struct order_epoch *agent)
{
	uint32_t of_key = order_clock_covers_key(clock, own, agent->key);
	uint32_t of_set = order_clock_covers_set(clock, own, agent->set);

	return of_key > of_set ? of_key : of_set;
}

uint32_t order_clock_reach(const struct order_clock *clock, uint32_t key,
	enum order_strength strength)
{
	const struct order_entry *entry = find_in(clock, key);

	return entry ? entry->seq[strength - 1] : 0;
}

static int is_implied(uint32_t implied, const struct order_entry *entry)
{
	if (!implied || entry->key == set_key(implied) || set_key(entry->set) != set_key(implied))
		return 0;
	return !(implied & ORDER_BLOCKING) || entry->set & ORDER_BLOCKING ||
		entry->key == set_key(implied) + 1;
}

static int below(const struct order_entry *entry, const struct order_entry *by, int cap)
{
	for (int i = 0; by && i < cap; i++)
		if (entry->seq[i] > by->seq[i])
			return 0;
	return by != NULL;
}

static int adds_nothing(const struct order_clock *clock, const struct order_epoch *own,
	const struct order_entry *entry, int cap)
{
	uint32_t before = 0;

	for (int i = cap; i-- > 0;) {
		struct order_epoch epoch = { entry->key, entry->set, entry->seq[i] };
		if (epoch.seq == before)
			continue;
		before = epoch.seq;
		if ((int)order_clock_strength(clock, own, &epoch) <= i)
			return 0;
	}
	return 1;
}

/* Returns the index of the first entry of other that is not yet contained. */
static size_t first_new_entry(const struct order_joiner *joiner, const struct order_clock *clock,
	const struct order_epoch *own, const struct order_clock *other, int cap)
{
	const struct order_entry *at = clock ? clock->entry : NULL;
	const struct order_entry *end = clock ? at + clock->count : NULL;
	size_t i;

	for (i = 0; i < other->count; i++) {
		const struct order_entry *entry = &other->entry[i];

		while (at < end && at->key < entry->key)
			at++;
		if (at < end && at->key == entry->key && below(entry, at, cap))
			continue;
		if (!is_implied(joiner->implied, entry) && !adds_nothing(clock, own, entry, cap))
			break;
	}
	return i;
}

static void make_room(struct order_joiner *joiner, size_t count)
{
	if (count <= joiner->size)
		return;
	joiner->scratch = xrealloc(joiner->scratch, 2 * count, sizeof(*joiner->scratch));
	joiner->size = 2 * count;
}

static void raise(struct order_entry *entry, const struct order_entry *by, int cap)
{
	uint32_t seq[ORDER_LEVELS] = { 0 };

	/* The common case needs no branch. */
	memcpy(seq, by->seq, sizeof(seq));
	for (int i = cap; i < ORDER_LEVELS; i++)
		seq[i] = 0;
	for (int i = 0; i < ORDER_LEVELS; i++)
		entry->seq[i] = seq[i] > entry->seq[i] ? seq[i] : entry->seq[i];
}

/* Merges both lists by key into out, the second one capped.  Returns the number of entries. */
static size_t merge(struct order_entry *out, const struct order_entry *a, size_t a_count,
	const struct order_entry *b, size_t b_count, int cap)
{
	const struct order_entry *a_end = a + a_count, *b_end = b + b_count;
	struct order_entry *at = out;

	while (a < a_end && b < b_end) {
		if (a->key < b->key) {
			*at++ = *a++;
			continue;
		}
		*at = a->key == b->key ? *a++ : (struct order_entry){ b->key, b->set, { 0 } };
		raise(at++, b++, cap);
	}
	for (; a < a_end; a++)
		*at++ = *a;
	for (; b < b_end; b++) {
		*at = (struct order_entry){ b->key, b->set, { 0 } };
		raise(at++, b, cap);
	}
	return (size_t)(at - out);
}

/*
 * Drops entries that a context's key covers, or will cover with that strength; such keys come
 * first.
 */
static size_t prune(struct order_entry *list, size_t count, uint32_t implied, int cap)
{
	const struct order_entry *all = NULL, *streams = NULL, *legacy = NULL;
	uint32_t set = 0;
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		const struct order_entry *entry = &list[i];

		if (set_key(entry->set) != set) {
			set = set_key(entry->set);
			streams = find(list, kept, set);
			legacy = find(list, kept, set + 1);
		}
		if ((is_implied(implied, entry) && (cap == ORDER_LEVELS || !entry->seq[cap])) ||
			below(entry, all, ORDER_LEVELS) ||
			(set && entry->key != set && below(entry, streams, ORDER_LEVELS)) ||
			(entry->set & ORDER_BLOCKING && below(entry, legacy, ORDER_LEVELS)))
			continue;
		if (kept != i)
			list[kept] = *entry;
		if (list[kept].key == ORDER_ALL_KEY)
			all = &list[kept];
		else if (list[kept].key == set)
			streams = &list[kept];
		else if (list[kept].key == set + 1 && set)
			legacy = &list[kept];
		kept++;
	}
	return kept;
}

static void replace(struct order_joiner *joiner, struct order_clock **clock,
	const struct order_entry *list, size_t count)
{
	size_t size = room_for(count);
	struct order_clock *made;

	if (*clock && (*clock)->refs == 1 && count <= (*clock)->size) {
		memcpy((*clock)->entry, list, count * sizeof(*list));
		(*clock)->count = (uint32_t)count;
		(*clock)->number = ++joiner->numbers;
		return;
	}
	if (joiner->limit && joiner->bytes + bytes_of(size) > joiner->limit) {
		joiner->full = 1;
		return;
	}
	made = xrealloc(NULL, 1, bytes_of(size));
	made->refs = 1;
	made->count = (uint32_t)count;
	made->size = (uint32_t)size;
	made->number = ++joiner->numbers;
	made->bytes = &joiner->bytes;
	joiner->bytes += bytes_of(size);
	memcpy(made->entry, list, count * sizeof(*list));
	order_clock_unref(*clock);
	*clock = made;
}

static void join_list(struct order_joiner *joiner, struct order_clock **clock,
	const struct order_entry *list, size_t list_count, int cap)
{
	size_t had = *clock ? (*clock)->count : 0, count;

	joiner->work += had + list_count;
	if (joiner->work_limit && joiner->work > joiner->work_limit) {
		joiner->full = 1;
		return;
	}
	make_room(joiner, had + list_count);
	count = merge(joiner->scratch, had ? (*clock)->entry : list, had, list, list_count, cap);
	count = prune(joiner->scratch, count, joiner->implied, cap);
	replace(joiner, clock, joiner->scratch, count);
}

void order_clock_join(struct order_joiner *joiner, struct order_clock **clock,
	const struct order_epoch *own, const struct order_clock *other, enum order_strength cap)
{
	size_t i;

	if (!other || other == *clock)
		return;
	i = first_new_entry(joiner, *clock, own, other, (int)cap);
	if (i == other->count)
		return;
	join_list(joiner, clock, other->entry + i, other->count - i, (int)cap);
}

void order_clock_add(struct order_joiner *joiner, struct order_clock **clock,
	const struct order_epoch *own, const struct order_epoch *epoch, enum order_strength cap)
{
	struct order_entry entry = { .key = epoch->key, .set = epoch->set }, *known;

	for (int i = 0; i < (int)cap; i++)
		entry.seq[i] = epoch->seq;
	if (!epoch->seq || is_implied(joiner->implied, &entry) ||
		order_clock_strength(*clock, own, epoch) >= cap)
		return;
	known = *clock && (*clock)->refs == 1 ? find((*clock)->entry, (*clock)->count, epoch->key)
					      : NULL;
	/* A key that stands for several streams may make other entries redundant. */
	if (!known || set_key(epoch->set) == epoch->key ||
		(epoch->set && epoch->key == set_key(epoch->set) + 1)) {
		join_list(joiner, clock, &entry, 1, (int)cap);
		return;
	}
	raise(known, &entry, (int)cap);
	(*clock)->number = ++joiner->numbers;
}

static void shrink(struct order_clock **clock)
{
	size_t size = (*clock)->size, less_size = room_for((*clock)->count);
	struct order_clock *less = xrealloc(*clock, 1, bytes_of(less_size));

	less->size = (uint32_t)less_size;
	*less->bytes -= bytes_of(size) - bytes_of(less_size);
	*clock = less;
}

void order_clock_forget(struct order_joiner *joiner, struct order_clock **clock,
	int (*gone)(void *arg, uint32_t key), void *arg)
{
	struct order_clock *from = *clock;
	uint32_t kept = 0;

	for (uint32_t i = 0; from && i < from->count; i++)
		if (!gone(arg, from->entry[i].key))
			from->entry[kept++] = from->entry[i];
	if (!from)
		return;
	from->count = kept;
	from->number = ++joiner->numbers;
	if (from->refs == 1 && room_for(kept) < from->size)
		shrink(clock);
}
