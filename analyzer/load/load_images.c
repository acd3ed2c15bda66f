/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code images of a process's kernels: a module or library is loaded from an image, and
 * functions are queried from it.  Images that are not in a file are kept only if one of their
 * kernels was launched.
 */
#include "loader.h"

#include <stdlib.h>

#include "image_beside.h"
#include "memory.h"
#include "print.h"

/* Limit for all images of a process: the recorder's.  Kernels without an image are code_missing. */
#define MOST_BYTES (256u << 20)

struct images {
	const struct image_record **piece;
	size_t piece_count;
	uint64_t bytes;       /* written */
	struct map modules;   /* handle -> hash of its image, 0: unknown */
	struct map functions; /* handle -> function, index + 1 */
	struct image_function {
		uint64_t image;
		uint32_t kernel;
	} * function;
	size_t function_count;
	struct map launched; /* hash -> 1: a kernel of it was launched */
	int unplaced;        /* a kernel of an unknown image was launched */
};

static struct images *images_of(struct loaded_process *p)
{
	if (!p->images)
		p->images = xcalloc(1, sizeof(*p->images));
	return p->images;
}

void loader_release_images(struct loaded_process *p)
{
	if (!p->images)
		return;
	free(p->images->piece);
	free(p->images->function);
	map_release(&p->images->modules);
	map_release(&p->images->functions);
	map_release(&p->images->launched);
	free(p->images);
	p->images = NULL;
}

void loader_note_image(struct loader *loader, const struct image_record *image)
{
	struct images *images = images_of(&loader->p);

	*array_push(images->piece, images->piece_count) = image;
}

int loader_insert_image_file(struct loader *loader, const struct image_file_record *file)
{
	char build_id[2 * sizeof(file->build_id) + 1];

	return db_add(loader->db,
		ROW(image_file, loader->process, file->hash,
			cell_bytes(file->path, file->path_length),
			cell_text(loader_build_id(file->build_id, build_id)), file->offset,
			file->bytes, file->start));
}

/* Assigns the function to that image. */
static void place_function(struct images *images, uint64_t handle, uint64_t image)
{
	uint64_t known = map_get(&images->functions, handle, 0);

	if (!handle)
		return;
	if (!known) {
		*array_push(images->function, images->function_count) =
			(struct image_function){ .image = image };
		known = images->function_count;
		map_set(&images->functions, handle, known);
	}
	if (images->function[known - 1].image != image)
		images->function[known - 1] = (struct image_function){ .image = image };
}

static uint64_t image_of_function(const struct images *images, uint64_t handle)
{
	uint64_t known = map_get(&images->functions, handle, 0);

	return known ? images->function[known - 1].image : 0;
}

#define HAS(kind) (call->fields.present & 1ull << FIELD_##kind)
#define VALUE(kind) (call->fields.value[FIELD_##kind])

static void load_function(struct images *images, const struct loaded_call *call)
{
	uint64_t image = HAS(module) ? map_get(&images->modules, VALUE(module), 0) : 0;
	const uint64_t *word;

	if (HAS(function) && HAS(module)) {
		place_function(images, VALUE(function), image);
		return;
	}
	if (HAS(function) && HAS(handle)) /* cuKernelGetFunction */
	{
		place_function(images, VALUE(function), image_of_function(images, VALUE(handle)));
		return;
	}
	if (HAS(module) && HAS(handle)) { /* cuLibraryGetModule */
		map_set(&images->modules, VALUE(module),
			map_get(&images->modules, VALUE(handle), 0));
		return;
	}
	if (!HAS(module) || !HAS(count)) /* cuModuleEnumerateFunctions */
		return;
	word = loader_list_words(call, VALUE(count), 1, 0);
	for (uint64_t i = 0; word && i < VALUE(count); i++)
		place_function(images, word[i], image);
}

/* Links the variable's allocation, made by this call, to its module. */
static int load_variable(struct loader *loader, const struct images *images,
	const struct loaded_call *call)
{
	const struct lives *lives = &loader->p.allocations;
	uint32_t number = (uint32_t)map_get(&lives->latest, VALUE(ptr), 0);
	uint64_t image = HAS(module) ? map_get(&images->modules, VALUE(module), 0) : 0;
	const struct life *life = number ? &lives->life[number - 1] : NULL;

	if (!life || !image || life->created != call->number)
		return 0;
	return db_add(loader->db,
		ROW(variable, loader->allocation + life->row, image, VALUE(name), cell_text(NULL)));
}

static int load_launch(struct loader *loader, struct images *images, const struct loaded_call *call)
{
	uint64_t known = map_get(&images->functions, VALUE(function), 0);
	struct image_function *function = known ? &images->function[known - 1] : NULL;

	if (!function || !function->image) {
		images->unplaced = 1;
		return 0;
	}
	if (function->kernel == call->kernel)
		return 0;
	function->kernel = call->kernel;
	map_set(&images->launched, function->image, 1);
	return db_add(loader->db, ROW(kernel_image, call->kernel, function->image)) ? -1 : 0;
}

int loader_take_images(struct loader *loader, const struct loaded_call *call)
{
	int launch = call->kernel && HAS(function);
	struct images *images;

	if (!launch && kind_family(call->kind) != FAMILY_module &&
		!kind_has(call->kind, K_LOADS_CODE) && !kind_is_variable(call->kind))
		return 0;
	images = images_of(&loader->p);
	if (!images)
		return -1;
	if (call->kind == KIND_MODULE_LOAD && HAS(module) && !call->failed)
		map_set(&images->modules, VALUE(module), HAS(image) ? VALUE(image) : 0);
	/* Traces before 1.7 have one kind for functions and their attributes. */
	if (kind_family(call->kind) == FAMILY_code && !call->failed)
		load_function(images, call);
	if (kind_is_variable(call->kind) && !call->failed && load_variable(loader, images, call))
		return -1;
	return launch ? load_launch(loader, images, call) : 0;
}

static int insert_piece(struct loader *loader, const struct image_record *piece, const void *bytes,
	size_t size)
{
	struct images *images = loader->p.images;

	if (size > MOST_BYTES - images->bytes)
		return 0;
	images->bytes += size;
	return db_add(loader->db,
		ROW(image_piece, loader->process, piece->hash, piece->offset, piece->total,
			cell_bytes(bytes, size)));
}

static int write_piece(struct loader *loader, const struct image_record *piece)
{
	char *bytes;
	int rc;

	if (!image_is_beside(piece))
		return insert_piece(loader, piece, piece->data, piece->length);
	bytes = image_read_beside(loader->path, piece);
	rc = bytes ? insert_piece(loader, piece, bytes, piece->total) : 0;
	free(bytes);
	return rc;
}

/* Processes of a run load the same images: another process may have stored this one. */
static int is_wanted(const struct loader *loader, uint64_t hash)
{
	const struct images *images = loader->p.images;

	return images->unplaced ||
		(map_get(&images->launched, hash, 0) && !map_get(&loader->images, hash, 0));
}

int loader_write_images(struct loader *loader)
{
	struct images *images = loader->p.images;

	loader->keeps_images = images && images->unplaced;
	for (size_t i = 0; images && i < images->piece_count; i++)
		if (is_wanted(loader, images->piece[i]->hash) &&
			write_piece(loader, images->piece[i]))
			return -1;
	for (size_t i = 0; images && i < images->piece_count; i++)
		if (map_get(&images->launched, images->piece[i]->hash, 0))
			map_set(&loader->images, images->piece[i]->hash, 1);
	return 0;
}
