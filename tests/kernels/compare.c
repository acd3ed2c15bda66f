/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare [-v] [-s SHARE] [-n NUMBER] FILE...: what the kernels of fat binaries, programs and
 * libraries do by their machine code, against what they do by their PTX, of each architecture that
 * has both.
 * Prints each kernel of which the two say something else (-v: each), and a table in the end;
 * exits 1 if machine code misses a store or an atomic operation, or is sure of bytes that the PTX
 * does not have.  -s: one fat binary of so many in each program or library.
 * -n: the launch passes that number wherever the kernel takes no pointer; without it these are not
 * known, so that comparisons with them are not followed.
 *
 * The compiler (ptxas) drops loads of which nothing is made: "load dropped".  It makes atomic
 * operations on 16 bits loops that compare and swap the 32 around them: "atomic loop".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "image.h"
#include "lower.h"

#define FILE_LIMIT (256l << 20)
#define BUFFER 4352
#define ARCHS 32

enum difference {
	SAME,
	ATOMIC_LOOP,    /* loads of the words in which it changes 16 bits, by compare and swap */
	LOAD_DROPPED,   /* the machine code lacks loads only */
	PTX_INCOMPLETE, /* of the PTX not all is known, of the machine code it is */
	MACHINE_INCOMPLETE,
	LESS_SURE,   /* more words than the PTX has, none of them sure */
	MORE,        /* the machine code has an access that the PTX lacks */
	WAITS,       /* one of them alone says that it waits for others */
	LESS,        /* it lacks a store or an atomic operation */
	WRONG_BYTES, /* surely bytes that the other one surely does not touch */
	DIFFERENCES
};

static const char *const names[] = { "same", "atomic loop", "load dropped", "PTX incomplete",
	"machine code incomplete", "less sure", "more", "waits", "LESS", "WRONG BYTES" };

struct row {
	unsigned arch, kernels, ranges, count[DIFFERENCES];
};

static struct row rows[ARCHS];
static int prints_all;
static long number_passed = -1;
static unsigned refused; /* kernels and modules that could not be read */

static struct row *row_of(unsigned arch)
{
	struct row *row = rows;

	while (row->arch && row->arch != arch && row < rows + ARCHS - 1)
		row++;
	row->arch = arch;
	return row;
}

/* --- two answers --- */

static int is_of(const struct ptx_claim *a, const struct ptx_claim *b)
{
	return a->offset == b->offset && a->direction == b->direction && a->object == b->object;
}

/* How surely it has a claim of that word and direction: 0: none, 1: perhaps, 2: surely. */
static int has(const struct ptx_access *access, const struct ptx_claim *claim)
{
	int most = 0;

	for (size_t i = 0; i < access->count; i++)
		if (is_of(&access->claim[i], claim) && 1 + access->claim[i].sure > most)
			most = 1 + access->claim[i].sure;
	return most;
}

/* All bytes of the claim lie between the bounds of what is claimed of its word. */
static int has_bytes(const struct ptx_access *access, const struct ptx_claim *claim)
{
	int64_t low = INT64_MAX, high = INT64_MIN;

	for (size_t i = 0; i < access->count; i++)
		if (is_of(&access->claim[i], claim)) {
			low = access->claim[i].low < low ? access->claim[i].low : low;
			high = access->claim[i].high > high ? access->claim[i].high : high;
		}
	return low <= claim->low && claim->high <= high;
}

/* An access that a has and b lacks. */
struct lack {
	int load, loop, write, only_perhaps, bytes;
};

static struct lack lacks(const struct ptx_access *a, const struct ptx_access *b)
{
	struct lack lack = { .only_perhaps = 1 };

	for (size_t i = 0; i < a->count; i++) {
		const struct ptx_claim *claim = &a->claim[i];
		int found = has(b, claim);

		int fewer = !found || (claim->exact && claim->sure && !has_bytes(b, claim));
		struct ptx_claim atomic = *claim;

		atomic.direction = PTX_ATOMIC;
		if (!found && claim->direction == PTX_LOAD && has(b, &atomic))
			lack.loop = 1;
		else if (fewer && claim->direction == PTX_LOAD)
			lack.load = 1;
		else if (!found)
			lack.write = 1;
		else if (fewer)
			lack.bytes = 1;
		if (!found && claim->sure)
			lack.only_perhaps = 0;
	}
	return lack;
}

static int spins(const struct ptx_access *access)
{
	int found = 0;

	for (size_t i = 0; i < access->count; i++)
		found |= access->claim[i].spins;
	return found;
}

static enum difference judge(const struct ptx_access *ptx, const struct ptx_access *machine)
{
	struct lack missing = lacks(ptx, machine), more = lacks(machine, ptx);

