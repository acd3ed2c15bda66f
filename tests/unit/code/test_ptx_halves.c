/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses whose halves are in two registers of 32 bits. */
#include "unit.h"

#include "ptx.h"

/* The stores of a kernel of two pointers and a number, with 2 blocks of 32 threads. */
static void check(const char *body, const char *expected)
{
	uint8_t value[20] = { 0 }, state[20];
	struct ptx_launch launch = { .grid = { 2, 1, 1 },
		.block = { 32, 1, 1 },
		.size = sizeof(value),
		.value = value,
		.state = state };
	char error[IMAGE_ERROR_SIZE], text[4096], *found;
	struct ptx_module *module;
	struct ptx_access access;
	size_t size;
	FILE *out = open_memstream(&found, &size);

	memset(state, PTX_POINTER, 16);
	memset(state + 16, PTX_UNKNOWN, 4);
	snprintf(text, sizeof(text),
		".version 8.0\n.target sm_90\n.address_size 64\n"
		".visible .entry k(.param .u64 a, .param .u64 b, .param .u32 n)\n{\n"
		".reg .b32 %%r<20>; .reg .b64 %%rd<20>; .reg .pred %%p<9>;\n"
		"ld.param.u64 %%rd1, [a]; ld.param.u64 %%rd2, [b]; ld.param.u32 %%r19, [n];\n"
		"mov.b64 {%%r1, %%r2}, %%rd1; mov.b64 {%%r3, %%r4}, %%rd2;\n"
		"mov.u32 %%r18, %%tid.x; setp.lt.s32 %%p1, %%r19, 5;\n%s\nret;\n}\n",
		body);
	module = ptx_open(text, strlen(text), error);
	assert_non_null(module);
	if (ptx_interpret(module, 0, &launch, PTX_STEPS, &access))
		fprintf(out, "%s", access.why);
	for (size_t i = 0; i < access.count; i++)
		if (access.claim[i].direction == PTX_STORE)
			fprintf(out, "%s%u: %lld..%lld%s", ftell(out) ? ", " : "",
				access.claim[i].offset, (long long)access.claim[i].low,
				(long long)access.claim[i].high,
				access.claim[i].sure ? "" : " perhaps");
	if (!access.complete)
		fputs(" incomplete", out);
	fclose(out);
	assert_string_equal(found, expected);
	free(found);
	ptx_access_release(&access);
	ptx_close(module);
}

TEST(two_halves_are_the_address)
{
	check("mov.b64 %rd3, {%r1, %r2}; st.global.u32 [%rd3+8], %r18;", "0: 8..12");
}

#define ANYWHERE "-9223372036854775808..9223372036854775807"

TEST(the_halves_of_two_addresses_are_of_one_of_them)
{
	check("mov.b64 %rd3, {%r1, %r4}; st.global.u32 [%rd3], %r18;",
		"0: " ANYWHERE " perhaps, 8: " ANYWHERE " perhaps");
	check("mov.b64 %rd3, {%r2, %r1}; st.global.u32 [%rd3], %r18;", " incomplete");
	check("mov.b64 %rd3, {%r18, %r2}; st.global.u32 [%rd3], %r18;", " incomplete");
}

TEST(sums_are_halves_of_sums)
{
	check("mad.wide.u32 %rd4, %r18, 4, %rd1; mov.b64 {%r5, %r6}, %rd4;\n"
	      "mov.b64 %rd3, {%r5, %r6}; st.global.u32 [%rd3], %r18;",
		"0: 0..128");
	/* Without a carry: the compiler knows that there is none. */
	check("add.u32 %r5, %r1, 4; mov.b64 %rd3, {%r1, %r2}; st.global.u32 [%rd3], %r18;",
		"0: 0..4");
}

