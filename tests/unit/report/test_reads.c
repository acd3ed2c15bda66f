/* SPDX-License-Identifier: Apache-2.0 */
/* Advice about operators that read a value of the device. */
#include "miniature.h"

#include <unistd.h>

#include "findings_internal.h"
#include "run_columns.h"
#include "code_frames.h"

static void frame(struct mini *m, int depth, const char *file, const char *function, int user)
{
	mini_exec(m,
		"INSERT INTO frame (site, depth, address, file, line, function, user) "
		"VALUES (%lld, %d, %lld, '%s', 1, '%s', %d)",
		(long long)m->sites, depth, (long long)INT64_MIN, file, function, user);
}

static const char *advice_for(struct mini *m, const char *library, const char *function,
	const char *line)
{
	char path[] = "/tmp/cufence.XXXXXX.py", name[100];
	FILE *file = fdopen(mkstemps(path, 3), "w");
	struct code_frames *frames;
	struct advice advice;
	int64_t call;

	assert_non_null(file);
	assert_true(fputs(line, file) >= 0);
	assert_int_equal(fclose(file), 0);
	snprintf(name, sizeof(name), "/env/site-packages/%s/a.py", library);
	call = MINI_CALL(m, .type = CALL_cuStreamSynchronize, .at = 10,
		.site = mini_site(m, "train", 1));
	frame(m, 0, name, "call", 0);
	frame(m, 1, name, function, 0);
	frame(m, 2, path, "train", 1);
	frame(m, 3, "/env/site-packages/torch/b.py", "item", 0);
	m->db.run = run_open(&m->db);
	assert_non_null(m->db.run);
	frames = code_frames_open(&m->db);
	assert_non_null(frames);
	assert_int_equal(advice_find(&m->db, frames, call, 1, &advice), 0);
	code_frames_close(frames);
	run_close(m->db.run);
	m->db.run = NULL;
	unlink(path);
	return advice.text ? advice.text : "";
}

#define SAYS(advice, part) assert_non_null(strstr(advice, part))

TEST_OF(the_operator_is_known_by_its_function, struct mini, m, mini_setup_late, mini_teardown)
{
	SAYS(advice_for(m, "torch_geometric", "global_mean_pool", ""), "its size");
	SAYS(advice_for(m, "torch", "GradScaler._maybe_opt_step.<locals>.<genexpr>", ""), "fused");
	SAYS(advice_for(m, "torch", "repeat_interleave_cuda", ""), "output_size");
	SAYS(advice_for(m, "torch", "expandTensors", ""), "boolean mask");
	SAYS(advice_for(m, "torch", "nonzero_cuda", ""), "nonzero()");
	SAYS(advice_for(m, "torch", "_unique2_cuda", ""), "unique()");
	SAYS(advice_for(m, "torch", "item", ""), "loss.detach()");
	SAYS(advice_for(m, "cupy", "__pyx_f_4cupy_5_core_4core_13_ndarray_base_get", ""), "pinned");
	SAYS(advice_for(m, "numba", "DeviceNDArray.copy_to_host", ""), "pinned");
}

TEST_OF(or_by_the_line, struct mini, m, mini_setup_late, mini_teardown)
{
	SAYS(advice_for(m, "torch", "_to_copy", "y = x.cpu()\n"), "non_blocking");
	SAYS(advice_for(m, "torch", "call", "for v in x.tolist():\n"), "host uses the values");
	SAYS(advice_for(m, "jax", "call", "loss = float(loss)\n"), "keep the value as an array");
}

/* A function of the program, of another library, or of one that calls the program. */
TEST_OF(what_is_not_below_the_line_is_no_operator, struct mini, m, mini_setup_late, mini_teardown)
{
	assert_string_equal(advice_for(m, "mine", "item", "x.item()\n"), "");
	assert_string_equal(advice_for(m, "torch", "call", "y = x + 1\n"), "");
}
