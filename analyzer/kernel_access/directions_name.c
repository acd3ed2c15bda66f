/* SPDX-License-Identifier: Apache-2.0 */
#include "directions_name.h"

#include <string.h>

#include "mangled.h"
#include "rows.h"

#define PARAMETERS 64

/*
 * Kernels that take their tensors as one array of pointers, results first: PyTorch's TensorIterator
 * (aten/src/ATen/native/cuda/CUDALoops.cuh).  Nearly all have one result; kernels with several have
 * other names.
 */
static const char *const tensor_arrays[] = {
	"vectorized_elementwise_kernel",
	"unrolled_elementwise_kernel",
	"vectorized_templated_elementwise_kernel",
};

static int takes_tensors(const char *mangled)
{
	for (size_t i = 0; i < sizeof(tensor_arrays) / sizeof(*tensor_arrays); i++)
		if (strstr(mangled, tensor_arrays[i]) && strstr(mangled, "N2at6native"))
			return 1;
	return 0;
}

/* Adds an access to unknown bytes. */
static int add(struct db *db, int64_t kernel, int64_t offset, const char *direction)
{
	return db_add(db,
		ROW(kernel_access, kernel, DB_NULL, offset, cell_text(direction), 1, DB_NULL,
			DB_NULL, DB_NULL, DB_NULL, DB_NULL, DB_NULL, DB_NULL, DB_NULL, DB_NULL, 0,
			0, 0, 0, cell_text(NULL)));
}

/*
 * Adds the accesses of the parameter in the row of q.  Sets *evidence if there are any.  Returns 0,
 * or -1 after a message.
 */
static int add_parameter(struct db *db, sqlite3_stmt *q, int64_t kernel,
	const struct mangled_type *type, int tensors, const char **evidence)
{
	int64_t offset = sqlite3_column_int64(q, 1), bytes = sqlite3_column_int64(q, 2);

	if (type->kind == MANGLED_CONST_POINTER && bytes == 8) {
		*evidence = *evidence ? *evidence : "const";
		return add(db, kernel, offset, "load");
	}
	if (!tensors || type->kind != MANGLED_ARRAY || bytes != (int64_t)type->count * 8)
		return 0;
	*evidence = "convention";
	for (unsigned i = 0; i < type->count; i++)
		if (add(db, kernel, offset + i * 8, i ? "load" : "store"))
			return -1;
	return 0;
}

int directions_from_name(struct db *db, int64_t kernel, const char *mangled, const char *why)
{
	struct mangled_type type[PARAMETERS];
	int count = mangled_parameters(mangled, type, PARAMETERS), step = -1;
	sqlite3_stmt *q = db_prepare(db,
		"SELECT ordinal, offset, size FROM parameter "
		"WHERE kernel = ? ORDER BY ordinal");
	const char *evidence = NULL;

	if (q && !db_bind(q, "i", kernel))
		while ((step = db_step(q)) > 0) {
			int64_t position = sqlite3_column_int64(q, 0);

			if (position < count && position < PARAMETERS &&
				add_parameter(db, q, kernel, &type[position],
					takes_tensors(mangled), &evidence)) {
				step = -1;
				break;
			}
		}
	sqlite3_finalize(q);
	if (step < 0)
		return -1;
	return db_add(db,
		ROW(kernel_code, kernel, cell_text(evidence ? evidence : "none"), 0, cell_text(why),
			0, DB_NULL));
}
