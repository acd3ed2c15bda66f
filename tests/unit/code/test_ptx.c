/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels' uses of their parameters, by hand-written PTX: one line per claim. */
#include "unit.h"

#include "ptx.h"

#define HEADER ".version 8.0\n.target sm_90\n.address_size 64\n"
#define TWO "(.param .u64 p0, .param .u64 p1, .param .u32 p2, .param .u32 p3)"
#define REGISTERS ".reg .pred %p<9>; .reg .b32 %r<30>; .reg .b64 %rd<30>; .reg .f32 %f<9>;\n"
#define POINTERS \
	"ld.param.u64 %rd1, [p0]; cvta.to.global.u64 %rd1, %rd1;\n" \
	"ld.param.u64 %rd2, [p1]; cvta.to.global.u64 %rd2, %rd2;\n"
#define INDEX \
	"mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;\n" \
	"mad.lo.s32 %r4, %r1, %r2, %r3;\n"
#define ENTRY(parameters, body) \
	HEADER ".visible .entry k" parameters "\n{\n" REGISTERS body "ret;\n}\n"
#define KERNEL(body) ENTRY(TWO, POINTERS INDEX body)

struct setting {
	uint32_t grid, block;
	int64_t n; /* p2, at 16; 0: not known */
};

static void print(FILE *out, const struct ptx_access *access)
{
	static const char *const directions[] = { "load", "store", "atomic" };

	for (size_t i = 0; i < access->count; i++) {
		const struct ptx_claim *claim = &access->claim[i];

		fprintf(out, "%u%s %s", claim->offset, claim->sure ? "" : "?",
			directions[claim->direction]);
		if (claim->low == PTX_NO_LOW || claim->high == PTX_NO_HIGH)
			fputs(" any", out);
		else
			fprintf(out, " %lld..%lld", (long long)claim->low, (long long)claim->high);
		for (unsigned s = 0; s < claim->stride_count; s++)
			fprintf(out, " %lldx%lld", (long long)claim->stride[s].count,
				(long long)claim->stride[s].bytes);
		fprintf(out, "%s%s\n", claim->loaded ? " loaded" : "",
			claim->exact || claim->low == PTX_NO_LOW || claim->high == PTX_NO_HIGH
				? ""
				: " at most");
	}
	if (!access->complete)
		fprintf(out, "incomplete: %s\n", access->why);
	if (access->reaches)
		fprintf(out, "reaches %u\n", access->reaches);
}

static void check_launch(const char *text, struct setting setting, const char *expected)
{
	uint8_t value[64] = { 0 }, state[64] = { 0 };
	struct ptx_launch launch = {
		.grid = { setting.grid, 1, 1 },
		.block = { setting.block, 1, 1 },
		.size = sizeof(value),
		.value = value,
		.state = state,
	};
	char error[IMAGE_ERROR_SIZE], *found;
	struct ptx_module *module = ptx_open(text, strlen(text), error);
	struct ptx_access access;
	long kernel;
	size_t size;
	FILE *out = open_memstream(&found, &size);

	assert_non_null(module);
	kernel = ptx_find(module, "k", 1);
	assert_true(kernel >= 0);
	if (setting.n) {
		memcpy(value + 16, &setting.n, 4);
		memset(state + 16, PTX_KNOWN, 4);
	}
	if (ptx_interpret(module, (size_t)kernel, &launch, PTX_STEPS, &access))
		fprintf(out, "refused: %s\n", access.why);
	else
		print(out, &access);
	fclose(out);
	assert_string_equal(found, expected);
	ptx_access_release(&access);
	ptx_close(module);
	free(found);
}

static void check(const char *text, const char *expected)
{
	check_launch(text, (struct setting){ 4, 256, 1000 }, expected);
}

#define ADDRESS "mul.wide.s32 %rd3, %r4, 4; add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3;\n"
#define BELOW_N "ld.param.u32 %r5, [p2]; setp.ge.s32 %p1, %r4, %r5; @%p1 bra DONE;\n"

