/* SPDX-License-Identifier: Apache-2.0 */
#include "product.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define COUNT(table) (sizeof(table) / sizeof(*(table)))

/* Names of others are not cut. */
static const char *const prefixes[] = { "sm7", "sm8", "sm9", "sm10", "sm12", "maxwell_", "pascal_",
	"volta_", "turing_", "ampere_", "ada_", "hopper_", "blackwell_", "cutlass", "nvjet_" };

struct part {
	const char *part, *meaning;
};

/* The first part that a name has decides. */
static const struct part operations[] = {
	{ "fprop", "conv fprop" },
	{ "dgrad", "conv dgrad" },
	{ "wgrad", "conv wgrad" },
	{ "gemm", "gemm" },
	{ "nvjet_", "gemm" },
};

/*
 * The type that is multiplied.  An s1688 that names no type is TF32: the instruction m16n8k8 of
 * CUTLASS's kernels since compute capability 8.0.
 */
static const struct part types[] = {
	{ "tf32", "tf32" },
	{ "e4m3", "e4m3" },
	{ "e5m2", "e5m2" },
	{ "bf16", "bf16" },
	{ "f16", "f16" },
	{ "fp16", "f16" },
	{ "i8i8", "i8" },
	{ "_s8_", "i8" },
	{ "f64f64", "f64" },
	{ "f32f32", "f32" },
	{ "_s1688", "tf32" },
	{ "_h1688", "f16" },
	{ "_h884", "f16" },
	{ "_d884", "f64" },
	{ "_hgemm", "f16" },
	{ "_dgemm", "f64" },
	{ "_sgemm", "f32" },
	{ "_hsh_", "f16" },
	{ "_tst_", "bf16" },
};

static const char *find_part(const struct part *parts, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strstr(name, parts[i].part))
			return parts[i].meaning;
	return NULL;
}

/* The length of "128x64" or "128x64x8" at text, if a word ends there, else 0. */
static size_t tile_length(const char *text)
{
	size_t length = strspn(text, "0123456789x");
	const char *x = memchr(text, 'x', length);

	return x && x > text && isdigit((unsigned char)x[1]) &&
			(!text[length] || text[length] == '_')
		? length
		: 0;
}

/* "tilesize128x128x64", or "128x128_64x3" with the depth and the number of stages. */
static int write_tile(const char *name, char *tile, size_t size)
{
	const char *at = strstr(name, "tilesize"), *next;
	size_t length = at ? tile_length(at += strlen("tilesize")) : 0;
	int is_deep;

	for (at = at ? at : name; !length && (at = strchr(at, '_'));)
		length = tile_length(++at);
	if (!length)
		return 0;
	next = at[length] ? at + length + 1 : "";
	is_deep = memchr(at, 'x', length) != memrchr(at, 'x', length) || !tile_length(next);
	snprintf(tile, size, "%.*s%s%.*s", (int)length, at, is_deep ? "" : "x",
		is_deep ? 0 : (int)strspn(next, "0123456789"), next);
	return 1;
}

int product_write(const char *name, char *text, size_t size)
{
	const char *operation = find_part(operations, COUNT(operations), name);
	const char *type = find_part(types, COUNT(types), name);
	char tile[32];
	size_t i = 0;

	while (i < COUNT(prefixes) && strncmp(name, prefixes[i], strlen(prefixes[i])))
		i++;
	if (i == COUNT(prefixes) || !operation || !write_tile(name, tile, sizeof(tile)))
		return 0;
	snprintf(text, size, "%s (%s%s%s)", operation, type ? type : "", type ? ", " : "", tile);
	return 1;
}
