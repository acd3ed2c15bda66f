/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <unistd.h>

#include "db.h"
#include "places.h"
#include "words.h"

#define DATABASE "test_places.db"

/* Sites 1 to 3, each with a call of its number; the third frame is CUDA's. */
static const char program[] =
	"INSERT INTO process VALUES (1,1,1,0,0,1,0,'tsc',0,'on',0,0,0,'');"
	"INSERT INTO thread (id, process, tid) VALUES (1,1,1);"
	"INSERT INTO module VALUES "
	" (1,1,0x10000,0x20000,0x3000,'/opt/a b/app','0123456789abcdef01');"
	"INSERT INTO module VALUES (2,1,0x30000,0x40000,0,'/opt/lib.so',NULL);"
	"INSERT INTO call_type VALUES (1,'cudaFree','free',1);"
	"INSERT INTO site (id, process, number) VALUES (1,1,1),(2,1,2),(3,1,3);"
	"INSERT INTO frame (site, depth, address, module, user) VALUES "
	" (1,0,0x30010,2,0),(1,1,0x10100,1,1),(1,2,0x10900,1,1),"
	" (2,0,0x30010,2,0),(2,1,0x10200,1,1),(2,2,0x10900,1,1),"
	" (3,0,0x30020,2,0),(3,1,0x30030,2,0);"
	"INSERT INTO call (id, process, thread, type, enter, site, per_thread) VALUES "
	" (1,1,1,1,0,1,0),(2,1,1,1,1,2,0),(3,1,1,1,2,3,0);";

static void expect(struct db *db, const char *const wanted[3])
{
	struct words *words = words_open(db);
	struct places *places = places_open(db, words);

	assert_non_null(places);
	for (int64_t i = 1; i <= 3; i++) {
		char *text = NULL;
		size_t size;
		FILE *out = open_memstream(&text, &size);

		assert_int_equal(places_print(places, i, i, out), 0);
		fclose(out);
		assert_string_equal(text, wanted[i - 1]);
		free(text);
	}
	places_close(places);
	words_close(words);
}

static void database(struct db *db, const char *more)
{
	unlink(DATABASE);
	assert_int_equal(db_create(db, DATABASE), 0);
	assert_int_equal(db_exec(db, program), 0);
	assert_int_equal(db_exec(db, more), 0);
}

TEST(without_symbols_the_file_and_its_offset_name_a_place)
{
	struct db db;

	database(&db, "");
	expect(&db,
		(const char *const[]){ " app@0123456789ab+0x3100", " app@0123456789ab+0x3200",
			" lib.so+0x30" });
	db_close(&db);
	unlink(DATABASE);
}

TEST(without_lines_calls_of_a_function_are_counted)
{
	struct db db;

	database(&db, "UPDATE site SET function = 'work'");
	expect(&db, (const char *const[]){ " work#2", " work#3", " work#1" });
	db_close(&db);
	unlink(DATABASE);
}

TEST(with_lines_lines_of_a_function_are_counted)
{
	struct db db;

	database(&db, "UPDATE site SET function = 'work', file = 'a.cu', line = 30 - id / 2");
	expect(&db, (const char *const[]){ " work#2", " work#1", " work#1" });
	db_close(&db);
	unlink(DATABASE);
}
