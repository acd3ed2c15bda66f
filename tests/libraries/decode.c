/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decode [-s SHARE] FILE...: decodes all machine code in libraries, archives and cubins, and lists
 * the opcodes that are unknown; exits 1 if there are any, if a jump leads astray, or if a kernel
 * reads a register that nothing in it writes.
 * -s: only one cubin of so many.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image.h"
#include "kernel_code.h"
#include "sass.h"
#include "written.h"

#define CONTAINER_MAGIC 0xba55ed50u
#define KINDS 4096
#define SHOWN 20 /* of each fault */

struct kind {
	unsigned arch, number;
	unsigned long count;
	uint64_t word[2];
};

struct tally {
	unsigned long files, cubins, instructions, unknown, astray, missing;
	unsigned share, seen;
	struct kind kind[KINDS];
	unsigned kinds;
};

static void add_unknown(struct tally *tally, unsigned arch, const uint8_t *bytes)
{
	uint64_t word[2];
	unsigned i;

	memcpy(word, bytes, sizeof(word));
	tally->unknown++;
	for (i = 0; i < tally->kinds; i++)
		if (tally->kind[i].arch == arch && tally->kind[i].number == (word[0] & 0xfff))
			break;
	if (i == KINDS)
		return;
	if (i == tally->kinds)
		tally->kind[tally->kinds++] = (struct kind){
			.arch = arch,
			.number = word[0] & 0xfff,
			.word = { word[0], word[1] },
		};
	tally->kind[i].count++;
}

/* A function begins there, or it is a jump within one. */
static int is_callee(const struct machine_code *code, uint32_t number, uint64_t at, uint64_t label)
{
	const struct machine_function *callee = machine_function_at(code, number, label);

	return callee &&
		(callee->offset == label || callee == machine_function_at(code, number, at));
}

/*
 * Jumps stay in their section, calls go where a function begins, indirect jumps have a list; what
 * relocations fill in is 0 before.
 */
static int is_astray(const struct machine_code *code, uint32_t number, uint64_t at,
	const struct sass_instruction *in)
{
	const struct machine_section *section = &code->section[number];
	const struct sass_operand *label = NULL;

	for (unsigned i = 0; i < in->from_count; i++)
		if (in->from[i].kind == SASS_OPERAND_LABEL)
			label = &in->from[i];
	if (!label || in->opcode == SASS_RET || in->opcode == SASS_LEPC)
		return 0;
	if (in->opcode == SASS_BRX)
		return label->value != 0 || !machine_find_jump(section, at);
	if (in->opcode == SASS_CALL && (!in->is_relative || label->value == 0))
		return 0;
	if (label->value < 0 || (uint64_t)label->value >= section->size ||
		label->value % SASS_BYTES)
		return 1;
	return in->opcode == SASS_CALL && !is_callee(code, number, at, (uint64_t)label->value);
}

static void show(const struct machine_code *code, const struct machine_section *section, size_t at,
	const struct sass_instruction *in, const char *what)
{
	char text[256];

	sass_print(in, text, sizeof(text));
	printf("%s: sm_%u %.60s at 0x%zx of 0x%zx: %s\n", what, code->arch, section->name, at,
		section->size, text);
}

static void decode_section(struct tally *tally, const struct machine_code *code, uint32_t number)
{
	const struct machine_section *section = &code->section[number];
	struct written written;

	written_find(&written, code, number);
	for (size_t at = 0; at + SASS_BYTES <= section->size; at += SASS_BYTES) {
		struct sass_instruction in;

		tally->instructions++;
		if (sass_decode(code->arch, section->code + at, at, &in)) {
			add_unknown(tally, code->arch, section->code + at);
			continue;
		}
		if (is_astray(code, number, at, &in) && tally->astray++ < SHOWN)
			show(code, section, at, &in, "leads astray");
		if (written_misses(&written, &in) && tally->missing++ < SHOWN)
			show(code, section, at, &in, "reads what nothing writes");
	}
}

