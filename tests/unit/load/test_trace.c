/* SPDX-License-Identifier: Apache-2.0 */
/* trace/: what the writer writes the reader reads, whole or cut at any byte; text is lossless. */
#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <sys/resource.h>
#include <signal.h>
#include <unistd.h>

#include "calls.h"
#include "layout.h"
#include "reader.h"
#include "text.h"
#include "writer.h"

static const struct trace_start start = {
	.pid = 7,
	.parent_pid = 3,
	.clock = CLOCK_TICKS_VIRTUAL,
	.features = FEATURE_CALLS,
	.realtime_ns = 1000,
};

struct files {
	char folder[64];
	char trace[96], text[96], copy[96];
	struct trace_writer writer;
	struct trace_chunk chunk;
};

static int make_files(void **state)
{
	struct files *files = calloc(1, sizeof(*files));

	strcpy(files->folder, "/tmp/cufence-test-XXXXXX");
	assert_non_null(mkdtemp(files->folder));
	snprintf(files->trace, sizeof(files->trace), "%s/a.cft", files->folder);
	snprintf(files->text, sizeof(files->text), "%s/a.txt", files->folder);
	snprintf(files->copy, sizeof(files->copy), "%s/b.cft", files->folder);
	*state = files;
	return 0;
}

static int remove_files(void **state)
{
	struct files *files = *state;

	remove(files->trace);
	remove(files->text);
	remove(files->copy);
	rmdir(files->folder);
	free(files);
	return 0;
}

#define FILES_TEST(name) TEST_OF(name, struct files, files, make_files, remove_files)

static int open_trace(void **state)
{
	struct files *files;

	make_files(state);
	files = *state;
	files->chunk.thread = 1;
	return trace_create(&files->writer, files->trace, &start);
}

static int close_trace(void **state)
{
	struct files *files = *state;

	trace_chunk_close(&files->writer, &files->chunk);
	trace_abandon(&files->writer);
	return remove_files(state);
}

/* While a trace is written. */
#define WRITER_TEST(name) TEST_OF(name, struct files, files, open_trace, close_trace)

static void add_call(struct trace_writer *writer, struct trace_chunk *chunk, uint64_t enter,
	enum call_id id)
{
	unsigned fields = call_types[id].field_count;
	struct call_record *call = trace_reserve(writer, chunk,
		sizeof(*call) + fields * sizeof(uint64_t), RECORD_CALL);

	assert_non_null(call);
	call->call = (uint16_t)id;
	call->enter = enter;
	for (unsigned i = 0; i < fields; i++)
		call->field[i] = enter * 16 + i;
	trace_commit(chunk);
}

/* One record of every type, with tails of odd lengths. */
static void add_one_of_each(struct trace_writer *writer, struct trace_chunk *chunk)
{
	static const char tail[] = "odd \"text\"\n";

	/* Calls and their types have samples of their own. */
	for (unsigned type = RECORD_ENTER; type < RECORD_TYPE_COUNT; type++) {
		const struct record_layout *layout = &record_layouts[type];
		uint32_t length = layout->tail == TAIL_ADDRESSES ? 16
			: layout->tail == TAIL_OPERAND           ? 8
								 : 11;
		char *at = trace_reserve(writer, chunk, layout->size + (layout->tail ? length : 0),
			type);

		assert_non_null(at);
		for (const struct column *c = layout->column; c->name; c++)
			if (c->size <= 8)
				column_set(c, at, 1);
		if (layout->tail == TAIL_TEXTS) {
			uint16_t lengths[MAX_TEXTS] = { 4, 7 };
			memcpy(at + layout->length_offset, lengths, layout->text[2] ? 6 : 4);
			memcpy(at + layout->size, tail, length);
		} else if (layout->length_offset) {
			memcpy(at + layout->length_offset, &length, 4);
			memcpy(at + layout->size, tail, length);
		}
		if (type == RECORD_FUNCTION) {
			((struct function_record *)at)->parameter_count = 2;
			((struct function_record *)at)->name_length = 3;
			((struct function_record *)at)->local = 1 + 512;
			memcpy(((struct function_record *)at)->data, "\0\0\4\0\4\0\4\0abc", 11);
		}
		trace_commit(chunk);
	}
}

