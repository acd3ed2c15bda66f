/* SPDX-License-Identifier: Apache-2.0 */
/* A line is patched if it reads as a form expects, and stays if it holds anything else. */
#include "unit.h"

#include "patch_line.h"

enum { LINES = 7, AT = 3 };

/* Patches the line between two others; "-": it goes; "=": it stays. */
static void becomes(enum patch_form form, int is_script, const char *before, const char *line,
	const char *after, const char *wanted)
{
	char *lines[LINES] = { "", "", (char *)before, (char *)line, (char *)after, "", "" };
	struct patch_place place = { .lines = lines,
		.count = LINES,
		.at = AT,
		.is_script = is_script,
		.call = "cudaDeviceSynchronize" };
	char *changed = NULL;
	const char *reason = patch_line(form, &place, &changed);

	assert_string_equal(reason ? "=" : changed ? changed : "-", wanted);
	free(changed);
}

TEST(a_wait_alone_on_its_line_goes)
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

TEST(a_block_of_a_script_keeps_a_statement)
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

TEST(a_policy_of_thrust_no_longer_waits)
{
	becomes(PATCH_NO_SYNC, 0, "", "\tthrust::sort(thrust::cuda::par.on(s), a, b);", "",
		"\tthrust::sort(thrust::cuda::par_nosync.on(s), a, b);");
	becomes(PATCH_NO_SYNC, 0, "", "thrust::sort(thrust::cuda::par_nosync.on(s), a, b);", "",
		"=");
	becomes(PATCH_NO_SYNC, 0, "", "f(thrust::cuda::par, thrust::cuda::par);", "", "=");
}

TEST(a_tensor_is_copied_without_a_wait)
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

TEST(a_stream_no_longer_blocks)
{
	becomes(PATCH_STREAM, 0, "", "\tCHECK(cudaStreamCreate(&streams[i]));", "",
		"\tCHECK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));");
	becomes(PATCH_STREAM, 0, "", "cudaStreamCreate(&a), cudaStreamCreate(&b);", "", "=");
	becomes(PATCH_STREAM, 0, "", "cudaStreamCreate(next());", "", "=");
	becomes(PATCH_STREAM, 0, "", "my_cudaStreamCreate(&a);", "", "=");
}

/* --- two operations --- */

enum { MOST = 16 };

/* Lines of a source, with | between two, of the one that changes and of the others, from 0. */
struct pair {
	const char *source;
	size_t at, other, record;
	const char *stream, *other_stream, *wanted;
};

static void pair_becomes(enum patch_form form, int is_script, const struct pair *pair)
{
	char *lines[MOST], *text = strdup(pair->source), *rest = text, *changed = NULL;
	struct patch_place place = { .lines = lines,
		.at = pair->at,
		.is_script = is_script,
		.call = "",
		.why = "",
		.is_war = 1,
		.other = pair->other,
		.record = pair->record,
		.stream = pair->stream,
		.other_stream = pair->other_stream };
	const char *reason;

	assert_non_null(text);
	while (rest && place.count < MOST)
		lines[place.count++] = strsep(&rest, "|");
	place.at = patch_line_at(form, &place);
	reason = patch_line(form, &place, &changed);
	assert_string_equal(reason ? "=" : changed, pair->wanted);
	free(changed);
	free(text);
}

#define PAIRS_BECOME(form, is_script, rows) \
	for (size_t i = 0; i < sizeof(rows) / sizeof(*(rows)); i++) \
	pair_becomes(form, is_script, &(rows)[i])

