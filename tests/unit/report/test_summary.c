/* SPDX-License-Identifier: Apache-2.0 */
/* The part of a report before any finding. */
#include "miniature.h"

#include "report.h"
#include "device_use.h"

/* Compares the summary's line of that title, "" if there is none. */
static void expect_line(struct mini *m, const char *title, const char *wanted)
{
	char *text = NULL, *line, start[32];
	size_t size;
	FILE *out = open_memstream(&text, &size);

	mini_exec(m, "DELETE FROM device_use; DELETE FROM stream_use");
	assert_int_equal(use_measure(&m->db), 0);
	assert_int_equal(report_summary(&m->db, out), 0);
	fclose(out);
	snprintf(start, sizeof(start), "\n    %s", title);
	line = strstr(text, start);
	if (line) {
		line++;
		line[strcspn(line, "\n")] = '\0';
	}
	assert_string_equal(line ? line + strlen(start) - 1 : "", wanted);
	free(text);
}

static void start(struct mini *m)
{
	mini_init(m);
	mini_exec(m, "UPDATE run SET command = 'app'; UPDATE process SET end = 1000000");
	mini_exec(m, "INSERT INTO thread_use VALUES (1, 1, 1, 2000)");
	MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = 1, .stream = 1, .runs = { 5, 105 });
}

static void set(struct mini *m, const char *name, const char *value)
{
	mini_exec(m, "DELETE FROM property; INSERT INTO property VALUES (1, '%s', '%s')", name,
		value);
}

static void settings_say_what_they_explain(void **state)
{
	struct mini m;

	start(&m);
	expect_line(&m, "set ", "");
	set(&m, "CUDA_LAUNCH_BLOCKING", "1");
	expect_line(&m, "set ",
		"     CUDA_LAUNCH_BLOCKING=1: every launch waits for its kernel, so "
		"nothing overlaps");
	set(&m, "CUDA_LAUNCH_BLOCKING", "0");
	expect_line(&m, "set ", "     CUDA_LAUNCH_BLOCKING=0");
	set(&m, "CUDA_MODULE_LOADING", "EAGER");
	expect_line(&m, "set ", "     CUDA_MODULE_LOADING=EAGER: kernels are loaded at the start");
	set(&m, "PYTORCH_CUDA_ALLOC_CONF", "a:1,backend:cudaMallocAsync");
	expect_line(&m, "set ",
		"     PYTORCH_CUDA_ALLOC_CONF=a:1,backend:cudaMallocAsync: tensors "
		"are allocated and freed in stream order");
	mini_release(&m);
}

/* Fewer queues than streams explain something; as many do not. */
static void connections_matter_to_more_streams(void **state)
{
	struct mini m;

	start(&m);
	set(&m, "CUDA_DEVICE_MAX_CONNECTIONS", "1");
	expect_line(&m, "set ", "     CUDA_DEVICE_MAX_CONNECTIONS=1");
	MINI_CALL(&m, .type = CALL_cuLaunchKernel, .at = 9, .runs = { 50, 60 },
		.stream = mini_stream(&m, "blocking"));
	expect_line(&m, "set ",
		"     CUDA_DEVICE_MAX_CONNECTIONS=1: more streams than that share "
		"queues, and can wait for each other there");
	mini_release(&m);
}

static void the_device_explains_itself(void **state)
{
	struct mini m;

	start(&m);
	expect_line(&m, "note", "");
	mini_exec(&m, "UPDATE context SET flags = 8 + 2"); /* yield, mapped memory */
	expect_line(&m, "note", "");
	mini_exec(&m, "UPDATE context SET flags = 8 + 4");
	expect_line(&m, "note",
		": waits sleep (blocking-sync scheduling), and end tens of "
		"microseconds after what they wait for");
	mini_exec(&m, "UPDATE context SET flags = 0");
	mini_exec(&m, "INSERT INTO device_attribute VALUES (1, 0, 'mps_enabled', 0)");
	expect_line(&m, "note", "");
	mini_exec(&m, "UPDATE device_attribute SET value = 1");
	expect_line(&m, "note",
		": device 0 is shared by MPS: others' work may hold this program's");
	mini_exec(&m, "DELETE FROM device_attribute");
	mini_exec(&m, "INSERT INTO other_use VALUES (1, 0, 'none', 0, 0, NULL)");
	expect_line(&m, "note", "");
	mini_exec(&m, "UPDATE other_use SET seen = 'computing', processes = 2, busy = 43");
	expect_line(&m, "note",
		": other programs computed on device 0 for 43 % of the run (2 processes)");
	mini_exec(&m, "UPDATE other_use SET seen = 'memory', processes = 1, busy = 0");
	expect_line(&m, "note", ": 1 other process has memory on device 0, and computed nothing");
	mini_exec(&m, "UPDATE other_use SET seen = 'unknown', why = 'of a reason'");
	expect_line(&m, "note", ": not known whether other programs used device 0: of a reason");
	mini_exec(&m, "DELETE FROM other_use");
	mini_exec(&m, "UPDATE device SET name = 'NVIDIA H200 MIG 1g.18gb'");
	expect_line(&m, "note", ": device 0 is a part of a GPU (MIG)");
	mini_release(&m);
}

