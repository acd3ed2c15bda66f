/* SPDX-License-Identifier: Apache-2.0 */
#include "code.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "map.h"

/* Of all files together; what lies beyond is not looked at. */
#define TEXT_LIMIT (256u << 20)
/* Of the files' containers, as far as cubins are looked at: unpacking them takes long. */
#define CUBIN_LIMIT (64u << 20)
/* The recorder's own limit for an image is 8 MiB. */
#define IMAGE_LIMIT (64u << 20)

struct code_text {
	char *copy;                /* the module's text */
	struct ptx_module *module;
};

struct code {
	struct code_text *text;
	size_t text_count;
	char **path;               /* files that were not read yet, from next_path on */
	size_t path_count, next_path;
	size_t bytes;
	struct map prints;         /* kernels of cubins, by name: enum said */
	int read_cubins;           /* of the files */
};

/* Of a kernel, by the cubins that have it: they may not agree. */
enum said { SAID_NO = 1, SAID_YES, SAID_UNSURE };

static int no_memory(void)
{
	fputs("cufence: out of memory\n", stderr);
	return -1;
}

static int add_module(struct code *code, const struct code_text *text)
{
	struct code_text *more = array_room(code->text, code->text_count, sizeof(*more));

	if (!more)
		return -1;
	code->text = more;
	more[code->text_count++] = *text;
	return 0;
}

static int add_copy(struct code *code, const void *data, size_t size)
{
	struct code_text text = { .copy = malloc(size + 1) };
	char error[IMAGE_ERROR_SIZE];

	if (!text.copy)
		return no_memory();
	memcpy(text.copy, data, size);
	code->bytes += size;
	text.module = ptx_open(text.copy, size, error);
	if (text.module && !add_module(code, &text))
		return 0;
	ptx_close(text.module);
	free(text.copy);
	return -1;
}

/* The newest architecture's: kernels may be written for each of them apart. */
static int add_container(struct code *code, const void *data, size_t size)
{
	char error[IMAGE_ERROR_SIZE];
	const struct image_code *best = NULL;
	struct image image;
	int rc = 0;

	if (code->bytes > TEXT_LIMIT || image_read_ptx(data, size, &image, error))
		return 0;
	for (size_t i = 0; i < image.count; i++)
		if (!best || image.code[i].arch > best->arch)
			best = &image.code[i];
	if (best)
		rc = add_copy(code, best->data, best->size);
	image_release(&image);
	return rc;
}

static int note_prints(struct code *code, const struct image_kernel *kernel)
{
	uint64_t name = map_hash(kernel->name, strlen(kernel->name));
	uint64_t said = kernel->prints < 0 ? SAID_UNSURE : kernel->prints ? SAID_YES : SAID_NO;
	uint64_t before = map_get(&code->prints, name, said);

	return map_set(&code->prints, name, before == said ? said : SAID_UNSURE);
}

static int note_cubins(struct code *code, const void *data, size_t size)
{
	char error[IMAGE_ERROR_SIZE];
	struct image image;
	int rc = 0;

	if (image_read(data, size, &image, error))
		return 0;
	for (size_t i = 0; i < image.count; i++)
		for (size_t k = 0; k < image.code[i].kernel_count && !rc; k++)
			rc = note_prints(code, &image.code[i].kernel[k]);
	image_release(&image);
	return rc;
}

static int read_cubins(struct code *code)
{
	char error[IMAGE_ERROR_SIZE];
	struct image_file file;
	size_t left = CUBIN_LIMIT;
	int rc = 0;

	code->read_cubins = 1;
	for (size_t i = 0; i < code->path_count && !rc; i++) {
		if (image_file_open(&file, code->path[i], error))
			continue;
		for (size_t k = 0; k < file.count && !rc && file.container[k].size <= left; k++) {
			left -= file.container[k].size;
			rc = note_cubins(code, file.container[k].data, file.container[k].size);
		}
		image_file_close(&file);
	}
	return rc;
}

int code_prints(struct code *code, const char *mangled)
{
	uint64_t name = map_hash(mangled, strlen(mangled));
	uint64_t said = map_get(&code->prints, name, 0);

	if (!said && !code->read_cubins && !read_cubins(code))
		said = map_get(&code->prints, name, 0);
	return said == SAID_YES ? 1 : said == SAID_NO ? 0 : -1;
}

