/* SPDX-License-Identifier: Apache-2.0 */
#include "trace_text.h"

#define TRACE "test_load.cft"
#define DATABASE "test_load.db"

static struct db load(const char *body)
{
	return trace_text_load("test_load", body);
}

static void expect(struct db *db, const char *sql, const char *wanted)
{
	trace_text_expect(db, sql, wanted);
}

static void finish(struct db *db)
{
	trace_text_finish(db, "test_load");
}

static void calls_are_in_order_of_entry_with_parents(void **state)
{
	/* As recorded: children first, in order of return. */
	struct db db =
		load("call cuMemAlloc_v2 record_flags=2 enter=110 duration=10 context=1 | ptr=0x1 "
		     "bytes=0x1\n"
		     "call cuMemFree_v2 record_flags=2 enter=130 duration=10 context=1 | ptr=0x1\n"
		     "call cudaMalloc enter=100 duration=50 context=1\n"
		     "call cuInit enter=200 duration=10 | flags=0x0\n"
		     "chunk thread=8\n"
		     "call cuInit enter=105 duration=500 | flags=0x0\n");

	expect(&db, "SELECT t.name FROM call c JOIN call_type t ON t.id = c.type ORDER BY c.id",
		"cudaMalloc cuInit cuMemAlloc_v2 cuMemFree_v2 cuInit");
	expect(&db, "SELECT parent FROM call ORDER BY id", "NULL NULL 1 1 NULL");
	expect(&db, "SELECT enter FROM call ORDER BY id", "100 105 110 130 200");
	expect(&db, "SELECT tid FROM thread ORDER BY id", "7 8");
	finish(&db);
}

static void equal_times_are_decided_by_the_nested_flag(void **state)
{
	/* Virtual time: a call that costs nothing, then another, then one inside a third. */
	struct db db =
		load("call cuInit enter=100 duration=0 | flags=0x1\n"
		     "call cuInit enter=100 duration=0 | flags=0x2\n"
		     "call cuInit record_flags=2 enter=100 duration=0 | flags=0x3\n"
		     "call cudaMalloc enter=100 duration=0\n");

	expect(&db, "SELECT coalesce(flags, 'runtime') FROM call ORDER BY id", "1 2 runtime 3");
	expect(&db, "SELECT parent FROM call ORDER BY id", "NULL NULL NULL 3");
	finish(&db);
}

static void an_enter_record_without_its_call_never_returned(void **state)
{
	char body[512];
	struct db db;

	snprintf(body, sizeof(body),
		"enter call=%u context=1 site=0 enter=100\n"
		"call cuMemFree_v2 enter=100 duration=10 context=1 | ptr=0x0\n"
		"enter call=%u context=1 site=0 enter=300\n",
		CALL_cuMemFree_v2, CALL_cuCtxSynchronize);
	db = load(body);
	expect(&db, "SELECT coalesce(exit, 'never') FROM call ORDER BY id", "110 never");
	expect(&db,
		"SELECT t.name FROM call c JOIN call_type t ON t.id = c.type WHERE exit IS NULL",
		"cuCtxSynchronize");
	finish(&db);
}

static void default_streams_follow_the_entry_point(void **state)
{
	struct db db =
		load("call cuStreamSynchronize enter=100 duration=1 context=1 | stream=0x0\n"
		     "call cuStreamSynchronize record_flags=1 enter=110 duration=1 "
		     "context=1 | stream=0x0\n"
		     "call cuStreamSynchronize enter=120 duration=1 context=1 | stream=0x2\n"
		     "call cuStreamSynchronize record_flags=1 enter=130 duration=1 "
		     "context=1 | stream=0x1\n"
		     "call cuMemcpyHtoD_v2 enter=140 duration=1 context=1 | "
		     "dst=0x1 src=0x2 bytes=0x3 direction=0x1\n"
		     "chunk thread=8\n"
		     "call cuStreamSynchronize record_flags=1 enter=150 duration=1 "
		     "context=1 | stream=0x0\n");

	expect(&db, "SELECT s.kind FROM call c JOIN stream s ON s.id = c.stream ORDER BY c.id",
		"legacy per-thread per-thread legacy legacy per-thread");
	expect(&db, "SELECT kind || thread FROM stream WHERE kind = 'per-thread' ORDER BY id",
		"per-thread1 per-thread2");
	expect(&db, "SELECT count(*) FROM stream", "3");
	finish(&db);
}

