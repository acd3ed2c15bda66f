/* SPDX-License-Identifier: Apache-2.0 */
/* The facts found about kernels, from traces that include their code. */
#include "trace_text.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "directions.h"
#include "image_hash.h"
#include "image_samples.h"
#include "launch_words.h"

/* Steps of SQLite's machine, in hundreds. */
static int count_steps(void *arg)
{
	++*(unsigned long *)arg;
	return 0;
}

/* The steps of directions_resolve() for so many kernels of one module, each launched once. */
static unsigned long steps_for(unsigned kernels)
{
	unsigned long steps = 0;
	char *text = NULL, *body = NULL;
	size_t text_size = 0, size = 0;
	FILE *ptx = open_memstream(&text, &text_size), *out = open_memstream(&body, &size);
	struct db db;

	fputs(".version 7.0\n.target sm_75\n.address_size 64\n", ptx);
	for (unsigned i = 0; i < kernels; i++)
		fprintf(ptx, ".visible .entry k%u(.param .u64 p)\n{\nret;\n}\n", i);
	fclose(ptx);
	for (size_t at = 0; at < text_size; at += 32768) {
		size_t length = text_size - at < 32768 ? text_size - at : 32768;

		fprintf(out, "%simage hash=0x7 offset=%zu total=%zu bytes=",
			at ? "chunk thread=7\n" : "", at, text_size);
		for (size_t i = 0; i < length; i++)
			fprintf(out, "%02x", (unsigned char)text[at + i]);
		fputc('\n', out);
	}
	for (unsigned i = 0; i < kernels; i++) {
		if (i % 200 == 0)
			fputs("chunk thread=7\n", out);
		fprintf(out,
			"function handle=0x%x parameters=0+8 name=\"k%u\"\n"
			"call cuLaunchKernel result=0 site=0 correlation=0 enter=%u duration=10 "
			"context=1 | function=0x%x grid=0x100010001 block=0x1001020 stream=0x0 "
			"words=0x5\n",
			0x1000 + i, i, 1000 + 100 * i, 0x1000 + i);
	}
	fclose(out);
	db = trace_text_load("test_directions", body);
	sqlite3_progress_handler(db.handle, 100, count_steps, &steps);
	assert_int_equal(directions_resolve(&db), 0);
	sqlite3_progress_handler(db.handle, 0, NULL, NULL);
	trace_text_finish(&db, "test_directions");
	free(text);
	free(body);
	return steps;
}

TEST(time_grows_as_the_number_of_kernels)
{
	unsigned long some = steps_for(250), more = steps_for(1000);

	assert_true(some > 0);
	assert_true(more < 6 * some); /* 16 times if each kernel were compared with each shape */
}

/* A kernel that stores through its only parameter. */
/* clang-format off */
#define STORES(name) ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry " name \
	"(.param .u64 p)\n{\n.reg .b64 %rd<3>;\n.reg .b32 %r<2>;\nld.param.u64 %rd1, [p];\n" \
	"cvta.to.global.u64 %rd2, %rd1;\nst.global.u32 [%rd2], %r1;\nret;\n}\n"
/* clang-format on */
/* clang-format off */
#define LOADS(name) ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry " name \
	"(.param .u64 p)\n{\n.reg .b64 %rd<3>;\n.reg .b32 %r<2>;\nld.param.u64 %rd1, [p];\n" \
	"cvta.to.global.u64 %rd2, %rd1;\nld.global.u32 %r1, [%rd2];\nret;\n}\n"
/* clang-format on */

/* clang-format off */
#define DEVICE "deviceinfo device=0 sm_count=132 threads_per_sm=2048 blocks_per_sm=32 " \
	"compute_major=9 compute_minor=0 async_engines=3 memory_bytes=1 text=\"H200\"\n"
/* clang-format on */
/* clang-format off */
#define CALL(name, enter, fields) "call " name " result=0 site=0 correlation=0 enter=" enter \
	" duration=10 context=1 | " fields "\n"
/* clang-format on */
#define LAUNCH(enter, function) \
	CALL("cuLaunchKernel", enter, \
		"function=" function " grid=0x100010001 block=0x1001020 stream=0x0 words=0x5")