static int read_file(struct code *code, const char *path)
{
	char error[IMAGE_ERROR_SIZE];
	struct image_file file;
	int rc = 0;

	if (image_file_open(&file, path, error))
		return 0;
	for (size_t i = 0; i < file.count && !rc; i++)
		rc = add_container(code, file.container[i].data, file.container[i].size);
	image_file_close(&file);
	return rc;
}

/* An image whose pieces are all there. */
static int add_image(struct code *code, const char *data, size_t size)
{
	char error[IMAGE_ERROR_SIZE];
	struct image image;
	int rc = 0;

	/* What is of a kind that is not known says nothing. */
	if (image_read_ptx(data, size, &image, error))
		return 0;
	for (size_t i = 0; i < image.count && !rc; i++)
		rc = add_copy(code, image.code[i].data, image.code[i].size);
	image_release(&image);
	return rc ? rc : note_cubins(code, data, size);
}

static int read_images(struct code *code, struct db *db, int64_t process)
{
	sqlite3_stmt *q = db_prepare(db, "SELECT hash, offset, total, data FROM image_piece "
		"WHERE process = ? ORDER BY hash, offset");
	char *image = NULL;
	size_t got = 0;
	int64_t hash = 0;
	int step = -1;

	if (!q || db_bind(q, "i", process))
		goto out;
	while ((step = db_step(q)) > 0) {
		size_t total = (size_t)sqlite3_column_int64(q, 2);
		size_t length = (size_t)sqlite3_column_bytes(q, 3);
		char *more;

		if (got && sqlite3_column_int64(q, 0) != hash)
			got = 0;
		hash = sqlite3_column_int64(q, 0);
		if ((size_t)sqlite3_column_int64(q, 1) != got || length > IMAGE_LIMIT - got)
			continue;
		more = realloc(image, got + length + 1);
		step = more ? 0 : no_memory();
		if (step)
			break;
		image = more;
		memcpy(image + got, sqlite3_column_blob(q, 3), length);
		got += length;
		if (got == total && add_image(code, image, got)) {
			step = -1;
			break;
		}
	}
out:
	sqlite3_finalize(q);
	free(image);
	return step;
}

static int read_paths(struct code *code, struct db *db, int64_t process)
{
	sqlite3_stmt *q = db_prepare(db, "SELECT DISTINCT path FROM module WHERE process = ? "
		"AND path LIKE '/%' ORDER BY rowid");
	int step = -1;

	if (q && !db_bind(q, "i", process))
		while ((step = db_step(q)) > 0) {
			char **more = array_room(code->path, code->path_count, sizeof(*more));

			step = -1;
			if (!more)
				break;
			code->path = more;
			more[code->path_count] = strdup((const char *)sqlite3_column_text(q, 0));
			if (!more[code->path_count++] && no_memory())
				break;
		}
	sqlite3_finalize(q);
	return step;
}

struct code *code_open(struct db *db, int64_t process)
{
	struct code *code = calloc(1, sizeof(*code));

	if (!code)
		no_memory();
	else if (!read_images(code, db, process) && !read_paths(code, db, process))
		return code;
	code_close(code);
	return NULL;
}

void code_close(struct code *code)
{
	if (!code)
		return;
	for (size_t i = 0; i < code->text_count; i++) {
		ptx_close(code->text[i].module);
		free(code->text[i].copy);
	}
	for (size_t i = 0; i < code->path_count; i++)
		free(code->path[i]);
	free(code->text);
	free(code->path);
	map_release(&code->prints);
	free(code);
}

struct ptx_module *code_find(struct code *code, const char *mangled, size_t *kernel)
{
	size_t length = strlen(mangled);

	for (size_t i = 0;; i++) {
		long found;

		while (i == code->text_count) {
			if (code->next_path == code->path_count ||
				read_file(code, code->path[code->next_path++]))
				return NULL;
		}
		found = ptx_find(code->text[i].module, mangled, length);
		if (found >= 0) {
			*kernel = (size_t)found;
			return code->text[i].module;
		}
	}
}