TEST(test_a_guard_bounds_what_is_read_and_written)
{
	check(KERNEL(BELOW_N ADDRESS
		      "ld.global.f32 %f1, [%rd4]; st.global.f32 [%rd5], %f1;\nDONE:\n"),
		"0 load 0..4000\n8 store 0..4000\n");
}

TEST(test_no_bit_is_found_at_minus_one)
{
	check(KERNEL("ld.global.u32 %r6, [%rd1]; bfind.u32 %r7, %r6;\n"
		     "setp.ne.s32 %p1, %r7, -1; @%p1 bra DONE;\n"
		     "st.global.f32 [%rd2], %f1;\nDONE:\n"),
		"0 load 0..4\n8 store 0..4 at most\n");
	check(KERNEL("ld.global.u32 %r6, [%rd1]; bfind.u32 %r7, %r6;\n"
		     "setp.ge.s32 %p1, %r7, 0; @%p1 bra DONE;\n"
		     "st.global.f32 [%rd2], %f1;\nDONE:\n"),
		"0 load 0..4\n8 store 0..4 at most\n");
}

TEST(test_an_address_from_before_the_guard_is_bounded_too)
{
	check(KERNEL(ADDRESS BELOW_N "st.global.f32 [%rd5+4], %f1;\nDONE:\n"), "8 store 4..4004\n");
}

TEST(test_without_a_launch_only_directions_are_known)
{
	check_launch(KERNEL(BELOW_N ADDRESS
			     "ld.global.f32 %f1, [%rd4]; red.global.add.f32 [%rd5], %f1;\nDONE:\n"),
		(struct setting){ 0, 0, 0 },
		"0 load -8589934592..17179869184 loaded at most\n"
		"8 atomic -8589934592..17179869184 loaded at most\n");
}

TEST(test_a_grid_stride_loop_covers_everything_below_n)
{
	check(KERNEL(BELOW_N
		      "mov.u32 %r6, %nctaid.x; mul.lo.s32 %r7, %r6, %r2;\n"
		      "LOOP:\n" ADDRESS "ld.global.f32 %f1, [%rd4]; st.global.f32 [%rd5], %f1;\n"
		      "add.s32 %r4, %r4, %r7; setp.lt.s32 %p2, %r4, %r5; @%p2 bra LOOP;\nDONE:\n"),
		"0 load 0..4000\n8 store 0..4000\n");
}

TEST(test_a_pointer_that_walks_ends_where_its_counter_does)
{
	check(KERNEL("ld.param.u32 %r8, [p2]; mov.u64 %rd9, %rd2;\n"
		     "LOOP:\nst.global.f32 [%rd9], %f1;\n"
		     "add.s64 %rd9, %rd9, 8; add.s32 %r8, %r8, -4; setp.ne.s32 %p2, %r8, 0;\n"
		     "@%p2 bra LOOP;\n"),
		"8 store 0..1996 250x8\n");
}

/* The first round of some blocks begins in the middle. */
TEST(test_a_loop_may_have_two_entries)
{
	check(KERNEL(ADDRESS "mov.u32 %r8, 0; setp.eq.s32 %p3, %r1, 0; @%p3 bra MIDDLE;\n"
			     "TOP:\nld.global.f32 %f1, [%rd4];\n"
			     "MIDDLE:\nst.global.f32 [%rd5], %f1;\n"
			     "add.s32 %r8, %r8, 1; setp.lt.s32 %p2, %r8, 4; @%p2 bra TOP;\n"),
		"0 load 0..4096 at most\n8 store 0..4096\n");
}

TEST(test_nested_loops_keep_their_strides)
{
	check(KERNEL("mov.u32 %r8, 0;\n"
		     "OUTER:\nmul.wide.s32 %rd9, %r8, 4096; add.s64 %rd10, %rd2, %rd9; "
		     "mov.u32 %r9, 0;\n"
		     "INNER:\nst.global.f32 [%rd10], %f1; add.s64 %rd10, %rd10, 4; "
		     "add.s32 %r9, %r9, 1;\n"
		     "setp.lt.s32 %p2, %r9, 16; @%p2 bra INNER;\n"
		     "add.s32 %r8, %r8, 1; setp.lt.s32 %p3, %r8, 10; @%p3 bra OUTER;\n"),
		"8 store 0..36928 10x4096\n");
}

