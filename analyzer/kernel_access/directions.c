/* SPDX-License-Identifier: Apache-2.0 */
#include "directions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "equal_launches.h"
#include "calls.h"
#include "device_code.h"
#include "directions_name.h"
#include "image_hash.h"
#include "kept_access.h"
#include "launch_words.h"
#include "memory.h"
#include "rows.h"

/*
 * Limit of instructions interpreted per run: seconds.  Shapes beyond it get the accesses that hold
 * for any launch of their kernels: their races are kept, at a lower confidence.  The limit per
 * kernel is for loops that count in a parameter, which make many shapes.  One shape of a library's
 * kernel takes up to a hundred thousand steps.
 */
#define RUN_STEPS 6000000ul
#define KERNEL_STEPS 1000000ul
/* The part reserved for kernels where a launch may show more than holds for any launch. */
#define UNSURE_STEPS 3000000ul

#define PARAMETERS 512

struct directions {
	struct db *db;
	struct code *code;
	unsigned long steps; /* steps left */
	uint32_t size;       /* of the kernel's parameter buffer */
	uint8_t value[PTX_PARAMETER_LIMIT], state[PTX_PARAMETER_LIMIT];
	/* by offset: size of the piece that begins there, bytes; 0: none */
	uint8_t piece[PTX_PARAMETER_LIMIT];
	uint8_t object[PTX_PARAMETER_LIMIT / 8]; /* by word, 1: a texture or surface */
	uint8_t asked[PTX_PARAMETER_LIMIT];      /* by byte, 0: claims do not depend on it */
	struct equal_launches equal;             /* launches of the kernel that were interpreted */
	struct kept_access *kept;                /* cached accesses of the code ... */
	char digest[CODE_DIGEST_SIZE];           /* ... with this digest */
	sqlite3_stmt *prints, *shapes, *loss;
};

static int64_t or_null(int64_t bound, int64_t none)
{
	return bound == none ? DB_NULL : bound;
}

/* shape DB_NULL: for any launch. */
static int write_claims(struct directions *d, int64_t kernel, int64_t shape,
	const struct kept_answer *answer)
{
	static const char *const names[] = {
		[PTX_LOAD] = "load",
		[PTX_STORE] = "store",
		[PTX_ATOMIC] = "atomic",
	};

	for (size_t i = 0; i < answer->variable_count; i++) {
		const struct kept_variable *variable = &answer->variable[i];
		const char *name = answer->names + variable->name;

		if (db_add(d->db,
			    ROW(kernel_variable, kernel, variable->offset,
				    image_hash(name, variable->length),
				    cell_bytes(name, variable->length), variable->bytes)))
			return -1;
	}
	for (size_t i = 0; i < answer->claim_count; i++) {
		const struct ptx_claim *claim = &answer->claim[i];
		int64_t stride[PTX_STRIDES][2];

		for (unsigned s = 0; s < PTX_STRIDES; s++) {
			int has = s < claim->stride_count;

			stride[s][0] = has ? claim->stride[s].bytes : DB_NULL;
			stride[s][1] = has ? claim->stride[s].count : DB_NULL;
		}
		if (db_add(d->db,
			    ROW(kernel_access, kernel, shape, claim->offset,
				    cell_text(names[claim->direction]), claim->sure,
				    or_null(claim->low, PTX_NO_LOW),
				    or_null(claim->high, PTX_NO_HIGH),
				    claim->stride_count ? claim->run : DB_NULL, stride[0][0],
				    stride[0][1], stride[1][0], stride[1][1], stride[2][0],
				    stride[2][1], claim->exact, claim->loaded, claim->early,
				    claim->spins, cell_text(NULL))))
			return -1;
	}
	return 0;
}

static void put(struct directions *d, uint32_t offset, uint64_t value, uint32_t bytes, int state)
{
	if (offset > sizeof(d->value) - 8)
		return;
	memcpy(d->value + offset, &value, bytes);
	memset(d->state + offset, state, bytes);
}

