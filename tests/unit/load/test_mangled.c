/* SPDX-License-Identifier: Apache-2.0 */
/* The parameters in mangled names; the names as c++filt reads them are next to them. */
#include "unit.h"

#include "mangled.h"

/* A letter each: c a pointer to const, p another pointer, k const, - neither; 1 to 9: arrays. */
static void check(const char *name, const char *expected)
{
	struct mangled_type type[32];
	char found[64] = "";
	int count = mangled_parameters(name, type, 32);

	if (count < 0)
		strcpy(found, "?");
	for (int i = 0; i < count && i < 32; i++)
		if (type[i].kind == MANGLED_ARRAY)
			snprintf(found + i, 2, "%u", type[i].count);
		else
			snprintf(found + i, 2, "%c", "-kpc"[type[i].kind]);
	assert_string_equal(found, expected);
}

TEST(test_const_is_seen_through_one_pointer)
{
	check("_Z4copyPKfPfm", "cp-");      /* copy(float const*, float*, unsigned long) */
	check("_Z4copyPKPfS_", "cp");       /* copy(float* const*, float*) */
	check("_Z4copyPfS_PKfS1_", "ppcc"); /* (float*, float*, float const*, float const*) */
	check("_ZN7cufence7stencilEyPKfPfm", "-cp-");
	check("_Z3nonv", "");
}

TEST(test_classes_and_namespaces_count_as_substitutions)
{
	check("_ZN3one3two1kEPNS_5ThingEPKS1_NS_5OtherE", "pc-");
	check("_Z1kRK4NodePS_", "-p");
	check("_Z7combineN7cufence8operandsEm", "--");
}

TEST(test_templates_have_a_return_type)
{
	check("_Z1kIfEvPKT_PS0_", "cp"); /* void k<float>(float const*, float*) */
	check("_Z1kIKfEvPT_", "c");      /* void k<float const>(float const*) */
	check("_Z1kILi4EfEvPKT0_Pf", "cp");
	check("_ZN2ns1kIJfdEEEvPKfPd", "cp");
}

TEST(test_tensor_arrays_are_arrays)
{
	check("_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEE"
	      "St5arrayIPcLm3EEEEviT0_T1_",
		"--3");
	check("_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEE"
	      "NS_6detail5ArrayIPcLi2EEEEEviT0_T1_",
		"--2");
}

TEST(test_what_is_not_understood_says_so)
{
	static const char *const names[] = {
		"main",
		"_Z",
		"_Z1kPFvvE",
		"_Z1kX",
		"_Z99k",
		"_Z1kS_",
		"_Z1kT9999999999_",
		"_ZN1k",
		"_Z1kIXaaLb1ELb1EEEvv",
		("_Z1kPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPP"
		 "PPPPPPPPPPPPPPPPPPPPf"),
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(names[i], "_Z1kT9999999999_"))
			check(names[i], "?");
	mangled_parameters("_Z1kT9999999999_", NULL, 0);
}