TEST(test_every_other_element_is_a_stride)
{
	check(KERNEL("shl.b32 %r5, %r4, 1; mul.wide.s32 %rd3, %r5, 4; add.s64 %rd5, %rd2, %rd3;\n"
		     "st.global.f32 [%rd5], %f1;\n"),
		"8 store 0..8188 1024x8\n");
}

TEST(test_vectors_are_as_wide_as_all_their_elements)
{
	check(KERNEL("mul.wide.s32 %rd3, %r4, 16; add.s64 %rd4, %rd1, %rd3;\n"
		     "add.s64 %rd5, %rd2, %rd3;\n"
		     "ld.global.nc.v4.f32 {%f1, %f2, %f3, %f4}, [%rd4];\n"
		     "st.global.v2.f32 [%rd5], {%f1, %f2};\n"),
		"0 load 0..16384\n8 store 0..16376 1024x16\n");
}

TEST(test_atomics_are_no_stores)
{
	check(KERNEL("atom.global.add.u32 %r6, [%rd1], 1; red.global.add.u32 [%rd2+4], 1;\n"),
		"0 atomic 0..4\n8 atomic 4..8\n");
}

TEST(test_a_choice_of_pointers_is_either)
{
	check(KERNEL("setp.eq.s32 %p1, %r3, 7; selp.b64 %rd3, %rd1, %rd2, %p1;\n"
		     "st.global.f32 [%rd3], %f1;\n"),
		"0? store 0..4\n8? store 0..4\n");
}

TEST(test_a_choice_that_the_launch_decides_is_one)
{
	check(KERNEL("ld.param.u32 %r5, [p2]; setp.eq.s32 %p1, %r5, 1000;\n"
		     "selp.b64 %rd3, %rd1, %rd2, %p1; st.global.f32 [%rd3], %f1;\n"),
		"0 store 0..4\n");
}

TEST(test_ways_that_meet_keep_both_pointers)
{
	check(KERNEL("setp.eq.s32 %p1, %r3, 7; @%p1 bra OTHER;\n"
		     "mov.u64 %rd3, %rd1; bra.uni JOIN;\nOTHER:\nmov.u64 %rd3, %rd2;\n"
		     "JOIN:\nld.global.f32 %f1, [%rd3];\n"),
		"0? load 0..4\n8? load 0..4\n");
}

TEST(test_a_loaded_index_may_be_anywhere)
{
	check(KERNEL("ld.global.u32 %r5, [%rd1]; mul.wide.s32 %rd3, %r5, 4;\n"
		     "add.s64 %rd4, %rd2, %rd3;\n"
		     "st.global.f32 [%rd4], %f1;\n"),
		"0 load 0..4\n8 store any loaded\n");
}

TEST(test_a_loaded_index_is_bounded_by_a_comparison)
{
	check(KERNEL("ld.global.u32 %r5, [%rd1]; setp.gt.u32 %p1, %r5, 9; @%p1 bra DONE;\n"
		     "mul.wide.u32 %rd3, %r5, 4; add.s64 %rd4, %rd2, %rd3; "
		     "st.global.f32 [%rd4], %f1;\n"
		     "DONE:\n"),
		"0 load 0..4\n8 store 0..40 loaded at most\n");
}

TEST(test_a_loaded_pointer_is_not_known)
{
	check(KERNEL("ld.global.u64 %rd3, [%rd1]; st.global.f32 [%rd3], %f1;\n"),
		"0 load 0..8\nincomplete: it uses an address that it loads\nreaches 67\n");
}

#define STRUCTURE "(.param .align 8 .b8 p0[40])"

TEST(test_structures_are_told_by_offset)
{
	check(ENTRY(STRUCTURE,
		      "ld.param.u64 %rd1, [p0+8]; ld.param.u64 %rd2, [p0+24];\n"
		      "ld.f32 %f1, [%rd1+16]; st.f32 [%rd2], %f1;\n"),
		"8 load 16..20\n24 store 0..4\n");
}

