/* SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include "pass.h"
#include "rules.h"

static const char *all_rows(struct program *p)
{
	return mini_text(&p->m,
		"SELECT (SELECT count(*) || total(call * needs) FROM dependency) || "
		"(SELECT group_concat(w.id || call || kind || op || waited || "
		"avoidable) FROM wait w) "
		"|| (SELECT count(*) || total(held) FROM hold) || "
		"(SELECT group_concat(id || message || fingerprint || share) FROM "
		"finding_place) || (SELECT count(*) FROM finding_also)");
}

static struct program *begin(const char *name)
{
	struct program *p = calloc(1, sizeof(*p));
	char *text = strdup(name);

	program_begin(p);
	cases_statements(p, text);
	free(text);
	assert_int_equal(analyze(&p->m.db), 0);
	return p;
}

TEST(analyzing_twice_gives_the_same_rows)
{
	struct program *p = begin("tiles; at 0; rounds +2");
	char first[1024];

	snprintf(first, sizeof(first), "%s", all_rows(p));
	assert_true(strlen(first) > 100);
	assert_int_equal(analyze(&p->m.db), 0);
	assert_string_equal(all_rows(p), first);
	mini_release(&p->m);
	free(p);
}

TEST(a_failed_analysis_leaves_the_old_rows)
{
	struct program *p = begin("tiles");
	char first[1024];

	snprintf(first, sizeof(first), "%s", all_rows(p));
	mini_exec(&p->m,
		"CREATE TRIGGER no_findings BEFORE INSERT ON finding "
		"BEGIN SELECT RAISE(ABORT, 'as the test wants it'); END");
	fprintf(stderr, "(the next message is expected) ");
	assert_int_equal(analyze(&p->m.db), -1);
	assert_string_equal(all_rows(p), first);
	mini_release(&p->m);
	free(p);
}

TEST(every_rule_is_complete)
{
	for (int i = 0; i < RULE_COUNT; i++) {
		assert_ptr_equal(rule_find(rules[i].id), &rules[i]);
		assert_non_null(rules[i].pass->run);
		assert_non_null(rules[i].pass->say);
		assert_non_null(strstr(rules[i].link, "https://docs.nvidia.com/"));
	}
	assert_null(rule_find("no-such-rule"));
}
