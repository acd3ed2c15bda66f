/* SPDX-License-Identifier: Apache-2.0 */
/* The parameter buffer: values at one offset, or at one of several. */
#include <string.h>

#include "ptx_walk.h"

static const struct ptx_range any = { INT64_MIN, INT64_MAX };

struct ptx_value ptx_parameter(struct ptx_walk *walk, struct ptx_state *state, int64_t offset,
	struct ptx_type type)
{
	const struct ptx_launch *launch = walk->launch;
	struct ptx_value value = ptx_interval(INT64_MIN, INT64_MAX);
	uint32_t symbol, known = 0, at = (uint32_t)offset;
	uint64_t bits = 0;
	unsigned shift = 64u - type.bytes * 8u;

	if (offset < 0 || offset > walk->kernel->parameter_bytes ||
		offset + type.bytes > walk->kernel->parameter_bytes || !type.bytes ||
		type.bytes > 8 || type.class == CLASS_FLOAT)
		return value;
	for (unsigned i = 0; i < type.bytes && at + i < launch->size; i++)
		known += launch->state[at + i] == PTX_KNOWN;
	if (at + type.bytes <= walk->access->scalar_count)
		memset(walk->access->scalar + at, 1, type.bytes);
	if (known == type.bytes) {
		memcpy(&bits, launch->value + at, type.bytes);
		if (type.class == CLASS_UNSIGNED && type.bytes < 4)
			return ptx_constant((int64_t)bits);
		return ptx_constant((int64_t)(bits << shift) >> shift);
	}
	if (type.bytes == 8) {
		value = ptx_constant(0);
		value.base = BASE_WORD;
		value.id = at;
		value.pointer = at < launch->size && launch->state[at] == PTX_POINTER;
		return value;
	}
	symbol = ptx_symbol(walk, 0, at, WHICH_PARAMETER + type.bytes);
	if (symbol == PTX_NO_SYMBOL)
		return value;
	if (state->range[symbol].low > state->range[symbol].high)
		state->range[symbol] = any;
	return ptx_symbol_value(symbol);
}

struct ptx_value ptx_half_parameter(struct ptx_walk *walk, struct ptx_state *state, int64_t offset,
	struct ptx_type type)
{
	const struct ptx_launch *launch = walk->launch;
	int64_t at = offset & ~INT64_C(7);
	struct ptx_value value;

	if (offset < 0 || offset % 4 || at + 8 > walk->kernel->parameter_bytes ||
		(offset + 4 <= launch->size && launch->state[offset] == PTX_KNOWN &&
			launch->state[offset + 1] == PTX_KNOWN &&
			launch->state[offset + 2] == PTX_KNOWN &&
			launch->state[offset + 3] == PTX_KNOWN))
		return ptx_parameter(walk, state, offset, type);
	if (offset + 4 <= walk->access->scalar_count)
		memset(walk->access->scalar + offset, 1, 4);
	value = ptx_constant(0);
	value.base = BASE_WORD;
	value.id = (uint32_t)at;
	value.pointer = at < launch->size && launch->state[at] == PTX_POINTER;
	return ptx_take_half(state, &value, offset == at ? HALF_LOW : HALF_HIGH);
}

/* The possible offsets of an address: from low to high, with a stride. */
struct places {
	int64_t low, high, stride;
};

static struct places places_of(const struct ptx_walk *walk, const struct ptx_value *address,
	const struct ptx_state *state, int64_t bytes)
{
	struct ptx_range where = ptx_bounds(address, state);
	struct places places = { where.low, where.high, 0 };
	int64_t end = (int64_t)walk->kernel->parameter_bytes - bytes;

	for (unsigned i = 0; i < address->count; i++)
		for (int64_t a = address->term[i].factor < 0 ? -address->term[i].factor
							     : address->term[i].factor,
			     b = places.stride;
			;) {
			int64_t rest = b ? a % b : 0;

			places.stride = b ? b : a;
			if (!rest)
				break;
			a = b;
			b = rest;
		}
	if (address->low != address->high || !places.stride)
		places.stride = 1;
	if (places.low == INT64_MIN || places.low < 0)
		places.low = address->low == address->high && address->low >= 0
			? address->low % places.stride
			: 0;
	if (places.high > end)
		places.high = end;
	return places;
}