TEST(test_a_pointer_kept_in_local_memory_is_found_again)
{
	check(ENTRY(STRUCTURE,
		      ".local .align 8 .b8 depot[32];\n"
		      "mov.u64 %rd9, depot; cvta.local.u64 %rd8, %rd9;\n"
		      "ld.param.u64 %rd1, [p0+8]; ld.param.u64 %rd2, [p0+24];\n"
		      "st.local.u64 [%rd9], %rd1; st.u64 [%rd8+8], %rd2;\n"
		      "ld.local.u64 %rd3, [%rd9+8]; st.f32 [%rd3], %f1;\n"),
		"24 store 0..4\n");
}

/* clang-format off */
#define LOAD_OF(index) ENTRY(STRUCTURE, "mov.b64 %rd1, p0; mov.u32 %r2, " index ";\n" \
	"mad.wide.u32 %rd3, %r2, 8, %rd1; ld.param.u64 %rd4, [%rd3+8]; ld.f32 %f1, [%rd4];\n")
/* clang-format on */
TEST(test_an_array_of_pointers_may_be_any_of_them)
{
	check_launch(LOAD_OF("%tid.x"), (struct setting){ 4, 4, 0 },
		"8? load 0..4\n16? load 0..4\n24? load 0..4\n32? load 0..4\n");
}

TEST(test_each_block_has_its_word_of_an_array)
{
	check(LOAD_OF("%ctaid.x"), "8 load 0..4\n16 load 0..4\n24 load 0..4\n32 load 0..4\n");
}

#define PUT \
	".func put(.param .b64 put0, .param .b32 put1)\n{\n.reg .b64 %rd<5>; .reg .b32 %r<5>;\n" \
	"ld.param.u64 %rd1, [put0]; ld.param.u32 %r1, [put1]; mul.wide.s32 %rd2, %r1, 4;\n" \
	"add.s64 %rd3, %rd1, %rd2; st.f32 [%rd3], %r1; ret;\n}\n"

TEST(test_calls_are_followed)
{
	check(HEADER PUT
		".visible .entry k" TWO "\n{\n" REGISTERS POINTERS INDEX
		"{ .param .b64 a; st.param.b64 [a], %rd2; .param .b32 b; st.param.b32 [b], %r4;\n"
		"call.uni put, (a, b); }\nret;\n}\n",
		"8 store 0..4096\n");
}

TEST(test_what_a_call_returns_is_followed)
{
	check(HEADER
		".func (.param .b64 out) next(.param .b64 in)\n{\n.reg .b64 %rd<5>;\n"
		"ld.param.u64 %rd1, [in]; add.s64 %rd2, %rd1, 64; "
		"st.param.b64 [out], %rd2; ret;\n}\n"
		".visible .entry k" TWO "\n{\n" REGISTERS POINTERS
		"{ .param .b64 a; .param .b64 r; st.param.b64 [a], %rd2;\n"
		"call.uni (r), next, (a); ld.param.b64 %rd3, [r]; }\n"
		"st.f32 [%rd3], %f1;\nret;\n}\n",
		"8 store 64..68\n");
}

#define CALLS(name) \
	".visible .entry k" TWO "\n{\n" REGISTERS POINTERS \
	"{ .param .b64 a; st.param.b64 [a], %rd2; call " name ", (a); }\nret;\n}\n"

TEST(test_recursion_ends)
{
	check(HEADER
		".func again(.param .b64 in)\n{\n.reg .b64 %rd<5>;\n"
		"ld.param.u64 %rd1, [in]; { .param .b64 a; st.param.b64 [a], %rd1; "
		"call again, (a); }\nret;\n}\n" CALLS("again"),
		"incomplete: it calls a function that is not understood\n");
}

TEST(test_unknown_functions_are_not_believed)
{
	check(HEADER ".extern .func what(.param .b64 in);\n" CALLS("what"),
		"incomplete: it calls a function that is not known\n");
	check(HEADER ".extern .func cudaGraphLaunch(.param .b64 in);\n" CALLS("cudaGraphLaunch"),
		"incomplete: it launches kernels or graphs from the device\n");
}

