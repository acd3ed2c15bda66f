/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <zlib.h>

#include "rules.h"
#include "html.h"
#include "html_json.h"
#include "html_pack.h"
#include "merge.h"

/* Some, each as wide as the page has room for. */
static void expect_lines(const char *text)
{
	assert_true(*text);
	for (; *text; text += strcspn(text, "\n") + 1)
		if (strcspn(text, "\n") > 76)
			fail_msg("too long: %s", text);
}

TEST(every_rule_has_its_fix)
{
	for (int rule = 0; rule < RULE_COUNT; rule++) {
		const struct fix *fix = fix_find(rules[rule].id);

		if (!fix || !fix->cpp || !fix->pytorch)
			fail_msg("%s has no fix in doc/RULES.md", rules[rule].id);
		expect_lines(fix->cpp);
		expect_lines(fix->pytorch);
	}
	assert_null(fix_find("no-rule"));
}

static size_t from_base64(const char *text, unsigned char *bytes)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t count = 0;
	uint32_t bits = 0;

	for (size_t i = 0; text[i] && text[i] != '='; i++) {
		const char *digit = strchr(digits, text[i]);

		assert_non_null(digit);
		bits = bits << 6 | (uint32_t)(digit - digits);
		if (i % 4)
			bytes[count++] = (unsigned char)(bits >> (6 - 2 * (i % 4)));
	}
	return count;
}

static int64_t read_number(const unsigned char **at)
{
	uint64_t bits = 0;
	int shift = 0;

	do
		bits |= (uint64_t)(**at & 127) << shift;
	while (shift += 7, *(*at)++ & 128);
	return (int64_t)(bits >> 1) ^ -(int64_t)(bits & 1);
}

/* So many numbers that one, two or no bytes are left for the last four letters of base64. */
static void expect_numbers(const int64_t *number, size_t count)
{
	char *text = NULL;
	size_t size;
	unsigned char packed[4096], plain[4096];
	const unsigned char *at = plain;
	FILE *out = open_memstream(&text, &size);
	struct pack *pack = pack_open(out);
	z_stream stream = { .next_in = packed, .next_out = plain, .avail_out = sizeof(plain) };

	for (size_t i = 0; i < count; i++)
		pack_number(pack, number[i]);
	assert_int_equal(pack_close(pack), 0);
	fclose(out);
	assert_int_equal(size % 4, 0);
	stream.avail_in = (uInt)from_base64(text, packed);
	assert_int_equal(inflateInit2(&stream, -MAX_WBITS), Z_OK);
	assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
	inflateEnd(&stream);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(read_number(&at), number[i]);
	assert_ptr_equal(at, stream.next_out);
	free(text);
}

TEST(numbers_come_back)
{
	const int64_t numbers[] = { 0, -1, 1, 63, 64, -64, -65, 8191, 8192, 1 << 27, INT32_MIN,
		INT64_C(1) << 53, INT64_MAX, INT64_MIN, 5, 6, 7 };

	for (size_t count = 0; count <= sizeof(numbers) / sizeof(*numbers); count++)
		expect_numbers(numbers, count);
}

TEST(json_ends_no_script)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	const char *json = "[\"</script><!--\", \"\xff\", \"\xe2\x80\xae\"]";

	json_embed(out, json, strlen(json));
	fclose(out);
	assert_string_equal(text, "[\"\\u003c/script>\\u003c!--\", \"\\ufffd\", \"\\u202e\"]");
	free(text);
	out = open_memstream(&text, &size);
	json_text(out, "a\"b\\c\n\x01");
	fclose(out);
	assert_string_equal(text, "\"a\\\"b\\\\c\\u000a\\u0001\"");
	free(text);
}

/* The page of what SQL makes. */
static char *page_of(const char *sql, int64_t finding, int rc)
{
	const struct report_options options = { .finding = finding };
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	struct db db;

	assert_int_equal(db_create(&db, DB_MEMORY), 0);
	assert_int_equal(db_exec(&db, sql), 0);
	assert_int_equal(merge_begin(&db), 0);
	assert_int_equal(merge_findings(&db, options.finding), 0);
	assert_int_equal(report_html(&db, &options, out), rc);
	fclose(out);
	db_close(&db);
	return text;
}

static void has(const char *text, const char *part)
{
	if (!text || !strstr(text, part))
		fail_msg("'%s' is not in:\n%.4000s", part, text ? text : "");
}

#define RUN_SQL \
	"INSERT INTO run VALUES (0, 'x', './app');" \
	"INSERT INTO process VALUES (1,7,1,0,1000000000,1,0,'tsc',10,'on',0,0,0,'t');" \
	"INSERT INTO thread VALUES (1,1,7,'app',NULL,NULL);"

TEST(a_run_without_anything_has_a_page)
{
	char *text = page_of("", 0, 0);

	has(text, "\"lanes\":[]");
	has(text, "nothing was traced");
	free(text);
	text = page_of(RUN_SQL, 0, 0);
	has(text, "\"lanes\":[]");
	free(text);
}

TEST(nothing_is_written_where_it_fails)
{
	char *text = page_of(RUN_SQL "DROP TABLE event_wait;", 0, -1);

	assert_string_equal(text, "");
	free(text);
}

/* As a damaged database may hold them: times at both ends, in no order, calls in a circle. */
TEST(times_may_be_anything)
{
	char *text = page_of(RUN_SQL
		"INSERT INTO call_type VALUES (1,'cudaFree','runtime',1);"
		"INSERT INTO call (id,process,thread,type,enter,exit,per_thread,parent) VALUES"
		" (1,1,1,1,0,9223372036854775807,0,NULL),(2,1,1,1,9223372036854775807,0,0,NULL),"
		" (3,1,1,1,-9223372036854775807,5,0,NULL),(4,1,1,1,7,NULL,0,NULL),"
		" (5,1,1,1,8,9,0,6),(6,1,1,1,8,9,0,5);"
		"INSERT INTO operation (id,process,call,kind,start,end,device,correlation,bytes)"
		" VALUES (1,1,5,'kernel',9223372036854775807,0,0,1,-5),"
		" (2,1,99,'odd',3,9223372036854775807,-4,2,9223372036854775807),"
		" (3,1,4,'memcpy',NULL,4,0,3,NULL);"
		"INSERT INTO wait VALUES (1,1,'explicit',2,9223372036854775807,0,NULL,NULL),"
		" (2,1,'explicit',2,9223372036854775807,0,NULL,NULL),"
		" (3,4,'explicit',77,-9223372036854775807,0,NULL,NULL);",
		0, 0);

	has(text, "\"count\":3,\"label\":\"app\"");
	has(text, "\"device\":-4,\"stream\":true,\"count\":1,\"label\":\"no stream\"");
	has(text, "\"cudaFree\"");
	free(text);
}

TEST(a_finding_that_is_not_there_has_no_page)
{
	char *text = page_of(RUN_SQL, 3, -1);

	assert_string_equal(text, "");
	free(text);
}