static void streams_and_events_have_lives(void **state)
{
	struct db db = load(
		"call cuStreamCreate enter=100 duration=1 context=1 | "
		"new_stream=0x50 flags=0x1 priority=0xffffffffffffffff\n"
		"call cuEventCreate enter=110 duration=1 context=1 | new_event=0x60 flags=0x2\n"
		"call cuEventRecord enter=120 duration=1 context=1 | event=0x60 stream=0x50 "
		"flags=0x0\n"
		"call cuStreamDestroy_v2 enter=130 duration=1 context=1 | stream=0x50\n"
		"call cuStreamCreate enter=140 duration=1 context=1 | "
		"new_stream=0x50 flags=0x0 priority=0x0\n"
		"call cuEventRecord enter=150 duration=1 context=1 | event=0x60 stream=0x50 "
		"flags=0x0\n"
		"call cuEventRecord enter=160 duration=1 context=1 | event=0x61 stream=0x51 "
		"flags=0x0\n"
		"call cuStreamDestroy_v2 result=400 enter=170 duration=1 context=1 | "
		"stream=0x50\n");

	expect(&db, "SELECT kind FROM stream ORDER BY id", "non-blocking blocking unknown");
	expect(&db, "SELECT priority FROM stream ORDER BY id", "-1 0 0");
	expect(&db,
		"SELECT coalesce(created, 'no') || '-' || coalesce(destroyed, 'no') "
		"FROM stream ORDER BY id",
		"1-4 5-no no-no");
	expect(&db, "SELECT stream || ':' || event FROM call WHERE event AND stream ORDER BY id",
		"1:1 2:1 3:2");
	expect(&db, "SELECT flags FROM event ORDER BY id", "2 0");
	finish(&db);
}

/*
 * Thread 7 enters cuMemAlloc first; thread 8 allocates 0x1000 before it, works and frees it, and
 * while it is still in that free, 7 is given 0x1000, works and frees it too.
 */
static void an_address_belongs_to_who_was_given_it(void **state)
{
	struct db db = load(
		"call cuMemAlloc_v2 enter=100 duration=300 context=1 | ptr=0x1000 bytes=0x100\n"
		"call cuMemsetD8Async enter=410 duration=1 context=1 | "
		"dst=0x1010 bytes=0x1 height=0x1 value=0x0 stream=0x0\n"
		"call cuMemFree_v2 enter=420 duration=10 context=1 | ptr=0x1000\n"
		"chunk thread=8\n"
		"call cuMemAlloc_v2 enter=110 duration=10 context=1 | ptr=0x1000 bytes=0x100\n"
		"call cuMemsetD8Async enter=130 duration=1 context=1 | "
		"dst=0x1020 bytes=0x1 height=0x1 value=0x0 stream=0x0\n"
		"call cuMemFree_v2 enter=200 duration=400 context=1 | ptr=0x1000\n");

	expect(&db,
		"SELECT id || ':' || created || '-' || ifnull(freed, 'never') FROM allocation "
		"ORDER BY id",
		"1:1-6 2:2-4");
	expect(&db, "SELECT call || ':' || allocation FROM operand ORDER BY call", "3:2 5:1");
	finish(&db);
}

/* Thread 8 is in its cuMemAlloc already while 7 still works with the memory that 8 is given. */
static void memory_is_not_yet_who_asks_for_it(void **state)
{
	struct db db =
		load("call cuMemAlloc_v2 enter=100 duration=10 context=1 | ptr=0x1000 bytes=0x100\n"
		     "call cuMemsetD8Async enter=210 duration=1 context=1 | "
		     "dst=0x1010 bytes=0x1 height=0x1 value=0x0 stream=0x0\n"
		     "call cuMemFree_v2 enter=220 duration=10 context=1 | ptr=0x1000\n"
		     "chunk thread=8\n"
		     "call cuMemAlloc_v2 enter=200 duration=50 context=1 | ptr=0x1000 bytes=0x100\n"
		     "call cuMemsetD8Async enter=260 duration=1 context=1 | "
		     "dst=0x1020 bytes=0x1 height=0x1 value=0x0 stream=0x0\n");

	expect(&db,
		"SELECT id || ':' || created || '-' || ifnull(freed, 'never') FROM allocation "
		"ORDER BY id",
		"1:1-4 2:2-never");
	expect(&db, "SELECT call || ':' || allocation FROM operand ORDER BY call", "3:1 5:2");
	finish(&db);
}