TEST(test_a_guarded_access_is_bounded_by_its_guard)
{
	check(KERNEL(ADDRESS "setp.lt.u32 %p1, %r4, 10; @%p1 st.global.f32 [%rd5], %f1;\n"
			     "@!%p1 ld.global.f32 %f1, [%rd4];\n"),
		"0 load 40..4096\n8 store 0..40\n");
}

TEST(test_an_index_that_wraps_around_is_two_pieces)
{
	check(KERNEL("add.s32 %r8, %r4, 900; rem.s32 %r9, %r8, 1000; mul.wide.s32 %rd3, %r9, 4;\n"
		     "add.s64 %rd5, %rd2, %rd3; setp.lt.u32 %p1, %r4, 300;\n"
		     "@%p1 st.global.f32 [%rd5], %f1;\n"),
		"8 store 0..800\n8 store 3600..4000\n");
}

TEST(test_asynchronous_copies_read_what_they_copy)
{
	check(KERNEL(".shared .align 16 .b8 tile[4096]; mov.u32 %r8, tile;\n"
		     "mul.wide.s32 %rd3, %r4, 16; add.s64 %rd4, %rd1, %rd3;\n"
		     "cp.async.cg.shared.global [%r8], [%rd4], 16; cp.async.commit_group;\n"
		     "cp.async.wait_group 0;\n"),
		"0 load 0..16384\n");
}

TEST(test_multicast_addresses_are_read_and_written)
{
	check(KERNEL(ADDRESS "multimem.ld_reduce.relaxed.sys.global.add.f32 %f1, [%rd4];\n"
			     "multimem.st.relaxed.sys.global.f32 [%rd5], %f1;\n"),
		"0 load 0..4096\n8 store 0..4096\n");
	check(KERNEL(ADDRESS "multimem.red.relaxed.sys.global.add.f32 [%rd5], %f1;\n"),
		"8 atomic 0..4096\n");
	check(KERNEL(ADDRESS "multimem.cp.async.bulk.bulk_group.global.shared::cta "
			     "[%rd5], [%r4], 16;\n"),
		"incomplete: an instruction that is not understood\n");
}

TEST(test_shared_memory_is_nobody_elses)
{
	check(KERNEL(".shared .align 4 .b8 tile[4096]; mov.u64 %rd8, tile;\n"
		     "cvta.shared.u64 %rd9, %rd8;\n"
		     "st.shared.f32 [%rd8], %f1; st.f32 [%rd9+4], %f1; "
		     "ld.shared.f32 %f2, [tile+8];\n"),
		"");
}

TEST(test_a_difference_of_pointers_is_a_number)
{
	check(KERNEL("add.s64 %rd3, %rd1, 64; sub.s64 %rd4, %rd3, %rd1; add.s64 %rd5, %rd2, %rd4;\n"
		     "st.global.f32 [%rd5], %f1;\n"),
		"8 store 64..68\n");
}

TEST(test_backwards_is_the_same_range)
{
	check(KERNEL(BELOW_N "not.b32 %r6, %r4; add.s32 %r7, %r5, %r6; mul.wide.s32 %rd3, %r7, 4;\n"
			     "add.s64 %rd4, %rd2, %rd3; st.global.f32 [%rd4], %f1;\nDONE:\n"),
		"8 store 0..4000\n");
}

TEST(test_textures_and_surfaces_are_memory_of_their_words)
{
	check(KERNEL("tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd1, {%r1}];\n"),
		"0 load any loaded\n");
	check(KERNEL("suld.b.2d.b32.trap {%r1}, [%rd1, {%r2, %r3}];\n"
		     "sust.b.2d.b32.trap [%rd2, {%r2, %r3}], {%r1};\n"),
		"0 load any loaded\n8 store any loaded\n");
	check(KERNEL("ld.global.u64 %rd3, [%rd1];\n"
		     "tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd3, {%r1}];\n"),
		"0 load 0..8\n"
		"incomplete: it uses textures or surfaces that are no parameters\nreaches 65\n");
}

