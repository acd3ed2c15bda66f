/* SPDX-License-Identifier: Apache-2.0 */
#include "device_code.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "code_pieces.h"
#include "code_search.h"
#include "image_hash.h"
#include "memory.h"
#include "print.h"

/* Limits of unpacked bytes per load and per entry: NCCL's largest cubin has 128 MiB. */
#define BUDGET (1ull << 30)
#define BUDGET_ENTRY (160u << 20)

/* The part of it for searches by name. */
#define BUDGET_SEARCH (256ull << 20)

static const char too_much[] = "reading its code takes too much memory";

/* The open image.  Kernels of an image are queried consecutively, for all processes. */
struct opened {
	int64_t hash;
	uint32_t arch; /* of the device that it was opened for */
	struct code_part *part;
	size_t part_count;
	struct map prints;
	int read_cubins;
};

struct code {
	struct db *db;
	struct image_budget budget, search_budget;
	struct code_limits limits, search_limits;
	struct opened image;
	struct code_search *search; /* of the current process, NULL: not opened yet */
	int64_t process;
	sqlite3_stmt *images, *files, *device;
	int64_t missing, refused;
};

struct code *code_open(struct db *db)
{
	struct code *code = xcalloc(1, sizeof(*code));

	code->db = db;
	code->process = -1;
	code->budget = (struct image_budget){ .left = BUDGET, .most = BUDGET_ENTRY };
	code->search_budget = (struct image_budget){ .left = BUDGET_SEARCH, .most = BUDGET_ENTRY };
	code->limits.budget = &code->budget;
	code->search_limits.budget = &code->search_budget;
	code->images = db_prepare(db, "SELECT hash FROM kernel_image WHERE kernel = ?");
	code->files = db_prepare(db,
		"SELECT path, offset, bytes, start FROM image_file "
		"WHERE process = ? AND hash = ? ORDER BY rowid");
	/* Selects code that every device of the process can run. */
	code->device = db_prepare(db,
		"SELECT min(compute_major * 10 + compute_minor) "
		"FROM device WHERE process = ?");
	if (code->images && code->files && code->device)
		return code;
	code_close(code);
	return NULL;
}

static void close_image(struct opened *image)
{
	for (size_t i = 0; i < image->part_count; i++) {
		struct image_bytes bytes = image->part[i].bytes;

		code_part_release(&image->part[i]);
		if (bytes.file >= 0)
			close(bytes.file);
		else
			free((void *)(uintptr_t)bytes.data);
	}
	free(image->part);
	map_release(&image->prints);
	*image = (struct opened){ 0 };
}

void code_close(struct code *code)
{
	if (!code)
		return;
	close_image(&code->image);
	code_search_close(code->search);
	sqlite3_finalize(code->images);
	sqlite3_finalize(code->files);
	sqlite3_finalize(code->device);
	free(code);
}

/* Takes ownership of the data in bytes, and of the key. */
static void add_part(struct opened *image, const struct image_bytes *bytes, char *key)
{
	code_part_init(array_push(image->part, image->part_count), bytes, key);
}

static int add_pieces(struct code *code, int64_t process)
{
	struct opened *image = &code->image;
	struct code_pieces pieces;
	size_t size;
	char *data;
	int rc = code_pieces_open(&pieces, code->db, process, image->hash);

	if (!rc)
		rc = code_pieces_next(&pieces, &data, &size);
	if (rc > 0)
		add_part(image, &(struct image_bytes){ .data = data, .file = -1, .size = size },
			NULL);
	code_pieces_close(&pieces);
	return rc < 0 ? -1 : 0;
}

/* Returns 1 if the file still has the image, by its first bytes. */
static int has_image(const struct image_bytes *bytes, uint64_t start)
{
	char first[IMAGE_START_BYTES];
	size_t size = bytes->size < sizeof(first) ? (size_t)bytes->size : sizeof(first);
	uint64_t at = 0;

	for (ssize_t n = 1; at < size && n > 0; at += (uint64_t)n) {
		n = pread(bytes->file, first + at, size - at, (off_t)(bytes->offset + at));
		if (n <= 0)
			return 0;
	}
	return image_hash(first, size) == start;
}

/* Returns the cache key of an image in a file; NULL: it is not cached. */
static char *key_of(const struct image_bytes *bytes, const char *path, uint64_t start)
{
	struct stat file;

	if (fstat(bytes->file, &file))
		return NULL;
	return xprintf("%s\n%lld %lld.%09ld %llu %llu %llu %llx", path, (long long)file.st_size,
		(long long)file.st_mtim.tv_sec, file.st_mtim.tv_nsec,
		(unsigned long long)file.st_ino, (unsigned long long)bytes->offset,
		(unsigned long long)bytes->size, (unsigned long long)start);
}