static void add_launch(struct trace_writer *writer, struct trace_chunk *chunk)
{
	unsigned fields = call_types[CALL_cuLaunchKernel].field_count;
	struct launch_pointer pointer = { 8, { 0x1000, 0x7f } };
	uint64_t word = 42;
	struct call_record *call =
		trace_reserve(writer, chunk, sizeof(*call) + fields * 8 + 16 + 8, RECORD_CALL);
	char *tail = (char *)&call->field[fields];

	call->call = CALL_cuLaunchKernel;
	call->pointer_count = 1;
	call->head.flags = CALL_PER_THREAD | CALL_NESTED;
	call->result = -5;
	memcpy(tail, &pointer, sizeof(pointer));
	memcpy(tail + 16, &word, sizeof(word));
	trace_commit(chunk);
}

static void add_launch_with_buffer(struct trace_writer *writer, struct trace_chunk *chunk)
{
	unsigned fields = call_types[CALL_cuLaunchKernel].field_count;
	struct call_record *call =
		trace_reserve(writer, chunk, sizeof(*call) + fields * 8 + 2 * 8, RECORD_CALL);

	call->call = CALL_cuLaunchKernel;
	call->head.flags = CALL_BUFFER;
	call->pointer_count = 2;
	call->field[fields] = 0x7f0000001000;
	call->field[fields + 1] = 42;
	trace_commit(chunk);
}

static void write_sample(const char *path)
{
	struct trace_writer writer = { 0 };
	struct trace_chunk chunk = { .thread = 11 };

	assert_int_equal(trace_create(&writer, path, &start), 0);
	add_call(&writer, &chunk, 1, CALL_cuMemFree_v2);
	add_call(&writer, &chunk, 2, CALL_cuCtxSetCurrent);
	add_call(&writer, &chunk, 3, CALL_cuEventRecordWithFlags);
	add_launch(&writer, &chunk);
	add_launch_with_buffer(&writer, &chunk);
	add_one_of_each(&writer, &chunk);
	trace_count(&writer, COUNT_DROPPED_SITES, 3);
	trace_finish(&writer);
	trace_chunk_close(&writer, &chunk);
	trace_abandon(&writer);
}

FILES_TEST(records_come_back_as_written)
{
	struct trace_reader reader;
	const struct record *record;
	unsigned seen[RECORD_TYPE_COUNT] = { 0 };

	write_sample(files->trace);
	assert_int_equal(trace_open(&reader, files->trace), 0);
	assert_int_equal(reader.header->closed, 1);
	assert_int_equal(reader.header->pid, 7);
	assert_int_equal(reader.header->counter[COUNT_DROPPED_SITES], 3);
	while (trace_next(&reader, &record)) {
		const struct call_record *call = (const struct call_record *)record;
		seen[record->type]++;
		if (record->type == RECORD_CALL && call->call == CALL_cuMemFree_v2) {
			assert_int_equal(reader.thread, 11);
			assert_int_equal(call->enter, 1);
			assert_int_equal(call->field[0], 16);
		}
	}
	assert_true(trace_is_whole(&reader));
	assert_int_equal(seen[RECORD_CALL_TYPE], CALL_COUNT);
	assert_int_equal(seen[RECORD_CALL], 5);
	for (unsigned type = RECORD_ENTER; type < RECORD_TYPE_COUNT; type++)
		assert_int_equal(seen[type], 1);
	trace_close(&reader);
}

static void *read_all(const char *path, size_t *size)
{
	FILE *file = fopen(path, "rb");
	void *bytes;

	assert_non_null(file);
	fseek(file, 0, SEEK_END);
	*size = (size_t)ftell(file);
	rewind(file);
	bytes = malloc(*size);
	assert_int_equal(fread(bytes, 1, *size, file), *size);
	fclose(file);
	return bytes;
}

