/* SPDX-License-Identifier: Apache-2.0 */
/* A line is patched if it reads as a form expects, and stays if it holds anything else. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "patch_line.h"

enum { LINES = 7, AT = 3 };

/* Patches the line between two others; "-": it goes; "=": it stays. */
static void becomes(enum patch_form form, int is_script, const char *before, const char *line,
	const char *after, const char *wanted)
{
	char *lines[LINES] = { "", "", (char *)before, (char *)line, (char *)after, "", "" };
	struct patch_place place = { lines, LINES, AT, is_script, "cudaDeviceSynchronize" };
	char *changed = NULL;
	const char *reason = patch_line(form, &place, &changed);

	assert_string_equal(reason ? "=" : changed ? changed : "-", wanted);
	free(changed);
}

static void a_wait_alone_on_its_line_goes(void **state)
{
	static const struct {
		const char *before, *line, *wanted;
	} rows[] = {
		{ "x = 1;", "\tCHECK(cudaDeviceSynchronize());", "-" },
		{ "{", "cudaDeviceSynchronize();\r", "-" },
		{ "}", "  CUDA_CALL( cudaDeviceSynchronize());", "=" },
		{ "x = 1;", "CHECK(cudaDeviceSynchronize()); // results are read below", "=" },
		{ "x = 1;", "cudaError_t e = cudaDeviceSynchronize();", "=" },
		{ "x = 1;", "return cudaDeviceSynchronize();", "=" },
		{ "x = 1;", "if (cudaDeviceSynchronize());", "=" },
		{ "x = 1;", "launch(); cudaDeviceSynchronize();", "=" },
		{ "x = 1;", "CHECK(cudaDeviceSynchronize(), \"step\");", "=" },
		{ "x = 1;", "CHECK(cudaStreamSynchronize(stream));", "=" },
		{ "x = 1;", "cudaDeviceSynchronize(streams[i++]);", "=" },
		{ "x = 1;", "cudaDeviceSynchronize(streams[i - 1]);", "-" },
		{ "if (last)", "cudaDeviceSynchronize();", "=" },
		{ "else", "cudaDeviceSynchronize();", "=" },
		{ "#ifdef DEBUG", "cudaDeviceSynchronize();", "=" },
		{ "if (last) // for now;", "cudaDeviceSynchronize();", "=" },
		{ "case 1:", "cudaDeviceSynchronize();", "=" },
		{ "double t = clock();", "cudaDeviceSynchronize();", "=" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		becomes(PATCH_LEAVE_OUT, 0, rows[i].before, rows[i].line, "y = 2;", rows[i].wanted);
}

static void a_block_of_a_script_keeps_a_statement(void **state)
{
	static const struct {
		const char *before, *line, *after, *wanted;
	} rows[] = {
		{ "    step()", "    torch.cuda.synchronize()", "print(x)", "-" },
		{ "for x in y:", "    torch.cuda.synchronize()", "    step()", "-" },
		{ "for x in y:", "    torch.cuda.synchronize()", "print(x)", "=" },
		{ "for x in y:", "    torch.cuda.synchronize()", "    # done", "=" },
		{ "    f(a,", "    torch.cuda.synchronize()", "print(x)", "=" },
		{ "    step()", "    torch.cuda.current_stream().synchronize()", "", "-" },
		{ "    step()", "    side.wait_stream(torch.cuda.current_stream())", "", "-" },
		{ "    step()", "    streams[i].synchronize()", "", "-" },
		{ "    step()", "    queue.get().synchronize()", "", "=" },
		{ "    step()", "    done = torch.cuda.synchronize()", "", "=" },
		{ "    step()", "    loss.item()", "", "=" },
		{ "    step()", "    torch.cuda.synchronize()  # for the log", "", "=" },
		{ "    start = time.time()", "    torch.cuda.synchronize()", "", "=" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		becomes(PATCH_LEAVE_OUT, 1, rows[i].before, rows[i].line, rows[i].after,
			rows[i].wanted);
}

static void a_policy_of_thrust_no_longer_waits(void **state)
{
	becomes(PATCH_NO_SYNC, 0, "", "\tthrust::sort(thrust::cuda::par.on(s), a, b);", "",
		"\tthrust::sort(thrust::cuda::par_nosync.on(s), a, b);");
	becomes(PATCH_NO_SYNC, 0, "", "thrust::sort(thrust::cuda::par_nosync.on(s), a, b);", "",
		"=");
	becomes(PATCH_NO_SYNC, 0, "", "f(thrust::cuda::par, thrust::cuda::par);", "", "=");
}

static void a_tensor_is_copied_without_a_wait(void **state)
{
	static const struct {
		const char *line, *copied, *pinned;
	} rows[] = {
		{ "x = y.to(device)", "x = y.to(device, non_blocking=True)",
			"x = y.pin_memory().to(device, non_blocking=True)" },
		{ "f(y.cuda(), 1)", "f(y.cuda(non_blocking=True), 1)",
			"f(y.pin_memory().cuda(non_blocking=True), 1)" },
		{ "x = y.to('cuda:0')", "x = y.to('cuda:0', non_blocking=True)",
			"x = y.pin_memory().to('cuda:0', non_blocking=True)" },
		{ "x = y.to(device=d)", "x = y.to(device=d, non_blocking=True)",
			"x = y.pin_memory().to(device=d, non_blocking=True)" },
		{ "x = y.to(d, non_blocking=True)", "=",
			"x = y.pin_memory().to(d, non_blocking=True)" },
		{ "x = y.cuda(non_blocking=True)", "=",
			"x = y.pin_memory().cuda(non_blocking=True)" },
		{ "x = y.to(d, torch.half)", "=", "=" },
		{ "x = y.to(d, copy=True)", "=", "=" },
		{ "x = y.to(next(p).device)", "=", "=" },
		{ "x = y.to(", "=", "=" },
		{ "x, y = x.to(d), y.to(d)", "=", "=" },
		{ "x, y = x.to(d), y.cuda()", "=", "=" },
		{ "x.copy_(y)", "=", "=" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		becomes(PATCH_NON_BLOCKING, 1, "", rows[i].line, "", rows[i].copied);
		becomes(PATCH_PIN, 1, "", rows[i].line, "", rows[i].pinned);
	}
	becomes(PATCH_PIN, 1, "", "x = y.pin_memory().to(d)", "", "=");
	becomes(PATCH_PIN, 0, "", "x = y.to(d);", "", "=");
}

static void a_stream_no_longer_blocks(void **state)
{
	becomes(PATCH_STREAM, 0, "", "\tCHECK(cudaStreamCreate(&streams[i]));", "",
		"\tCHECK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));");
	becomes(PATCH_STREAM, 0, "", "cudaStreamCreate(&a), cudaStreamCreate(&b);", "", "=");
	becomes(PATCH_STREAM, 0, "", "cudaStreamCreate(next());", "", "=");
	becomes(PATCH_STREAM, 0, "", "my_cudaStreamCreate(&a);", "", "=");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wait_alone_on_its_line_goes),
		cmocka_unit_test(a_block_of_a_script_keeps_a_statement),
		cmocka_unit_test(a_policy_of_thrust_no_longer_waits),
		cmocka_unit_test(a_tensor_is_copied_without_a_wait),
		cmocka_unit_test(a_stream_no_longer_blocks),
	};
	return cmocka_run_group_tests_name("patch_line", tests, NULL, NULL);
}
