/* SPDX-License-Identifier: Apache-2.0 */
/* The simulator has every call of calls.def, and gives out the right variant of each. */
#include <stdbool.h>

#include "sim_driver.h"

static void *libcuda;

static int open_libraries(void **state)
{
	libcuda = sim_open("libcuda.so.1");
	return libcuda ? sim_setup(state) : -1;
}

static unsigned int missing_in(void *library, const char *const *names, size_t count)
{
	unsigned int missing = 0;

	for (size_t i = 0; i < count; i++) {
		if (dlvsym(library, names[i], "libcudart.so.13"))
			continue;
		fprintf(stderr, "no %s@libcudart.so.13\n", names[i]);
		missing++;
	}
	return missing;
}

TEST(runtime_exports_every_row_under_its_version)
{
	/* Rows that end with an earlier major are of its prototypes only. */
#define NAMES_11(...)
#define NAMES_12(...)
#define NAMES_13(...) __VA_ARGS__
	static const char *const names[] = {
#define RUNTIME(symbol, first, last, params, args) NAMES_##last(#symbol, )
#define RUNTIME_PT(symbol, suffix, first, last, params, args) \
	NAMES_##last(#symbol, #symbol #suffix, )
#include "calls.def"
	};
	void *library = sim_open("libcudart.so.13");

	assert_non_null(library);
	assert_int_equal(missing_in(library, names, sizeof(names) / sizeof(*names)), 0);
}

/* A row that is in both, or in neither of the driver and the list, fails. */
TEST(driver_has_every_row_that_is_not_listed_as_missing)
{
	static const char *const rows[] = {
#define DRIVER(symbol, base, since, params, args, fields, kind, traits) #symbol,
#define DRIVER_PT(symbol, base, since, suffix, pt_since, params, args, fields, kind, traits) \
#symbol,
#include "calls.def"
	};
	static const char missing[] =
#define MISSING(symbol) " " #symbol " "
#include "../../../sim/cuda/cuda_missing.def"
		;
	bool (*supports)(const char *symbol);
	unsigned int wrong = 0, lacking = 0;

	*(void **)&supports = sim_symbol(libcuda, "cufence_sim_supports");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char word[128];

		snprintf(word, sizeof(word), " %s ", rows[i]);
		lacking += !supports(rows[i]);
		if (supports(rows[i]) != !!strstr(missing, word))
			continue;
		fprintf(stderr, "%s is %s\n", rows[i],
			supports(rows[i]) ? "supported and listed as missing"
					  : "neither supported nor listed");
		wrong++;
	}
	printf("%zu rows, %u of them not supported\n", sizeof(rows) / sizeof(*rows), lacking);
	assert_int_equal(wrong, 0);
}

TEST(missing_runtime_calls_say_that_they_are)
{
	void *library = sim_open("libcudart.so.13");
	int (*open_handle)(void);

	*(void **)&open_handle = sim_symbol(library, "cudaIpcOpenMemHandle");
	assert_int_equal(open_handle(), CUDA_ERROR_NOT_SUPPORTED);
}

static void check_lookup(const char *base, int version, cuuint64_t flags, const char *symbol)
{
	CUdriverProcAddressQueryResult status;
	void *address;

	assert_int_equal(drv.cuGetProcAddress_v2(base, &address, version, flags, &status), 0);
	assert_int_equal(status, CU_GET_PROC_ADDRESS_SUCCESS);
	assert_ptr_equal(address, sim_symbol(libcuda, symbol));
}

TEST(lookup_of_every_row_gives_its_exported_symbol)
{
#define DRIVER(symbol, base, since, params, args, fields, kind, traits) \
	check_lookup(#base, since, 0, #symbol);
#define DRIVER_PT(symbol, base, since, suffix, pt_since, params, args, fields, kind, traits) \
	check_lookup(#base, since, 0, #symbol); \
	check_lookup(#base, pt_since, 2, #symbol #suffix);
#include "calls.def"
}

TEST(lookup_gives_the_newest_variant_that_is_not_newer)
{
	check_lookup("cuCtxSynchronize", 12090, 0, "cuCtxSynchronize");
	check_lookup("cuCtxSynchronize", 99999, 0, "cuCtxSynchronize_v2");
	check_lookup("cuGetProcAddress", 11030, 0, "cuGetProcAddress");
	check_lookup("cuGetProcAddress", 13000, 0, "cuGetProcAddress_v2");
	check_lookup("cuEventElapsedTime", 12070, 0, "cuEventElapsedTime");
}

TEST(per_thread_lookup_falls_back_to_calls_without_a_stream)
{
	check_lookup("cuMemAlloc", 13000, 2, "cuMemAlloc_v2");
	check_lookup("cuMemcpyHtoD", 13000, 2, "cuMemcpyHtoD_v2_ptds");
}

TEST(unknown_and_too_new_names_are_told_apart)
{
	CUdriverProcAddressQueryResult status;
	void *address = &status;

	assert_int_equal(drv.cuGetProcAddress_v2("cuNothing", &address, 13000, 0, &status),
		CUDA_ERROR_NOT_FOUND);
	assert_int_equal(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
	assert_null(address);
	assert_int_equal(drv.cuGetProcAddress_v2("cuMemAllocAsync", &address, 11010, 0, &status),
		CUDA_ERROR_NOT_FOUND);
	assert_int_equal(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
	assert_int_equal(drv.cuGetProcAddress_v2("", &address, 0, 0, NULL), CUDA_ERROR_NOT_FOUND);
}

GROUP(open_libraries, NULL)