	if (ptx->complete && !machine->complete)
		return MACHINE_INCOMPLETE;
	if (!ptx->complete && machine->complete)
		return PTX_INCOMPLETE;
	if (machine->complete && missing.write)
		return LESS;
	if (machine->complete && (more.bytes || missing.bytes))
		return WRONG_BYTES;
	if (more.load || more.write)
		return more.only_perhaps ? LESS_SURE : MORE;
	if (spins(ptx) != spins(machine))
		return WAITS;
	if (more.loop)
		return ATOMIC_LOOP;
	return missing.load || missing.loop ? LOAD_DROPPED : SAME;
}

static int same_ranges(const struct ptx_access *a, const struct ptx_access *b)
{
	if (a->count != b->count)
		return 0;
	for (size_t i = 0; i < a->count; i++)
		if (!is_of(&a->claim[i], &b->claim[i]) || a->claim[i].low != b->claim[i].low ||
			a->claim[i].high != b->claim[i].high ||
			a->claim[i].exact != b->claim[i].exact)
			return 0;
	return 1;
}

static void print_bound(int64_t bound, int64_t none)
{
	if (bound != none)
		printf("%lld", (long long)bound);
}

static void print_access(const char *which, const struct ptx_access *access)
{
	printf("    %-7s", which);
	for (size_t i = 0; i < access->count; i++) {
		const struct ptx_claim *claim = &access->claim[i];

		printf(" %u%c%s%s%s ", claim->offset, "LSA"[claim->direction],
			claim -> object ? "o" : "", claim->sure ? "" : "?",
			claim->spins ? " spins" : "");
		print_bound(claim->low, PTX_NO_LOW);
		fputs("..", stdout);
		print_bound(claim->high, PTX_NO_HIGH);
		fputs(claim->exact ? "," : " at most,", stdout);
	}
	printf("%s%s\n", access->complete ? "" : " incomplete: ",
		access->complete || !access->why ? "" : access->why);
}

/* --- one kernel --- */

/* In each word of eight bytes, or in both halves of one that two parameters share. */
static void pass_number(const struct image_kernel *kernel, uint8_t *value, uint8_t *state)
{
	const uint64_t word = (uint64_t)number_passed;
	const uint32_t half = (uint32_t)number_passed;

	for (uint32_t i = 0; i < kernel->parameter_count; i++) {
		const struct image_parameter *parameter = &kernel->parameter[i];

		if (parameter->offset > BUFFER || parameter->size > BUFFER - parameter->offset)
			continue;
		memset(state + parameter->offset, PTX_KNOWN, parameter->size);
		for (uint32_t at = 0; at + 8 <= parameter->size; at += 8)
			memcpy(value + parameter->offset + at, &word, sizeof(word));
		if (parameter->size % 8 >= 4)
			memcpy(value + parameter->offset + parameter->size / 8 * 8, &half,
				sizeof(half));
	}
}

/*
 * A launch passes pointers where the kernel uses some by its PTX; of the rest nothing is known, or
 * it is the same number.
 */
static void make_launch(const struct ptx_access *access, const struct image_kernel *kernel,
	struct ptx_launch *launch, uint8_t *value, uint8_t *state)
{
	*launch = (struct ptx_launch){ .grid = { 4, 1, 1 }, .block = { 256, 1, 1 } };
	launch->size = access->scalar_count < BUFFER ? access->scalar_count : BUFFER;
	launch->value = value;
	launch->state = state;
	memset(value, 0, BUFFER);
	memset(state, PTX_UNKNOWN, BUFFER);
	if (number_passed >= 0)
		pass_number(kernel, value, state);
	for (size_t i = 0; i < access->count; i++)
		if (access->claim[i].offset + 8 <= launch->size)
			memset(state + access->claim[i].offset, PTX_POINTER, 8);
}

/* Each module counts its variables by itself: by their names they are the same. */
static void name_variables(const struct ptx_module *module, struct ptx_access *access)
{
	for (size_t i = 0; i < access->count; i++) {
		struct ptx_variable_name name;
		uint32_t hash = 0;

		if (ptx_variable(module, access->claim[i].offset, &name))
			continue;
		for (size_t j = 0; j < name.length; j++)
			hash = 31 * hash + (unsigned char)name.name[j];
		access->claim[i].offset = PTX_PARAMETER_LIMIT + hash % (1u << 20);
	}
}

static void compare_kernel(struct row *row, const char *path, const struct image_kernel *kernel,
	struct ptx_module *ptx, size_t number, struct ptx_module *machine, size_t other)
{
	const char *name = kernel->name;
	static uint8_t value[BUFFER], state[BUFFER];
	struct ptx_launch launch = { .grid = { 4, 1, 1 }, .block = { 256, 1, 1 } };
	struct ptx_access a, b;
	enum difference found;

