/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db.h"
#include "record.h"
#include "symbols.h"
#include "symbols_file.h"
#include "symbols_user.h"

#define DATABASE "test_symbols.db"

static volatile int sink;

/* Return addresses of this file's own functions, as the recorder would see them. */
static uintptr_t inner_address, outer_address, stub_caller;
static int call_line, inlined_line, jump_line;

static inline __attribute__((always_inline)) void inlined_part(void)
{
	uintptr_t next;

	__asm__ volatile("lea 0(%%rip), %0" : "=r"(next));
	inlined_line = __LINE__ - 1;
	inner_address = next;
	sink++;
}

__attribute__((noinline)) static void note_return(void)
{
	outer_address = (uintptr_t)__builtin_return_address(0);
	sink++;
}

__attribute__((noinline)) static void user_function(void)
{
	note_return();
	call_line = __LINE__ - 1;
	inlined_part();
	sink++;
}

/* Its last act is a call, for which an optimizing compiler leaves it by a jump. */
__attribute__((noinline)) static void leaves_by_jump(void)
{
	jump_line = __LINE__ + 1;
	note_return();
}

__attribute__((noinline)) static void calls_what_leaves(void)
{
	leaves_by_jump();
	call_line = __LINE__ - 1;
	sink++;
}

/* As nvcc names what launches a kernel. */
__attribute__((noinline)) static void __device_stub__Z6kernelv(void)
{
	stub_caller = (uintptr_t)__builtin_return_address(0);
	note_return();
	sink++;
}

__attribute__((noinline)) static void launches_at_last(void)
{
	sink++;
	jump_line = __LINE__ + 1;
	__device_stub__Z6kernelv();
}

__attribute__((noinline)) static void calls_by_address(void (*volatile *function)(void))
{
	(*function)();
	sink++;
}

/* Offset in the file of an address of this program. */
static uint64_t file_offset(uintptr_t address, char path[4096])
{
	unsigned long long start, end, offset, found = 0;
	char line[8192];
	FILE *maps = fopen("/proc/self/maps", "r");

	while (fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%llx-%llx %*s %llx %*s %*s %4095s", &start, &end, &offset,
			    path) == 4 &&
			address >= start && address < end) {
			found = address - start + offset;
			break;
		}
	}
	fclose(maps);
	assert_int_not_equal(found, 0);
	return found;
}

TEST(a_return_address_has_function_and_line)
{
	struct source_frame frame[4];
	struct symbol_file *file;
	char path[4096];
	uint64_t offset;

	user_function();
	offset = file_offset(outer_address, path) - 1;
	file = symbol_file_open(path, NULL);
	assert_non_null(file);
	assert_true(symbol_file_lookup(file, offset, frame, 4) >= 1);
	assert_string_equal(frame[0].name, "user_function");
	assert_non_null(strstr(frame[0].file, "test_symbols.c"));
	assert_int_equal(frame[0].line, call_line);
	symbol_file_close(file);
}

TEST(an_inlined_function_has_a_frame_of_its_own)
{
	struct source_frame frame[4];
	struct symbol_file *file;
	char path[4096];
	int count;

	user_function();
	file = symbol_file_open((file_offset(inner_address, path), path), NULL);
	assert_non_null(file);
	count = symbol_file_lookup(file, file_offset(inner_address, path) - 1, frame, 4);
	assert_int_equal(count, 2);
	assert_string_equal(frame[0].name, "inlined_part");
	assert_int_equal(frame[0].line, inlined_line);
	assert_string_equal(frame[1].name, "user_function");
	assert_int_equal(frame[1].line, call_line + 2);
	symbol_file_close(file);
}

/* As a parallel region of OpenMP is compiled: a function within another one. */
#ifndef __clang__
__attribute__((noinline)) static void holds_function(void)
{
	__attribute__((noinline)) void held_function(void)
	{
		inlined_part();
		call_line = __LINE__ - 1;
		sink++;
	}

	held_function();
}