/* Notes words that are textures or surfaces in any launch. */
static int note_objects(struct directions *d, int64_t kernel, const struct kept_answer *answer)
{
	memset(d->object, 0, sizeof(d->object));
	for (size_t i = 0; i < answer->claim_count; i++) {
		const struct ptx_claim *claim = &answer->claim[i];

		if (!claim->object || claim->offset >= PTX_PARAMETER_LIMIT)
			continue;
		d->object[claim->offset / 8] = 1;
		if (db_add(d->db,
			    ROW(kernel_object, kernel, claim->offset,
				    claim->object == PTX_SURFACE)))
			return -1;
	}
	return 0;
}

/* Unpacks the parameters of a shape: words by value, except pointers and objects. */
static void unpack_parameters(struct directions *d, const void *words, size_t bytes,
	const void *pointers, size_t pointer_bytes)
{
	memset(d->state, PTX_UNKNOWN, sizeof(d->state));
	memset(d->value, 0, sizeof(d->value));
	/* Each piece is part of the last word that begins at or before it. */
	uint32_t from[PTX_PARAMETER_LIMIT] = { 0 }; /* by offset: 1 + index of the word there */
	uint32_t last = 0;

	for (uint32_t i = 0; i < bytes / LAUNCH_WORD_BYTES; i++) {
		struct launch_word word = launch_words_get(words, i);

		if (word.offset < PTX_PARAMETER_LIMIT)
			from[word.offset] = i + 1;
	}
	for (uint32_t at = 0; at < d->size; at++) {
		uint32_t piece = d->piece[at], into;
		struct launch_word word;

		last = from[at] ? from[at] : last;
		if (!piece || !last || d->object[at / 8])
			continue;
		word = launch_words_get(words, last - 1);
		into = at - word.offset;
		if (into + piece <= sizeof(word.value))
			put(d, at, word.value >> 8 * into, piece, PTX_KNOWN);
	}
	for (size_t at = 0; at + sizeof(uint32_t) <= pointer_bytes; at += sizeof(uint32_t)) {
		uint32_t pointed, offset;

		memcpy(&pointed, (const char *)pointers + at, sizeof(pointed));
		offset = pointed & ((1u << LAUNCH_POINTED_BITS) - 1);
		put(d, offset, pointed >> LAUNCH_POINTED_BITS, 8, PTX_POINTER);
	}
	for (uint32_t i = 0; i < d->size; i++)
		if (d->state[i] == PTX_KNOWN && !d->asked[i])
			d->value[i] = d->state[i] = PTX_UNKNOWN;
}

/* A launch equal to a previous one takes no steps. */
static void interpret_launch(struct directions *d, const char *mangled,
	const struct code_place *place, const struct ptx_launch *launch, unsigned long *steps,
	struct kept_answer *answer)
{
	const struct equal_launch *same = equal_launches_find(&d->equal, launch);
	unsigned long limit = *steps;

	if (same) {
		kept_access_find(d->kept, place->module, place->number, mangled, &same->launch,
			same->steps, answer);
		return;
	}
	if (!*steps) {
		*answer = (struct kept_answer){ .failed = 1 };
		return;
	}
	kept_access_find(d->kept, place->module, place->number, mangled, launch, limit, answer);
	*steps -= answer->steps < *steps ? answer->steps : *steps;
	if (!answer->failed)
		equal_launches_add(&d->equal, launch, answer->scalar, answer->scalar_count, limit);
}

/* Resolves the shape in the current row of d->shapes. */
static int resolve_shape(struct directions *d, int64_t kernel, const char *mangled,
	const struct code_place *place, unsigned long *steps)
{
	struct ptx_launch launch = { .size = d->size, .value = d->value, .state = d->state };
	uint64_t grid = (uint64_t)sqlite3_column_int64(d->shapes, 1);
	uint64_t block = (uint64_t)sqlite3_column_int64(d->shapes, 2);
	int64_t shape = sqlite3_column_int64(d->shapes, 0);
	struct kept_answer answer;

	launch.grid[0] = GRID_X(grid);
	launch.grid[1] = GRID_Y(grid);
	launch.grid[2] = GRID_Z(grid);
	launch.block[0] = BLOCK_X(block);
	launch.block[1] = BLOCK_Y(block);
	launch.block[2] = BLOCK_Z(block);
	unpack_parameters(d, sqlite3_column_blob(d->shapes, 3),
		(size_t)sqlite3_column_bytes(d->shapes, 3), sqlite3_column_blob(d->shapes, 4),
		(size_t)sqlite3_column_bytes(d->shapes, 4));
	interpret_launch(d, mangled, place, &launch, steps, &answer);
	if (answer.failed)
		return 0;
	return write_claims(d, kernel, shape, &answer) ||
			db_add(d->db,
				ROW(shape_code, shape, answer.complete, cell_text(answer.why),
					answer.reaches))
		? -1
		: 0;
}