	if (ptx_interpret(ptx, number, &launch, PTX_STEPS, &a)) {
		printf("%s: sm_%u %s: the PTX is not understood: %s\n", path, row->arch, name,
			a.why);
		refused++;
		return;
	}
	make_launch(&a, kernel, &launch, value, state);
	ptx_access_release(&a);
	row->kernels++;
	if (ptx_interpret(ptx, number, &launch, PTX_STEPS, &a))
		a.complete = 0;
	if (ptx_interpret(machine, other, &launch, PTX_STEPS, &b))
		b.complete = 0;
	name_variables(ptx, &a);
	name_variables(machine, &b);
	found = judge(&a, &b);
	row->count[found]++;
	row->ranges += (unsigned)same_ranges(&a, &b);
	if (found != SAME || prints_all) {
		printf("%s: sm_%u %s: %s\n", path, row->arch, name, names[found]);
		print_access("PTX", &a);
		print_access("machine", &b);
	}
	ptx_access_release(&a);
	ptx_access_release(&b);
}

static void compare_code(const char *path, const struct image_code *cubin,
	const struct image_code *text)
{
	char error[IMAGE_ERROR_SIZE];
	struct ptx_module *ptx = ptx_open(text->data, text->size, error);
	struct ptx_module *machine = machine_open(cubin->data, cubin->size, cubin->arch, error);

	if (!ptx || !machine) {
		printf("%s: sm_%u: %s is not understood: %s\n", path, cubin->arch,
			ptx ? "machine code" : "PTX", error);
		refused++;
	}
	if (ptx)
		ptx_set_arch(ptx, cubin->arch);
	for (size_t i = 0; ptx && machine && i < cubin->kernel_count; i++) {
		const char *name = cubin->kernel[i].name;
		long number = ptx_find(ptx, name, strlen(name));
		long other = ptx_find(machine, name, strlen(name));

		if (number >= 0 && other >= 0)
			compare_kernel(row_of(cubin->arch), path, &cubin->kernel[i], ptx,
				(size_t)number, machine, (size_t)other);
	}
	ptx_close(ptx);
	ptx_close(machine);
}

/* PTX of another architecture may be other code. */
static void compare_image(const char *path, const struct image *image)
{
	for (size_t i = 0; i < image->count; i++)
		for (size_t j = 0; j < image->count; j++)
			if (image->code[i].kind == IMAGE_CUBIN &&
				image->code[j].kind == IMAGE_PTX &&
				image->code[i].arch == image->code[j].arch)
				compare_code(path, &image->code[i], &image->code[j]);
}

static int compare_container(const char *path, const void *data, size_t size)
{
	char error[IMAGE_ERROR_SIZE];
	struct image image;

	if (image_read(data, size, &image, error))
		return -1;
	compare_image(path, &image);
	image_release(&image);
	return 0;
}

/* A program or library: one container of so many. */
static int compare_elf(const char *path, unsigned share)
{
	char error[IMAGE_ERROR_SIZE];
	struct image_file file;

	if (image_file_open(&file, path, error))
		return -1;
	for (size_t i = 0; i < file.count; i += share)
		compare_container(path, file.container[i].data, file.container[i].size);
	image_file_close(&file);
	return 0;
}

/* Compares the code in an output of nvcc -fatbin. */
static int compare_fatbin(const char *path)
{
	FILE *file = fopen(path, "rb");
	char *data = NULL;
	size_t size = 0;
	int rc = -1;

	if (file && !fseek(file, 0, SEEK_END) && ftell(file) > 0 && ftell(file) < FILE_LIMIT) {
		size = (size_t)ftell(file);
		data = malloc(size);
		rewind(file);
	}
	if (data && fread(data, 1, size, file) == size)
		rc = compare_container(path, data, size);
	free(data);
	if (file)
		fclose(file);
	return rc;
}

int main(int argc, char **argv)
{
	unsigned share = 1, compared = 0;
	int rc = argc < 2, number;

	while ((number = getopt(argc, argv, "vs:n:")) != -1) {
		prints_all |= number == 'v';
		if (number == 's' && atoi(optarg) > 0)
			share = (unsigned)atoi(optarg);
		if (number == 'n')
			number_passed = atol(optarg);
	}
	for (int i = optind; i < argc; i++)
		if (compare_fatbin(argv[i]) && compare_elf(argv[i], share)) {
			fprintf(stderr, "compare: cannot read '%s'\n", argv[i]);
			rc = 1;
		}
	printf("arch\tkernels\tsame ranges");
	for (unsigned i = 0; i < DIFFERENCES; i++)
		printf("\t%s", names[i]);
	puts("");
	for (const struct row *row = rows; row->arch; row++) {
		compared += row->kernels;
		printf("%u\t%u\t%u", row->arch, row->kernels, row->ranges);
		for (unsigned i = 0; i < DIFFERENCES; i++)
			printf("\t%u", row->count[i]);
		puts("");
		rc |= row->count[LESS] || row->count[WRONG_BYTES];
	}
	if (refused)
		printf("%u kernels or modules were refused\n", refused);
	if (!compared)
		puts("no kernel was compared");
	return rc || refused || !compared;
}