/* early: of the claims in order. */
static void check_early(const char *body, const char *early, int waits, int triggers)
{
	char text[4096], error[IMAGE_ERROR_SIZE], found[16] = "";
	struct ptx_launch nothing = { 0 };
	struct ptx_dependence dependence;
	struct ptx_module *module;
	struct ptx_access access;

	snprintf(text, sizeof(text), "%s", body);
	module = ptx_open(text, strlen(text), error);
	assert_non_null(module);
	dependence = ptx_dependence(module, 0);
	assert_int_equal(dependence.waits, waits);
	assert_int_equal(dependence.triggers, triggers);
	assert_int_equal(ptx_interpret(module, 0, &nothing, PTX_STEPS, &access), 0);
	for (size_t i = 0; i < access.count; i++)
		strcat(found, access.claim[i].early ? "1" : "0");
	assert_string_equal(found, early);
	ptx_access_release(&access);
	ptx_close(module);
}

TEST(test_what_comes_before_a_wait_is_early)
{
	check_early(KERNEL("ld.global.f32 %f1, [%rd1]; st.global.f32 [%rd2], %f1;\n"), "11", 0, 0);
	check_early(KERNEL("ld.global.f32 %f1, [%rd1]; griddepcontrol.wait;\n"
			   "st.global.f32 [%rd2], %f1;\n"),
		"10", 1, 0);
	/* Whether it waits is not known. */
	check_early(KERNEL("setp.lt.u32 %p1, %r4, 10; griddepcontrol.launch_dependents;\n"
			   "@%p1 bra SKIP; griddepcontrol.wait;\nSKIP:\n"
			   "ld.global.f32 %f1, [%rd1]; st.global.f32 [%rd2], %f1;\n"),
		"00", 1, 1);
	/* In the next round of a loop it has. */
	check_early(KERNEL("ld.global.f32 %f1, [%rd1];\nLOOP:\nst.global.f32 [%rd2], %f1;\n"
			   "griddepcontrol.wait; add.s32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, 10;\n"
			   "@%p1 bra LOOP;\n"),
		"10", 1, 0);
	check_early(KERNEL("call unknown, (); st.global.f32 [%rd2], %f1;\n"), "0", -1, -1);
}

TEST(test_variables_of_the_module_make_it_incomplete)
{
	check(HEADER ".global .align 4 .b8 table[64];\n.visible .entry k" TWO "\n{\n" REGISTERS
		     "mov.u64 %rd1, table; st.global.f32 [%rd1], %f1;\nret;\n}\n",
		"32768 store 0..4\nincomplete: it uses variables of its module\nreaches 76\n");
	/* A launch that is given a variable's address: it points into no memory that is known. */
	check(KERNEL("mov.u64 %rd3, 0x7f0000001000; st.global.f32 [%rd3], %f1;\n"),
		"incomplete: it uses an address that points to no known memory\nreaches 76\n");
	/* One that is null is not followed. */
	check(KERNEL("mov.u64 %rd3, 4096; st.global.f32 [%rd3], %f1;\n"), "");
	check(KERNEL("mov.u64 %rd3, 16; ld.global.u64 %rd4, [%rd3];\n"
		     "st.global.f32 [%rd4+8], %f1;\n"),
		"");
}

TEST(test_constant_memory_makes_it_incomplete)
{
	check(HEADER ".const .align 4 .f32 factor;\n.visible .entry k" TWO
		     "\n{\n" REGISTERS POINTERS
		     "ld.const.f32 %f1, [factor]; st.global.f32 [%rd2], %f1;\nret;\n}\n",
		"8 store 0..4\n32768 load 0..4\n"
		"incomplete: it reads constant memory of its module\nreaches 80\n");
}

TEST(test_an_endless_loop_ends)
{
	check(KERNEL("mov.u64 %rd9, %rd2; mov.u64 %rd8, 4;\nLOOP:\nst.global.f32 [%rd9], %f1;\n"
		     "add.s64 %rd9, %rd9, %rd8; mul.lo.s64 %rd8, %rd8, 3; bra.uni LOOP;\n"),
		"8 store any\n");
}

