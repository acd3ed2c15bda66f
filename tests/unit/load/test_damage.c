/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace/: a file that is not all there, or not yet.  Whatever is cut off or overwritten is known
 * afterwards, and all that is whole is read.
 */
#include "unit.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calls.h"
#include "reader.h"
#include "writer.h"

#define PATH "test_damage.cft"
#define LIVE_PATH "test_damage_live.cft"
#define THREADS 3
#define CALLS 3000 /* of each: its window is emptied twice */

static const struct trace_start start = {
	.pid = 7,
	.parent_pid = 3,
	.clock = CLOCK_TICKS_VIRTUAL,
	.features = FEATURE_CALLS,
	.realtime_ns = 1000,
};

/* The number-th call of its thread, announced first as calls that may block are. */
static void add_call(struct trace_writer *writer, struct trace_chunk *chunk, uint64_t number)
{
	unsigned fields = call_types[CALL_cuMemFree_v2].field_count;
	struct enter_record *enter = trace_reserve(writer, chunk, sizeof(*enter), RECORD_ENTER);
	struct call_record *call;
	uint64_t written;

	assert_non_null(enter);
	enter->call = CALL_cuMemFree_v2;
	enter->enter = number;
	trace_commit(chunk);
	written = chunk->written;
	trace_take_back(chunk, sizeof(*enter), written);
	call = trace_reserve(writer, chunk, sizeof(*call) + fields * 8, RECORD_CALL);
	assert_non_null(call);
	call->call = CALL_cuMemFree_v2;
	call->enter = number;
	for (unsigned i = 0; i < fields; i++)
		call->field[i] = number;
	trace_commit(chunk);
}

struct sample {
	uint8_t *bytes;
	size_t size;
	unsigned records;
	size_t *end; /* of each record in the file */
};

static void write_trace(const char *path, int closed)
{
	struct trace_writer writer = { 0 };
	struct trace_chunk chunk[THREADS] = { 0 };

	unlink(path);
	assert_int_equal(trace_create(&writer, path, &start), 0);
	for (uint32_t i = 0; i < THREADS; i++)
		chunk[i].thread = 100 + i;
	for (uint64_t n = 1; n <= CALLS; n++)
		for (unsigned i = 0; i < THREADS; i++)
			add_call(&writer, &chunk[i], n);
	if (closed)
		trace_finish(&writer);
	for (unsigned i = 0; i < THREADS; i++)
		trace_chunk_close(&writer, &chunk[i]);
	trace_abandon(&writer);
}

static unsigned count_records(struct trace_reader *reader)
{
	const struct record *record;
	unsigned count = 0;

	while (trace_next(reader, &record))
		count++;
	return count;
}

static struct sample make_sample(int closed)
{
	struct sample sample = { 0 };
	struct trace_reader reader;
	const struct record *record;
	FILE *file;

	write_trace(PATH, closed);
	file = fopen(PATH, "rb");
	fseek(file, 0, SEEK_END);
	sample.size = (size_t)ftell(file);
	rewind(file);
	sample.bytes = malloc(sample.size);
	assert_int_equal(fread(sample.bytes, 1, sample.size, file), sample.size);
	fclose(file);
	unlink(PATH);
	assert_int_equal(trace_open_memory(&reader, sample.bytes, sample.size), 0);
	sample.records = count_records(&reader);
	assert_int_equal(sample.records, CALL_COUNT + THREADS * CALLS);
	assert_true(trace_is_whole(&reader));
	sample.end = calloc(sample.records, sizeof(*sample.end));
	trace_rewind(&reader);
	for (unsigned i = 0; trace_next(&reader, &record); i++)
		sample.end[i] =
			(size_t)((const uint8_t *)record - sample.bytes) + record_bytes(record);
	trace_close(&reader);
	return sample;
}

static void release(struct sample *sample)
{
	free(sample->bytes);
	free(sample->end);
}

/* Reads size bytes of it: how many records, and whether it is known not to be all. */
static unsigned read_sample(const struct sample *sample, size_t size, int *whole)
{
	struct trace_reader reader;
	unsigned count;

	assert_int_equal(trace_open_memory(&reader, sample->bytes, size), 0);
	count = count_records(&reader);
	*whole = trace_is_whole(&reader);
	assert_true(*whole || reader.error[0]);
	trace_close(&reader);
	return count;
}

