/* SPDX-License-Identifier: Apache-2.0 */
/* Claims: sets of bytes around parameter words. */
#include "ptx_walk.h"

#include <stdlib.h>

/* Limit of claims per word and direction: an unrolled kernel has many accesses. */
#define CLAIMS_PER_WORD 8
/* The driver's addresses are above: the lowest one measured is 0x200000000. */
#define LOWEST_ADDRESS (INT64_C(1) << 32)

static int same_strides(const struct ptx_claim *a, const struct ptx_claim *b)
{
	if (a->stride_count != b->stride_count)
		return 0;
	for (unsigned i = 0; i < a->stride_count; i++)
		if (a->stride[i].bytes != b->stride[i].bytes ||
			a->stride[i].count != b->stride[i].count)
			return 0;
	return 1;
}

static void hull(struct ptx_claim *into, const struct ptx_claim *other)
{
	int touch = other->low <= into->high && into->low <= other->high;

	if (other->low < into->low)
		into->low = other->low;
	if (other->high > into->high)
		into->high = other->high;
	into->exact = into->exact && other->exact && touch;
	into->sure &= other->sure;
	into->loaded |= other->loaded;
	into->spins |= other->spins;
	into->stride_count = 0;
	ptx_set_run(into);
}

/* Joins runs that have grown until they touch. */
static void fold_strides(struct ptx_claim *claim)
{
	while (claim->stride_count) {
		const struct ptx_stride *last = &claim->stride[claim->stride_count - 1];

		if (claim->run < last->bytes)
			return;
		claim->run = ptx_add_bound(ptx_stride_length(last), claim->run);
		claim->stride_count--;
	}
}

/* Returns 1 if into covers both exactly. */
static int unite(struct ptx_claim *into, const struct ptx_claim *other)
{
	int touch = other->low <= into->high && into->low <= other->high;

	if (into->offset != other->offset || into->direction != other->direction ||
		into->object != other->object || into->early != other->early ||
		into->sure != other->sure || into->exact != other->exact)
		return 0;
	if (into->stride_count && same_strides(into, other)) {
		int64_t apart, run;

		if (__builtin_sub_overflow(other->low, into->low, &apart) || apart < -other->run ||
			apart > into->run)
			return 0;
		if (apart < 0) {
			run = ptx_add_bound(into->run, -apart);
			into->run = run > other->run ? run : other->run;
			into->low = other->low;
		} else {
			run = ptx_add_bound(other->run, apart);
			into->run = run > into->run ? run : into->run;
		}
		into->high = into->high > other->high ? into->high : other->high;
		into->loaded |= other->loaded;
		into->spins |= other->spins;
		fold_strides(into);
		ptx_set_run(into);
		return 1;
	}
	if (into->stride_count || other->stride_count || (into->exact && !touch))
		return 0;
	hull(into, other);
	return 1;
}

int ptx_put_claim(struct ptx_access *access, uint32_t *room, const struct ptx_claim *claim)
{
	if (PTX_ROOM(access->claim, *room, (uint32_t)access->count))
		return -1;
	access->claim[access->count++] = *claim;
	return 0;
}

int ptx_add_claim(struct ptx_access *access, uint32_t *room, const struct ptx_claim *claim)
{
	uint32_t count = (uint32_t)access->count, same = 0;
	struct ptx_claim *last = NULL;

	for (uint32_t i = 0; i < count; i++) {
		struct ptx_claim both = access->claim[i];

		if (both.offset != claim->offset || both.direction != claim->direction ||
			both.object != claim->object || both.early != claim->early)
			continue;
		same++;
		last = &access->claim[i];
		if (unite(&both, claim)) {
			*last = both;
			return 0;
		}
	}
	if (same >= CLAIMS_PER_WORD) {
		hull(last, claim);
		last->exact = 0;
		return 0;
	}
	return ptx_put_claim(access, room, claim);
}

static int add(struct ptx_walk *walk, const struct ptx_claim *claim)
{
	return ptx_add_claim(walk->access, &walk->claim_room, claim) ? ptx_fail(walk, ptx_no_memory)
								     : 0;
}

static void reach_variable(struct ptx_walk *walk, uint32_t word, int direction)
{
	const struct ptx_variable *variable;

	if (word < PTX_PARAMETER_LIMIT)
		return;
	variable = &walk->module->variable[(word - PTX_PARAMETER_LIMIT) / 8];
	if (variable->kind == VARIABLE_CONSTANT)
		ptx_reach(walk, PTX_REACH_CONSTANT, PTX_LOAD,
			"it reads constant memory of its module");
	else
		ptx_reach(walk, PTX_REACH_VARIABLE, direction, "it uses variables of its module");
}

