/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares the accesses of kernels by machine code with those by PTX: the test apps have both. The
 * compiler may drop a load whose result is unused; otherwise the two say the same.
 */
#include "unit.h"
#include "file_built.h"

#include <dirent.h>

#include "code_part.h"
#include "kernel_code.h"
#include "lower.h"

#define CODES 64

struct table {
	unsigned arch, kernels, same, same_ranges, incomplete, less;
};

static struct table *row_of(struct table *table, unsigned arch)
{
	while (table->arch && table->arch != arch)
		table++;
	table->arch = arch;
	return table;
}

/* The words that it accesses, with the direction; with bytes set, also the bytes. */
static char *print_claims(const struct ptx_access *access, int bytes)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (size_t i = 0; i < access->count; i++) {
		const struct ptx_claim *claim = &access->claim[i], *last = claim - (i > 0);

		if (bytes)
			fprintf(out, "%u%c %lld..%lld%s\n", claim->offset, "LSA"[claim->direction],
				(long long)claim -> low, (long long)claim -> high,
				claim -> exact ? "" : " at most");
		else if (!i || last->offset != claim->offset || last->direction != claim->direction)
			fprintf(out, "%u%c%s%s ", claim->offset, "LSA"[claim->direction],
				claim -> object ? " object" : "", claim->sure ? "" : " perhaps");
	}
	fclose(out);
	return text;
}

static int are_same(const struct ptx_access *a, const struct ptx_access *b, int bytes)
{
	char *x = print_claims(a, bytes), *y = print_claims(b, bytes);
	int same = !strcmp(x, y);

	if (!same && !bytes)
		print_message("  ptx %s, machine code %s\n", x, y);
	free(x);
	free(y);
	return same;
}

/* All the bytes of the claim, as far as these are known, lie within bounds that are claimed. */
static int has(const struct ptx_access *access, const struct ptx_claim *claim)
{
	int64_t low = INT64_MAX, high = INT64_MIN;

	for (size_t i = 0; i < access->count; i++) {
		const struct ptx_claim *other = &access->claim[i];

		if (other->offset != claim->offset || other->direction != claim->direction)
			continue;
		low = other->low < low ? other->low : low;
		high = other->high > high ? other->high : high;
	}
	return claim->exact ? low <= claim->low && claim->high <= high : low < high;
}

/* All is said to be known, but a store or an atomic is missing. */
static int says_less(const struct ptx_access *ptx, const struct ptx_access *machine)
{
	for (size_t i = 0; machine->complete && i < ptx->count; i++)
		if (ptx->claim[i].direction != PTX_LOAD && !has(machine, &ptx->claim[i]))
			return 1;
	return 0;
}

static void compare_kernel(struct table *row, struct ptx_module *ptx, long number,
	struct ptx_module *machine, long other, const char *name)
{
	uint8_t value[512] = { 0 }, state[512];
	struct ptx_launch launch = { .grid = { 4, 1, 1 }, .block = { 256, 1, 1 } };
	struct ptx_access a, b;
	int rc;

	/* A launch passes pointers where the kernel uses pointers. */
	assert_int_equal(ptx_interpret(ptx, (size_t)number, &launch, PTX_STEPS, &a), 0);
	launch.size = a.scalar_count < sizeof(state) ? a.scalar_count : sizeof(state);
	launch.value = value;
	launch.state = state;
	memset(state, PTX_UNKNOWN, sizeof(state));
	for (size_t i = 0; i < a.count; i++)
		if (a.claim[i].offset + 8 <= launch.size)
			memset(state + a.claim[i].offset, PTX_POINTER, 8);
	ptx_access_release(&a);
	assert_int_equal(ptx_interpret(ptx, (size_t)number, &launch, PTX_STEPS, &a), 0);
	rc = ptx_interpret(machine, (size_t)other, &launch, PTX_STEPS, &b);
	row->kernels++;
	if (rc || (a.complete && !b.complete)) {
		row->incomplete++;
		print_message("  %s: %s\n", name, b.why);
	} else if (are_same(&a, &b, 0)) {
		row->same++;
		row->same_ranges += (unsigned)are_same(&a, &b, 1);
	} else {
		print_message("  ... of %s\n", name);
	}
	row->less += (unsigned)says_less(&a, &b);
	ptx_access_release(&a);
	ptx_access_release(&b);
}