static void copies_know_their_memory(void **state)
{
	static const char sql[] =
		"SELECT coalesce(src_memory, '?') || '>' || "
		"coalesce(dst_memory, '?') FROM call WHERE bytes AND src ORDER BY id";
	struct db db = load(
		"call cuMemAlloc_v2 enter=100 duration=1 context=1 | ptr=0x1000 bytes=0x100\n"
		"call cuMemHostAlloc enter=110 duration=1 context=1 | ptr=0x9000 bytes=0x100 "
		"flags=0x0\n"
		"call cuMemcpyAsync enter=120 duration=1 context=1 | "
		"dst=0x1080 src=0x90ff bytes=0x1 direction=0x4 stream=0x0\n"
		"call cuMemFreeHost enter=130 duration=1 context=1 | ptr=0x9000\n"
		"call cuMemcpyAsync enter=140 duration=1 context=1 | "
		"dst=0x1080 src=0x90ff bytes=0x1 direction=0x4 stream=0x0\n"
		"call cuMemcpyDtoHAsync_v2 enter=150 duration=1 context=1 | "
		"dst=0x90ff src=0x2000 bytes=0x1 direction=0x2 stream=0x0\n"
		"call cuMemcpyAsync correlation=9 enter=160 duration=1 context=1 | "
		"dst=0x5000 src=0x6000 bytes=0x1 direction=0x4 stream=0x0\n"
		"device kind=2 detail=2 src=5 dst=1 start=5200 end=5300 correlation=9 context=3\n");

	expect(&db, sql, "pinned>device ?>device device>pageable managed>pageable");
	expect(&db, "SELECT coalesce(freed, 'no') FROM allocation ORDER BY id", "no 4");
	finish(&db);
}

#define MADE_IN_CONTEXT \
	"call cuStreamCreate enter=100 duration=1 context=1 | " \
	"new_stream=0x50 flags=0x1 priority=0x0\n" \
	"call cuEventCreate enter=110 duration=1 context=1 | new_event=0x60 flags=0x2\n" \
	"call cuMemHostAlloc enter=120 duration=1 context=1 | ptr=0x9000 bytes=0x100 flags=0x0\n" \
	"call cuMemAllocAsync enter=130 duration=1 context=1 | " \
	"ptr=0x7000 bytes=0x100 stream=0x50\n"
#define WHAT_ENDED \
	"SELECT destroyed FROM stream UNION ALL SELECT destroyed FROM event " \
	"UNION ALL SELECT freed FROM allocation"

static void what_is_of_a_context_ends_with_it(void **state)
{
	struct db db = load(MADE_IN_CONTEXT
		"call cuCtxDestroy_v2 enter=200 duration=50 context=1 | context=0xc0\n"
		"call cuMemcpyHtoDAsync_v2 enter=300 duration=1 context=1 | "
		"dst=0x7000 src=0x9000 bytes=0x1 stream=0x50\n");

	/* Memory of a pool is the device's. */
	expect(&db, WHAT_ENDED, "5 NULL 5 5 NULL");
	expect(&db, "SELECT src_memory || '>' || dst_memory FROM call WHERE src",
		"pageable>device");
	finish(&db);
}

static void a_reset_ends_the_primary_context(void **state)
{
	struct db db = load(
		"context id=2 cupti_id=4 handle=0xd0 device=1 flags=0\n"
		"call cuDevicePrimaryCtxRetain enter=90 duration=1 context=0 | "
		"context=0xc0 device=0x0\n" MADE_IN_CONTEXT
		"call cuMemAlloc_v2 enter=140 duration=1 context=2 | ptr=0x5000 bytes=0x100\n"
		"call cuDevicePrimaryCtxReset_v2 enter=200 duration=50 context=2 | device=0x0\n");

	expect(&db, WHAT_ENDED, "7 7 7 NULL NULL");
	expect(&db,
		"SELECT x.handle FROM call c JOIN context x ON x.id = c.context "
		"ORDER BY c.id DESC LIMIT 1",
		"192");
	finish(&db);
}