/* Claims on variables depend on names, so the memory is also noted as reached. */
static void reach_variables(struct ptx_walk *walk, const struct ptx_value *address, int direction)
{
	if (address->base == BASE_WORD) {
		reach_variable(walk, address->id, direction);
		return;
	}
	for (uint32_t i = 0; i < walk->set[address->id].count; i++)
		reach_variable(walk, walk->set[address->id].word[i], direction);
}

/* Adds the claim to the address's word, or to any of several words. */
static int add_to_words(struct ptx_walk *walk, const struct ptx_value *address,
	struct ptx_claim *claim)
{
	claim->offset = address->id;
	if (address->base == BASE_WORD)
		return add(walk, claim);
	claim->sure = 0;
	for (uint32_t i = 0; i < walk->set[address->id].count; i++) {
		claim->offset = walk->set[address->id].word[i];
		if (add(walk, claim))
			return -1;
	}
	return 0;
}

static int claim_all(struct ptx_frame *frame, const struct ptx_value *address,
	const struct ptx_state *state, uint32_t bytes, int direction)
{
	struct ptx_claim claim = { .direction = (uint8_t)direction,
		.sure = 1,
		.early = (uint8_t)ptx_is_early(frame),
		.spins = frame->function->instruction[frame->instruction].spins };

	ptx_shape(frame->walk, &claim, address, state, bytes);
	claim.exact = claim.exact && !ptx_is_some(frame, address, state);
	return add_to_words(frame->walk, address, &claim);
}

static int claim_classes(struct ptx_frame *frame, const struct ptx_value *address,
	const struct ptx_state *state, uint32_t bytes, int direction, unsigned depth);

static int claim_rounds(struct ptx_frame *frame, const struct ptx_value *address,
	const struct ptx_state *state, uint32_t bytes, int direction, uint32_t split,
	struct ptx_range rounds)
{
	for (int64_t round = rounds.low; round <= rounds.high; round++) {
		struct ptx_state copy; /* as below */
		struct ptx_value there = *address;

		memcpy(&copy, state, sizeof(copy));
		if (!ptx_narrow_to_round(&copy, &there, split, round))
			return claim_all(frame, address, state, bytes, direction);
		if (copy.possible && claim_classes(frame, &there, &copy, bytes, direction, 1))
			return -1;
	}
	return 0;
}

static int claim_classes(struct ptx_frame *frame, const struct ptx_value *address,
	const struct ptx_state *state, uint32_t bytes, int direction, unsigned depth)
{
	uint32_t split;
	struct ptx_range rounds;
	int64_t classes = depth < 2 ? ptx_classes(state, address, &split) : 1;
	struct ptx_state copy; /* registers are not used */

	if (classes == 1 && !depth && ptx_wraps(state, address, &split, &rounds))
		return claim_rounds(frame, address, state, bytes, direction, split, rounds);
	if (classes == 1)
		return claim_all(frame, address, state, bytes, direction);
	for (int64_t class = 0; class < classes; class ++) {
		memcpy(&copy, state, sizeof(copy));
		if (!ptx_narrow_to_class(frame, &copy, address, split, class))
			return claim_all(frame, address, state, bytes, direction);
		if (claim_classes(frame, address, &copy, bytes, direction, depth + 1))
			return -1;
	}
	return 0;
}

int ptx_is_nowhere(const struct ptx_walk *walk, const struct ptx_value *address,
	const struct ptx_state *state)
{
	struct ptx_range where;

	if (!walk->launch->size || address->base != BASE_NUMBER || address->half)
		return 0;
	where = ptx_bounds(address, state);
	return where.low >= 0 && where.high < LOWEST_ADDRESS;
}

/* Notes an access to memory of no parameter. */
static void claim_elsewhere(struct ptx_walk *walk, const struct ptx_value *address, int direction)
{
	/*
	 * A number is a parameter that points into no known memory: to a variable.  Other values
	 * that were not loaded may still be computed from a parameter.
	 */
	if (address->base == BASE_MODULE)
		ptx_reach(walk, PTX_REACH_VARIABLE, direction, "it uses variables of its module");
	else if (address->loaded)
		ptx_reach(walk, PTX_REACH_POINTER, direction, "it uses an address that it loads");
	else if (address->base == BASE_NUMBER)
		ptx_reach(walk, PTX_REACH_VARIABLE, direction,
			"it uses an address that points to no known memory");
	else
		ptx_doubt(walk, "it uses an address that is no parameter");
}