TEST(a_stream_of_pytorch_waits_for_another_one)
{
	static const char current[] = "torch.cuda.current_stream()";
	static const struct pair rows[] = {
		{ "import torch|  with f(s):|    x.f()|  y(x)", 3, 2, 99, current, "s",
			"  torch.cuda.current_stream().wait_stream(s)" },
		{ "import torch|  with f(s):|    x.f()|  with f(self.t):|    y(x)", 4, 2, 99,
			"self.t", "s", "    self.t.wait_stream(s)" },
		{ "import torch|  with f(self.s):|    x.f()|  self.n = 1|  y(x)", 4, 2, 99, current,
			"self.s", "  torch.cuda.current_stream().wait_stream(self.s)" },
		{ "import torch as t|  with f(s):|    x.f()|  y(x)", 3, 2, 99, current, "s", "=" },
		/* in another function, or of the turn before */
		{ "import torch|  with f(s):|    x.f()|  y(x)", 3, 99, 99, current, "s", "=" },
		{ "import torch|  y(x)|  with f(s):|    x.f()", 1, 3, 99, current, "s", "=" },
		/* not by name */
		{ "import torch|  with f(s):|    x.f()|  y(x)", 3, 2, 99, current, "", "=" },
		{ "import torch|  with f(s):|    x.f()|  with f(s):|    y(x)", 4, 2, 99, "s", "s",
			"=" },
		{ "import torch|  with f(s[i]):|    x.f()|  y(x)", 3, 2, 99, current, "s[i]", "=" },
		{ "import torch|  with f(g()):|    x.f()|  y(x)", 3, 2, 99, current, "g()", "=" },
		/* the name is another stream's, or may not be bound */
		{ "import torch|  with f(s):|    x.f()|  s, t = t, s|  y(x)", 4, 2, 99, current,
			"s", "=" },
		{ "import torch|  with f(s):|    x.f()|  if s == t: pass|  y(x)", 4, 2, 99, current,
			"s", "=" },
		{ "import torch|  with f(s):|    x.f()|  for s in t:|    y(x)", 4, 2, 99, current,
			"s", "=" },
		{ "import torch|  if a:|    with f(s):|      x.f()|  y(x)", 4, 3, 99, current, "s",
			"=" },
		{ "import torch|  with f(self.s):|    x.f()|  self = t|  y(x)", 4, 2, 99, current,
			"self.s", "=" },
		/* no statement begins there */
		{ "import torch|  with f(s):|    x.f()|  g(|    y(x))", 4, 2, 99, current, "s",
			"=" },
		{ "import torch|  with f(s):|    x.f()|  while y(x):|    g()", 3, 2, 99, current,
			"s", "=" },
		{ "import torch|  with f(s):|    x.f()|  z = 1 + \\|    y(x)", 4, 2, 99, current,
			"s", "=" },
		{ "import torch|  with f(s):|    x.f()|  z = \"\"\"|  y(x)", 4, 2, 99, current, "s",
			"=" },
	};

	PAIRS_BECOME(PATCH_WAIT_STREAM, 1, rows);
}

TEST(a_stream_waits_for_an_event_that_is_recorded)
{
	static const struct pair rows[] = {
		{ "{|a<<<1, 1, 0, s>>>();|\tCHECK(cudaEventRecord(e, s));|\tb<<<1, 1, 0, t>>>();",
			3, 1, 2, "t", "s", "\tCHECK(cudaStreamWaitEvent(t, e, 0));" },
		{ "a();|cudaEventRecord(x->e, s);|if (y) {|\tb();|}", 3, 0, 1, "t", "s",
			"\tcudaStreamWaitEvent(t, x->e, 0);" },
		{ "cudaEventRecord(e, s);|a();|b();", 2, 1, 0, "t", "s", "=" },
		{ "a();|b();|cudaEventRecord(e, s);", 1, 0, 2, "t", "s", "=" },
		{ "b();|a();|cudaEventRecord(e, s);", 0, 1, 2, "t", "s", "=" },
		{ "a();|cudaEventRecord(e, s);|b();", 2, 0, 99, "t", "s", "=" },
		{ "a();|cudaEventRecord(e, s);|b();", 2, 0, 1, "", "s", "=" },
		{ "a();|cudaEventRecord(e[i++], s);|b();", 2, 0, 1, "t", "s", "=" },
		{ "a();|cudaEventRecord(e, s), f();|b();", 2, 0, 1, "t", "s", "=" },
		{ "a();|if (y) {|cudaEventRecord(e, s);|}|b();", 4, 0, 2, "t", "s", "=" },
		{ "a();|cudaEventRecord(e, s);|e = f;|b();", 3, 0, 1, "t", "s", "=" },
		{ "a();|cudaEventRecord(e, s);|cudaEventCreate(&e);|b();", 3, 0, 1, "t", "s", "=" },
		{ "a();|cudaEventRecord(e, s);|if (y)|\tb();", 3, 0, 1, "t", "s", "=" },
		{ "a();|cudaEventRecord(e, s);|for (;;) b();", 2, 0, 1, "t", "s", "=" },
		{ "a();|cudaEventRecord(e, s);|else b();", 2, 0, 1, "t", "s", "=" },
	};

	PAIRS_BECOME(PATCH_WAIT_EVENT, 0, rows);
}

TEST(memory_is_kept_for_a_stream)
{
	static const struct pair rows[] = {
		{ "with f(s):|  y.copy_(x)|z()", 2, 1, 99, "t", "s", "  x.record_stream(s)" },
		{ "with f(s):|  y.copy_(x, non_blocking=True)|z()", 2, 1, 99, "t", "s",
			"  x.record_stream(s)" },
		{ "with f(s):|  y = x.cpu()|z()", 2, 1, 99, "t", "s", "  x.record_stream(s)" },
		{ "with f(s):|  x = x.cpu()|z()", 2, 1, 99, "t", "s", "=" },
		{ "with f(s):|  y = x.add(z)|z()", 2, 1, 99, "t", "s", "=" },
		{ "with f(s):|  y = x + z|z()", 2, 1, 99, "t", "s", "=" },
		{ "with f(s):|  y.copy_(g(x))|z()", 2, 1, 99, "t", "s", "=" },
		{ "with f(s):|  y.copy_(x)|z()", 2, 1, 99, "t", "s[0]", "=" },
		{ "with f(s):|  y.copy_(x)|z()", 2, 99, 99, "t", "s", "=" },
	};

	PAIRS_BECOME(PATCH_RECORD_STREAM, 1, rows);
}