TEST(a_cut_is_known_and_the_rest_is_read)
{
	struct sample sample = make_sample(1);
	int whole;

	for (size_t cut = TRACE_HEADER_SIZE; cut < sample.size; cut += 1573) {
		unsigned left = 0;

		/* At any place within 8 bytes, and right before the end. */
		cut = cut + 1573 < sample.size ? cut : sample.size - 1;
		for (unsigned i = 0; i < sample.records; i++)
			left += sample.end[i] <= cut;
		assert_int_equal(read_sample(&sample, cut, &whole), left);
		assert_false(whole);
	}
	release(&sample);
}

/* A chunk, its header or a page that became zeros; closed or left by a kill. */
TEST(zeros_are_known)
{
	for (int closed = 0; closed < 2; closed++) {
		struct sample sample = make_sample(closed);
		uint8_t *chunk = sample.bytes + TRACE_HEADER_SIZE, spare[TRACE_CHUNK_SIZE];
		int whole;

		for (; chunk < sample.bytes + sample.size; chunk += TRACE_CHUNK_SIZE) {
			const struct chunk_header *header = (const struct chunk_header *)chunk;
			size_t left = sample.size - (size_t)(chunk - sample.bytes);
			size_t all = left < TRACE_CHUNK_SIZE ? left : TRACE_CHUNK_SIZE;
			size_t used = sizeof(*header) + header->committed;
			size_t sizes[] = { all, sizeof(*header), 4096, 4096 };
			size_t from[] = { 0, 0, 0, used > 8192 ? used / 8192 * 4096 : 0 };

			for (unsigned i = 0; i < 4; i++) {
				memcpy(spare, chunk, all);
				memset(chunk + from[i], 0, sizes[i]);
				read_sample(&sample, sample.size, &whole);
				assert_false(whole);
				memcpy(chunk, spare, all);
			}
		}
		read_sample(&sample, sample.size, &whole);
		assert_true(whole);
		release(&sample);
	}
}

/* Records at the end of a chunk that no longer count. */
TEST(a_lower_commit_offset_is_known)
{
	struct sample sample = make_sample(1);
	uint8_t *chunk = sample.bytes + TRACE_HEADER_SIZE;
	int whole;

	for (; chunk < sample.bytes + sample.size; chunk += TRACE_CHUNK_SIZE) {
		struct chunk_header *header = (struct chunk_header *)chunk;

		if (!header->committed)
			continue;
		header->committed -= 8 * ((const struct record *)(header + 1))->words;
		read_sample(&sample, sample.size, &whole);
		assert_false(whole);
		header->committed += 8 * ((const struct record *)(header + 1))->words;
	}
	release(&sample);
}

/* One whose inside cannot be is left out alone, as where the next one begins is known. */
TEST(a_damaged_record_is_left_out_alone)
{
	struct sample sample = make_sample(1);
	struct call_record *call = (struct call_record *)(sample.bytes + sample.end[CALL_COUNT]);
	int whole;

	call->call = UINT16_MAX;
	assert_int_equal(read_sample(&sample, sample.size, &whole), sample.records - 1);
	assert_false(whole);
	release(&sample);
}

/* Writes a trace of one record with that content, and returns how many can be read. */
static unsigned read_record(enum record_type type, const void *content, size_t bytes)
{
	struct trace_writer writer = { 0 };
	struct trace_chunk chunk = { 0 };
	struct trace_reader reader;
	struct record *record;
	unsigned count;

	unlink(PATH);
	assert_int_equal(trace_create(&writer, PATH, &start), 0);
	record = trace_reserve(&writer, &chunk, bytes, type);
	assert_non_null(record);
	memcpy(record + 1, (const struct record *)content + 1, bytes - sizeof(*record));
	trace_commit(&chunk);
	trace_finish(&writer);
	trace_chunk_close(&writer, &chunk);
	trace_abandon(&writer);
	assert_int_equal(trace_open(&reader, PATH), 0);
	count = count_records(&reader) - CALL_COUNT;
	assert_int_equal(trace_is_whole(&reader), count == 1);
	trace_close(&reader);
	unlink(PATH);
	return count;
}