TEST(a_function_within_another_one_has_inlined_ones)
{
	struct source_frame frame[4];
	struct symbol_file *file;
	char path[4096];
	int count;

	holds_function();
	file = symbol_file_open((file_offset(inner_address, path), path), NULL);
	assert_non_null(file);
	count = symbol_file_lookup(file, file_offset(inner_address, path) - 1, frame, 4);
	assert_int_equal(count, 2);
	assert_string_equal(frame[0].name, "inlined_part");
	assert_int_equal(frame[0].line, inlined_line);
	assert_string_equal(frame[1].name, "held_function");
	assert_int_equal(frame[1].line, call_line);
	symbol_file_close(file);
}
#endif

TEST(a_function_left_by_a_jump_is_found_again)
{
	struct source_frame frame[4];
	struct tail_frame tail[4];
	struct symbol_file *file;
	char path[4096];
	uint64_t offset;

	calls_what_leaves();
	offset = file_offset(outer_address, path) - 1;
	file = symbol_file_open(path, NULL);
	assert_true(symbol_file_lookup(file, offset, frame, 4) >= 1);
	if (strcmp(frame[0].name, "calls_what_leaves")) {
		symbol_file_close(file);
		skip(); /* built so that it made a call */
	}
	assert_int_equal(symbol_file_tail_calls(file, offset, tail, 4), 1);
	assert_string_equal(tail[0].callee, "leaves_by_jump");
	assert_string_equal(tail[0].source.name, "leaves_by_jump");
	assert_int_equal(tail[0].source.line, jump_line);
	symbol_file_close(file);
}

TEST(who_jumped_into_a_host_stub_is_found_though_called_by_address)
{
	void (*volatile function)(void) = launches_at_last;
	struct source_frame frame[4];
	struct tail_frame tail[4];
	struct symbol_file *file;
	char path[4096];
	uint64_t outer, inner;

	calls_by_address(&function);
	inner = file_offset(outer_address, path) - 1;
	outer = file_offset(stub_caller, path) - 1;
	file = symbol_file_open(path, NULL);
	assert_true(symbol_file_lookup(file, outer, frame, 4) >= 1);
	if (strcmp(frame[0].name, "calls_by_address")) {
		symbol_file_close(file);
		skip(); /* built so that it made a call */
	}
	assert_int_equal(symbol_file_tail_calls(file, outer, tail, 4), 0);
	assert_int_equal(symbol_file_calls_stub(file, outer), 0);
	assert_int_equal(symbol_file_calls_stub(file, inner), 0);
	assert_int_equal(symbol_file_jump_into(file, inner, frame, 4), 1);
	assert_string_equal(frame[0].name, "launches_at_last");
	assert_int_equal(frame[0].line, jump_line);
	symbol_file_close(file);
}

TEST(another_build_is_not_believed)
{
	char path[4096];

	file_offset((uintptr_t)user_function, path);
	assert_null(symbol_file_open(path, "0123456789abcdef0123456789abcdef01234567"));
	assert_null(symbol_file_open("/nonexistent", NULL));
	assert_null(symbol_file_open("/proc/self/maps", NULL));
}

static void expect_cuda(int wanted, const char *symbol, const char *name, const char *file)
{
	struct source_frame frame = { symbol, name, file, 1, 0, 0 };

	assert_int_equal(frame_is_library(&frame), wanted);
}