/* The row is from image_file. */
static void add_file(struct opened *image, sqlite3_stmt *row)
{
	struct image_bytes bytes = { .offset = (uint64_t)sqlite3_column_int64(row, 1),
		.size = (uint64_t)sqlite3_column_int64(row, 2) };
	const char *path = (const char *)sqlite3_column_text(row, 0);
	char error[IMAGE_ERROR_SIZE];
	uint64_t size;

	bytes.file = path && *path == '/' ? image_open(path, &size, error) : -1;
	if (bytes.file < 0)
		return;
	if (bytes.offset <= size && bytes.size <= size - bytes.offset &&
		has_image(&bytes, (uint64_t)sqlite3_column_int64(row, 3)))
		add_part(image, &bytes,
			key_of(&bytes, path, (uint64_t)sqlite3_column_int64(row, 3)));
	else
		close(bytes.file);
}

static int open_image(struct code *code, int64_t process, int64_t hash)
{
	struct opened *image = &code->image;
	int step;

	if (image->hash == hash && image->arch == code->limits.arch && image->part_count)
		return 0;
	close_image(image);
	image->hash = hash;
	image->arch = code->limits.arch;
	if (add_pieces(code, process) || db_bind(code->files, "ii", process, hash))
		return -1;
	while ((step = db_step(code->files)) > 0)
		add_file(image, code->files);
	return step;
}

static void find_prints(struct code *code, const char *mangled, int *prints)
{
	struct opened *image = &code->image;

	for (size_t i = 0; i < image->part_count && !image->read_cubins; i++)
		code_part_prints(&image->part[i], &code->limits, &image->prints);
	image->read_cubins = 1;
	*prints = code_prints(&image->prints, mangled);
}

/* Closes what belongs to the previous process. */
static int change_process(struct code *code, int64_t process)
{
	int step;

	if (code->process == process)
		return 0;
	code_search_close(code->search);
	code->search = NULL;
	code->process = process;
	step = db_bind(code->device, "i", process) ? -1 : db_step(code->device);
	if (step > 0)
		code->limits.arch = (uint32_t)sqlite3_column_int64(code->device, 0);
	code->search_limits.arch = code->limits.arch;
	sqlite3_reset(code->device);
	return step < 0 ? -1 : 0;
}

static int search(struct code *code, int64_t process, const char *mangled,
	struct code_kernel *found)
{
	int is_found;

	if (!code->search)
		code->search = code_search_open(code->db, process, &code->search_limits);
	if (!code->search)
		return -1;
	is_found = code_search_find(code->search, mangled, &found->at);
	if (!is_found || ptx_prints(found->at.module, found->at.number) < 0)
		found->prints = code_search_prints(code->search, mangled);
	if (!is_found && code->search_budget.reached) {
		found->why = too_much;
		code->refused++;
	}
	return 0;
}

/*
 * Returns the number of images that the kernel was loaded from, with the hash of one of them; -1
 * after a message.
 */
static int count_images(struct code *code, int64_t kernel, int64_t *hash)
{
	int count = 0, step = db_bind(code->images, "i", kernel) ? -1 : 1;

	while (step > 0 && (step = db_step(code->images)) > 0) {
		*hash = sqlite3_column_int64(code->images, 0);
		count++;
	}
	sqlite3_reset(code->images);
	return step < 0 ? -1 : count;
}

int code_find(struct code *code, int64_t process, int64_t kernel, const char *mangled,
	struct code_kernel *found)
{
	int64_t hash = 0;
	int count = count_images(code, kernel, &hash);

	*found = (struct code_kernel){ .prints = -1, .why = "its code was not found" };
	if (count < 0 || change_process(code, process))
		return -1;
	if (!count)
		return search(code, process, mangled, found);
	if (count > 1) {
		found->why = "different code of that name was loaded";
		return 0;
	}
	if (open_image(code, process, hash))
		return -1;
	struct opened *image = &code->image;
	int reached = code->budget.reached, is_found = 0;

	code->budget.reached = 0;
	for (size_t i = 0; i < image->part_count && !is_found; i++)
		is_found = code_part_ptx(&image->part[i], &code->limits, mangled, &found->at);
	for (size_t i = 0; i < image->part_count && !is_found; i++)
		is_found = code_part_machine(&image->part[i], &code->limits, mangled, &found->at);
	if (found->at.machine || !is_found || ptx_prints(found->at.module, found->at.number) < 0)
		find_prints(code, mangled, &found->prints);
	if (!image->part_count) {
		found->why = "its code was not found";
		code->missing++;
	} else if (code->budget.reached) {
		found->why = too_much;
		code->refused++;
	}
	code->budget.reached |= reached;
	return 0;
}

void code_count(const struct code *code, int64_t *missing, int64_t *refused)
{
	*missing = code->missing;
	*refused = code->refused;
}
