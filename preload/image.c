/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code images that programs make in memory: what NVRTC, Triton or XLA compile exists nowhere
 * else, and the analyzer reads from it what kernels do with their parameters.
 */
#include <elf.h>
#include <errno.h>
#include <string.h>

#include "shim.h"

#define MAX_IMAGE (8u << 20)
#define MAX_ALL (256u << 20) /* a program may compile without end */
#define IMAGES 4096          /* a power of two */
#define PIECE (60u << 10)

/* Undocumented, what nvcc 11 to 13 write.  (The wrapper that nvcc's programs pass instead points
 * into their file.) */
#define CONTAINER_MAGIC 0xba55ed50u
struct container_header {
	uint32_t magic;
	uint16_t version, header_size;
	uint64_t size;             /* of what follows the header */
};

static struct {
	_Atomic uint64_t hash[IMAGES];
	_Atomic uint64_t bytes;
} seen;

void image_reset(void)
{
	for (unsigned i = 0; i < IMAGES; i++)
		seen.hash[i] = 0;
	seen.bytes = 0;
}

/* End of the section header table or of the last section. */
static uint64_t elf_size(const char *image)
{
	const Elf64_Ehdr *elf = (const Elf64_Ehdr *)image;
	uint64_t size = elf->e_shoff + (uint64_t)elf->e_shnum * sizeof(Elf64_Shdr);

	if (elf->e_ident[EI_CLASS] != ELFCLASS64 || elf->e_shentsize != sizeof(Elf64_Shdr) ||
		size > MAX_IMAGE)
		return 0;
	for (unsigned i = 0; i < elf->e_shnum; i++) {
		Elf64_Shdr section;
		uint64_t end;

		memcpy(&section, image + elf->e_shoff + i * sizeof(section), sizeof(section));
		end = section.sh_offset + section.sh_size;
		if (section.sh_type != SHT_NOBITS && end > size)
			size = end;
	}
	return size;
}

/* Comments, white space and directives are what PTX begins with. */
static int is_text(const char *image)
{
	return *image == '/' || *image == '.' || *image == ' ' || *image == '\t' ||
	       *image == '\n' || *image == '\r';
}

/* Bytes of an image that the analyzer could not find in a file, 0: it can, or it is none. */
static uint64_t size_of(const char *image)
{
	struct container_header header;
	uint64_t size = 0;

	if (is_text(image)) {
		size = strnlen(image, MAX_IMAGE + 1);
	} else {
		memcpy(&header.magic, image, sizeof(header.magic));
		/* nvcc's lie in a section of a file, where the analyzer finds them. */
		if (header.magic == CONTAINER_MAGIC && !module_is_file((uintptr_t)image)) {
			memcpy(&header, image, sizeof(header));
			size = header.header_size + header.size;
		} else if (!memcmp(image, ELFMAG, SELFMAG)) {
			size = elf_size(image);
		}
	}
	return size <= MAX_IMAGE ? size : 0;
}

static uint64_t hash_of(const char *bytes, uint64_t size)
{
	uint64_t hash = size, word;

	for (uint64_t at = 0; at < size; at += sizeof(word)) {
		word = 0;
		memcpy(&word, bytes + at, size - at < sizeof(word) ? size - at : sizeof(word));
		hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
		hash ^= hash >> 29;
	}
	return hash ? hash : 1;
}

/* 1 the first time. */
static int is_new(uint64_t hash)
{
	uint32_t place = (uint32_t)(hash >> 20) & (IMAGES - 1);

	for (unsigned tries = 0; tries < 64; tries++, place = (place + 1) & (IMAGES - 1)) {
		uint64_t found = atomic_load_explicit(&seen.hash[place], memory_order_relaxed);

		if (!found && atomic_compare_exchange_strong(&seen.hash[place], &found, hash))
			return 1;
		if (found == hash)
			return 0;
	}
	trace_count(&shim.writer, COUNT_DROPPED_ENTRIES, 1);
	return 0;
}

static void write_pieces(struct thread_state *thread, uint64_t hash, const char *bytes,
	uint64_t size)
{
	for (uint64_t at = 0; at < size; at += PIECE) {
		uint32_t length = size - at < PIECE ? (uint32_t)(size - at) : PIECE;
		struct image_record *record =
			thread_reserve(thread, sizeof(*record) + length, RECORD_IMAGE);

		if (!record)
			return;
		record->length = length;
		record->hash = hash;
		record->offset = at;
		record->total = size;
		memcpy(record->data, bytes + at, length);
		trace_commit(&thread->chunk);
	}
}

uint64_t image_note(const void *image)
{
	struct thread_state *thread = thread_state();
	uint64_t size, hash = 0;
	int saved = errno;

	if (!image || thread->busy)
		return 0;
	thread->busy = STACK_PLACE;
	size = size_of(image);
	if (size)
		hash = hash_of(image, size);
	if (size && is_new(hash)) {
		if (atomic_fetch_add(&seen.bytes, size) + size <= MAX_ALL)
			write_pieces(thread, hash, image, size);
		else
			trace_count(&shim.writer, COUNT_DROPPED_ENTRIES, 1);
	}
	thread->busy = 0;
	errno = saved;
	return hash;
}