/* As the analyzer finds it, by name in a cubin alone. */
static void find_kernel(const struct image_code *cubin, const char *name)
{
	struct image_budget budget = { .left = 1 << 30, .most = 1 << 30 };
	struct code_limits limits = { .arch = cubin->arch, .budget = &budget };
	struct image_bytes bytes = { .data = cubin->data, .file = -1, .size = cubin->size };
	struct code_place place = { 0 };
	struct code_part part;

	code_part_init(&part, &bytes, NULL);
	assert_false(code_part_has_ptx(&part, &limits));
	assert_true(code_part_machine(&part, &limits, name, &place));
	assert_int_equal(ptx_find(place.module, name, strlen(name)), place.number);
	assert_non_null(place.machine);
	assert_true(place.machine->described);
	assert_false(code_part_machine(&part, &limits, "no kernel", &place));
	code_part_release(&part);
}

static void compare_cubin(struct table *table, const struct image_code *cubin,
	struct ptx_module *ptx)
{
	char error[IMAGE_ERROR_SIZE];
	struct ptx_module *machine = machine_open(cubin->data, cubin->size, cubin->arch, error);

	assert_non_null(machine);
	for (size_t i = 0; i < cubin->kernel_count; i++) {
		const char *name = cubin->kernel[i].name;
		long number = ptx_find(ptx, name, strlen(name));
		long other = ptx_find(machine, name, strlen(name));

		assert_true(other >= 0);
		find_kernel(cubin, name);
		if (number >= 0)
			compare_kernel(row_of(table, cubin->arch), ptx, number, machine, other,
				name);
	}
	ptx_close(machine);
}

/* All code of a fat binary. */
static void compare_container(struct table *table, const void *data, size_t size)
{
	char error[IMAGE_ERROR_SIZE];
	const struct image_code *text = NULL;
	struct ptx_module *ptx;
	struct image image;

	if (image_read(data, size, &image, error))
		return;
	for (size_t i = 0; i < image.count && !text; i++)
		if (image.code[i].kind == IMAGE_PTX)
			text = &image.code[i];
	for (size_t i = 0; i < image.count && text; i++) {
		if (image.code[i].kind != IMAGE_CUBIN)
			continue;
		ptx = ptx_open(text->data, text->size, error);
		assert_non_null(ptx);
		ptx_set_arch(ptx, image.code[i].arch);
		compare_cubin(table, &image.code[i], ptx);
		ptx_close(ptx);
	}
	image_release(&image);
}

static void compare_file(struct table *table, const char *path)
{
	struct image_file file;
	char error[IMAGE_ERROR_SIZE];

	if (image_file_open(&file, path, error))
		return;
	for (size_t i = 0; i < file.count; i++)
		compare_container(table, file.container[i].data, file.container[i].size);
	image_file_close(&file);
}

TEST(machine_code_says_what_ptx_says)
{
	static const char *const apps[] = { "accidental_order", "constant_race", "texture_race" };
	struct table table[CODES] = { 0 };
	char path[4096];

	for (size_t i = 0; i < sizeof(apps) / sizeof(*apps); i++) {
		snprintf(path, sizeof(path), "%s/testapps/%s", getenv("TEST_BUILD"), apps[i]);
		compare_file(table, path);
	}
	if (!table->arch)
		skip();
	print_message("  sm_  kernels  same directions  same ranges  incomplete\n");
	for (const struct table *row = table; row->arch; row++) {
		print_message("  %-4u %7u %16u %12u %11u\n", row->arch, row->kernels, row->same,
			row->same_ranges, row->incomplete);
		assert_int_equal(row->less, 0);
		assert_true(row->kernels > 5);
		assert_true(row->same * 10 >= row->kernels * 8);
	}
}

/* --- bulk copies, tensor maps, matrix instructions --- */