TEST(cuda_frames_are_told_from_the_users)
{
	expect_cuda(1, "cudaFree", NULL, NULL);
	expect_cuda(1, "cuMemFree_v2", NULL, NULL);
	expect_cuda(1, "__cudart812", NULL, NULL);
	expect_cuda(1, "_ZN6cudart5entryEv", NULL, NULL);
	expect_cuda(1, "_ZL27__device_stub__Z7stencilPKfPfm", "__device_stub__Z7stencilPKfPfm",
		"/tmp/tmpxft_1.cudafe1.stub.c");
	expect_cuda(1, "_Z10cudaMallocIfE9cudaErrorPPT_m", "cudaMalloc<float>",
		"/usr/local/cuda/include/cuda_runtime.h");
	/* Its own cudart has lines when it was built with -g. */
	expect_cuda(1, "cudaMemcpy", "cudaMemcpy", "cudart_memory.c");
	expect_cuda(1, "cudaOccupancyMaxActiveBlocksPerMultiprocessor", NULL, "cudart_function.c");
	/* NVTX is C in headers, which Thrust and CUB include. */
	expect_cuda(1, NULL, "nvtxDomainRangePushEx",
		"/usr/include/nvtx3/nvtxDetail/nvtxImplCore.h");
	expect_cuda(0, "_Z5rangePKc", "range", "/home/me/nvtx_range.h");
	expect_cuda(1, NULL, "~unique_ptr", "/usr/include/c++/12/bits/unique_ptr.h");
	expect_cuda(0, "_Z9cudaCheck9cudaError", "cudaCheck", "tiles.cu");
	expect_cuda(0, "cudaCheckOrDie", "cudaCheckOrDie", "tiles.c");
	/* Without lines the name has to do, which a function of a class may have as well. */
	expect_cuda(1, "_ZL20cudaMemcpyFromSymbolIjE9cudaErrorPvRKT_mm14cudaMemcpyKind", NULL,
		NULL);
	expect_cuda(1,
		"_ZL45cudaOccupancyMaxActiveBlocksPerMultiprocessorIPFvyPfEE"
		"9cudaErrorPiT_im",
		NULL, NULL);
	expect_cuda(1,
		"_ZZL18cudaLaunchKernelExIJyPfEJRyRS0_EE9cudaErrorPK18cudaLaunchConfig_st"
		"PFvDpT_EDpOT0_ENKUlS1_E_clIJyS0_EEEDaS1_",
		NULL, NULL);
	expect_cuda(0, "_ZZL18cudaLaunch", NULL, NULL);
	expect_cuda(0, "_ZN5Array10cudaMemcpyEPv", NULL, NULL);
	expect_cuda(0, "_Z11cudaMyAllocIfE9cudaErrorPPT_m", NULL, NULL);
	expect_cuda(0, "custom", NULL, NULL);
	expect_cuda(0, "main", "main", "tiles.cu");
	expect_cuda(0, NULL, NULL, NULL);
}

/* CUDA's C++ libraries and the standard one lie anywhere: pip, conda, the program's own sources. */
TEST(frames_of_libraries_of_templates_are_no_user_s)
{
	const char *file = "/home/me/env/include/anywhere.h";

	expect_cuda(1, "_ZN6thrust23THRUST_300000_SM_900_NS6reduceIPKfEEvT_", "reduce", file);
	expect_cuda(1, "_ZNK6thrust8cuda_cub8launcher14triple_chevron11doit_hostIPFvvEEE", NULL,
		file);
	expect_cuda(1, "_ZZN3cub17CUB_300000_SM_9006DeviceEvENKUlvE_clEv", "operator()", file);
	expect_cuda(1, "_ZN4cuda3std3__48for_eachEv", "for_each", file);
	expect_cuda(1, "_ZSt8for_eachIPiZ4mainEUliE_ET0_T_S3_S2_", "for_each", file);
	expect_cuda(1, "_ZNSt17_Function_handlerIFvvEZ4mainEUlvE2_E9_M_invokeERKSt9_Any_data", NULL,
		NULL);
	expect_cuda(1, "_ZNSaIcEC1Ev", "allocator", file);
	expect_cuda(0, "_ZN4cuda6launchEv", "launch", "/home/me/include/cuda/launch.h");
	expect_cuda(0, "_ZN2me6thrustEv", "thrust", "/home/me/thrust/main.cu");
	expect_cuda(0, "_ZZ4mainENKUlvE_clEv", "main::{lambda}", "/home/me/main.cu");
	expect_cuda(0, "_ZN5cubic4stepEv", "step", "/home/me/main.cu");
}