FILES_TEST(undump_of_a_dump_is_the_same_file)
{
	struct trace_reader reader;
	size_t size, copy_size;
	void *bytes, *copy;
	struct file_header *header;
	FILE *text;

	write_sample(files->trace);
	text = fopen(files->text, "w+");
	assert_int_equal(trace_open(&reader, files->trace), 0);
	assert_int_equal(text_dump(&reader, text), 0);
	trace_close(&reader);
	rewind(text);
	assert_int_equal(text_undump(text, files->text, files->copy), 0);
	fclose(text);
	bytes = read_all(files->trace, &size);
	copy = read_all(files->copy, &copy_size);
	/* The text has only the sum of the recorder's own counts. */
	header = bytes;
	header->copied = header->identity = header->last_window = 0;
	for (size_t at = TRACE_HEADER_SIZE; at < size; at += TRACE_CHUNK_SIZE)
		((struct chunk_header *)((char *)bytes + at))->before = 0;
	assert_int_equal(size, copy_size);
	assert_memory_equal(bytes, copy, size);
	free(bytes);
	free(copy);
}

/* Any cut and any flipped byte is read to the end: never past the bytes given. */
FILES_TEST(damage_is_passed_over)
{
	size_t size, end;
	uint8_t *bytes, *copy;
	unsigned damaged = 0;
	struct trace_reader reader;
	const struct record *record;

	write_sample(files->trace);
	bytes = read_all(files->trace, &size);
	end = TRACE_HEADER_SIZE + TRACE_CHUNK_SIZE + 2048;
	for (size_t cut = 0; cut <= end; cut += cut < 8192 ? 1 : 997) {
		int rc;

		copy = malloc(cut ? cut : 1);
		memcpy(copy, bytes, cut);
		rc = trace_open_memory(&reader, copy, cut);
		assert_int_equal(rc, cut < TRACE_HEADER_SIZE ? -1 : 0);
		while (!rc && trace_next(&reader, &record))
			;
		assert_true(rc || !trace_is_whole(&reader));
		assert_true(strlen(reader.error) > 0);
		trace_close(&reader);
		free(copy);
	}
	for (size_t at = TRACE_HEADER_SIZE; at < TRACE_HEADER_SIZE + 4096; at++) {
		bytes[at] ^= 0xff;
		assert_int_equal(trace_open_memory(&reader, bytes, size), 0);
		while (trace_next(&reader, &record))
			;
		damaged += !trace_is_whole(&reader);
		trace_close(&reader);
		bytes[at] ^= 0xff;
	}
	assert_true(damaged > 100);
	free(bytes);
}

static void *write_many(void *argument)
{
	struct trace_writer *writer = argument;
	struct trace_chunk chunk = { .thread = (uint32_t)gettid() };

	for (uint64_t i = 0; i < 20000; i++)
		add_call(writer, &chunk, i, CALL_cuMemAlloc_v2);
	trace_chunk_close(writer, &chunk);
	return NULL;
}

FILES_TEST(threads_write_without_losing_a_record)
{
	struct trace_writer writer = { 0 };
	struct trace_reader reader;
	const struct record *record;
	pthread_t thread[8];
	unsigned calls = 0;

	assert_int_equal(trace_create(&writer, files->trace, &start), 0);
	for (int i = 0; i < 8; i++)
		pthread_create(&thread[i], NULL, write_many, &writer);
	for (int i = 0; i < 8; i++)
		pthread_join(thread[i], NULL);
	trace_abandon(&writer);
	assert_int_equal(trace_open(&reader, files->trace), 0);
	while (trace_next(&reader, &record) > 0)
		calls += record->type == RECORD_CALL;
	assert_int_equal(calls, 8 * 20000);
	trace_close(&reader);
}

/* A full disk (here: the file size limit) is counted drops, and what was written stays readable. */
FILES_TEST(no_space_is_counted)
{
	struct trace_writer writer = { 0 };
	struct trace_chunk chunk = { .thread = 1 };
	struct trace_reader reader;
	const struct record *record;
	struct rlimit old, limit;
	unsigned calls = 0, written = 0;

	assert_int_equal(trace_create(&writer, files->trace, &start), 0);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	limit = old;
	limit.rlim_cur = TRACE_HEADER_SIZE + 4 * TRACE_CHUNK_SIZE;
	setrlimit(RLIMIT_FSIZE, &limit);
	for (int i = 0; i < 20000; i++) {
		struct call_record *call =
			trace_reserve(&writer, &chunk, sizeof(*call) + 8, RECORD_CALL);
		if (!call)
			continue;
		call->call = CALL_cuMemFree_v2;
		trace_commit(&chunk);
		written++;
	}
	setrlimit(RLIMIT_FSIZE, &old);
	/* The call table, the window and two copies of it. */
	assert_in_range(written, 4900, 4912);
	assert_int_equal(writer.header->counter[COUNT_DROPPED_RECORDS], 20000 - written);
	trace_chunk_close(&writer, &chunk);
	trace_abandon(&writer);
	assert_int_equal(trace_open(&reader, files->trace), 0);
	while (trace_next(&reader, &record) > 0)
		calls += record->type == RECORD_CALL;
	assert_int_equal(calls, written);
	trace_close(&reader);
}