#define FUNCTION(handle, name) "function handle=" handle " parameters=0+8 name=\"" name "\"\n"

static void put_hex(FILE *out, const void *data, size_t size)
{
	for (size_t i = 0; i < size; i++)
		fprintf(out, "%02x", ((const unsigned char *)data)[i]);
}

static char *text_image(const char *hash, const void *data, size_t size)
{
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	fprintf(out, "image hash=%s offset=0 total=%zu bytes=", hash, size);
	put_hex(out, data, size);
	fputc('\n', out);
	fclose(out);
	return text;
}

/* name: of the files of the test. */
static struct db resolve(const char *name, const char *body)
{
	struct db db = trace_text_load(name, body);

	assert_int_equal(directions_resolve(&db), 0);
	return db;
}

/* clang-format off */
#define ACCESS "SELECT k.mangled || ':' || ifnull(group_concat(a.direction), c.why) " \
	"FROM kernel k JOIN kernel_code c ON c.kernel = k.id LEFT JOIN kernel_access a " \
	"ON a.kernel = k.id AND a.shape IS NULL GROUP BY k.id ORDER BY k.id"
/* clang-format on */

/* Two images have a kernel of one name: each launch's is the one its module was loaded from. */
TEST(a_kernel_is_of_its_own_image)
{
	char *first = text_image("0x11", LOADS("k"), strlen(LOADS("k")));
	char *second = text_image("0x22", STORES("k"), strlen(STORES("k")));
	char *body;
	struct db db;

	assert_true(asprintf(&body,
			    DEVICE "%s%s" CALL("cuModuleLoadData", "1000",
				    "module=0xa0 image=0x11") CALL("cuModuleGetFunction", "1100",
				    "function=0xf0 module=0xa0") CALL("cuLibraryLoadData", "1200",
				    "module=0xb0 image=0x22") CALL("cuLibraryGetKernel", "1300",
				    "function=0xf1 module=0xb0") CALL("cuKernelGetFunction", "1400",
				    "function=0xf2 handle=0xf1") CALL("cuLibraryGetModule", "1500",
				    "module=0xb1 handle=0xb0") CALL("cuModuleGetFunction", "1600",
				    "function=0xf3 module=0xb1") FUNCTION("0xf2", "k")
				    LAUNCH("2000", "0xf2") FUNCTION("0xf0", "k") LAUNCH("2100",
					    "0xf0") FUNCTION("0xf3", "k") LAUNCH("2200", "0xf3"),
			    first, second) > 0);
	db = resolve("test_directions_own", body);
	trace_text_expect(&db, ACCESS, "k:store k:load k:store");
	trace_text_finish(&db, "test_directions_own");
	free(first);
	free(second);
	free(body);
}

/* Images from which no kernel was launched add nothing to the database. */
TEST(only_what_was_launched_is_kept)
{
	char *first = text_image("0x11", LOADS("k"), strlen(LOADS("k")));
	char *second = text_image("0x22", STORES("other"), strlen(STORES("other")));
	char *body;
	struct db db;

	assert_true(asprintf(&body,
			    DEVICE "%s%s" CALL("cuModuleLoadData", "1000",
				    "module=0xa0 image=0x11") CALL("cuModuleLoadData", "1100",
				    "module=0xb0 image=0x22") CALL("cuModuleGetFunction", "1200",
				    "function=0xf0 module=0xa0")
				    CALL("cuModuleGetFunction", "1300", "function=0xf1 module=0xb0")
					    FUNCTION("0xf0", "k") LAUNCH("2000", "0xf0"),
			    first, second) > 0);
	db = resolve("test_directions_kept", body);
	trace_text_expect(&db, ACCESS, "k:load");
	trace_text_expect(&db, "SELECT DISTINCT hash FROM image_piece", "17");
	trace_text_finish(&db, "test_directions_kept");
	free(first);
	free(second);
	free(body);
}