static int is_pointer(const struct ptx_launch *launch, int64_t at)
{
	return at < launch->size && launch->state[at] == PTX_POINTER;
}

/* Returns one of several words: any aligned one of them, or half of it. */
static struct ptx_value some_words(struct ptx_walk *walk, struct ptx_state *state,
	const struct places *places, int is_half)
{
	const struct ptx_launch *launch = walk->launch;
	struct ptx_value value = ptx_constant(0);
	uint32_t word[PTX_SET_WORDS], count = 0;
	int is_high = is_half && places->stride % 8 == 0 && places->low % 8 == 4;
	int64_t first = places->low - (is_high ? 4 : 0);
	int64_t step = places->stride % 8 == 0 && first % 8 == 0 ? places->stride : 8;
	int knows = 0;

	/*
	 * If the launch passes pointers there, the words that are not known to be pointers point
	 * nowhere.
	 */
	for (int64_t at = (first + 7) / 8 * 8; at <= places->high; at += step)
		knows |= is_pointer(launch, at);
	for (int64_t at = (first + 7) / 8 * 8; at <= places->high; at += step) {
		if (knows && !is_pointer(launch, at))
			continue;
		if (count == PTX_SET_WORDS) {
			value.base = BASE_UNKNOWN;
			return value;
		}
		word[count++] = (uint32_t)at;
	}
	if (count)
		ptx_make_set(walk, &value, word, count);
	else
		value.base = BASE_UNKNOWN;
	if (!is_half)
		return value;
	if (step == 8 && (places->stride % 8 || places->low % 4)) {
		value = ptx_interval(INT32_MIN, UINT32_MAX);
		value.loaded = 1;
		return value;
	}
	return ptx_take_half(state, &value, is_high ? HALF_HIGH : HALF_LOW);
}

/* Returns the range of a table's known numbers; low > high: some are unknown. */
static struct ptx_range known_numbers(const struct ptx_walk *walk, const struct places *places,
	struct ptx_type type)
{
	const struct ptx_launch *launch = walk->launch;
	struct ptx_range found = { 1, 0 };

	for (int64_t at = places->low; at <= places->high; at += places->stride) {
		uint64_t bits = 0;
		int64_t number;

		for (unsigned i = 0; i < type.bytes; i++)
			if (at + i >= launch->size || launch->state[at + i] != PTX_KNOWN)
				return (struct ptx_range){ 1, 0 };
		memcpy(&bits, launch->value + at, type.bytes);
		number = (int64_t)(bits << (64 - type.bytes * 8)) >> (64 - type.bytes * 8);
		if (type.class == CLASS_UNSIGNED && type.bytes < 8)
			number = (int64_t)bits;
		found = ptx_hull(found, (struct ptx_range){ number, number });
	}
	return found;
}

struct ptx_value ptx_some_parameter(struct ptx_frame *frame, struct ptx_state *state,
	const struct ptx_value *address, uint32_t instruction, const struct ptx_instruction *in)
{
	struct ptx_walk *walk = frame->walk;
	struct places places = places_of(walk, address, state, in->type.bytes);
	struct ptx_range range = { 1, 0 };

	if (places.low <= places.high && in->type.bytes && in->type.bytes <= 8)
		range = known_numbers(walk, &places, in->type);
	if (places.low <= places.high && places.high + in->type.bytes <= walk->access->scalar_count)
		memset(walk->access->scalar + places.low, 1,
			(size_t)(places.high - places.low) + in->type.bytes);
	if (range.low <= range.high)
		return ptx_opaque(frame, state, instruction, WHICH_SPARSE, range, 1);
	if (in->type.bytes == 8 || in->modifiers & MODIFIER_HALF)
		return some_words(walk, state, &places, in->type.bytes == 4);
	range = any;
	if (in->type.bytes < 4 && in->type.class == CLASS_UNSIGNED)
		range = (struct ptx_range){ 0, (INT64_C(1) << in->type.bytes * 8) - 1 };
	return ptx_opaque(frame, state, instruction, WHICH_RESULT, range, 1);
}

