/* SPDX-License-Identifier: Apache-2.0 */
/* The simulator's linker, and modules of PTX text. */
#include <unistd.h>

#include "sim_driver.h"

static const char other_ptx[] =
	".version 8.0\n.target sm_90\n.address_size 64\n"
	".visible .entry other(.param .u64 a, .param .u32 b, .param .u64 c) { ret; }\n";

static CUlinkState linker(void)
{
	CUlinkState state;

	assert_ok(drv.cuLinkCreate_v2(0, NULL, NULL, &state));
	return state;
}

SIM_TEST(ptx_of_several_inputs_is_one_module)
{
	CUlinkState link = linker();
	CUfunction function;
	CUmodule module;
	void *code;
	size_t size;

	assert_ok(drv.cuLinkAddData_v2(link, CU_JIT_INPUT_PTX, (void *)sim_ptx, sizeof(sim_ptx), "",
		0, NULL, NULL));
	assert_ok(drv.cuLinkAddData_v2(link, CU_JIT_INPUT_PTX, (void *)other_ptx, sizeof(other_ptx),
		"", 0, NULL, NULL));
	assert_ok(drv.cuLinkComplete(link, &code, &size));
	assert_int_equal(size, sizeof(sim_ptx) + sizeof(other_ptx) - 1);
	assert_ok(drv.cuModuleLoadData(&module, code));
	assert_ok(drv.cuLinkDestroy(link));
	assert_ok(drv.cuModuleGetFunction(&function, module, "_Z5plainPf"));
	assert_ok(drv.cuModuleGetFunction(&function, module, "other"));
	assert_ok(drv.cuModuleUnload(module));
}

/* Else nobody would know what kernels of a runtime compiler are given. */
SIM_TEST(ptx_tells_parameters)
{
	static const size_t offsets[] = { 0, 8, 16 }, sizes[] = { 8, 4, 8 };
	size_t offset, size;
	CUfunction function;
	CUmodule module;

	assert_ok(drv.cuModuleLoadData(&module, other_ptx));
	assert_ok(drv.cuModuleGetFunction(&function, module, "other"));
	for (size_t i = 0; i < 3; i++) {
		assert_ok(drv.cuFuncGetParamInfo(function, i, &offset, &size));
		assert_int_equal(offset, offsets[i]);
		assert_int_equal(size, sizes[i]);
	}
	assert_int_equal(drv.cuFuncGetParamInfo(function, 3, &offset, &size),
		CUDA_ERROR_INVALID_VALUE);
	assert_ok(drv.cuModuleUnload(module));
}

/* Libraries such as CUB choose by it among what they were compiled for. */
SIM_TEST(a_function_tells_what_it_was_compiled_for)
{
	static const char older[] =
		".version 8.0\n.target sm_75\n.address_size 64\n"
		".visible .entry old() { ret; }\n";
	CUfunction function;
	CUmodule module;
	int version;

	assert_ok(drv.cuModuleLoadData(&module, older));
	assert_ok(drv.cuModuleGetFunction(&function, module, "old"));
	assert_ok(drv.cuFuncGetAttribute(&version, CU_FUNC_ATTRIBUTE_PTX_VERSION, function));
	assert_int_equal(version, 75);
	assert_ok(drv.cuFuncGetAttribute(&version, CU_FUNC_ATTRIBUTE_BINARY_VERSION, function));
	assert_int_equal(version, 90);
	assert_ok(drv.cuModuleUnload(module));
}

SIM_TEST(files_are_inputs_too)
{
	char path[] = "/tmp/cufence-link-XXXXXX";
	FILE *file = fdopen(mkstemp(path), "w");
	CUlinkState link = linker();
	void *code;

	assert_non_null(file);
	fputs(other_ptx, file);
	fclose(file);
	assert_ok(drv.cuLinkAddFile_v2(link, CU_JIT_INPUT_PTX, path, 0, NULL, NULL));
	assert_ok(drv.cuLinkComplete(link, &code, NULL));
	assert_string_equal(code, other_ptx);
	unlink(path);
	assert_int_equal(drv.cuLinkAddFile_v2(link, CU_JIT_INPUT_PTX, path, 0, NULL, NULL),
		CUDA_ERROR_FILE_NOT_FOUND);
	assert_ok(drv.cuLinkDestroy(link));
}

SIM_TEST(linking_nothing_and_ended_linkers_fail)
{
	CUlinkState link = linker();
	void *code;

	assert_int_equal(drv.cuLinkComplete(link, &code, NULL), CUDA_ERROR_INVALID_VALUE);
	assert_ok(drv.cuLinkDestroy(link));
	assert_int_equal(drv.cuLinkDestroy(link), CUDA_ERROR_INVALID_HANDLE);
	assert_int_equal(drv.cuLinkComplete(link, &code, NULL), CUDA_ERROR_INVALID_HANDLE);
}

GROUP(sim_setup, NULL)
