/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "demangle.h"

static void expect(const char *mangled, const char *wanted)
{
	char name[256];

	demangle_base(mangled, name, sizeof(name));
	assert_string_equal(name, wanted);
}

TEST(plain_and_nested_names)
{
	expect("_Z7stencilPKfPfm", "stencil");
	expect("_Z9free_tilePf", "free_tile");
	expect("_ZN7cufence4spinEy", "spin");
	expect("_ZNK3foo3bar4sizeEv", "size");
	expect("_ZL6helperv", "helper");
	expect("_ZN12_GLOBAL__N_1L3fooE", "foo");
	expect("_ZSt4sortIPiEvT_S1_", "sort");
	expect("_ZN3fooC1Ev", "foo");
	expect("_ZN3fooD2Ev", "~foo");
	expect("_ZN2ns6BufferIfLi4EED0Ev", "~Buffer");
	expect("_ZZN3fooD1EvENKUlvE_clEv", "foo::{lambda}");
}

TEST(operators_of_pytorch)
{
	char name[16] = "";

	assert_true(demangle_operator("_ZN2at4_ops4gelu4callERKNS_6TensorE", name, sizeof(name)));
	assert_string_equal(name, "aten::gelu");
	assert_true(demangle_operator("_ZN2at4_ops10mul_Tensor10redispatchEN3c1014DispatchKeySetE",
		name, sizeof(name)));
	assert_string_equal(name, "aten::mul_Tenso"); /* cut */
	assert_false(demangle_operator("_ZN2at4_ops4gelu6schemaE", name, sizeof(name)));
	assert_false(demangle_operator("_ZN2at4_ops99gelu4callE", name, sizeof(name)));
	assert_false(demangle_operator("_ZN2at4_ops-1gelu4callE", name, sizeof(name)));
	assert_false(demangle_operator("call", name, sizeof(name)));
}

TEST(template_arguments_are_skipped)
{
	expect("_Z4copyIfLi2EEvPT_", "copy");
	expect("_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEESt5array"
	       "IPcLm1EEEEviT0_T1_",
		"vectorized_elementwise_kernel");
	/* The digits of a literal's value are no name's length. */
	expect("_Z1kIL4Kind12EEvv", "k");
	expect("_Z1kILN2ns4EnumE3EEvv", "k");
	expect("_Z1kIXadL_Z3foovEEEvv", "k");
	expect("_Z5applyIZ4mainEUlvE_EvT_", "apply");
	expect("_Z3runIJifEEvDpT_", "run");
}

TEST(local_names_and_closures)
{
	expect("_ZZ4mainENKUlvE_clEv", "main::{lambda}");
	expect("_ZZ4mainENKUlT_E_clIiEEDaS_", "main::{lambda}");
	expect("_ZZ4mainENUliE0_4_FUNEi", "main::{lambda}");
	expect("_ZZN3app6worker4stepEvENKUliE_clEi", "step::{lambda}");
	expect("_ZZZ4mainENKUlvE_clEvENKUlvE0_clEv", "main::{lambda}");
	expect("_ZNKUlvE_clEv", "operator()"); /* in no function */
	expect("_ZNK7functorclEv", "operator()");
	expect("_Z4mainv.constprop.0", "main");
	expect("_ZZN3foo3barEvE1x", "x");
}

TEST(what_is_not_mangled_stays)
{
	expect("main", "main");
	expect("cudaFree", "cudaFree");
	expect("make<int>(float)", "make");
	expect("operator()", "operator()");
	expect("operator()<int>", "operator()");
	expect("operator<<", "operator<<");
	expect("operator->", "operator->");
	expect("operators(int)", "operators");
	expect("", "");
	expect("_Z", "_Z");
	expect("_Z99short", "_Z99short");
	expect("_ZN3fooIE", "_ZN3fooIE");
	expect("_ZNaSEOS3_", "_ZNaSEOS3_");
}

TEST(a_long_name_is_cut)
{
	char name[5];

	demangle_base("_Z7stencilPKf", name, sizeof(name));
	assert_string_equal(name, "sten");
}

/* Every prefix of a real name: nothing may be read beyond its end (run under a sanitizer). */
TEST(prefixes_are_harmless)
{
	static const char whole[] =
		"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11Fill"
		"FunctorIfEESt5arrayIPcLm1EEXadL_Z3foovEELN2ns1EE3EEEviT0_T1_";
	char part[sizeof(whole)], name[256];

	for (size_t length = 0; length < sizeof(whole); length++) {
		memcpy(part, whole, length);
		part[length] = 0;
		demangle_base(part, name, sizeof(name));
		assert_true(strlen(name) <= length);
	}
}

static void check_linkage(const char *host, const char *device)
{
	char one[256], other[256];

	demangle_linkage(host, one, sizeof(one));
	demangle_linkage(device, other, sizeof(other));
	assert_string_equal(one, other);
}

/* As nvcc 13.0 names them for both sides. */
TEST(host_and_device_name_a_kernel_alike)
{
	char one[256], other[256];

	check_linkage("_Z6squarePfi", "_Z6squarePfi");
	check_linkage("_ZL6squarePfi", "_Z6squarePfi");
	check_linkage("_ZN7cufenceL3updEyPfi", "_ZN7cufence3updEyPfi");
	check_linkage("_ZN12_GLOBAL__N_13updEPf",
		"_ZN54_GLOBAL__N__8c5f3ac5_9_kernel_cu_3f2b0e7e_1234567890123updEPf");
	check_linkage("", "");
	demangle_linkage("_Z6squarePf", one, sizeof(one));
	demangle_linkage("_Z6squarePd", other, sizeof(other));
	assert_string_not_equal(one, other);
	demangle_linkage("_ZN99_GLOBAL__N_1", one, 8);
	assert_int_equal(strlen(one), 7);
}