int ptx_claim(struct ptx_frame *frame, const struct ptx_value *address,
	const struct ptx_state *state, uint32_t bytes, int direction)
{
	if (!frame->walk->collects)
		return 0;
	if (address->base != BASE_WORD && address->base != BASE_WORDS) {
		if (!ptx_is_nowhere(frame->walk, address, state))
			claim_elsewhere(frame->walk, address, direction);
		return 0;
	}
	reach_variables(frame->walk, address, direction);
	return claim_classes(frame, address, state, bytes, direction, 0);
}

static int is_parameter(const struct ptx_walk *walk, const struct ptx_value *object)
{
	if (object->count || object->low || object->high)
		return 0;
	if (object->base == BASE_WORD)
		return object->id < PTX_PARAMETER_LIMIT;
	if (object->base != BASE_WORDS)
		return 0;
	for (uint32_t i = 0; i < walk->set[object->id].count; i++)
		if (walk->set[object->id].word[i] >= PTX_PARAMETER_LIMIT)
			return 0;
	return 1;
}

int ptx_claim_object(struct ptx_frame *frame, const struct ptx_value *object, int kind,
	int direction)
{
	struct ptx_claim claim = { .direction = (uint8_t)direction,
		.object = (uint8_t)kind,
		.sure = 1,
		.loaded = 1,
		.early = (uint8_t)ptx_is_early(frame),
		.low = PTX_NO_LOW,
		.high = PTX_NO_HIGH };

	if (!frame->walk->collects)
		return 0;
	if (is_parameter(frame->walk, object)) {
		ptx_set_run(&claim);
		return add_to_words(frame->walk, object, &claim);
	}
	ptx_reach(frame->walk, PTX_REACH_POINTER, direction,
		"it uses textures or surfaces that are no parameters");
	return 0;
}

/* Returns 1 if the launch passes no address of known memory in that word. */
static int is_no_pointer(const struct ptx_walk *walk, uint32_t word)
{
	const struct ptx_launch *launch = walk->launch;

	return launch->size && (word >= launch->size || launch->state[word] != PTX_POINTER);
}

static int has_no_pointer(const struct ptx_walk *walk, const struct ptx_value *map)
{
	if (map->base == BASE_WORD)
		return is_no_pointer(walk, map->id);
	for (uint32_t i = 0; i < walk->set[map->id].count; i++)
		if (is_no_pointer(walk, walk->set[map->id].word[i]))
			return 1;
	return 0;
}

/* Returns the size that the largest tensor reaches, bytes. */
static int64_t bytes_of_tensors(struct ptx_walk *walk, const struct ptx_value *map)
{
	int64_t most = 0;

	if (map->base == BASE_WORD)
		return ptx_tensor_bytes(walk, map->id);
	for (uint32_t i = 0; i < walk->set[map->id].count; i++) {
		int64_t bytes = ptx_tensor_bytes(walk, walk->set[map->id].word[i]);

		most = bytes > most ? bytes : most;
	}
	return most;
}

int ptx_claim_tensor(struct ptx_frame *frame, const struct ptx_value *map, int direction)
{
	struct ptx_walk *walk = frame->walk;
	struct ptx_claim claim = { .direction = (uint8_t)direction,
		.sure = 1,
		.loaded = 1,
		.early = (uint8_t)ptx_is_early(frame),
		.high = PTX_NO_HIGH };

	if (!walk->collects)
		return 0;
	if ((map->base != BASE_WORD && map->base != BASE_WORDS) || has_no_pointer(walk, map)) {
		ptx_reach(walk, PTX_REACH_POINTER, direction,
			"it uses a tensor map of which the address is not known");
		return 0;
	}
	claim.high = bytes_of_tensors(walk, map);
	claim.loaded = claim.high == PTX_NO_HIGH;
	ptx_set_run(&claim);
	return add_to_words(walk, map, &claim);
}

static int compare_claims(const void *a, const void *b)
{
	const struct ptx_claim *x = a, *y = b;

	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	if (x->direction != y->direction)
		return x->direction < y->direction ? -1 : 1;
	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	return x->high < y->high ? -1 : x->high > y->high;
}

void ptx_claims_finish(struct ptx_access *access)
{
	size_t kept = 0;

	if (!access->count)
		return;
	qsort(access->claim, access->count, sizeof(*access->claim), compare_claims);
	for (size_t i = 0; i < access->count; i++) {
		struct ptx_claim both = access->claim[kept ? kept - 1 : 0];

		if (kept && unite(&both, &access->claim[i]))
			access->claim[kept - 1] = both;
		else
			access->claim[kept++] = access->claim[i];
	}
	access->count = kept;
}
