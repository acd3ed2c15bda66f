/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensor maps: what memory a copy by one can reach.  Their bytes are nowhere documented; these are
 * what cuTensorMapEncodeTiled() and cuTensorMapEncodeIm2col() write for sm_90 (driver 580, seen for
 * 13 types, one to five dimensions, with strides and without).  cuBLAS makes its own, of 64 bytes.
 *
 *	u64 address   u32 kind   u32 stride[4], in 16 bytes   u32 zero   u32 dimension[5], less 1
 *
 * kind: bit 0 of im2col maps, bit 1 of cuBLAS's, bits 4 to 6 one less than the dimensions, bits 7
 * to 10 the type.  Memory that is interleaved has not been seen.
 */
#include <string.h>

#include "ptx_walk.h"

enum { ADDRESS_BYTES = 8, STRIDES = 4, DIMENSIONS = 5 };

struct map {
	uint32_t kind, stride[STRIDES], zero, dimension[DIMENSIONS];
};

/* Bytes of an element, by its type: integers of 8 to 64 bits, half, single, double, bfloat16. */
static const uint8_t element[] = { 1, 2, 4, 4, 8, 8, 2, 4, 4, 8, 2 };

/* Of the map whose address is in that word; 0: not known. */
static int read_map(struct ptx_walk *walk, uint32_t word, struct map *map)
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
	struct map map;
	uint32_t type, last;
	int64_t bytes;

	if (!read_map(walk, word, &map))
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