static void a_context_ends_with_its_last_user(void **state)
{
	static const char retain[] =
		"call cuDevicePrimaryCtxRetain enter=%d duration=1 context=0 "
		"| context=0xc0 device=0x0\n";
	static const char release[] =
		"call cuDevicePrimaryCtxRelease_v2 enter=%d duration=1 "
		"context=1 | device=0x0\n";
	char body[2048], *at = body;
	struct db db;

	/* One whose retain nobody saw, then three of two. */
	at += sprintf(at, MADE_IN_CONTEXT);
	at += sprintf(at, release, 200);
	at += sprintf(at, retain, 210);
	at += sprintf(at, retain, 220);
	at += sprintf(at, release, 230);
	at += sprintf(at, release, 240);
	sprintf(at, release, 250);
	db = load(body);
	expect(&db, WHAT_ENDED, "9 9 9 NULL");
	expect(&db,
		"SELECT ifnull(c.context, 'none') FROM call c JOIN call_type t ON t.id = c.type"
		" WHERE t.kind = 'context_release' ORDER BY c.id",
		"none none 1 none");
	finish(&db);
}

/* Threads that met it at the same time. */
static void a_context_with_two_numbers_is_one(void **state)
{
	struct db db =
		load("context id=2 cupti_id=0 handle=0xc0 device=0 flags=0\n"
		     "call cuStreamSynchronize enter=100 duration=1 context=1 | stream=0x0\n"
		     "call cuStreamSynchronize enter=110 duration=1 context=2 | stream=0x0\n");

	expect(&db, "SELECT context || ':' || stream FROM call ORDER BY id", "1:1 1:1");
	expect(&db, "SELECT number || ':' || cupti_id FROM context", "1:3");
	finish(&db);
}

/* A handle is written before the call that names it first; another thread may have been faster. */
static void a_function_is_what_its_handle_stood_for(void **state)
{
	struct db db =
		load("function handle=0xf0 parameters=0+8 name=\"_Z5firstPf\"\n"
		     "call cuLaunchKernel enter=100 duration=9 context=1 | "
		     "function=0xf0 stream=0x0 grid=0x1 block=0x1\n"
		     "call cuModuleUnload enter=120 duration=9 context=1 | module=0xe0\n"
		     "function handle=0xf0 parameters=0+8 name=\"_Z6secondPf\"\n"
		     "call cuLaunchKernel enter=140 duration=9 context=1 | "
		     "function=0xf0 stream=0x0 grid=0x1 block=0x1\n"
		     "chunk thread=8\n"
		     "call cuLaunchKernel enter=95 duration=9 context=1 | "
		     "function=0xf0 stream=0x0 grid=0x1 block=0x1\n"
		     "call cuLaunchKernel enter=110 duration=9 context=1 | "
		     "function=0xf0 stream=0x0 grid=0x1 block=0x1\n");

	expect(&db, "SELECT k.name FROM call c JOIN kernel k ON k.id = c.kernel ORDER BY c.id",
		"first first first second");
	finish(&db);
}