static void decode_cubin(struct tally *tally, const struct image_code *image)
{
	char error[IMAGE_ERROR_SIZE];
	struct machine_code code;

	if (machine_code_open(&code, image->data, image->size, image->arch, error))
		return;
	tally->cubins++;
	for (uint32_t i = 0; i < code.section_count; i++)
		decode_section(tally, &code, i);
	machine_code_close(&code);
}

static void decode_image(struct tally *tally, const void *data, size_t size)
{
	char error[IMAGE_ERROR_SIZE];
	struct image_bytes bytes = { .data = data, .file = -1, .size = size };
	struct image_entry *entry = NULL;
	long count = image_list(&bytes, &entry, error);

	for (long i = 0; i < count; i++) {
		struct image_budget budget = { .left = UINT64_C(1) << 32,
			.most = UINT64_C(1) << 32 };
		struct image image = { 0 };

		if (entry[i].kind != IMAGE_CUBIN || (entry[i].arch && entry[i].arch < 75) ||
			tally->seen++ % tally->share != 0)
			continue;
		if (image_read_entry(&bytes, &entry[i], &budget, &image, error) == 0 &&
			image.count && image.code[0].arch >= 75)
			decode_cubin(tally, &image.code[0]);
		image_release(&image);
	}
	free(entry);
}

/* Containers wherever they are: in sections of libraries and of an archive's members. */
static void decode_bytes(struct tally *tally, const uint8_t *data, size_t size)
{
	if (size >= 4 && memcmp(data, "\177ELF", 4) == 0 && size > 20 && data[18] == 190) {
		decode_image(tally, data, size);
		return;
	}
	for (size_t at = 0; at + 16 <= size; at += 4) {
		uint32_t magic;
		uint16_t header;
		uint64_t length;

		memcpy(&magic, data + at, sizeof(magic));
		if (magic != CONTAINER_MAGIC)
			continue;
		memcpy(&header, data + at + 6, sizeof(header));
		memcpy(&length, data + at + 8, sizeof(length));
		if (header != 16 || length > size - at - 16)
			continue;
		decode_image(tally, data + at, (size_t)length + 16);
		at += (length + 12) & ~UINT64_C(3);
	}
}

static int decode_file(struct tally *tally, const char *path)
{
	int file = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;
	void *data;

	if (file < 0 || fstat(file, &status) || status.st_size == 0) {
		fprintf(stderr, "cannot read '%s'\n", path);
		return -1;
	}
	data = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
	close(file);
	if (data == MAP_FAILED)
		return -1;
	tally->files++;
	decode_bytes(tally, data, (size_t)status.st_size);
	munmap(data, (size_t)status.st_size);
	return 0;
}

int main(int argc, char **argv)
{
	static struct tally tally = { .share = 1 };
	int first = 1, failed = 0;

	if (argc > 3 && strcmp(argv[1], "-s") == 0) {
		tally.share = (unsigned)atoi(argv[2]);
		first = 3;
	}
	if (first >= argc || tally.share == 0) {
		fprintf(stderr, "usage: decode [-s SHARE] FILE...\n");
		return 2;
	}
	for (int i = first; i < argc; i++)
		failed |= decode_file(&tally, argv[i]) != 0;
	for (unsigned i = 0; i < tally.kinds; i++)
		printf("unknown: sm_%u 0x%03x %lu times: %016llx %016llx\n", tally.kind[i].arch,
			tally.kind[i].number, tally.kind[i].count,
			(unsigned long long)tally.kind[i].word[0],
			(unsigned long long)tally.kind[i].word[1]);
	printf("%lu files, %lu cubins, %lu instructions, %lu unknown, %lu lead astray, "
	       "%lu read what nothing writes\n",
		tally.files, tally.cubins, tally.instructions, tally.unknown, tally.astray,
		tally.missing);
	return failed || tally.unknown || tally.astray || tally.missing ? 1 : 0;
}