TEST(work_gets_a_stream)
{
	static const struct pair rows[] = {
		{ "a<<<1, 1, 0, s>>>();|b<<<g(1, 2), 1>>>(x);", 1, 0, 99, "", "s",
			"b<<<g(1, 2), 1, 0, s>>>(x);" },
		{ "b<<<1, 1, 8>>>(x);|a<<<1, 1, 0, s>>>();", 0, 1, 99, "", "s",
			"b<<<1, 1, 8, s>>>(x);" },
		{ "CHECK(cudaMemsetAsync(p, 0, n(1)));|a<<<1, 1, 0, s>>>();", 0, 1, 99, "", "s",
			"CHECK(cudaMemsetAsync(p, 0, n(1), s));" },
		{ "cudaEventRecord(e);|b<<<1, 1>>>(x);|a<<<1, 1, 0, s>>>();", 1, 2, 99, "", "s",
			"=" },
		{ "b<<<1, 1>>>(x);|}|a<<<1, 1, 0, s>>>();", 0, 2, 99, "", "s", "=" },
		{ "b<<<1, 1>>>(x);|// in stream s|a<<<1, 1, 0, s>>>();", 0, 2, 99, "", "s",
			"b<<<1, 1, 0, s>>>(x);" },
		{ "cudaMemsetAsync(p, 0, n, 0);|a<<<1, 1, 0, s>>>();", 0, 1, 99, "", "s", "=" },
		{ "b<<<1, 1, 0, 0>>>(x);|a<<<1, 1, 0, s>>>();", 0, 1, 99, "", "s", "=" },
		{ "b<<<1,|1>>>(x);|a<<<1, 1, 0, s>>>();", 0, 2, 99, "", "s", "=" },
		{ "b<<<1, 1>>>(x);|cudaStream_t s = t;|a<<<1, 1, 0, s>>>();", 0, 2, 99, "", "s",
			"=" },
		{ "b<<<1, 1>>>(x);|for (auto s : t)|a<<<1, 1, 0, s>>>();", 0, 2, 99, "", "s", "=" },
		{ "{|a<<<1, 1, 0, s>>>();|}|b<<<1, 1>>>(x);", 3, 1, 99, "", "s", "=" },
		{ "b<<<1, 1>>>(x);|a<<<1, 1, 0, s[i]>>>();", 0, 1, 99, "", "s[i]", "=" },
		{ "b<<<1, 1>>>(x);|a<<<1, 1, 0, s>>>();", 0, 99, 99, "", "s", "=" },
	};

	PAIRS_BECOME(PATCH_GIVE_STREAM, 0, rows);
}

TEST(a_pool_keeps_its_memory)
{
	static const char set[] =
		"\tunsigned long long release_threshold = ~0ull;\n"
		"\tCHECK(cudaMemPoolSetAttribute(p, cudaMemPoolAttrReleaseThreshold, "
		"&release_threshold));";
	static const struct pair rows[] = {
		{ "{|\tCHECK(cudaDeviceGetDefaultMemPool(&p, 0));|cudaMallocAsync(&x, 1, s);", 2,
			99, 99, "", "", set },
		{ "{|\tCHECK(cudaMemPoolCreate(&p, &q));|cudaMallocFromPoolAsync(&x, 1, p, s);", 2,
			99, 99, "", "", set },
		{ "{|\tCHECK(cudaMemPoolCreate(&p, &q));|cudaMallocAsync(&x, 1, s);", 2, 99, 99, "",
			"", "=" },
		{ "{|cudaDeviceGetDefaultMemPool(&p, 0);|cudaDeviceSetMemPool(0, q);|"
		  "cudaMallocAsync(&x, 1, s);",
			3, 99, 99, "", "", "=" },
		{ "{|cudaDeviceGetDefaultMemPool(&p, 0);|cudaMallocAsync(&x, 1, s);|"
		  "cudaDeviceGetDefaultMemPool(&q, 1);",
			2, 99, 99, "", "", "=" },
		{ "if (y)|cudaDeviceGetDefaultMemPool(&p, 0);|cudaMallocAsync(&x, 1, s);", 2, 99,
			99, "", "", "=" },
		{ "{|cudaDeviceGetDefaultMemPool(&p, 0);|set(p, cudaMemPoolAttrReleaseThreshold);|"
		  "cudaMallocAsync(&x, 1, s);",
			3, 99, 99, "", "", "=" },
		{ "{|cudaMallocAsync(&x, 1, s);", 1, 99, 99, "", "", "=" },
	};

	PAIRS_BECOME(PATCH_KEEP_POOL, 0, rows);
}