static int parameters_of(const struct image_kernel *kernel, struct image_parameter *parameter)
{
	int count = kernel->described ? (int)kernel->parameter_count : -1;

	for (int i = 0; i < count && i < PARAMETERS; i++)
		parameter[i] = kernel->parameter[i];
	return count;
}

/* Finds where scalars may be: pieces of the parameters that do not cross a multiple of 8. */
static void lay_out(struct directions *d, const struct code_place *place)
{
	struct image_parameter parameter[PARAMETERS];
	int count = place->machine
		? parameters_of(place->machine, parameter)
		: ptx_parameters(place->module, place->number, parameter, PARAMETERS);

	memset(d->piece, 0, sizeof(d->piece));
	d->size = 0;
	for (int i = 0; i < count && i < PARAMETERS; i++) {
		uint32_t at = parameter[i].offset, end = at + parameter[i].size;

		while (at < end && at <= sizeof(d->piece) - 8) {
			uint32_t step = 8 - at % 8 < end - at ? 8 - at % 8 : end - at;

			d->piece[at] = (uint8_t)step;
			at += step;
		}
		d->size = at > d->size ? at : d->size;
	}
}

/* complete: all accesses of the kernel are known for any launch. */
static int resolve_shapes(struct directions *d, int64_t kernel, const char *mangled,
	const struct code_place *place, int complete)
{
	unsigned long kept = complete ? UNSURE_STEPS : 0;
	unsigned long left = d->steps > kept ? d->steps - kept : 0;
	unsigned long steps = left < KERNEL_STEPS ? left : KERNEL_STEPS, given = steps;
	int step = 0;

	lay_out(d, place);
	if (db_bind(d->shapes, "i", kernel))
		return -1;
	equal_launches_release(&d->equal);
	while ((step = db_step(d->shapes)) > 0)
		if (resolve_shape(d, kernel, mangled, place, &steps))
			return -1;
	d->steps -= given - steps;
	return step < 0 ? -1 : 0;
}

/* prints: as returned by ptx_prints(). */
static int note_prints(struct directions *d, int64_t kernel, int prints)
{
	return prints < 0 ? 0 : db_run(d->prints, "ii", (int64_t)prints, kernel);
}

static int64_t known(int answer)
{
	return answer < 0 ? DB_NULL : answer;
}

static int note_dependence(struct directions *d, int64_t kernel, const struct code_kernel *found)
{
	struct ptx_dependence dependence = ptx_dependence(found->at.module, found->at.number);

	return db_add(d->db,
		ROW(kernel_dependence, kernel, known(dependence.waits),
			known(dependence.triggers)));
}

/* The code could not be interpreted. */
static int write_unknown(struct directions *d, int64_t kernel, const char *mangled,
	const struct code_kernel *found, const char *why)
{
	int rc = found->at.machine ? directions_from_name(d->db, kernel, mangled, why)
				   : db_add(d->db,
					     ROW(kernel_code, kernel, cell_text("none"), 0,
						     cell_text(why), 0, DB_NULL));

	return rc ? -1 : 0;
}

static int write_any(struct directions *d, int64_t kernel, const struct code_kernel *found,
	const struct kept_answer *answer)
{
	/* Launches that differ only in scalars that no claim depends on need one interpretation. */
	memset(d->asked, 1, sizeof(d->asked));
	if (answer->complete)
		for (size_t i = 0; i < answer->scalar_count && i < sizeof(d->asked); i++)
			d->asked[i] = answer->scalar[i];
	return db_add(d->db,
		       ROW(kernel_code, kernel, cell_text(found->at.machine ? "machine" : "ptx"),
			       answer->complete, cell_text(answer->why), answer->reaches,
			       DB_NULL)) ||
			write_claims(d, kernel, DB_NULL, answer) ||
			note_objects(d, kernel, answer) || note_dependence(d, kernel, found)
		? -1
		: 0;
}