static void operations_find_their_calls(void **state)
{
	struct db db =
		load("function handle=0xf0 parameters=0+8 name=\"_ZN3app4workEPf\"\n"
		     "string id=1 text=\"_ZN3app4workEPf\"\n"
		     "string id=2 text=\"_Z5otherv\"\n"
		     "call cuLaunchKernel correlation=4 enter=100 duration=9 context=1 | "
		     "function=0xf0 stream=0x0 grid=0x1 block=0x1\n"
		     "call cuLaunchKernel correlation=5 enter=120 duration=9 context=1 | "
		     "function=0xf1 stream=0x0 grid=0x1 block=0x1\n"
		     "device kind=1 start=5500 end=5600 correlation=5 context=3 stream=7 name=2\n"
		     "device kind=1 start=5300 end=5400 correlation=4 context=3 stream=7 name=1\n"
		     "device kind=1 start=5700 end=5800 correlation=6 context=3 stream=7 name=1\n"
		     "device kind=1 record_flags=1 start=5900 end=5100 correlation=6 context=3 "
		     "stream=9 name=1\n"
		     "device kind=6 detail=5 start=5105 end=5106 correlation=4 context=3\n");

	expect(&db, "SELECT coalesce(call, 'none') FROM operation ORDER BY id", "1 2 none none");
	expect(&db, "SELECT k.name FROM operation o JOIN kernel k ON k.id = o.kernel ORDER BY o.id",
		"work other work work");
	expect(&db, "SELECT k.name FROM call c JOIN kernel k ON k.id = c.kernel ORDER BY c.id",
		"work other");
	expect(&db, "SELECT coalesce(start, 'never') FROM operation ORDER BY id",
		"300 500 700 never");
	expect(&db, "SELECT id FROM operation INDEXED BY operation_end WHERE end IS NULL", "4");
	expect(&db,
		"SELECT id FROM operation INDEXED BY operation_end WHERE end > 450 ORDER BY end "
		"DESC",
		"3 2");
	expect(&db, "PRAGMA integrity_check", "ok");
	expect(&db, "SELECT s.kind FROM operation o JOIN stream s ON s.id = o.stream ORDER BY o.id",
		"legacy legacy legacy unknown");
	expect(&db, "SELECT cupti_id FROM stream ORDER BY id", "7 9");
	expect(&db, "SELECT kind || call || ':' || start FROM overhead", "lazy_loading1:105");
	finish(&db);
}

/* As an H200 reports a copy from another device without peer access. */
static void a_stream_has_the_number_it_has_in_its_own_context(void **state)
{
	struct db db = load(
		"context id=1 cupti_id=3 handle=0x30 device=1 flags=0\n"
		"context id=2 cupti_id=4 handle=0x40 device=0 flags=0\n"
		"call cuStreamCreate enter=100 duration=1 context=1 | "
		"new_stream=0x50 flags=0x1 priority=0x0\n"
		"call cuMemcpyPeerAsync correlation=9 enter=110 duration=1 context=1 | dst=0x1000 "
		"src=0x2000 bytes=0x10 stream=0x50 dst_context=0x30 src_context=0x40\n"
		"device kind=2 detail=2 src=3 dst=3 start=5200 end=5300 correlation=9 context=4 "
		"device=0 stream=17 value=16\n"
		"device kind=2 detail=1 src=3 dst=3 start=5400 end=5500 correlation=9 context=3 "
		"device=1 stream=14 value=16\n");

	expect(&db, "SELECT cupti_id FROM stream ORDER BY id", "14");
	expect(&db, "SELECT call || ':' || stream || ':' || device FROM operation ORDER BY start",
		"2:1:0 2:1:1");
	expect(&db, "SELECT src_memory || '>' || dst_memory FROM call WHERE bytes",
		"device>device");
	finish(&db);
}

/*
 * By whose memory is at either end: not within a device, from the host, or where nobody was seen
 * to allocate it.
 */
static void a_copy_that_names_no_contexts_may_be_between_devices(void **state)
{
	struct db db = load(
		"context id=1 cupti_id=3 handle=0x30 device=1 flags=0\n"
		"context id=2 cupti_id=4 handle=0x40 device=0 flags=0\n"
		"context id=3 cupti_id=5 handle=0x50 device=0 flags=0\n"
		"call cuMemAlloc_v2 enter=90 duration=1 context=3 | ptr=0x4000 bytes=0x100\n"
		"call cuMemHostAlloc enter=95 duration=1 context=1 | ptr=0x5000 bytes=0x100 "
		"flags=0x0\n"
		"call cuMemAlloc_v2 enter=100 duration=1 context=1 | ptr=0x1000 bytes=0x100\n"
		"call cuMemAlloc_v2 enter=110 duration=1 context=2 | ptr=0x2000 bytes=0x100\n"
		"call cuMemAlloc_v2 enter=120 duration=1 context=2 | ptr=0x3000 bytes=0x100\n"
		"call cuMemcpy enter=130 duration=1 context=2 | dst=0x1000 src=0x2010 bytes=0x10\n"
		"call cuMemcpy enter=140 duration=1 context=2 | dst=0x3000 src=0x2000 bytes=0x10\n"
		"call cuMemcpy enter=150 duration=1 context=2 | dst=0x1000 src=0x9000 bytes=0x10\n"
		"call cuMemcpy enter=152 duration=1 context=2 | dst=0x4000 src=0x2000 bytes=0x10\n"
		"call cuMemcpy enter=154 duration=1 context=2 | dst=0x2000 src=0x5000 bytes=0x10\n"
		"call cuMemcpyAsync enter=160 duration=1 context=2 | dst=0x20ff src=0x1000 "
		"bytes=0x1 stream=0x0\n");

	expect(&db, "SELECT call || role || object FROM call_object ORDER BY call, role",
		"6dst_context1 6src_context2 11dst_context2 11src_context1");
	finish(&db);
}

