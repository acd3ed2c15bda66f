/* SPDX-License-Identifier: Apache-2.0 */
/* Advice about calls that a library makes below a line of the program. */
#include "miniature.h"

#include "findings_internal.h"
#include "run_columns.h"

static void frame(struct mini *m, int64_t site, int depth, const char *module, const char *function,
	int user)
{
	mini_exec(m,
		"INSERT OR IGNORE INTO module (id, process, path, start, end, file_offset) "
		"VALUES (%d, 1, '%s', 0, 1, 0)",
		depth + 1, module);
	mini_exec(m,
		"INSERT INTO frame (site, depth, address, module, function, user) "
		"VALUES (%lld, %d, 0, %d, '%s', %d)",
		(long long)site, depth, depth + 1, function, user);
}

/* About the last call, "" if there is none. */
static const char *advice_of(struct mini *m)
{
	struct advice advice;

	m->db.run = run_open(&m->db);
	assert_non_null(m->db.run);
	assert_int_equal(advice_find(&m->db, NULL, m->calls, 0, &advice), 0);
	run_close(m->db.run);
	m->db.run = NULL;
	return advice.text ? advice.text : "";
}

static const char *advice_for(struct mini *m, const char *module, const char *function)
{
	int64_t site = mini_site(m, "solve", 10);

	frame(m, site, 0, module, "internal", 0);
	frame(m, site, 1, module, function, 0);
	frame(m, site, 2, "/home/me/solver", "solve", 1);
	MINI_CALL(m, .type = CALL_cuStreamSynchronize, .at = 10, .site = site);
	return advice_of(m);
}

#define SAYS(advice, part) assert_non_null(strstr(advice, part))

MINI_TEST(the_call_of_the_library_decides_the_advice)
{
	const char *cublas = "/opt/cuda/lib/libcublas.so.13";

	assert_non_null(
		strstr(advice_for(m, cublas, "cublasDdot_v2"), "CUBLAS_POINTER_MODE_DEVICE"));
}

MINI_TEST(other_functions_of_it_have_no_advice)
{
	const char *cublas = "/opt/cuda/lib/libcublas.so.13";

	assert_string_equal(advice_for(m, cublas, "cublasDgemm_v2"), "");
}

MINI_TEST(a_python_file_is_a_library_too)
{
	int64_t site = mini_site(m, "main", 10);

	frame(m, site, 0, "/lib/libcufft.so.12", "cufftDestroy", 0);
	frame(m, site, 1, "", "ifft2", 0);
	mini_exec(m,
		"UPDATE frame SET module = NULL, file = '/x/site-packages/cupy/fft/_fft.py'"
		" WHERE depth = 1");
	frame(m, site, 2, "filter.py", "main", 1);
	MINI_CALL(m, .type = CALL_cuModuleUnload, .at = 10, .site = site);
	SAYS(advice_of(m), "get_plan_cache");
}

/* PyTorch's own calls: the script cannot set the pointer mode. */
MINI_TEST(a_library_below_another_has_no_advice)
{
	int64_t site = mini_site(m, "train", 10);

	frame(m, site, 0, "/lib/libcublas.so.13", "cublasDdot_v2", 0);
	frame(m, site, 1, "/lib/libtorch_cuda.so", "dot", 0);
	frame(m, site, 2, "train.py", "train", 1);
	MINI_CALL(m, .type = CALL_cuStreamSynchronize, .at = 10, .site = site);
	assert_string_equal(advice_of(m), "");
}

/* With debug information the name has no namespace. */
MINI_TEST(header_libraries_are_known_by_their_headers)
{
	int64_t site = mini_site(m, "step", 10);

	frame(m, site, 0, "/home/me/a", "fill", 0);
	mini_exec(m,
		"UPDATE frame SET file = '/cuda/include/cccl/thrust/detail/fill.inl', line = 46");
	frame(m, site, 1, "/home/me/a", "step", 1);
	MINI_CALL(m, .type = CALL_cuStreamSynchronize, .at = 10, .site = site);
	SAYS(advice_of(m), "par_nosync");
}

MINI_TEST(header_libraries_are_known_by_their_functions)
{
	assert_non_null(strstr(advice_for(m, "/home/me/a",
				       "thrust::THRUST_300_SM_90_NS::cuda_cub::for_each"),
		"par_nosync"));
}