TEST(copies_by_others_than_threads)
{
	struct table table[CODES] = { 0 };
	size_t size;
	void *data = read_built("copies.fatbin", &size);

	if (!data)
		skip();
	compare_container(table, data, size);
	free(data);
	for (const struct table *row = table; row->arch; row++) {
		assert_true(row->kernels >= 6);
		assert_int_equal(row->same, row->kernels);
		assert_int_equal(row->incomplete, 0);
		assert_int_equal(row->less, 0);
	}
	assert_int_equal(table[1].arch, 100);
}

/* For sm_90: constant bank 0 has parameters from 0x210 on. */
static const struct {
	const char *name, *claims;
	int complete;
} copies[] = {
	{ "tensor_load", "112L 240S ", 1 },
	{ "tensor_store", "240S 368L ", 1 },
	{ "tensor_reduce", "112A 240L ", 1 },
	{ "tensor_chosen", "240L perhaps 368L perhaps 496L perhaps 496S ", 1 },
	{ "tensor_elsewhere", "0L 8S ", 0 },
	{ "bulk_copies", "0L 8S 16A ", 1 },
	{ "narrow", "0S 8S ", 1 },
	{ "tensor_short", "0L 48S ", 1 },
	{ "constants", "0S 8S 32768L ", 0 },
	{ "reports", "0S 8L ", 1 },
	{ "table", "0S perhaps 3192S perhaps ", 1 },
	{ "matrix", "0L 8S ", 1 },
};

/* Pointers where the kernels use some. */
static void interpret_copies(struct ptx_module *module, size_t i)
{
	long number = ptx_find(module, copies[i].name, strlen(copies[i].name));
	static uint8_t value[4096], is[4096];
	struct ptx_launch launch = { .grid = { 400, 1, 1 },
		.block = { 128, 1, 1 },
		.size = sizeof(is),
		.value = value,
		.state = is };
	struct ptx_access access;
	char *text;

	assert_true(number >= 0);
	memset(is, PTX_UNKNOWN, sizeof(is));
	for (const char *at = copies[i].claims; *at; at = strchr(at, ' ') + 1)
		if (*at >= '0' && *at <= '9' && atoi(at) < PTX_PARAMETER_LIMIT)
			memset(is + atoi(at), PTX_POINTER, 8);
	assert_int_equal(ptx_interpret(module, (size_t)number, &launch, PTX_STEPS, &access), 0);
	text = print_claims(&access, 0);
	assert_string_equal(text, copies[i].claims);
	assert_int_equal(access.complete, copies[i].complete);
	free(text);
	ptx_access_release(&access);
	if (!strstr(copies[i].name, "tensor") || !copies[i].complete)
		return;
	/* The address in a map is of no known memory: the kernel may access anything. */
	memset(is, PTX_UNKNOWN, sizeof(is));
	assert_int_equal(ptx_interpret(module, (size_t)number, &launch, PTX_STEPS, &access), 0);
	assert_false(access.complete);
	ptx_access_release(&access);
}

/* Maps as cuTensorMapEncodeTiled() wrote them on an H200, and what they can reach. */
static const struct {
	uint64_t word[7]; /* after the address */
	int64_t bytes;    /* 0: not known */
} maps[] = {
	/* 200000 bytes */
	{ { 0x40000, 0, 0, 0x30d3f, 0, 0xf00000000000000, 0 }, 200000 },
	/* 80 by 34 half numbers, 160 bytes apart */
	{ { 0xa00020310, 0, 0, 0x210000004f, 0, 0xf00000800000000, 7 }, 34 * 160 },
	/* 112 by 36 by 17 by 9 by 5 numbers of 4 bytes; 4544, 167680, 2854656, 25696000 apart */
	{ { 0x11c00060140, 0x2b8f0000028f0, 0x188170, 0x230000006f, 0x800000010, 0xf00000000000004,
		  0x10307 },
		448 + 35 * 4544 + 16 * 167680 + 8 * 2854656 + 4 * 25696000 },
	/* cuBLAS's: 256 by 1024 bfloat16 */
	{ { 0x2000046522, 0x1000000000000000, 0, 0x3ff000000ff, 0, 0x3f00000000000000, 0x17 },
		1024 * 512 },
	/* A type and a kind that nobody has seen. */
	{ { 0x800000790, 0, 0, 0x200000003f, 0, 0xf00000000000000, 7 }, 0 },
	{ { 0x800000314, 0, 0, 0x200000003f, 0, 0xf00000000000000, 7 }, 0 },
};