/* Other code with the same name replaced the code of a handle. */
TEST(code_that_was_replaced_is_not_known)
{
	char *first = text_image("0x11", LOADS("k"), strlen(LOADS("k")));
	char *second = text_image("0x22", STORES("k"), strlen(STORES("k")));
	char *body;
	struct db db;

	assert_true(
		asprintf(&body,
			DEVICE "%s%s" CALL("cuModuleLoadData", "1000",
				"module=0xa0 image=0x11") CALL("cuModuleGetFunction", "1100",
				"function=0xf0 module=0xa0") FUNCTION("0xf0", "k") LAUNCH("1200",
				"0xf0") CALL("cuModuleUnload", "1300", "module=0xa0")
				CALL("cuModuleLoadData", "1400", "module=0xa0 image=0x22")
					CALL("cuModuleGetFunction", "1500",
						"function=0xf0 module=0xa0") LAUNCH("1600", "0xf0"),
			first, second) > 0);
	db = resolve("test_directions_replaced", body);
	trace_text_expect(&db, ACCESS, "k:different code of that name was loaded");
	trace_text_finish(&db, "test_directions_replaced");
	free(first);
	free(second);
	free(body);
}

/* clang-format off */
#define SWITCHED ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k" \
	"(.param .align 8 .b8 s[400], .param .u64 p)\n{\n.reg .b64 %rd<3>;\n.reg .b32 %r<3>;\n" \
	".reg .pred %p<2>;\nld.param.u32 %r2, [s+392];\nsetp.eq.s32 %p1, %r2, 0;\n" \
	"@%p1 bra DONE;\nld.param.u64 %rd1, [p];\ncvta.to.global.u64 %rd2, %rd1;\n" \
	"st.global.u32 [%rd2], %r1;\nDONE:\nret;\n}\n"
/* clang-format on */

/* A launch that passes a structure of 50 words, the last of which is as given, by its hash. */
static void add_large_launch(FILE *out, int enter, unsigned hash, int last)
{
	fprintf(out, "words hash=0x%x bytes=", hash);
	for (int i = LAUNCH_WORDS_KEPT; i < 51; i++)
		fprintf(out, "%02x0000000000%s", i == 49 ? last : 3, i == 49 ? "0000" : "7f00");
	fprintf(out,
		"\n" CALL("cuLaunchKernel", "%d",
			"function=0xf0 grid=0x100010001 block=0x1001020 stream=0x0 "
			"words=0x3,0x3,0x3,0x3,0x3,0x3,0x3,0x3,0x%x"),
		enter, hash);
}

/* A word of a large structure decides what the kernel does: nothing, or a store to no memory. */
TEST(what_a_hash_stands_for_is_known)
{
	char *image = text_image("0x11", SWITCHED, strlen(SWITCHED)), *body;
	size_t size;
	FILE *out = open_memstream(&body, &size);
	struct db db;

	fprintf(out,
		DEVICE "%s" CALL("cuModuleLoadData", "1000", "module=0xa0 image=0x11")
			CALL("cuModuleGetFunction", "1100",
				"function=0xf0 module=0xa0") "function handle=0xf0 "
							     "parameters=0+400,400+8 name=\"k\"\n",
		image);
	add_large_launch(out, 2000, 0x77, 0);
	add_large_launch(out, 2100, 0x88, 1);
	fclose(out);
	db = resolve("test_directions_words", body);
	trace_text_expect(&db,
		"SELECT group_concat(shape || ':' || complete || ifnull(' ' || why, ''), ', ') "
		"FROM shape_code",
		"1:1, 2:0 it uses an address that points to no known memory");
	trace_text_finish(&db, "test_directions_words");
	free(image);
	free(body);
}

/* A kernel whose stores are known, at the cost of thousands of steps; as an image. */
static void add_costly(FILE *out, unsigned number)
{
	enum { STEPS = 2300 };
	char *text;
	size_t size;
	FILE *code = open_memstream(&text, &size);

	fprintf(code,
		".version 7.0\n.target sm_75\n.address_size 64\n"
		".visible .entry k%u(.param .u64 p)\n{\n.reg .b64 %%rd<5>;\n.reg .b32 %%r<%u>;\n"
		"ld.param.u64 %%rd1, [p];\nmov.u32 %%r0, %%ctaid.x;\n",
		number, STEPS + 1);
	for (unsigned k = 0; k < STEPS; k++)
		fprintf(code, "add.u32 %%r%u, %%r%u, 1;\n", k + 1, k);
	fprintf(code,
		"mul.wide.u32 %%rd3, %%r%u, 4;\nadd.u64 %%rd4, %%rd1, %%rd3;\n"
		"st.global.u32 [%%rd4], %%r0;\nret;\n}\n",
		STEPS);
	fclose(code);
	fprintf(out, "chunk thread=7\nimage hash=0x%x offset=0 total=%zu bytes=", 0x11 + number,
		size);
	put_hex(out, text, size);
	/* clang-format off */
	fprintf(out,
		"\nchunk thread=7\n"
		CALL("cuModuleLoadData", "%u", "module=0x%x image=0x%x")
		CALL("cuModuleGetFunction", "%u", "function=0x%x module=0x%x")
		FUNCTION("0x%x", "k%u"),
		1000 + 100 * number, 0xa0 + number, 0x11 + number, 1050 + 100 * number,
		0xf0 + number, 0xa0 + number, 0xf0 + number, number);
	/* clang-format on */
	free(text);
}

