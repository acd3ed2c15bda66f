/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "demangle_whole.h"

/* wanted NULL: it is not understood; arguments "": the function has none of its own. */
static void expect(const char *mangled, const char *wanted, const char *arguments)
{
	static struct whole_name name;

	assert_int_equal(demangle_whole(mangled, &name), wanted ? 0 : -1);
	if (!wanted)
		return;
	assert_string_equal(name.text, wanted);
	assert_int_equal(name.arguments_length, strlen(arguments));
	assert_memory_equal(name.text + name.arguments, arguments, strlen(arguments));
}

/* As c++filt of binutils 2.40 has them. */
TEST(names_are_written_whole)
{
	expect("_Z7stencilPKfPfm", "stencil(float const*, float*, unsigned long)", "");
	expect("_ZN7cufence4spinEy", "cufence::spin(unsigned long long)", "");
	expect("_Z4copyIfLi2EEvPT_", "void copy<float, 2>(float*)", "float, 2");
	expect("_Z4copyIdLb1EEvPT_m", "void copy<double, true>(double*, unsigned long)",
		"double, true");
	expect("_ZN12_GLOBAL__N_14fillILi7EEEvPf", "void (anonymous namespace)::fill<7>(float*)",
		"7");
	expect("_Z5applyIZ4mainEUlvE_EvT_", "void apply<main::{lambda()#1}>(main::{lambda()#1})",
		"main::{lambda()#1}");
	expect("_Z3runIJifEEvDpT_", "void run<int, float>(int, float)", "int, float");
	expect("_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEESt5array"
	       "IPcLm1EEEEviT0_T1_",
		"void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, "
		"std::array<char*, 1ul> >(int, at::native::FillFunctor<float>, "
		"std::array<char*, 1ul>)",
		"4, at::native::FillFunctor<float>, std::array<char*, 1ul>");
	expect("_Z4callPFvifEPA4_i", "call(void (*)(int, float), int (*) [4])", "");
	expect("_ZN8internal5gemvx6kernelIifLb0EEENSt9enable_ifIXntT1_EvE4typeET0_",
		"std::enable_if<!(false), void>::type internal::gemvx::kernel<int, float, false>"
		"(float)",
		"int, float, false");
	expect("_Z4copyIfLj2ELi4EEv4PartIT_XT0_EXT1_EES0_IS1_E",
		"void copy<float, 2u, 4>(Part<float, 2u, 4>, Part<float>)", "float, 2u, 4");
	expect("_ZN3fooIiED1Ev", "foo<int>::~foo()", "int");
}

TEST(what_is_not_understood_has_no_whole_name)
{
	expect("main", NULL, "");
	expect("_Z", NULL, "");
	expect("_Z3fo", NULL, "");
	expect("_Z1fDTcl1gEE", NULL, "");
	expect("_Z1fT_", NULL, "");
	expect("_Z3runIJifEEvDpPT_", NULL, "");
	expect("_Z1fS_", NULL, "");
}

/* Each parameter is twice as long as the one before it. */
TEST(a_name_of_endless_length_is_refused)
{
	char mangled[1024] = "_Z1f1aIiiE";

	for (int i = 0; i < 30; i++) {
		char more[32], number[8] = "";

		if (i)
			snprintf(number, sizeof(number), "%c",
				i <= 10 ? '0' + i - 1 : 'A' + i - 11);
		snprintf(more, sizeof(more), "S_IS%s_S%s_E", number, number);
		strcat(mangled, more);
	}
	expect(mangled, NULL, "");
	memset(mangled, 'P', sizeof(mangled) - 1);
	memcpy(mangled, "_Z1f", 4);
	mangled[sizeof(mangled) - 1] = '\0';
	expect(mangled, NULL, "");
}

TEST(prefixes_are_harmless)
{
	static const char whole[] =
		"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctor"
		"IfEESt5arrayIPcLm1EEZZN3foo3barEvENKUlvE_clEvEUlT_E0_EEviT0_T1_PFvRKiEPA3_d";
	static struct whole_name name;
	char part[sizeof(whole)];

	for (size_t i = 0; i < sizeof(whole); i++) {
		snprintf(part, sizeof(part), "%.*s", (int)i, whole);
		demangle_whole(part, &name);
	}
}