/* The kernel tensor_load loads by its map at 112. */
static void tensor_maps_have_an_end(struct ptx_module *module)
{
	uint8_t value[512] = { 0 }, is[512];
	long number = ptx_find(module, "tensor_load", strlen("tensor_load"));
	struct ptx_launch launch = { { 4, 1, 1 }, { 128, 1, 1 }, sizeof(is), value, is };
	struct ptx_access access;

	memset(is, PTX_KNOWN, sizeof(is));
	memset(is + 112, PTX_POINTER, 8);
	memset(is + 240, PTX_POINTER, 8);
	for (size_t i = 0; i < sizeof(maps) / sizeof(*maps); i++) {
		memcpy(value + 120, maps[i].word, sizeof(maps[i].word));
		assert_int_equal(ptx_interpret(module, (size_t)number, &launch, PTX_STEPS, &access),
			0);
		assert_true(access.count > 0 && access.claim[0].offset == 112);
		assert_int_equal(access.claim[0].low, 0);
		assert_int_equal(access.claim[0].high, maps[i].bytes ? maps[i].bytes : PTX_NO_HIGH);
		ptx_access_release(&access);
	}
}

TEST(tensor_maps_are_addresses)
{
	char error[IMAGE_ERROR_SIZE];
	size_t size;
	void *data = read_built("copies.fatbin", &size);
	struct image image;

	if (!data)
		skip();
	assert_int_equal(image_read(data, size, &image, error), 0);
	for (size_t i = 0; i < image.count; i++) {
		const struct image_code *code = &image.code[i];
		struct ptx_module *module;

		if (code->arch != 90)
			continue;
		module = code->kind == IMAGE_PTX
			? ptx_open(code->data, code->size, error)
			: machine_open(code->data, code->size, code->arch, error);
		assert_non_null(module);
		if (code->kind == IMAGE_PTX)
			ptx_set_arch(module, 90);
		for (size_t k = 0; k < sizeof(copies) / sizeof(*copies); k++)
			interpret_copies(module, k);
		tensor_maps_have_an_end(module);
		ptx_close(module);
	}
	image_release(&image);
	free(data);
}

/* The result of an instruction that is not understood is not taken as 0. */
TEST(selections_of_bytes)
{
	struct ptx_launch launch = { .grid = { 1, 1, 1 }, .block = { 128, 1, 1 } };
	char error[IMAGE_ERROR_SIZE];
	size_t size;
	void *data = read_built("copies.fatbin", &size);
	struct image image;

	if (!data)
		skip();
	assert_int_equal(image_read(data, size, &image, error), 0);
	for (size_t i = 0; i < image.count; i++) {
		const struct image_code *code = &image.code[i];
		struct ptx_module *module;
		struct ptx_access access;

		if (code->kind == IMAGE_PTX)
			continue;
		module = machine_open(code->data, code->size, code->arch, error);
		assert_non_null(module);
		assert_int_equal(ptx_interpret(module, (size_t)ptx_find(module, "narrow", 6),
					 &launch, PTX_STEPS, &access),
			0);
		assert_int_equal(access.count, 2);
		assert_int_equal(access.claim[0].high, 512);
		assert_true(access.claim[1].high > 512);
		assert_false(access.claim[1].exact);
		ptx_access_release(&access);
		ptx_close(module);
	}
	image_release(&image);
	free(data);
}

/* --- code by hand: in the place of kernel narrow's, of sm_90 --- */

typedef uint64_t word_pair[2];

#define TID(reg) \
	{ \
		0x0000000000007919 | (reg) << 16, 0x000e220000002100 \
	}