TEST(system_libraries_are_known_by_name)
{
	assert_true(module_is_system("/usr/lib/x86_64-linux-gnu/libcuda.so.1"));
	assert_true(module_is_system("/opt/libcublasLt.so.13"));
	assert_true(module_is_system("/lib/x86_64-linux-gnu/libc.so.6"));
	assert_false(module_is_system("/home/me/libcustom.so"));
	assert_false(module_is_system("/home/me/libcudaapp.so"));
	assert_false(module_is_system("/home/me/app"));
	assert_true(module_is_system("/usr/bin/python3.12"));
	assert_true(module_is_system("/opt/conda/bin/python"));
	assert_true(module_is_system("/opt/conda/lib/libpython3.12.so.1.0"));
	assert_false(module_is_system("/home/me/python_app"));
	assert_false(
		module_is_system("/home/me/site-packages/pack/_C.cpython-312-x86_64-linux-gnu.so"));
}

static void text_of(struct db *db, const char *sql, const char *wanted)
{
	sqlite3_stmt *q = db_prepare(db, sql);
	const char *got;

	assert_non_null(q);
	assert_int_equal(db_step(q), 1);
	got = (const char *)sqlite3_column_text(q, 0);
	assert_string_equal(got ? got : "NULL", wanted);
	sqlite3_finalize(q);
}

/* ended: ns since 1970, when the recording did. */
static struct db recorded_site(uintptr_t address, const char *kernel, int64_t ended)
{
	char path[4096], sql[8192];
	uint64_t offset = file_offset(address, path);
	struct db db;

	unlink(DATABASE);
	assert_int_equal(db_create(&db, DATABASE), 0);
	snprintf(sql, sizeof(sql),
		"INSERT INTO run VALUES (%lld,'','');"
		"INSERT INTO process VALUES (1,1,1,0,0,1,0,'tsc',0,'on',0,0,0,'');"
		"INSERT INTO module VALUES (1,1,0x10000,0x7fffffff,0,'%s',NULL);"
		"INSERT INTO site (id, process, number) VALUES (1,1,1);"
		"INSERT INTO frame (site, depth, address, user) VALUES (1,0,%llu,1),(1,1,5,1);"
		"INSERT INTO kernel VALUES (1,1,1,'%s','k',0,NULL);",
		(long long)ended, path, (unsigned long long)(0x10000 + offset), kernel);
	assert_int_equal(db_exec(&db, sql), 0);
	assert_int_equal(symbols_resolve(&db), 0);
	return db;
}

static struct db database_with_site(uintptr_t address, const char *kernel)
{
	return recorded_site(address, kernel, INT64_MAX);
}

/* It may have been built anew. */
TEST(a_file_without_a_build_id_that_changed_later_is_not_believed)
{
	struct db db;

	user_function();
	db = recorded_site(outer_address, "other", 1000000000);
	text_of(&db, "SELECT ifnull(function, '?') FROM site", "?");
	text_of(&db, "SELECT text LIKE 'test_symbols+0x%' FROM site", "1");
	db_close(&db);
	unlink(DATABASE);
}

TEST(a_site_is_named_after_its_first_user_frame)
{
	char wanted[64];
	struct db db;

	user_function();
	db = database_with_site(outer_address, "other");
	snprintf(wanted, sizeof(wanted), "test_symbols.c:%d", call_line);
	text_of(&db, "SELECT function FROM site", "user_function");
	text_of(&db, "SELECT text FROM site", wanted);
	text_of(&db, "SELECT count(*) FROM frame", "2");
	db_close(&db);
	unlink(DATABASE);
}