TEST(a_choice_of_both_halves_is_of_values)
{
	check("selp.b32 %r5, %r1, %r3, %p1; selp.b32 %r6, %r2, %r4, %p1;\n"
	      "mov.b64 %rd3, {%r5, %r6}; st.global.u32 [%rd3], %r18;",
		"0: 0..4 perhaps, 8: 0..4 perhaps");
	/* Chosen by different conditions they may be halves of two. */
	check("setp.lt.s32 %p2, %r19, 9;\n"
	      "selp.b32 %r5, %r1, %r3, %p1; selp.b32 %r6, 0, %r4, %p2;\n"
	      "mov.b64 %rd3, {%r5, %r6}; st.global.u32 [%rd3], %r18;",
		"0: " ANYWHERE " perhaps, 8: " ANYWHERE " perhaps");
}

/* The added value is not shown to be one number: it is added to the address. */
TEST(numbers_do_not_make_an_address_another)
{
	check("ld.global.u32 %r5, [%rd2]; mov.b64 %rd3, {%r1, %r5};\n"
	      "st.global.u32 [%rd3], %r18;",
		"0: " ANYWHERE);
	check("ld.global.u32 %r5, [%rd2]; mov.b64 %rd3, {%r5, %r18};\n"
	      "st.global.u32 [%rd3], %r18;",
		" incomplete");
}

/* The smaller of two halves may be any number, whatever their word is. */
TEST(halves_are_no_numbers)
{
	check("mov.u32 %r5, %ctaid.x; mul.wide.s32 %rd3, %r5, -32; shl.b64 %rd3, %rd3, 32;\n"
	      "add.s64 %rd4, %rd1, %rd3; mov.b64 {%r8, %r6}, %rd4;\n"
	      "setp.lt.s32 %p2, %r1, %r6; selp.b32 %r7, %r1, %r6, %p2;\n"
	      "setp.lt.s32 %p3, %r7, 1; @%p3 bra done; st.global.u32 [%rd2], %r18; done:",
		"8: 0..4");
}

/* As an unsigned number -64 is a large one, and so is what is larger; the result may be signed. */
TEST(a_register_holds_signed_numbers)
{
	check("add.s32 %r5, %r18, -128; max.u32 %r6, %r5, -128; setp.gt.u32 %p2, %r6, -120;\n"
	      "@%p2 bra there; st.global.u32 [%rd1], %r18; bra done;\n"
	      "there: st.global.u32 [%rd2], %r18; done:",
		"0: 0..4, 8: 0..4");
	check("add.s32 %r5, %r18, -128; max.u32 %r6, %r5, -128; setp.lt.s32 %p2, %r6, -120;\n"
	      "@%p2 bra there; st.global.u32 [%rd1], %r18; bra done;\n"
	      "there: st.global.u32 [%rd2], %r18; done:",
		"0: 0..4, 8: 0..4");
}

TEST(ways_that_meet_leave_halves_of_one_value)
{
	check("mov.u32 %r5, %r1; mov.u32 %r6, %r2; @%p1 bra there;\n"
	      "mov.u32 %r5, %r3; mov.u32 %r6, %r4;\n"
	      "there: mov.b64 %rd3, {%r5, %r6}; st.global.u32 [%rd3], %r18;",
		"0: 0..4 perhaps, 8: 0..4 perhaps");
	/* One of two offsets, which both halves have. */
	check("mov.b64 {%r5, %r6}, %rd1; @%p1 bra there;\n"
	      "mad.wide.u32 %rd4, %r18, 8, %rd1; mov.b64 {%r5, %r6}, %rd4;\n"
	      "there: mov.b64 %rd3, {%r5, %r6}; st.global.u32 [%rd3], %r18;",
		"0: 0..4, 0: 0..252");
}

TEST(halves_grow_in_loops)
{
	check("mov.u32 %r9, 0;\n"
	      "again: mov.b64 %rd3, {%r1, %r2}; st.global.u32 [%rd3], %r18;\n"
	      "add.s64 %rd4, %rd3, 16; mov.b64 {%r1, %r2}, %rd4;\n"
	      "add.s32 %r9, %r9, 1; setp.lt.s32 %p2, %r9, 10; @%p2 bra again;",
		"0: 0..148");
}
