/* SPDX-License-Identifier: Apache-2.0 */
/* The tool and the rules of a SARIF file say where people read about them. */
#include "miniature.h"

#undef CUFENCE_HOMEPAGE
#define CUFENCE_HOMEPAGE "https://example.org/cufence"
#include "sarif.c"

#include "verdict.h"

static char *sarif_of_an_empty_run(void)
{
	struct mini m;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	mini_init(&m);
	assert_int_equal(report_functions(&m.db), 0);
	assert_int_equal(verdict_begin(&m.db), 0);
	assert_int_equal(export_sarif(&m.db, out), 0);
	fclose(out);
	mini_release(&m);
	return text;
}

static void expect(struct sqlite3 *handle, const char *text, const char *path, const char *wanted)
{
	sqlite3_stmt *q = NULL;

	sqlite3_prepare_v2(handle, "SELECT json_extract(?, ?)", -1, &q, NULL);
	sqlite3_bind_text(q, 1, text, -1, SQLITE_STATIC);
	sqlite3_bind_text(q, 2, path, -1, SQLITE_STATIC);
	assert_int_equal(sqlite3_step(q), SQLITE_ROW);
	assert_string_equal((const char *)sqlite3_column_text(q, 0), wanted);
	sqlite3_finalize(q);
}

TEST(tool_and_rules_name_their_pages)
{
	char *text = sarif_of_an_empty_run(), path[64];
	sqlite3 *handle = NULL;

	assert_int_equal(sqlite3_open(":memory:", &handle), SQLITE_OK);
	expect(handle, text, "$.runs[0].tool.driver.informationUri", CUFENCE_HOMEPAGE);
	for (int i = 0; i < RULE_COUNT; i++) {
		snprintf(path, sizeof(path), "$.runs[0].tool.driver.rules[%d].helpUri", i);
		assert_memory_equal(rules[i].link, "https://", 8);
		expect(handle, text, path, rules[i].link);
	}
	sqlite3_close(handle);
	free(text);
}