static void what_is_missing_is_counted(void **state)
{
	static char text[] =
		"cufence-trace version=1.0 chunk_size=65536 clock=2 closed=0 cupti_state=4 "
		"cupti_error=39 dropped_records=12\nchunk thread=0\n"
		"calltype call=0 kind=2 traits=0 runtime=0 fields=flags name=\"cuInit\"\n"
		"call cuInit enter=1 duration=1 | flags=0x0\n";
	char *paths[] = { TRACE };
	struct db db;
	FILE *in = fmemopen(text, sizeof(text) - 1, "r");

	assert_int_equal(text_undump(in, "test", TRACE), 0);
	fclose(in);
	unlink(DATABASE);
	assert_int_equal(db_create(&db, DATABASE), 0);
	assert_int_equal(load_traces(&db, paths, 1, NULL), 0);
	expect(&db, "SELECT reason || '=' || count FROM loss ORDER BY reason",
		"dropped_records=12 host_only=1 not_closed=1");
	expect(&db, "SELECT cupti || cupti_error FROM process", "busy39");
	finish(&db);
}

/* The second of three calls is of a number that the trace does not define. */
static void a_damaged_call_is_not_read_again(void **state)
{
	char *paths[] = { TRACE };
	struct db db;
	FILE *file;
	long second = TRACE_HEADER_SIZE + 65536 + (long)sizeof(struct chunk_header) + 120;

	trace_text_make(
		"call cuCtxSynchronize enter=1 duration=1 | \n"
		"call cuCtxSynchronize enter=3 duration=1 | \n"
		"call cuCtxSynchronize enter=5 duration=1 | \n",
		TRACE);
	file = fopen(TRACE, "r+");
	fseek(file, second, SEEK_SET);
	assert_int_equal(fgetc(file), sizeof(struct call_record) / TRACE_ALIGN);
	fseek(file, second + (long)offsetof(struct call_record, call), SEEK_SET);
	assert_int_equal(fwrite("\xff\xff", 1, 2, file), 2);
	fclose(file);
	unlink(DATABASE);
	assert_int_equal(db_create(&db, DATABASE), 0);
	assert_int_equal(load_traces(&db, paths, 1, NULL), 0);
	expect(&db, "SELECT enter FROM call ORDER BY id", "1 5");
	finish(&db);
}

static void what_is_whole_of_a_damaged_trace_is_loaded(void **state)
{
	char *paths[] = { TRACE };
	struct db db;
	FILE *file;

	trace_text_make(
		"call cuInit enter=1 duration=1 | flags=0x0\n"
		"chunk thread=8\n"
		"call cuCtxSynchronize enter=9 duration=1 | \n",
		TRACE);
	file = fopen(TRACE, "r+");
	/* The first record of the second chunk claims no bytes. */
	fseek(file, TRACE_HEADER_SIZE + 65536 + (long)sizeof(struct chunk_header), SEEK_SET);
	fputc(0, file);
	fputc(0, file);
	fclose(file);
	unlink(DATABASE);
	assert_int_equal(db_create(&db, DATABASE), 0);
	assert_int_equal(load_traces(&db, paths, 1, NULL), 0);
	expect(&db, "SELECT name FROM call JOIN call_type t ON t.id = type", "cuCtxSynchronize");
	expect(&db, "SELECT reason || '=' || count FROM loss WHERE reason <> 'clock_estimated'",
		"damaged=1");
	finish(&db);
}