/* clang-format off */
#define UNSURE ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry u" \
	"(.param .u64 p, .param .u32 n)\n{\n.reg .b64 %rd<4>;\n.reg .b32 %r<3>;\n" \
	".reg .pred %p<2>;\nld.param.u32 %r2, [n];\nsetp.eq.s32 %p1, %r2, 0;\n@%p1 bra DONE;\n" \
	"ld.param.u64 %rd1, [p];\nld.global.u64 %rd2, [%rd1];\n" \
	"st.global.u32 [%rd2], %r1;\nDONE:\nret;\n}\n"
/* clang-format on */

/* There are more launches than there is time for: first come those that may say more. */
TEST(launches_that_say_more_are_asked_for)
{
	enum { KERNELS = 7, LAUNCHES = 250 };
	char *unsure = text_image("0x99", UNSURE, strlen(UNSURE)), *body;
	size_t size;
	FILE *out = open_memstream(&body, &size);
	struct db db;

	fputs(DEVICE, out);
	for (unsigned i = 0; i < KERNELS; i++)
		add_costly(out, i);
	/* clang-format off */
	fprintf(out,
		"%s" CALL("cuModuleLoadData", "2000", "module=0xb0 image=0x99")
		CALL("cuModuleGetFunction", "2100", "function=0xff module=0xb0")
		"function handle=0xff parameters=0+8,8+4 name=\"u\"\n",
		unsure);
	for (unsigned i = 0; i < KERNELS * LAUNCHES; i++)
		fprintf(out, "%s"
			CALL("cuLaunchKernel", "%u", "function=0x%x grid=0x100010001 "
				"block=0x1001020 stream=0x0 words=0x%llx"),
			i % 100 ? "" : "chunk thread=7\n", 3000 + 100 * i, 0xf0 + i / LAUNCHES,
			0x7f0000000000ull + 0x100 * (i % LAUNCHES));
	fprintf(out,
		CALL("cuLaunchKernel", "900000", "function=0xff grid=0x100010001 "
			"block=0x1001020 stream=0x0 words=0x5,0x0"));
	/* clang-format on */
	fclose(out);
	db = resolve("test_directions_steps", body);
	trace_text_expect(&db, "SELECT count(*) BETWEEN 100 AND 1700 FROM shape_code", "1");
	trace_text_expect(&db,
		"SELECT s.complete FROM shape_code s JOIN shape h ON h.id = s.shape "
		"JOIN kernel k ON k.id = h.kernel WHERE k.mangled = 'u'",
		"1");
	trace_text_finish(&db, "test_directions_steps");
	free(unsure);
	free(body);
}

