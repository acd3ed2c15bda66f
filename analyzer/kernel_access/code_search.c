/* SPDX-License-Identifier: Apache-2.0 */
#include "code_search.h"

#include <stdlib.h>
#include <string.h>

#include "code_pieces.h"
#include "memory.h"
#include "print.h"

/* A file remains mapped as long as its parts exist. */
struct searched_file {
	char *path;
	struct image_file file;
	int is_open;
};

struct code_search {
	const struct code_limits *limits;
	struct code_part *part; /* with PTX */
	size_t part_count;
	char **image; /* data of parts */
	size_t image_count;
	struct searched_file *file;
	size_t file_count, next_file;
	struct map prints;
	int read_cubins; /* the files' cubins were read */
};

/* Adds an image in memory, with its cubins, or a container of a file. */
static void add_part(struct code_search *search, const void *data, size_t size, int cubins)
{
	struct code_part *part;

	search->part = array_grown(search->part, search->part_count, sizeof(*search->part));
	part = &search->part[search->part_count];
	code_part_init(part, &(struct image_bytes){ .data = data, .file = -1, .size = size }, NULL);
	if (cubins)
		code_part_prints(part, search->limits, &search->prints);
	if (code_part_has_ptx(part, search->limits))
		search->part_count++;
	else
		code_part_release(part);
}

static int read_paths(struct code_search *search, struct db *db, int64_t process)
{
	sqlite3_stmt *q = db_prepare(db,
		"SELECT DISTINCT path FROM module WHERE process = ? "
		"AND path LIKE '/%' ORDER BY rowid");
	int step = -1;

	if (q && !db_bind(q, "i", process))
		while ((step = db_step(q)) > 0)
			*array_push(search->file, search->file_count) = (struct searched_file){
				.path = xstrdup((const char *)sqlite3_column_text(q, 0))
			};
	sqlite3_finalize(q);
	return step;
}

struct code_search *code_search_open(struct db *db, int64_t process,
	const struct code_limits *limits)
{
	struct code_search *search = xcalloc(1, sizeof(*search));

	search->limits = limits;
	struct code_pieces pieces;
	int rc = code_pieces_open(&pieces, db, process, 0) ? -1 : 1;
	size_t size;
	char *image;

	while (rc > 0 && (rc = code_pieces_next(&pieces, &image, &size)) > 0) {
		*array_push(search->image, search->image_count) = image;
		add_part(search, image, size, 1);
	}
	code_pieces_close(&pieces);
	if (!rc && !read_paths(search, db, process))
		return search;
	code_search_close(search);
	return NULL;
}

void code_search_close(struct code_search *search)
{
	if (!search)
		return;
	for (size_t i = 0; i < search->part_count; i++)
		code_part_release(&search->part[i]);
	for (size_t i = 0; i < search->image_count; i++)
		free(search->image[i]);
	for (size_t i = 0; i < search->file_count; i++) {
		image_file_close(&search->file[i].file);
		free(search->file[i].path);
	}
	free(search->part);
	free(search->image);
	free(search->file);
	map_release(&search->prints);
	free(search);
}

/* Returns 1 if the file is mapped. */
static int open_file(struct searched_file *file)
{
	char error[IMAGE_ERROR_SIZE];

	if (!file->is_open && image_file_open(&file->file, file->path, error))
		memset(&file->file, 0, sizeof(file->file));
	file->is_open = 1;
	return file->file.count > 0;
}

static void read_file(struct code_search *search, struct searched_file *file)
{
	for (size_t i = 0; open_file(file) && i < file->file.count; i++)
		add_part(search, file->file.container[i].data, file->file.container[i].size, 0);
}

static void read_cubins(struct code_search *search)
{
	search->read_cubins = 1;
	for (size_t i = 0; i < search->file_count; i++) {
		struct searched_file *file = &search->file[i];

		for (size_t k = 0; open_file(file) && k < file->file.count; k++) {
			struct code_part part;

			code_part_init(&part,
				&(struct image_bytes){ .file = -1,
					.data = file->file.container[k].data,
					.size = file->file.container[k].size },
				NULL);
			code_part_prints(&part, search->limits, &search->prints);
			code_part_release(&part);
		}
	}
}

int code_search_prints(struct code_search *search, const char *mangled)
{
	int prints = code_prints(&search->prints, mangled);

	if (prints >= 0 || search->read_cubins)
		return prints;
	read_cubins(search);
	return code_prints(&search->prints, mangled);
}

int code_search_find(struct code_search *search, const char *mangled, struct code_place *place)
{
	for (size_t i = 0;; i++) {
		while (i == search->part_count) {
			if (search->next_file == search->file_count)
				return 0;
			read_file(search, &search->file[search->next_file++]);
		}
		if (code_part_ptx(&search->part[i], search->limits, mangled, place))
			return 1;
	}
}