/* ISETP.NE P0, R4, 0x90 */
#define COMPARE \
	{ \
		0x000000900400780c, 0x000fc80003f05270 \
	}
/* @P0 LDC.64 R2, c[0x0][0x210]: the first parameter */
#define POINTER_IF_P0 \
	{ \
		0x00008400ff020b82, 0x000e220000000a00 \
	}
/* PLOP3 P1, P0 */
#define COPY_TO_P1 \
	{ \
		0x000000000000781c, 0x000fe2000072f070 \
	}
/* P2R R5, P0; ISETP.NE P0, R5, 0 */
#define KEEP_P0 \
	{ \
		0x00000001ff057803, 0x000fe20000000000 \
	}
#define TAKE_P0 \
	{ \
		0x000000ff0500720c, 0x000fda0003f05270 \
	}
/* BRA to the next instruction: there a block begins */
#define NEXT \
	{ \
		0x0000000000007947, 0x000fc00003800000 \
	}
/* MOV.64 R6, R2 by halves */
#define MOVE \
	{ 0x0000000200067202, 0x000fc80000000f00 }, \
	{ \
		0x0000000300077202, 0x000fc80000000f00 \
	}
/* a = a ^ b, or b ^ a */
#define EXCHANGE(to, a, b) \
	{ \
		0x0000000000007212 | (to) << 16 | (a) << 24 | UINT64_C(b) << 32, \
			0x000fca00078e3cff \
	}
#define SWAP(a, b) EXCHANGE(a, a, b), EXCHANGE(b, a, b), EXCHANGE(a, a, b)
/* LDC.64 R2, R8: the two parameters */
#define POINTERS \
	{ 0x00008400ff027b82, 0x000e220000000a00 }, \
	{ \
		0x00008600ff087b82, 0x000e220000000a00 \
	}
/* @P0 or @P1 STG [R2.64] or [R6.64], R4 */
#define STORE(reg, guard) \
	{ \
		0x0000000400000986 | (reg) << 24 | (guard) << 12, 0x000fe2000c101904 \
	}
/*
 * Half of an address is added again and again to what is added to the address, until P0:
 * IMAD.WIDE R10, R5, 8, R10; STG [R10], R28; LDC.64 R10; IADD3 R5, R5, R11; @P0 BRA
 */
#define UNSETTLED \
	{ 0x00000008050a7825, 0x000fca00078e020a }, { 0x0000001c0a007986, 0x0003e8000c101b06 }, \
		{ 0x00008400ff0a7b82, 0x002e220000000a00 }, \
		{ 0x0000000b05057210, 0x080fe40007ffe0ff }, \
	{ \
		0xfffffffc00ec0947, 0x000fc0000383ffff \
	}
#define END \
	{ \
		0x000000000000794d, 0x000fea0003800000 \
	}