/* CUDA's alignment of tensor maps. */
#define TENSOR_MAP_ALIGN 64

struct ptx_value ptx_map_parameter(struct ptx_walk *walk, struct ptx_state *state,
	const struct ptx_value *map)
{
	struct places places = places_of(walk, map, state, PTX_TENSOR_MAP_BYTES);
	uint32_t base = walk->kernel->parameter_base;
	struct ptx_value word = ptx_constant(0);

	if (places.low < places.high && places.stride % TENSOR_MAP_ALIGN) {
		places.stride = TENSOR_MAP_ALIGN;
		places.low += base + TENSOR_MAP_ALIGN - 1;
		places.low -= places.low % TENSOR_MAP_ALIGN + base;
	}
	if (places.low < places.high)
		return some_words(walk, state, &places, 0);
	word.base = places.low == places.high && places.low % 8 == 0 ? BASE_WORD : BASE_UNKNOWN;
	word.id = (uint32_t)places.low;
	return word;
}

/* --- tensor maps --- */

/*
 * Tensor maps: finds the memory that a copy with a map can access.  Their layout is undocumented;
 * this is what cuTensorMapEncodeTiled() and cuTensorMapEncodeIm2col() write for sm_90 (driver 580,
 * checked for 13 types, one to five dimensions, with and without strides).  cuBLAS makes its own
 * maps, of 64 bytes.
 *
 * 	u64 address   u32 kind   u32 stride[4], in 16 bytes   u32 zero   u32 dimension[5], less 1
 *
 * kind: bit 0 for im2col maps, bit 1 for cuBLAS's, bits 4 to 6 the number of dimensions less one,
 * bits 7 to 10 the type.  Interleaved memory was not checked.
 */
enum { ADDRESS_BYTES = 8, STRIDES = 4, DIMENSIONS = 5 };

struct tensor_map {
	uint32_t kind, stride[STRIDES], zero, dimension[DIMENSIONS];
};

/* Size of an element by type, bytes: integers of 8 to 64 bits, half, single, double, bfloat16. */
static const uint8_t element[] = { 1, 2, 4, 4, 8, 8, 2, 4, 4, 8, 2 };

/* Reads the map whose address is in that word.  Returns 0 if unknown. */
static int read_tensor_map(struct ptx_walk *walk, uint32_t word, struct tensor_map *map)
{
	const struct ptx_launch *launch = walk->launch;
	uint32_t at = word + ADDRESS_BYTES;

	if (at + sizeof(*map) <= walk->access->scalar_count)
		memset(walk->access->scalar + at, 1, sizeof(*map));
	if (walk->module->arch / 10 != 9 || at + sizeof(*map) > launch->size)
		return 0;
	for (uint32_t i = at; i < at + sizeof(*map); i++)
		if (launch->state[i] != PTX_KNOWN)
			return 0;
	memcpy(map, launch->value + at, sizeof(*map));
	return 1;
}

int64_t ptx_tensor_bytes(struct ptx_walk *walk, uint32_t word)
{
	struct tensor_map map;
	uint32_t type, last;
	int64_t bytes;

	if (!read_tensor_map(walk, word, &map))
		return PTX_NO_HIGH;
	type = map.kind >> 7 & 15;
	last = map.kind >> 4 & 7;
	if (map.kind & 12 || map.zero || type >= sizeof(element) || last > STRIDES)
		return PTX_NO_HIGH;
	bytes = ((int64_t)map.dimension[0] + 1) * element[type];
	for (uint32_t i = 0; i < last; i++)
		bytes = ptx_add_bound(bytes,
			ptx_multiply_bound((int64_t)map.stride[i] * 16, map.dimension[i + 1]));
	return bytes;
}