/* The host stub of a kernel has the kernel's name: the launch is where the stub was called. */
TEST(a_host_stub_is_no_user_frame)
{
	struct db db;

	user_function();
	db = database_with_site(outer_address, "user_function");
	text_of(&db, "SELECT user FROM frame WHERE depth = 0", "0");
	text_of(&db, "SELECT text FROM site", "0x5");
	db_close(&db);
	unlink(DATABASE);
}

#define SCRIPT(code, offset) (long long)SCRIPT_FRAME(code, offset)

/* A site of a native frame and these of a script: what it is called by. */
static void script_site(const char *frames, const char *wanted, const char *users)
{
	char sql[4096];
	struct db db;

	unlink(DATABASE);
	assert_int_equal(db_create(&db, DATABASE), 0);
	snprintf(sql, sizeof(sql),
		"INSERT INTO process VALUES (1,1,1,0,0,1,0,'tsc',0,'on',0,0,0,'');"
		"INSERT INTO site (id, process, number) VALUES (1,1,1);"
		/* 3.12: eight bytes of line 10, then of line 12; 3.9; a table that is none. */
		"INSERT INTO code VALUES (1,1,780,10,'Net.step','/home/u/train.py',x'eb00eb04');"
		"INSERT INTO code VALUES (1,2,780,1,'call','/x/site-packages/p.py',x'eb01');"
		"INSERT INTO code VALUES (1,3,777,5,'run','/usr/lib/python3.9/queue.py',x'0001');"
		"INSERT INTO code VALUES (1,4,780,5,'lost','lost.py',x'');"
		"INSERT INTO frame (site, depth, address, user) VALUES (1,0,5,1),%s;",
		frames);
	assert_int_equal(db_exec(&db, sql), 0);
	/* Again: what was derived is derived anew. */
	for (int i = 0; i < 2; i++) {
		assert_int_equal(symbols_resolve(&db), 0);
		text_of(&db, "SELECT ifnull(function, '?') || ' ' || text FROM site", wanted);
		text_of(&db,
			"SELECT group_concat(user, '') FROM (SELECT user FROM frame "
			"ORDER BY depth)",
			users);
	}
	db_close(&db);
	unlink(DATABASE);
}

TEST(a_script_s_own_file_goes_first)
{
	char frames[256];

	snprintf(frames, sizeof(frames), "(1,1,%lld,1),(1,2,%lld,1),(1,3,%lld,1)", SCRIPT(2, 0),
		SCRIPT(1, 8), SCRIPT(1, 0));
	script_site(frames, "Net.step train.py:12", "0011");
}

TEST(packages_go_before_the_standard_library)
{
	char frames[256];

	snprintf(frames, sizeof(frames), "(1,1,%lld,1),(1,2,%lld,1)", SCRIPT(3, 2), SCRIPT(2, 2));
	script_site(frames, "call p.py:1", "001");
	snprintf(frames, sizeof(frames), "(1,1,%lld,1)", SCRIPT(3, 2));
	script_site(frames, "run queue.py:6", "01");
}

TEST(a_script_s_line_or_code_may_be_missing)
{
	char frames[256];

	snprintf(frames, sizeof(frames), "(1,1,%lld,1)", SCRIPT(4, 0));
	script_site(frames, "lost lost.py", "01");
	snprintf(frames, sizeof(frames), "(1,1,%lld,1)", SCRIPT(77, 0));
	script_site(frames, "? ?", "01");
}

/* A trace may name anything. */
TEST(what_is_no_regular_file_is_not_opened)
{
	unlink("test_symbols.pipe");
	assert_int_equal(mkfifo("test_symbols.pipe", 0600), 0);
	alarm(10);
	assert_null(symbol_file_open("test_symbols.pipe", NULL));
	assert_null(symbol_file_open("/dev/zero", NULL));
	alarm(0);
	unlink("test_symbols.pipe");
}

static int use_no_cache(void **state)
{
	return setenv("XDG_CACHE_HOME", "/dev/null", 1);
}

GROUP(use_no_cache, NULL)