/* It stores, to no known memory, where the byte that its block looks up is above 7. */
static void add_lookup(FILE *out)
{
	enum { STEPS = 20000 };
	char *text;
	size_t size;
	FILE *code = open_memstream(&text, &size);

	fprintf(code,
		".version 7.0\n.target sm_75\n.address_size 64\n"
		".visible .entry k(.param .u64 p, .param .align 8 .b8 t[16])\n{\n"
		".reg .b64 %%rd<8>;\n.reg .pred %%p<2>;\n.reg .b32 %%r<%u>;\nmov.b64 %%rd5, t;\n"
		"mov.u32 %%r0, %%ctaid.x;\n"
		"mul.wide.u32 %%rd4, %%r0, 1;\nadd.s64 %%rd3, %%rd5, %%rd4;\n"
		"ld.param.u8 %%r1, [%%rd3];\nld.param.u64 %%rd1, [p];\n",
		STEPS + 2);
	for (unsigned k = 1; k <= STEPS; k++)
		fprintf(code, "add.u32 %%r%u, %%r%u, 1;\n", k + 1, k);
	fprintf(code, "setp.gt.u32 %%p1, %%r%u, %u;\n@%%p1 st.global.u32 [%%rd1], %%r0;\nret;\n}\n",
		STEPS + 1, STEPS + 7);
	fclose(code);
	for (size_t at = 0; at < size; at += 32768) {
		fprintf(out, "chunk thread=7\nimage hash=0x11 offset=%zu total=%zu bytes=", at,
			size);
		put_hex(out, text + at, size - at < 32768 ? size - at : 32768);
		fputc('\n', out);
	}
	free(text);
}

/*
 * A thousand launches differ in what no block looks up, and half of them from the others: these
 * are two questions.
 */
TEST(what_is_not_looked_up_makes_no_difference)
{
	enum { LAUNCHES = 1000 };
	char *body;
	size_t size;
	FILE *out = open_memstream(&body, &size);
	struct db db;

	fputs(DEVICE, out);
	add_lookup(out);
	/* clang-format off */
	fputs("chunk thread=7\n" CALL("cuModuleLoadData", "1000", "module=0xa0 image=0x11")
		CALL("cuModuleGetFunction", "1100", "function=0xf0 module=0xa0")
		"function handle=0xf0 parameters=0+8,8+16 name=\"k\"\n", out);
	for (unsigned i = 0; i < LAUNCHES; i++)
		fprintf(out, "%s"
			CALL("cuLaunchKernel", "%u", "function=0xf0 stream=0x0 "
				"grid=0x1000100000002 block=0x1001020 "
				"words=0x7f0000000005,0x%x,0x%x"),
			i % 100 ? "" : "chunk thread=7\n", 3000 + 100 * i,
			i < LAUNCHES / 2 ? 0x700 : 0x900, i);
	/* clang-format on */
	fclose(out);
	db = resolve("test_directions_alike", body);
	trace_text_expect(&db, "SELECT count(*) || ',' || sum(complete) FROM shape_code",
		"1000,500");
	trace_text_finish(&db, "test_directions_alike");
	free(body);
}

#define CODE_FILE "test_directions.code"

static void write_code(const struct bytes *bytes)
{
	int fd = open(CODE_FILE, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, bytes->data, bytes->size, 8192), (ssize_t)bytes->size);
	close(fd);
}

/* Kernel k of an image that lies in a file from 8192 on, whose bytes began with those of start. */
static struct db resolve_file(const char *name, const struct bytes *start)
{
	char *body, *path = realpath(CODE_FILE, NULL);
	size_t compared = start->size < IMAGE_START_BYTES ? start->size : IMAGE_START_BYTES;
	struct db db;

	assert_true(asprintf(&body,
			    DEVICE "imagefile hash=0x11 offset=8192 bytes=%zu start=0x%llx "
				   "build_id=%040d text=\"%s\"\n" CALL("cuLibraryLoadData", "1000",
					   "module=0xa0 image=0x11") CALL("cuLibraryGetKernel",
					   "1100", "function=0xf0 module=0xa0")
					   FUNCTION("0xf0", "k") LAUNCH("1200", "0xf0"),
			    start->size, (unsigned long long)image_hash(start->data, compared), 0,
			    path ? path : "/nonexistent/code") > 0);
	db = resolve(name, body);
	free(body);
	free(path);
	return db;
}

TEST(code_is_read_where_it_lies_in_a_file)
{
	const enum sample_packing packings[] = { RAW, LZ4, ZSTD };
	struct bytes bytes;
	struct db db;

	for (size_t i = 0; i < 3; i++) {
		begin_container(&bytes);
		append_entry(&bytes, 1, packings[i], STORES("k"), sizeof(STORES("k")));
		end_container(&bytes);
		write_code(&bytes);
		db = resolve_file("test_directions_file", &bytes);
		trace_text_expect(&db, ACCESS, "k:store");
		trace_text_expect(&db, "SELECT count(*) FROM loss WHERE reason LIKE 'code%'", "0");
		trace_text_finish(&db, "test_directions_file");
	}
	unlink(CODE_FILE);
}