static int change_code(struct directions *d, const char *digest)
{
	if (d->kept && !strcmp(d->digest, digest))
		return 0;
	kept_access_close(d->kept);
	memcpy(d->digest, digest, sizeof(d->digest));
	d->kept = kept_access_open(digest);
	return d->kept ? 0 : -1;
}

static int resolve_code(struct directions *d, int64_t kernel, const char *mangled,
	const struct code_kernel *found)
{
	const struct code_place *place = &found->at;
	struct ptx_launch anything = { .size = 0 };
	int prints = place->machine ? -1 : ptx_prints(place->module, place->number), rc;
	struct kept_answer answer;

	if (change_code(d, place->digest))
		return -1;
	kept_access_find(d->kept, place->module, place->number, mangled, &anything, KERNEL_STEPS,
		&answer);
	rc = answer.failed ? write_unknown(d, kernel, mangled, found, answer.why)
			   : write_any(d, kernel, found, &answer);
	if (rc || note_prints(d, kernel, prints < 0 ? found->prints : prints))
		return -1;
	return answer.failed ? 0 : resolve_shapes(d, kernel, mangled, place, answer.complete);
}

static int resolve_kernel(struct directions *d, int64_t process, int64_t kernel,
	const char *mangled)
{
	struct code_kernel found;

	if (code_find(d->code, process, kernel, mangled, &found))
		return -1;
	if (found.at.module)
		return resolve_code(d, kernel, mangled, &found);
	return directions_from_name(d->db, kernel, mangled, found.why) ||
			note_prints(d, kernel, found.prints)
		? -1
		: 0;
}

static int resolve_kernels(struct directions *d)
{
	sqlite3_stmt *q = db_prepare(d->db,
		"SELECT k.process, k.id, k.mangled FROM kernel k "
		"LEFT JOIN kernel_image i ON i.kernel = k.id GROUP BY k.id "
		"ORDER BY i.hash IS NULL, i.hash, k.process, k.id");
	int step = -1;

	if (q)
		while ((step = db_step(q)) > 0)
			if (resolve_kernel(d, sqlite3_column_int64(q, 0),
				    sqlite3_column_int64(q, 1),
				    (const char *)sqlite3_column_text(q, 2))) {
				step = -1;
				break;
			}
	sqlite3_finalize(q);
	return step;
}

static int note_losses(struct directions *d)
{
	int64_t missing, refused;

	code_count(d->code, &missing, &refused);
	return (missing && db_run(d->loss, "si", "code_missing", missing)) ||
			(refused && db_run(d->loss, "si", "code_refused", refused))
		? -1
		: 0;
}

int directions_resolve(struct db *db)
{
	struct directions *d = xcalloc(1, sizeof(*d));
	int rc = -1;

	d->db = db;
	d->steps = RUN_STEPS;
	d->code = code_open(db);
	if (!d->code || db_exec(db, "BEGIN"))
		goto out;
	d->prints = db_prepare(db, "UPDATE kernel_code SET prints = ? WHERE kernel = ?");
	d->shapes = db_prepare(db,
		"SELECT id, grid, block, words, pointers FROM shape "
		"WHERE kernel = ?");
	d->loss = db_prepare(db, "INSERT INTO loss SELECT min(id), ?, ? FROM process");
	if (d->prints && d->shapes && d->loss)
		rc = resolve_kernels(d) || note_losses(d) ? -1 : 0;
	sqlite3_finalize(d->prints);
	sqlite3_finalize(d->shapes);
	sqlite3_finalize(d->loss);
	if (!rc)
		rc = db_exec(db,
			"COMMIT; CREATE INDEX IF NOT EXISTS kernel_access_shape "
			"ON kernel_access (shape)");
	if (rc && !sqlite3_get_autocommit(db->handle))
		sqlite3_exec(db->handle, "ROLLBACK", NULL, NULL, NULL);
out:
	equal_launches_release(&d->equal);
	kept_access_close(d->kept);
	code_close(d->code);
	free(d);
	return rc;
}