/* Types of the records in a trace, but for the call table's. */
static unsigned types_of(const char *path, unsigned type[], unsigned room)
{
	struct trace_reader reader;
	const struct record *record;
	unsigned count = 0;

	assert_int_equal(trace_open(&reader, path), 0);
	while (trace_next(&reader, &record) > 0)
		if (record->type != RECORD_CALL_TYPE && count < room)
			type[count++] = record->type;
	trace_close(&reader);
	return count;
}

/* An enter record gives way to its call, unless something was written in between. */
WRITER_TEST(a_superseded_record_is_taken_back)
{
	struct enter_record *enter;
	unsigned type[8];
	uint64_t written;

	for (unsigned disturbed = 0; disturbed < 2; disturbed++) {
		enter = trace_reserve(&files->writer, &files->chunk, sizeof(*enter), RECORD_ENTER);
		memset(&enter->head + 1, 0xff, sizeof(*enter) - sizeof(enter->head));
		enter->call = CALL_cuMemFree_v2;
		trace_commit(&files->chunk);
		written = files->chunk.written;
		assert_int_equal(types_of(files->trace, type, 8), 1 + disturbed);
		if (disturbed)
			add_call(&files->writer, &files->chunk, 20, CALL_cuMemFree_v2);
		trace_take_back(&files->chunk, sizeof(*enter), written);
		assert_int_equal(types_of(files->trace, type, 8), disturbed ? 3 : 0);
		assert_true(disturbed || (!enter->head.words && !enter->enter));
		if (!disturbed)
			add_call(&files->writer, &files->chunk, 10, CALL_cuMemFree_v2);
	}
	assert_int_equal(types_of(files->trace, type, 8), 3);
	assert_int_equal(type[0], RECORD_CALL);
	assert_int_equal(type[1], RECORD_ENTER);
	assert_int_equal(type[2], RECORD_CALL);
}

/* The place after the last record announces a call, until the call's record is there. */
WRITER_TEST(a_call_in_progress_is_read)
{
	struct enter_record *enter;
	unsigned type[8];

	add_call(&files->writer, &files->chunk, 10, CALL_cuMemFree_v2);
	enter = trace_announced(&files->chunk);
	*enter = (struct enter_record){ .head = { ENTER_BYTES / TRACE_ALIGN, RECORD_ENTER, 0 },
		.call = CALL_cuLaunchKernel };
	assert_int_equal(types_of(files->trace, type, 8), 1);
	enter->enter = 20;
	assert_int_equal(types_of(files->trace, type, 8), 2);
	assert_int_equal(type[1], RECORD_ENTER);
	trace_forget_announced(&files->chunk);
	add_call(&files->writer, &files->chunk, 20, CALL_cuMemFree_v2);
	assert_int_equal(types_of(files->trace, type, 8), 2);
	assert_int_equal(type[1], RECORD_CALL);
	/* What is left of a call that ended with the process is not read. */
	enter = trace_announced(&files->chunk);
	*enter = (struct enter_record){ .head = { ENTER_BYTES / TRACE_ALIGN, RECORD_ENTER, 0 },
		.call = CALL_cuLaunchKernel,
		.enter = 30 };
	trace_finish(&files->writer);
	assert_int_equal(types_of(files->trace, type, 8), 2);
	/* ... and leaves nothing in a window that is used again. */
	trace_empty(&files->writer, &files->chunk);
	assert_int_equal(enter->enter, 0);
}