static const struct {
	word_pair code[12];
	const char *claims;
	int complete;
} by_hand[] = {
	/* The earlier value of R2 is no address, but nobody reads it. */
	{ { TID(2), TID(3), TID(4), COMPARE, POINTER_IF_P0, STORE(2, 0), END }, "0S ", 1 },
	{ { TID(2), TID(3), TID(4), COMPARE, POINTER_IF_P0, NEXT, STORE(2, 0), END }, "0S ", 1 },
	{ { TID(2), TID(3), TID(4), COMPARE, COPY_TO_P1, POINTER_IF_P0, STORE(2, 1), END }, "0S ",
		1 },
	{ { TID(2), TID(3), TID(4), COMPARE, COPY_TO_P1, NEXT, POINTER_IF_P0, NEXT, STORE(2, 1),
		  END },
		"0S ", 1 },
	{ { TID(2), TID(3), TID(4), COMPARE, POINTER_IF_P0, MOVE, STORE(6, 0), END }, "0S ", 1 },
	{ { TID(2), TID(3), TID(4), COMPARE, POINTER_IF_P0, KEEP_P0, COMPARE, TAKE_P0, STORE(2, 0),
		  END },
		"0S ", 1 },
	{ { TID(2), TID(3), TID(4), COMPARE, POINTER_IF_P0, KEEP_P0, NEXT, COMPARE, TAKE_P0,
		  STORE(2, 0), END },
		"0S ", 1 },
	/* Here somebody does. */
	{ { TID(2), TID(3), TID(4), COMPARE, POINTER_IF_P0, KEEP_P0, TID(5), TAKE_P0, STORE(2, 0),
		  END },
		"", 0 },
	{ { TID(2), TID(3), TID(4), COMPARE, COPY_TO_P1, TID(4), COMPARE, POINTER_IF_P0,
		  STORE(2, 1), END },
		"", 0 },
	{ { TID(2), TID(3), TID(4), COMPARE, POINTER_IF_P0, TID(4), COMPARE, STORE(2, 0), END }, "",
		0 },
	{ { TID(2), TID(3), TID(4), COMPARE, POINTER_IF_P0, NEXT, COMPARE, NEXT, STORE(2, 0), END },
		"", 0 },
	/* A repeated comparison gives the same result. */
	{ { TID(2), TID(3), TID(4), COMPARE, COPY_TO_P1, COMPARE, POINTER_IF_P0, STORE(2, 1), END },
		"0S ", 1 },
	{ { TID(2), TID(3), TID(4), COMPARE, POINTER_IF_P0, COMPARE, STORE(2, 0), END }, "0S ", 1 },
	{ { UNSETTLED, END }, "0S ", 1 },
	/* Registers change places. */
	{ { POINTERS, TID(4), SWAP(2, 8), SWAP(3, 9), STORE(2, 7), END }, "8S ", 1 },
	{ { POINTERS, TID(4), SWAP(2, 8), SWAP(3, 9), STORE(8, 7), END }, "0S ", 1 },
	{ { POINTERS, TID(4), EXCHANGE(2, 2, 8), TID(8), EXCHANGE(8, 2, 8), STORE(8, 7), END }, "",
		0 },
};

static void put_code(const struct image_code *cubin, const word_pair *code, size_t size)
{
	char error[IMAGE_ERROR_SIZE];
	struct machine_code machine;
	const struct machine_function *kernel;

	assert_int_equal(machine_code_open(&machine, cubin->data, cubin->size, cubin->arch, error),
		0);
	kernel = machine_find_function(&machine, "narrow");
	assert_non_null(kernel);
	assert_true(machine.section[kernel->section].size >= size);
	memcpy((void *)(uintptr_t)machine.section[kernel->section].code, code, size);
	machine_code_close(&machine);
}

static void interpret_by_hand(const struct image_code *cubin, size_t i)
{
	struct ptx_launch launch = { .size = 0 };
	char error[IMAGE_ERROR_SIZE], *text;
	struct ptx_module *module;
	struct ptx_access access;

	put_code(cubin, by_hand[i].code, sizeof(by_hand[i].code));
	module = machine_open(cubin->data, cubin->size, cubin->arch, error);
	assert_non_null(module);
	assert_int_equal(ptx_interpret(module, (size_t)ptx_find(module, "narrow", 6), &launch,
				 PTX_STEPS, &access),
		0);
	text = print_claims(&access, 0);
	if (strcmp(text, by_hand[i].claims) != 0 || access.complete != by_hand[i].complete)
		print_message("  of code %zu\n", i);
	assert_string_equal(text, by_hand[i].claims);
	assert_int_equal(access.complete, by_hand[i].complete);
	free(text);
	ptx_access_release(&access);
	ptx_close(module);
}

TEST(registers_hold_what_was_put_there)
{
	char error[IMAGE_ERROR_SIZE];
	size_t size;
	void *data = read_built("copies.fatbin", &size);
	struct image image;

	if (!data)
		skip();
	assert_int_equal(image_read(data, size, &image, error), 0);
	for (size_t i = 0; i < image.count; i++)
		if (image.code[i].kind == IMAGE_CUBIN && image.code[i].arch == 90)
			for (size_t k = 0; k < sizeof(by_hand) / sizeof(*by_hand); k++)
				interpret_by_hand(&image.code[i], k);
	image_release(&image);
	free(data);
}
