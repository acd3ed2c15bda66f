/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code images, from which the analyzer determines what kernels do with their parameters.  Images in
 * files are referenced; images compiled in memory by NVRTC, Triton or XLA are stored.
 */
#include <errno.h>
#include <string.h>

#include "hash_set.h"
#include "image_hash.h"
#include "image_size.h"
#include "shim.h"
#include "system.h"

#define MAX_IMAGE IMAGE_MOST_BYTES
#define MAX_ALL (256u << 20) /* limit, as programs may compile continuously */
#define PIECE (60u << 10)

/*
 * The wrapper passed by nvcc's programs: __fatBinC_Wrapper_t of fatbinary_section.h.  Linked from
 * relocatable code it also has a list of its inputs, up to a NULL (crt/link.stub).
 */
#define WRAPPER_MAGIC 0x466243b1u
#define WRAPPER_LINKED 2
#define LINKED 4096
struct wrapper {
	uint32_t magic, version;
	const char *container;
	const char *const *linked;
};

static struct {
	struct hash_set hashes;
	_Atomic uint64_t bytes;
} seen;

void image_reset(void)
{
	hash_set_clear(&seen.hashes);
	seen.bytes = 0;
	image_store_reset();
}

/* 1 for a new hash. */
static int is_new(uint64_t hash)
{
	int added = hash_set_add(&seen.hashes, hash);

	if (added < 0)
		trace_count(&shim.writer, COUNT_DROPPED_ENTRIES, 1);
	return added > 0;
}

static int write_piece(struct thread_state *thread, const struct image_record *piece,
	const char *bytes)
{
	struct image_record *record =
		thread_reserve(thread, sizeof(*record) + piece->length, RECORD_IMAGE);

	if (!record)
		return -1;
	record->length = piece->length;
	record->hash = piece->hash;
	record->offset = piece->offset;
	record->total = piece->total;
	if (bytes)
		memcpy(record->data, bytes, piece->length);
	trace_commit(&thread->chunk);
	return 0;
}

static void write_pieces(struct thread_state *thread, uint64_t hash, const char *bytes,
	uint64_t size)
{
	for (uint64_t at = 0; at < size; at += PIECE) {
		uint32_t length = size - at < PIECE ? (uint32_t)(size - at) : PIECE;

		if (write_piece(thread,
			    &(struct image_record){ .length = length,
				    .hash = hash,
				    .offset = at,
				    .total = size },
			    bytes + at))
			return;
	}
}

/* Stores the image if its hash is new. */
static uint64_t note_content(struct thread_state *thread, const char *image, uint64_t size)
{
	uint64_t hash;

	if (!size || size > MAX_IMAGE)
		return 0;
	hash = image_hash(image, size);
	if (!is_new(hash))
		return hash;
	if (atomic_fetch_add(&seen.bytes, size) + size > MAX_ALL)
		trace_count(&shim.writer, COUNT_DROPPED_ENTRIES, 1);
	else if (image_store(hash, image, size))
		write_piece(thread, &(struct image_record){ .hash = hash, .total = size }, NULL);
	else
		write_pieces(thread, hash, image, size);
	return hash;
}

static void write_file(struct thread_state *thread, const struct image_file_record *head,
	const struct module_place *place)
{
	size_t length = strlen(place->path);
	struct image_file_record *record =
		thread_reserve(thread, sizeof(*record) + length, RECORD_IMAGE_FILE);

	if (!record)
		return;
	record->path_length = (uint32_t)length;
	record->hash = head->hash;
	record->offset = head->offset;
	record->bytes = head->bytes;
	record->start = head->start;
	memcpy(record->build_id, place->build_id, sizeof(record->build_id));
	memcpy(record->path, place->path, length);
	trace_commit(&thread->chunk);
}

/*
 * Records a container in a file as part of the image with that hash, which the first container
 * sets.  Returns 0, or -1 if it is not in a file.
 */
static int note_file(struct thread_state *thread, const char *container, uint64_t *hash)
{
	const struct module_place *place = module_take_place((uintptr_t)container);
	struct image_file_record record;
	int write = *hash != 0;

	if (!place)
		return -1;
	record.offset = place->offset + ((uintptr_t)container - place->start);
	record.bytes = image_size(container);
	record.start = image_hash(container,
		record.bytes < IMAGE_START_BYTES ? record.bytes : IMAGE_START_BYTES);
	if (!*hash) {
		uint64_t what[] = { image_hash(place->path, strlen(place->path)), record.offset,
			record.bytes, record.start };

		*hash = image_hash(what, sizeof(what));
		write = is_new(*hash);
	}
	record.hash = *hash;
	if (write)
		write_file(thread, &record, place);
	module_give_place();
	return write ? 1 : 0;
}

static int is_container(const char *image)
{
	uint32_t magic;

	memcpy(&magic, image, sizeof(magic));
	return magic == IMAGE_CONTAINER_MAGIC;
}

/* nvcc's images are in a section of a file: reading them here would take longer than loading. */
static uint64_t note(struct thread_state *thread, const char *image)
{
	struct wrapper wrapper = { .container = image };
	uint64_t hash = 0;
	int written;

	if (!memcmp(image, &(uint32_t){ WRAPPER_MAGIC }, sizeof(uint32_t)))
		memcpy(&wrapper, image, sizeof(wrapper));
	if (!wrapper.container)
		return 0;
	written =
		is_container(wrapper.container) ? note_file(thread, wrapper.container, &hash) : -1;
	if (written < 0)
		return note_content(thread, wrapper.container, image_size(wrapper.container));
	for (unsigned i = 0; written && wrapper.version == WRAPPER_LINKED && wrapper.linked &&
		i < LINKED && wrapper.linked[i] && is_container(wrapper.linked[i]);
		i++)
		note_file(thread, wrapper.linked[i], &hash);
	return hash;
}

uint64_t image_note(const void *image)
{
	struct thread_state *thread = thread_state();
	int saved = errno;
	uint64_t hash;

	if (!image || thread->busy)
		return 0;
	thread->busy = STACK_PLACE;
	hash = note(thread, image);
	thread->busy = 0;
	errno = saved;
	return hash;
}

static int read_all(int fd, char *bytes, uint64_t size)
{
	for (uint64_t done = 0; done < size;) {
		ssize_t n = system_read(fd, bytes + done, size - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		done += (uint64_t)n;
	}
	return 0;
}

/* Uses a copy of the file's contents, so that a concurrent truncation raises no signal. */
static uint64_t note_bytes_of(struct thread_state *thread, int fd)
{
	struct stat file;
	uint64_t hash = 0;
	char *bytes;

	if (system_stat(fd, &file) || !S_ISREG(file.st_mode) || file.st_size <= 0 ||
		file.st_size > MAX_IMAGE)
		return 0;
	bytes = system_map((size_t)file.st_size, 0, -1, 0);
	if (bytes == MAP_FAILED)
		return 0;
	if (!read_all(fd, bytes, (uint64_t)file.st_size))
		hash = note_content(thread, bytes, (uint64_t)file.st_size);
	system_unmap(bytes, (size_t)file.st_size);
	return hash;
}

uint64_t image_note_file(const char *path)
{
	struct thread_state *thread = thread_state();
	int saved = errno, fd;
	uint64_t hash = 0;

	if (!path || thread->busy)
		return 0;
	thread->busy = STACK_PLACE;
	fd = system_open(path, O_RDONLY | O_NONBLOCK, 0);
	if (fd >= 0) {
		hash = note_bytes_of(thread, fd);
		system_close(fd);
	}
	thread->busy = 0;
	errno = saved;
	return hash;
}