/* A window emptied before it is full: what it held and what follows is there, in order. */
WRITER_TEST(a_window_can_be_emptied_early)
{
	struct trace_reader reader;
	const struct record *record;
	uint32_t chunks;
	uint64_t enter = 0;

	trace_empty(&files->writer, &files->chunk);
	add_call(&files->writer, &files->chunk, 1, CALL_cuMemFree_v2);
	add_call(&files->writer, &files->chunk, 2, CALL_cuMemFree_v2);
	trace_empty(&files->writer, &files->chunk);
	chunks = files->writer.header->chunk_count;
	trace_empty(&files->writer, &files->chunk);
	assert_int_equal(files->writer.header->chunk_count, chunks);
	assert_int_equal(files->chunk.used, 0);
	add_call(&files->writer, &files->chunk, 3, CALL_cuMemFree_v2);
	assert_int_equal(trace_open(&reader, files->trace), 0);
	while (trace_next(&reader, &record) > 0)
		if (record->type == RECORD_CALL)
			assert_int_equal(((const struct call_record *)record)->enter, ++enter);
	assert_int_equal(enter, 3);
	trace_close(&reader);
}

static uint64_t cut_count(const char *path)
{
	struct file_header header;
	FILE *in = fopen(path, "r");

	assert_non_null(in);
	assert_int_equal(fread(&header, sizeof(header), 1, in), 1);
	fclose(in);
	assert_memory_equal(header.magic, TRACE_MAGIC, sizeof(header.magic));
	return header.counter[COUNT_CUT];
}

/* So much is left of it that nothing faults. */
WRITER_TEST(a_cut_file_is_noticed)
{
	for (uint64_t i = 0; i < 20000; i++)
		add_call(&files->writer, &files->chunk, i, CALL_cuMemFree_v2);
	assert_int_equal(truncate(files->trace, TRACE_HEADER_SIZE + 3 * TRACE_CHUNK_SIZE), 0);
	trace_empty(&files->writer, &files->chunk);
	assert_int_equal(files->writer.full, EIO);
	trace_finish(&files->writer);
	assert_int_equal(cut_count(files->trace), 1);
}

/* As a handler of SIGBUS does it: windows and header of a file that has none of them any more. */
WRITER_TEST(lost_mappings_are_replaced)
{
	uintptr_t header;

	add_call(&files->writer, &files->chunk, 1, CALL_cuMemFree_v2);
	header = (uintptr_t)files->writer.header;
	assert_int_equal(trace_lose(&files->writer, (uintptr_t)&files->writer), 0);
	assert_int_equal(files->writer.full, 0);
	assert_int_equal(truncate(files->trace, 0), 0);
	assert_int_equal(trace_lose(&files->writer,
				 (uintptr_t)files->chunk.header + TRACE_CHUNK_SIZE - 1),
		1);
	assert_int_equal(trace_lose(&files->writer, header + TRACE_HEADER_SIZE - 1), 1);
	assert_int_equal(trace_lose(&files->writer, header + TRACE_HEADER_SIZE), 0);
	for (unsigned i = 0; i < 20000; i++)
		trace_reserve(&files->writer, &files->chunk, 64, RECORD_CALL);
	assert_int_equal(cut_count(files->trace), 1);
	trace_finish(&files->writer);
	assert_true(files->writer.header->counter[COUNT_DROPPED_RECORDS] > 0);
}

FILES_TEST(undump_names_the_bad_line)
{
	static const char *const bad[] = {
		"",
		"chunk thread=1\n",
		"cufence-trace version=1.0\n",
		"cufence-trace version=1.0 chunk_size=4096 nonsense=1\n",
		"cufence-trace version=1.0 chunk_size=4096\nsite id=1\n",
		"cufence-trace version=1.0 chunk_size=4096\nchunk thread=1\ncall nothing\n",
		"cufence-trace version=1.0 chunk_size=4096\nchunk thread=1\nstring id=1 text=\"a\n",
		"cufence-trace version=1.0 chunk_size=4096\nchunk thread=1\nsite id=1 frames=1,x\n",
	};
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		FILE *in = fmemopen((void *)(uintptr_t)bad[i], strlen(bad[i]) + 1, "r");
		assert_int_equal(text_undump(in, "bad", files->copy), -1);
		assert_int_not_equal(access(files->copy, F_OK), 0);
		fclose(in);
	}
}