/* A number beyond 64 bits is any number; the sanitizers' build reports overflows. */
/* clang-format off */
#define FAR(number) \
	".local .align 8 .b8 depot[32];\nld.param.u64 %rd3, [p0+" number "];\n" \
	"mov.u64 %rd9, depot; st.local.u64 [%rd9], %rd1; ld.local.u64 %rd4, [%rd9+" number "];\n" \
	"st.global.f32 [%rd1+" number "+" number "], %f1; and.b64 %rd6, %rd1, " number ";\n" \
	"mul.wide.u32 %rd5, %r4, 4; mul.lo.s64 %rd6, %rd5, " number ";\n" \
	"add.s64 %rd7, %rd2, %rd6; st.global.f32 [%rd7], %f1; st.global.f32 [%rd7+4], %f1;\n" \
	"mov.u64 %rd8, 7;\nLOOP:\nadd.s64 %rd8, %rd8, " number ";\n" \
	"setp.ne.s64 %p2, %rd8, 9; @%p2 bra LOOP;\nadd.s64 %rd10, %rd1, %rd8;\n" \
	"st.global.f32 [%rd10], %f1;\n"
/* clang-format on */

TEST(test_numbers_at_the_ends_of_their_type_are_survived)
{
	check(KERNEL(FAR("9223372036854775807")), "0 store -2..2\n8 store 0..8\n8 store any\n");
	check(KERNEL(FAR("-9223372036854775808")), "0 store 0..4\n8 store any\n8 store 0..8\n");
}

TEST(test_hostile_text_is_refused)
{
	static const char *const texts[] = {
		ENTRY(TWO, "bra NOWHERE;\n"),
		ENTRY(TWO, "add.s32 %r1,\n"),
		ENTRY(TWO, "@ bra;\n"),
		ENTRY(TWO, "ld.param.u64 %rd1, [p0+];\n"),
		ENTRY(TWO, "}}}}\n"),
		ENTRY("(.param .u64)", ""),
		ENTRY("(.reg .u64 a)", ""),
		HEADER ".visible .entry k" TWO "\n{\n",
	};
	char error[IMAGE_ERROR_SIZE];
	struct ptx_access access;
	struct ptx_launch launch = { .size = 0 };

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct ptx_module *module = ptx_open(texts[i], strlen(texts[i]), error);

		assert_non_null(module);
		for (size_t k = 0; k < ptx_kernel_count(module); k++) {
			int rc = ptx_interpret(module, k, &launch, PTX_STEPS, &access);

			assert_true(rc == 0 || access.why);
			ptx_access_release(&access);
		}
		ptx_close(module);
	}
}

TEST(test_every_beginning_of_a_text_is_survived)
{
	const char *text = HEADER PUT
		".visible .entry k" TWO "\n{\n" REGISTERS POINTERS INDEX BELOW_N "LOOP:\n" ADDRESS
		"ld.global.v2.f32 {%f1, %f2}, [%rd4];\n"
		"{ .param .b64 a; st.param.b64 [a], %rd2; .param .b32 b; st.param.b32 [b], %r4;\n"
		"call.uni put, (a, b); }\nadd.s32 %r4, %r4, 1; @%p1 bra LOOP;\nDONE:\nret;\n}\n";
	char error[IMAGE_ERROR_SIZE];
	struct ptx_access access;
	struct ptx_launch launch = { .size = 0 };
	unsigned understood = 0;

	for (size_t size = 0; size <= strlen(text); size++) {
		char *copy = malloc(size + 1);
		struct ptx_module *module;

		memcpy(copy, text, size);
		module = ptx_open(copy, size, error);
		assert_non_null(module);
		for (size_t k = 0; k < ptx_kernel_count(module); k++) {
			understood += !ptx_interpret(module, k, &launch, PTX_STEPS, &access);
			ptx_access_release(&access);
		}
		ptx_close(module);
		free(copy);
	}
	assert_int_equal(understood, 2); /* the whole, with and without the last line break */
}