static void work_is_summed_up(void **state)
{
	struct mini m;

	start(&m);
	expect_line(&m, "work",
		"     1 kernel; device busy 100 us, 10 % of the time since its first work");
	expect_line(&m, "device", "   GPU");
	expect_line(&m, "coverage",
		" 1 of 1 operations matched to a call, call sites of 1 of 1 calls");
	mini_stream(&m, "blocking");
	expect_line(&m, "streams", "  1 blocking, 1 legacy default; work on 1 of them");
	expect_line(&m, "waits", "");
	mini_exec(&m,
		"INSERT INTO wait_use VALUES (1, 'explicit', 1, 50000), "
		"(1, 'implicit', 2, 3000), (1, 'staged', 2, 7000), (1, 'polling', 1, 2000)");
	expect_line(&m, "waits",
		"    50 us in 1 explicit wait, 3.0 us in 2 implicit waits, 2.0 us in 1 loop of "
		"queries, 7.0 us in 2 copies through a staging buffer");
	mini_release(&m);
}

/* Startup is no part of the time that busy is a share of, nor is what was not recorded. */
static void busy_is_a_share_since_the_first_work(void **state)
{
	struct mini m;

	start(&m);
	mini_exec(&m, "UPDATE operation SET start = 500000, end = 600000");
	expect_line(&m, "work",
		"     1 kernel; device busy 100 us, 20 % of the time since its first work");
	mini_exec(&m,
		"INSERT INTO recording VALUES (1, 0, 400000, 0, 'delay'),"
		" (1, 400000, 750000, 1, 'delay'), (1, 750000, 1000000, 0, 'duration')");
	expect_line(&m, "work",
		"     1 kernel; device busy 100 us, 40 % of the time since its first work");
	mini_release(&m);
}

/* The guard watches pinned memory; of managed memory it knows nothing. */
static void memory_that_was_not_watched_is_named(void **state)
{
	struct mini m;

	start(&m);
	mini_exec(&m,
		"INSERT INTO allocation (process, address, bytes, memory) VALUES"
		" (1, 4096, 64, 'device')");
	expect_line(&m, "note", "");
	mini_exec(&m, "UPDATE allocation SET memory = 'managed'");
	expect_line(&m, "note", ": host accesses to managed memory were not watched");
	mini_exec(&m,
		"INSERT INTO allocation (process, address, bytes, memory) VALUES"
		" (1, 8192, 64, 'pinned')");
	expect_line(&m, "note",
		": host accesses to pinned and managed memory were not watched; run --guard-host "
		"reports those to pinned memory while a copy is pending");
	set(&m, "guard", "on");
	expect_line(&m, "note", ": host accesses to managed memory were not watched");
	mini_release(&m);
}

static void every_device_has_a_line(void **state)
{
	struct mini m;

	start(&m);
	mini_exec(&m,
		"INSERT INTO operation (process, kind, start, end, device, correlation) VALUES"
		" (1, 'memset', 100000, 300000, 1, 0), (1, 'memset', 250000, 300000, 1, 0)");
	expect_line(&m, "device   GPU",
		", device 0, pid 1: busy 100 us, 10 % of the time since its first work");
	expect_line(&m, "device   ?",
		", device 1, pid 1: busy 200 us, 22 % of the time since its first work; 50 us "
		"of it overlapped (25 %)");
	expect_line(&m, "work", "     2 memsets, 1 kernel");
	mini_release(&m);
}

static void memory_that_others_use_is_named(void **unused)
{
	struct mini m;

	(void)unused;
	start(&m);
	MINI_CALL(&m, .type = CALL_cuMemAlloc_v2, .at = 10);
	expect_line(&m, "shared ", "");
	MINI_CALL(&m, .type = CALL_cuIpcGetEventHandle, .at = 10, .event = mini_event(&m));
	MINI_CALL(&m, .type = CALL_cuIpcOpenMemHandle_v2, .at = 10, .result = 1);
	expect_line(&m, "shared ", "");
	MINI_CALL(&m, .type = CALL_cuMemGetHandleForAddressRange, .at = 10);
	MINI_CALL(&m, .type = CALL_cuIpcOpenMemHandle_v2, .at = 20);
	MINI_CALL(&m, .type = CALL_cuIpcOpenMemHandle_v2, .at = 30);
	expect_line(&m, "shared ",
		"  memory with others, by cuIpcOpenMemHandle (2), cuMemGetHandleForAddressRange "
		"(1): what they do with it is not recorded");
	mini_release(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(settings_say_what_they_explain),
		cmocka_unit_test(connections_matter_to_more_streams),
		cmocka_unit_test(the_device_explains_itself),
		cmocka_unit_test(work_is_summed_up),
		cmocka_unit_test(busy_is_a_share_since_the_first_work),
		cmocka_unit_test(memory_that_was_not_watched_is_named),
		cmocka_unit_test(every_device_has_a_line),
		cmocka_unit_test(memory_that_others_use_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
