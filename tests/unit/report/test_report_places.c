/* SPDX-License-Identifier: Apache-2.0 */
/* Places of a finding as text, with their lines of the source. */
#include "miniature.h"

#include <unistd.h>

#include "report_facts.h"
#include "report_places.h"

static char *printed(struct mini *m, const struct report_options *options)
{
	const struct report_places places = { .finding = 1, .lines = 1, .places = 1 };
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(report_print_places(&m->db, &places, options, out), 0);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void expect(struct mini *m, struct report_options options, const char *wanted)
{
	char *text = printed(m, &options);

	assert_string_equal(text, wanted);
	free(text);
}

#define AT "    at   train                 mini.cu:2\n"

MINI_TEST(a_line_of_the_source_fits_the_terminal)
{
	char path[] = "/tmp/cufence.XXXXXX.py";
	FILE *file = fdopen(mkstemps(path, 3), "w");
	long long site = mini_site(m, "train", 2);

	assert_non_null(file);
	assert_true(fputs("\n    loss = \xc3\xa4 + x.\033[1mitem()\n", file) >= 0);
	assert_int_equal(fclose(file), 0);
	mini_exec(m,
		"UPDATE run SET start_unix_ns = 9000000000000000000;"
		"UPDATE site SET file = '%s' WHERE id = %lld;"
		"INSERT INTO finding_place (finding, shown, count, waited, delayed, share, site, "
		" confidence, message, fingerprint) "
		"VALUES (1, 1, 1, 0, 0, 0, %lld, 'certain', '', '')",
		path, site, site);
	assert_int_equal(report_functions(&m->db), 0);
	expect(m, (struct report_options){ 0 },
		AT "       2 | loss = \xc3\xa4 + x.\\x1b[1mitem()\n");
	expect(m, (struct report_options){ .width = 25 }, AT "       2 | loss = \xc3\xa4 + ...\n");
	expect(m, (struct report_options){ .width = 10 }, AT);
	expect(m, (struct report_options){ .undrawn = 1 }, AT);
	unlink(path);
}
