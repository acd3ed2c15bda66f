/* SPDX-License-Identifier: Apache-2.0 */
#include "ring_lives.h"

#include <stdlib.h>

#include "calls.h"
#include "map.h"
#include "memory.h"
#include "reader.h"

/* Objects of which a call made the one and another ended it. */
static const struct life {
	uint8_t made_by, made, ended_by, ended;
} lives[] = {
#define KIND_ENDS(maker, made, end, ended) \
	{ KIND_##maker, FIELD_##made, KIND_##end, FIELD_##ended },
#include "kinds.def"
};
#define LIVES (sizeof(lives) / sizeof(*lives))

struct canceller {
	struct ring_record *list;
	const struct call_type_record *const *type;
	struct map made; /* key of an object -> 1 + the call that made it last */
	size_t *before;  /* by record: the one that made such an object before, likewise */
	/* By handle: how many calls name it that stay, since 1 + the place when it last ended. */
	struct map named, ended;
	size_t *place; /* by record: its place in the order of time */
};

static const struct call_record *call_of(const struct ring_record *at)
{
	return (const struct call_record *)at->record;
}

static enum call_kind kind_of(const struct canceller *c, size_t at)
{
	return c->type[call_of(&c->list[at])->call]->kind;
}

static uint64_t exit_of(const struct ring_record *at)
{
	return call_of(at)->enter + call_duration(call_of(at));
}

static int by_exit(const void *a, const void *b, void *list)
{
	size_t x = *(const size_t *)a, y = *(const size_t *)b;
	uint64_t one = exit_of((struct ring_record *)list + x);
	uint64_t other = exit_of((struct ring_record *)list + y);

	return one != other ? (one > other) - (one < other) : (x > y) - (x < y);
}

/* The value of the first such field of a call; 0: it has none. */
static uint64_t handle_of(const struct canceller *c, size_t at, int field)
{
	const struct call_record *call = call_of(&c->list[at]);
	const struct call_type_record *type = c->type[call->call];

	for (unsigned i = 0; i < type->field_count; i++)
		if (type->data[i] == field)
			return call->field[i];
	return 0;
}

/* The key of an object by its maker's kind and handle, 0: none.  Ranges nest in their thread. */
static uint64_t key_of(const struct canceller *c, size_t at, int field, int made_by)
{
	uint64_t handle = field ? handle_of(c, at, field) : c->list[at].thread;

	return handle ? map_hash_words((const uint64_t[]){ handle, (uint64_t)made_by }, 2) : 0;
}

/* Handles are addresses; smaller values are numbers. */
#define LEAST_HANDLE 4096

/* Does such a field name an object with which the call is gone? */
static int is_part(unsigned kind, unsigned field)
{
#define KIND_PARTS(symbol, named, maker) \
	if (kind == KIND_##symbol && field == FIELD_##named) \
		return 1;
#include "kinds.def"
	return 0;
}

/* Counts (1) or no longer (-1) that a call names handles that keep their object. */
static void name(struct canceller *c, size_t at, int by)
{
	const struct call_record *call = call_of(&c->list[at]);
	const struct call_type_record *type = c->type[call->call];

	for (unsigned i = 0; i < type->field_count; i++) {
		uint64_t handle = call->field[i], count;

		if (handle <= LEAST_HANDLE || is_part(type->kind, type->data[i]))
			continue;
		count = map_get(&c->named, handle, 0);
		if (by > 0)
			map_set(&c->named, handle, count + 1);
		else if (count && map_get(&c->ended, handle, 0) <= c->place[at])
			map_set(&c->named, handle, count - 1);
	}
}

static void remove_call(struct canceller *c, size_t at)
{
	c->list[at].removed = 1;
	name(c, at, -1);
}

/* Takes the call that made an object, which is over: 1 + its number, 0: not known. */
static size_t take(struct canceller *c, uint64_t key)
{
	size_t made = key ? (size_t)map_get(&c->made, key, 0) : 0;

	if (made && c->before[made - 1])
		map_set(&c->made, key, c->before[made - 1]);
	else if (made)
		map_remove(&c->made, key);
	return made;
}

/* Whether the call remains that ended an object. */
static int end_object(struct canceller *c, size_t at, const struct life *life)
{
	uint64_t handle = handle_of(c, at, life->ended);
	size_t made = take(c, key_of(c, at, life->ended, life->made_by));
	size_t recorded = 0;

	/* cudaFree(NULL) ends nothing. */
	if (!made)
		return !life->ended || handle;
	/* The call that replaces an earlier one stays. */
	if (life->made_by == life->ended_by) {
		remove_call(c, made - 1);
		return 1;
	}
	if (life->made_by == KIND_EVENT_CREATE)
		recorded = take(c, key_of(c, at, FIELD_event, KIND_EVENT_RECORD));
	if (handle > LEAST_HANDLE && map_get(&c->named, handle, 0) > 1)
		return 1;
	remove_call(c, made - 1);
	if (recorded)
		remove_call(c, recorded - 1);
	return 0;
}

static void make_object(struct canceller *c, size_t at, const struct life *life)
{
	uint64_t key = key_of(c, at, life->made, life->made_by);
	size_t last = key ? (size_t)map_get(&c->made, key, 0) : 0;

	if (!key || last == at + 1)
		return;
	c->before[at] = last;
	map_set(&c->made, key, at + 1);
}

/* From here on the handle is that of another object. */
static void forget_names(struct canceller *c, size_t at, const struct life *life)
{
	uint64_t handle = handle_of(c, at, life->ended);

	map_set(&c->named, handle, 0);
	map_set(&c->ended, handle, c->place[at] + 1);
}

static void follow_call(struct canceller *c, size_t at)
{
	enum call_kind kind = kind_of(c, at);
	int stays = 1;

	for (size_t i = 0; i < LIVES && stays; i++)
		if (lives[i].ended_by == kind)
			stays = end_object(c, at, &lives[i]);
	if (!stays) {
		c->list[at].removed = 1;
		return;
	}
	name(c, at, 1);
	for (size_t i = 0; i < LIVES; i++) {
		if (lives[i].ended_by == kind && lives[i].made_by != kind)
			forget_names(c, at, &lives[i]);
		if (lives[i].made_by == kind)
			make_object(c, at, &lives[i]);
	}
}

void ring_lives_cancel(struct ring_record *list, size_t count,
	const struct call_type_record *const *type)
{
	struct canceller c = { .list = list,
		.type = type,
		.before = xcalloc(count + 1, sizeof(*c.before)),
		.place = xcalloc(count + 1, sizeof(*c.place)) };
	size_t *order = xcalloc(count + 1, sizeof(*order)), calls = 0;

	for (size_t i = 0; i < count; i++) {
		if (list[i].removed || list[i].record->type != RECORD_CALL)
			continue;
		list[i].removed = call_of(&list[i])->result || kind_of(&c, i) == KIND_MARK;
		if (!list[i].removed)
			order[calls++] = i;
	}
	qsort_r(order, calls, sizeof(*order), by_exit, list);
	for (size_t i = 0; i < calls; i++)
		c.place[order[i]] = i;
	for (size_t i = 0; i < calls; i++)
		follow_call(&c, order[i]);
	map_release(&c.made);
	map_release(&c.named);
	map_release(&c.ended);
	free(c.before);
	free(c.place);
	free(order);
}