TEST(test_steps_are_counted)
{
	const char *text =
		KERNEL("LOOP:\nadd.s32 %r4, %r4, 1; setp.lt.s32 %p1, %r4, 9; @%p1 bra LOOP;\n");
	char error[IMAGE_ERROR_SIZE];
	struct ptx_module *module = ptx_open(text, strlen(text), error);
	struct ptx_access access;
	struct ptx_launch launch = { .size = 0 };

	assert_int_equal(ptx_interpret(module, 0, &launch, 5, &access), -1);
	assert_string_equal(access.why, "too long");
	ptx_access_release(&access);
	ptx_close(module);
}

/* A few bytes of text must not take hundreds of memory, without end. */
TEST(test_too_many_functions_are_refused)
{
	static const char one[] = ".entry k%06x(){}\n";
	char error[IMAGE_ERROR_SIZE], *text = NULL;
	size_t size, counts[] = { 1u << 17, (1u << 18) + 1 };
	struct ptx_module *module;

	for (int i = 0; i < 2; i++) {
		FILE *out = open_memstream(&text, &size);

		for (size_t n = 0; n < counts[i]; n++)
			fprintf(out, one, (unsigned)n);
		fclose(out);
		module = ptx_open(text, size, error);
		assert_int_equal(module != NULL, i == 0);
		ptx_close(module);
		free(text);
	}
}

/* ptx_prints() of kernel k. */
static int prints(const char *text)
{
	char error[IMAGE_ERROR_SIZE];
	struct ptx_module *module = ptx_open(text, strlen(text), error);
	int found;

	assert_non_null(module);
	found = ptx_prints(module, (size_t)ptx_find(module, "k", 1));
	ptx_close(module);
	return found;
}

#define VPRINTF ".extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n"
#define CALL_VPRINTF \
	"{ .param .b64 p0; .param .b64 p1; .param .b32 v; call.uni (v), vprintf, (p0, p1); }\n"
#define TALK ".func talk (.param .b64 a)\n{\n" REGISTERS CALL_VPRINTF "ret;\n}\n"
#define CALL_TALK "{ .param .b64 q; call.uni talk, (q); }\n"
#define BESIDE ".visible .entry other()\n{\n" CALL_VPRINTF "ret;\n}\n"
#define PRINTING(before, body) \
	HEADER before ".visible .entry k" TWO "\n{\n" REGISTERS body "ret;\n}\n"

TEST(test_who_calls_printf_prints)
{
	assert_int_equal(prints(PRINTING(VPRINTF, CALL_VPRINTF)), 1);
	assert_int_equal(prints(PRINTING(VPRINTF TALK, CALL_TALK)), 1);
	assert_int_equal(prints(PRINTING(VPRINTF TALK BESIDE, "")), 0);
	assert_int_equal(prints(KERNEL("")), 0);
}

/* Linked from elsewhere, or called by a pointer. */
TEST(test_who_calls_what_is_not_known_may_print)
{
	static const char extern_talk[] =
		PRINTING(".extern .func talk (.param .b64 a);\n", CALL_TALK);
	static const char pointer[] =
		PRINTING(".func q () ;\n", "p: .callprototype ()_ ();\ncall (), %rd1, (), p;\n");

	assert_int_equal(prints(extern_talk), -1);
	assert_int_equal(prints(pointer), -1);
}

TEST(test_parameters_lie_where_their_alignment_puts_them)
{
	const char *text =
		ENTRY("(.param .u32 a, .param .u64 b, .param .align 16 .b8 c[20], "
		      ".param .u8 d, .param .u64 .ptr .global .align 4 e)",
			"");
	static const struct image_parameter expected[] = {
		{ 0, 4 },
		{ 8, 8 },
		{ 16, 20 },
		{ 36, 1 },
		{ 40, 8 },
	};
	char error[IMAGE_ERROR_SIZE];
	struct ptx_module *module = ptx_open(text, strlen(text), error);
	struct image_parameter found[8];

	assert_int_equal(ptx_parameters(module, 0, found, 8), 5);
	assert_memory_equal(found, expected, sizeof(expected));
	ptx_close(module);
}