/* A library was installed anew, or the trace was moved. */
TEST(a_file_that_changed_is_not_read)
{
	struct bytes before, after;
	struct db db;

	make_container(&before, RAW);
	begin_container(&after);
	append_entry(&after, 1, RAW, STORES("k"), sizeof(STORES("k")));
	end_container(&after);
	write_code(&after);
	for (int i = 0; i < 2; i++) {
		db = resolve_file("test_directions_changed", &before);
		trace_text_expect(&db, ACCESS, "k:its code was not found");
		trace_text_expect(&db, "SELECT reason || count FROM loss WHERE reason LIKE 'code%'",
			"code_missing1");
		trace_text_finish(&db, "test_directions_changed");
		unlink(CODE_FILE);
	}
}

/* PTX for a newer device than the one it ran on may be another variant of the kernel. */
TEST(ptx_for_newer_devices_says_nothing)
{
	struct bytes bytes;
	struct db db;
	size_t entry;

	begin_container(&bytes);
	append_entry(&bytes, 1, RAW, LOADS("k"), sizeof(LOADS("k")));
	entry = append_entry(&bytes, 1, RAW, STORES("k"), sizeof(STORES("k")));
	memcpy(bytes.data + entry + 28, &(uint32_t){ 120 }, 4);
	end_container(&bytes);
	write_code(&bytes);
	db = resolve_file("test_directions_newer", &bytes);
	trace_text_expect(&db, ACCESS, "k:load");
	trace_text_finish(&db, "test_directions_newer");
	unlink(CODE_FILE);
}

/* A container whose second entry, a large cubin, lies beyond what a reader compares. */
static size_t make_large(uint8_t *data, size_t room)
{
	enum { LARGE = 5 << 20, FIRST = IMAGE_START_BYTES };
	uint8_t *cubin = calloc(1, LARGE);
	struct bytes head, sample;
	size_t packed, at;

	make_cubin(&sample);
	memcpy(cubin, sample.data, sample.size);
	begin_container(&head);
	append_entry(&head, 9, RAW, "1234567", 8);
	memcpy(head.data + 16 + ENTRY_SIZE_AT, &(uint64_t){ FIRST }, 8);
	memset(data, 0, room);
	memcpy(data, head.data, head.size);
	at = 16 + ENTRY_HEADER + FIRST;
	packed = ZSTD_compress(data + at + ENTRY_HEADER, room - at - ENTRY_HEADER, cubin, LARGE, 3);
	packed = (packed + 7) / 8 * 8;
	memcpy(data + at, data + 16, ENTRY_HEADER);
	memcpy(data + at, &(uint16_t){ 2 }, 2);
	memcpy(data + at + ENTRY_SIZE_AT, &(uint64_t){ packed }, 8);
	memcpy(data + at + ENTRY_PACKED_AT,
		&(uint32_t){
			(uint32_t)ZSTD_findFrameCompressedSize(data + at + ENTRY_HEADER, packed) },
		4);
	memcpy(data + at + 28, &(uint32_t){ 90 }, 4);
	memcpy(data + at + 40, &(uint64_t){ ZSTD }, 8);
	memcpy(data + at + ENTRY_UNPACKED_AT, &(uint64_t){ LARGE }, 8);
	at += ENTRY_HEADER + packed;
	memcpy(data + 8, &(uint64_t){ at - 16 }, 8);
	free(cubin);
	return at;
}

static void write_large(const uint8_t *data, size_t size, time_t time)
{
	const struct timespec times[2] = { { .tv_sec = time }, { .tv_sec = time } };
	int fd = open(CODE_FILE, O_WRONLY | O_CREAT, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, size), (ssize_t)size);
	assert_int_equal(futimens(fd, times), 0);
	close(fd);
}

