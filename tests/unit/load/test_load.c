/* SPDX-License-Identifier: Apache-2.0 */
/* Traces that are damaged, or given twice; the others are in the text. */
#include "cases.h"

#define TRACE "test_load.cft"

/* Loads the files of test_load. */
static struct db load(char **paths, size_t count)
{
	struct db db;

	unlink("test_load.db");
	assert_int_equal(db_create(&db, "test_load.db"), 0);
	assert_int_equal(load_traces(&db, paths, count, NULL, 0), 0);
	return db;
}

TEST(what_is_missing_is_counted)
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
	db = load(paths, 1);
	trace_text_expect(&db, "SELECT reason || '=' || count FROM loss ORDER BY reason",
		"dropped_records=12 host_only=1 not_closed=1");
	trace_text_expect(&db, "SELECT cupti || cupti_error FROM process", "busy39");
	trace_text_finish(&db, "test_load");
}

TEST(what_is_whole_of_a_damaged_trace_is_loaded)
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
	db = load(paths, 1);
	trace_text_expect(&db, "SELECT name FROM call JOIN call_type t ON t.id = type",
		"cuCtxSynchronize");
	trace_text_expect(&db,
		"SELECT reason || '=' || count FROM loss WHERE reason <> 'clock_estimated'",
		"damaged=1");
	trace_text_finish(&db, "test_load");
}

/* The second of three calls is of a number that the trace does not define. */
TEST(a_damaged_call_is_not_read_again)
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
	db = load(paths, 1);
	trace_text_expect(&db, "SELECT enter FROM call ORDER BY id", "1 5");
	trace_text_finish(&db, "test_load");
}

TEST(a_process_given_twice_is_loaded_once)
{
	char *paths[] = { TRACE, TRACE, "test_load_copy.cft" };
	struct db db;

	trace_text_make("call cuInit enter=1 duration=1 | flags=0x0\n", TRACE);
	trace_text_make("call cuInit enter=1 duration=1 | flags=0x0\n", paths[2]);
	db = load(paths, 3);
	trace_text_expect(&db, "SELECT count(*) FROM process", "1");
	trace_text_expect(&db, "SELECT count(*) FROM call", "1");
	unlink(paths[2]);
	trace_text_finish(&db, "test_load");
}