/* The analyzer keeps the state of each device up to the last: 28656 took 469 MB. */
TEST(a_number_that_no_device_has_is_damage)
{
	static const int number[] = { -2, -1, 0, TRACE_DEVICES - 1, TRACE_DEVICES, 28656 };
	static const unsigned is_device[] = { 0, 0, 1, 1, 0, 0 };

	for (size_t i = 0; i < sizeof(number) / sizeof(*number); i++) {
		struct device_record device = { .device = (uint16_t)number[i] };
		struct context_record context = { .device = number[i] };
		struct device_info_record info = { .device = (uint32_t)number[i] };
		int is_unknown = number[i] == -1;

		assert_int_equal(read_record(RECORD_DEVICE, &device, sizeof(device)), is_device[i]);
		assert_int_equal(read_record(RECORD_DEVICE_INFO, &info, sizeof(info)),
			is_device[i]);
		assert_int_equal(read_record(RECORD_CONTEXT, &context, sizeof(context)),
			is_device[i] || is_unknown);
	}
}

/* Version 1.0 says nothing of how much there is: what lacks a whole window is not known. */
TEST(a_trace_of_version_1_0_is_read)
{
	struct sample sample = make_sample(1);
	struct file_header *header = (struct file_header *)sample.bytes;
	size_t known = offsetof(struct file_header, written);
	int whole;

	header->version_minor = 0;
	memset(sample.bytes + known, 0, sizeof(*header) - known);
	assert_int_equal(read_sample(&sample, sample.size, &whole), sample.records);
	assert_true(whole);
	read_sample(&sample, sample.end[sample.records / 2] - 1, &whole);
	assert_false(whole);
	release(&sample);
}

/* Finds the last call number of each thread; the numbers must be complete from 1 on. */
static void check_prefix(struct trace_reader *reader, uint64_t last[THREADS])
{
	const struct record *record;

	memset(last, 0, THREADS * sizeof(*last));
	while (trace_next(reader, &record)) {
		const struct call_record *call = (const struct call_record *)record;

		if (record->type != RECORD_CALL)
			continue;
		assert_in_range(reader->thread, 100, 100 + THREADS - 1);
		assert_int_equal(call->enter, ++last[reader->thread - 100]);
		assert_int_equal(call->field[0], call->enter);
	}
}

/* Read while it is written: what was published, up to some record of each thread. */
TEST(a_growing_trace_is_read_as_it_was)
{
	uint64_t last[THREADS], before[THREADS] = { 0 };
	struct trace_reader reader;
	pid_t child = fork();

	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			write_trace(LIVE_PATH, 1);
	}
	while (access(LIVE_PATH, F_OK))
		usleep(100);
	for (unsigned i = 0; i < 200; i++) {
		struct stat file;

		/* Between two traces there is none. */
		if (stat(LIVE_PATH, &file) || trace_open(&reader, LIVE_PATH)) {
			if (!stat(LIVE_PATH, &file))
				trace_close(&reader);
			continue;
		}
		check_prefix(&reader, last);
		assert_string_equal(reader.error, "");
		assert_true(trace_is_whole(&reader));
		/* Again the same, whatever has been written since. */
		trace_forget(&reader);
		trace_rewind(&reader);
		check_prefix(&reader, before);
		assert_memory_equal(before, last, sizeof(last));
		trace_close(&reader);
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	unlink(LIVE_PATH);
	unlink(LIVE_PATH TRACE_UNFINISHED);
}

/* Reads beyond its new end give zeros, and no signal. */
TEST(a_trace_that_becomes_shorter_is_read)
{
	struct trace_reader reader;
	struct stat file;
	unsigned before, after;

	write_trace(PATH, 1);
	assert_int_equal(stat(PATH, &file), 0);
	assert_int_equal(trace_open(&reader, PATH), 0);
	before = count_records(&reader);
	assert_true(trace_is_whole(&reader));
	trace_rewind(&reader);
	assert_int_equal(truncate(PATH, file.st_size / 2), 0);
	after = count_records(&reader);
	assert_in_range(after, CALL_COUNT, before - 1);
	assert_false(trace_is_whole(&reader));
	trace_close(&reader);
	unlink(PATH);
}

/* Holes are no chunks, and are not looked at one by one. */
TEST(a_sparse_file_costs_nothing)
{
	struct trace_reader reader;

	write_trace(PATH, 1);
	assert_int_equal(truncate(PATH, INT64_C(1) << 42), 0);
	assert_int_equal(trace_open(&reader, PATH), 0);
	assert_int_equal(count_records(&reader), CALL_COUNT + THREADS * CALLS);
	assert_true(trace_is_whole(&reader));
	trace_close(&reader);
	unlink(PATH);
}