/* Expects what the analyzer says about a kernel's printing, for a file of that size. */
static void expect_prints(const uint8_t *data, size_t size, const char *wanted)
{
	char *body, *path = realpath(CODE_FILE, NULL);
	struct db db;

	assert_true(asprintf(&body,
			    DEVICE "imagefile hash=0x11 offset=0 bytes=%zu start=0x%llx "
				   "build_id=%040d text=\"%s\"\n" CALL("cuLibraryLoadData", "1000",
					   "module=0xa0 image=0x11") CALL("cuLibraryGetKernel",
					   "1100", "function=0xf0 module=0xa0")
					   FUNCTION("0xf0", SAMPLE_KERNEL) LAUNCH("1200", "0xf0"),
			    size, (unsigned long long)image_hash(data, IMAGE_START_BYTES), 0,
			    path) > 0);
	db = resolve("test_directions_large", body);
	trace_text_expect(&db, "SELECT prints FROM kernel_code", wanted);
	trace_text_finish(&db, "test_directions_large");
	free(body);
	free(path);
}

/* A large cubin is unpacked once: then what it said is kept, as long as its file stays as it is. */
TEST(what_a_large_cubin_says_is_kept)
{
	char cache[] = "test_directions.cache-XXXXXX", command[64], *whole;
	uint8_t data[16384];
	size_t size = make_large(data, sizeof(data));

	assert_non_null(mkdtemp(cache));
	whole = realpath(cache, NULL);
	setenv("XDG_CACHE_HOME", whole, 1);
	write_large(data, size, 1000000);
	expect_prints(data, size, "1");
	memset(data + size - 64, 0, 64); /* of the cubin: it cannot be unpacked any more */
	write_large(data, size, 1000000);
	expect_prints(data, size, "1");
	write_large(data, size, 1000001);
	expect_prints(data, size, "NULL");
	setenv("XDG_CACHE_HOME", "/dev/null", 1);
	write_large(data, size, 1000000);
	expect_prints(data, size, "NULL");
	unlink(CODE_FILE);
	snprintf(command, sizeof(command), "rm -r %s", cache);
	assert_int_equal(system(command), 0);
	free(whole);
}

/* Little that unpacks to much: what is read in all has a limit, and it is said. */
TEST(a_load_unpacks_only_so_much)
{
	enum { SIZE = 32 << 20, IMAGES = 40 };
	size_t packed;
	char *zeros = calloc(1, SIZE), *body = NULL, *out = malloc(ZSTD_compressBound(SIZE));
	size_t size;
	FILE *text = open_memstream(&body, &size);
	struct bytes bytes;
	struct db db;

	packed = ZSTD_compress(out, ZSTD_compressBound(SIZE), zeros, SIZE, 3);
	begin_container(&bytes);
	append_entry(&bytes, 1, RAW, out, packed);
	memcpy(bytes.data + 16 + ENTRY_PACKED_AT, &(uint32_t){ (uint32_t)packed }, 4);
	memcpy(bytes.data + 16 + 40, &(uint64_t){ ZSTD }, 8);
	memcpy(bytes.data + 16 + ENTRY_UNPACKED_AT, &(uint64_t){ SIZE }, 8);
	end_container(&bytes);
	fputs(DEVICE, text);
	for (unsigned i = 0; i < IMAGES; i++) {
		fprintf(text,
			"chunk thread=7\nimage hash=0x%x offset=0 total=%zu bytes=", 0x100 + i,
			bytes.size);
		put_hex(text, bytes.data, bytes.size);
		/* clang-format off */
		fprintf(text, "\n" CALL("cuModuleLoadData", "%u", "module=0x%x image=0x%x")
			CALL("cuModuleGetFunction", "%u", "function=0x%x module=0x%x")
			"function handle=0x%x parameters=0+8 name=\"k%u\"\n" LAUNCH("%u", "0x%x"),
			1000 + 100 * i, 0x2000 + i, 0x100 + i, 1020 + 100 * i, 0x3000 + i,
			0x2000 + i, 0x3000 + i, i, 1040 + 100 * i, 0x3000 + i);
		/* clang-format on */
	}
	fclose(text);
	db = resolve("test_directions_bomb", body);
	trace_text_expect(&db,
		"SELECT count(*) FROM kernel_code WHERE "
		"why = 'reading its code takes too much memory'",
		"8");
	trace_text_expect(&db, "SELECT reason || count FROM loss WHERE reason LIKE 'code%'",
		"code_refused8");
	trace_text_finish(&db, "test_directions_bomb");
	free(zeros);
	free(out);
	free(body);
}