/* Two calls and an operation are what they seem; of the others something cannot be. */
static void what_cannot_be_is_left_out(void **state)
{
	struct db db = load(
		"call cuInit enter=1 duration=1 | flags=0x0\n"
		"call cuCtxSynchronize enter=5 duration=1 correlation=1 | \n"
		"call cuInit enter=18446744073709551615 duration=1 | flags=0x0\n"
		"call cuInit enter=9000000000000000000 duration=1 | flags=0x0\n"
		"enter call=0 context=1 site=0 enter=18000000000000000000\n"
		"device kind=1 start=5020 end=5040 correlation=1\n"
		"device kind=1 start=5040 end=5020 correlation=1\n"
		"device kind=1 start=18446744073709551615 end=18446744073709551615 correlation=1\n"
		"device kind=1 start=5 end=9223372036854775807 correlation=7\n"
		"window open=1 cause=0 ticks=9223372036854775807\n"
		"calibration ticks=500 realtime_ns=9223372036854775807 cupti_ns=0 gap_ticks=0\n");

	expect(&db, "SELECT enter || '-' || exit FROM call ORDER BY id", "1-2 5-6");
	expect(&db, "SELECT start || '-' || end FROM operation", "20-40");
	expect(&db, "SELECT count FROM loss WHERE reason = 'damaged'", "8");
	finish(&db);
}

/* A size that no memory has is damage, unless the call failed for it. */
static void a_size_that_cannot_be_is_left_out(void **state)
{
	struct db db =
		load("call cuMemAlloc_v2 enter=1 duration=1 | ptr=0x1000 bytes=0x100\n"
		     "call cuMemAlloc_v2 enter=3 duration=1 | ptr=0x2000 bytes=0xffffffffffffff00\n"
		     "call cuMemAlloc_v2 enter=5 duration=1 | ptr=0x7fffffffffffffff bytes=0x100\n"
		     "call cuMemAlloc_v2 result=2 enter=7 duration=1 | ptr=0x0 "
		     "bytes=0xffffffffffffff00\n");

	expect(&db, "SELECT enter || ':' || bytes FROM call ORDER BY id",
		"1:256 7:281474976710656");
	expect(&db, "SELECT count FROM loss WHERE reason = 'damaged'", "2");
	finish(&db);
}

static void a_process_given_twice_is_loaded_once(void **state)
{
	char *paths[] = { TRACE, TRACE, "test_load_copy.cft" };
	struct db db;

	trace_text_make("call cuInit enter=1 duration=1 | flags=0x0\n", TRACE);
	trace_text_make("call cuInit enter=1 duration=1 | flags=0x0\n", paths[2]);
	unlink(DATABASE);
	assert_int_equal(db_create(&db, DATABASE), 0);
	assert_int_equal(load_traces(&db, paths, 3, NULL), 0);
	expect(&db, "SELECT count(*) FROM process", "1");
	expect(&db, "SELECT count(*) FROM call", "1");
	unlink(paths[2]);
	finish(&db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_are_in_order_of_entry_with_parents),
		cmocka_unit_test(equal_times_are_decided_by_the_nested_flag),
		cmocka_unit_test(an_enter_record_without_its_call_never_returned),
		cmocka_unit_test(default_streams_follow_the_entry_point),
		cmocka_unit_test(streams_and_events_have_lives),
		cmocka_unit_test(an_address_belongs_to_who_was_given_it),
		cmocka_unit_test(memory_is_not_yet_who_asks_for_it),
		cmocka_unit_test(copies_know_their_memory),
		cmocka_unit_test(what_is_of_a_context_ends_with_it),
		cmocka_unit_test(a_reset_ends_the_primary_context),
		cmocka_unit_test(a_context_ends_with_its_last_user),
		cmocka_unit_test(a_context_with_two_numbers_is_one),
		cmocka_unit_test(a_function_is_what_its_handle_stood_for),
		cmocka_unit_test(operations_find_their_calls),
		cmocka_unit_test(a_stream_has_the_number_it_has_in_its_own_context),
		cmocka_unit_test(a_copy_that_names_no_contexts_may_be_between_devices),
		cmocka_unit_test(what_is_missing_is_counted),
		cmocka_unit_test(what_is_whole_of_a_damaged_trace_is_loaded),
		cmocka_unit_test(what_cannot_be_is_left_out),
		cmocka_unit_test(a_damaged_call_is_not_read_again),
		cmocka_unit_test(a_size_that_cannot_be_is_left_out),
		cmocka_unit_test(a_process_given_twice_is_loaded_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
