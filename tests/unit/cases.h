/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests as text: the file beside a test has programs (program_text.h) and what is said of each,
 * once it is analyzed.
 *
 *	let NAME = STATEMENTS	a verb that stands for these; what follows it is added to the last
 *	query NAME = SQL	what =NAME> asks; the one without a name is that of =>
 *	a sentence		the name of a test, whose cases follow
 *		PROGRAM => WANTED =NAME> WANTED...
 *			a line deeper than a case goes on with it
 *	# a comment
 *
 * A statement of a case may be 3 { STATEMENTS }, as often as that; in them % is the number of the
 * turn, from 0 on.
 */
#ifndef CUFENCE_TESTS_CASES_H
#define CUFENCE_TESTS_CASES_H

#include "program_text.h"

enum { CASES_MOST = 200, CASES_TESTS = 60, CASES_WORDS = 40 };

/* let or query */
struct cases_word {
	char *name, *text;
};

struct cases {
	struct cases_word let[CASES_WORDS], query[CASES_WORDS];
	size_t lets, queries;
	struct cases_test {
		char *name;
		char *text[CASES_MOST];
		int line[CASES_MOST];
		size_t count;
	} test[CASES_TESTS];
	size_t tests;
};

static struct cases cases_read;

static inline char *cases_join(char *text, const char *more)
{
	char *joined;

	assert_true(asprintf(&joined, "%s %s", text, more) > 0);
	free(text);
	return joined;
}

static inline char **cases_word(struct cases_word *words, size_t *count, const char *line)
{
	const char *equal = strstr(line, "= ");
	struct cases_word *word = &words[(*count)++];

	assert_true(*count < CASES_WORDS);
	assert_non_null(equal);
	word->name = strndup(line, strcspn(line, " ="));
	word->text = strdup(equal + 2);
	return &word->text;
}

static inline void cases_load(const char *name)
{
	struct cases *c = &cases_read;
	char path[512], *line = NULL, **last = NULL;
	const char *data = getenv("TEST_DATA");
	size_t room = 0, tabs;
	FILE *in;
	int number = 0;

	snprintf(path, sizeof(path), "%s/../unit/%s", data ? data : "tests/data", name);
	in = fopen(path, "r");
	if (!in) {
		perror(path);
		exit(1);
	}
	while (getline(&line, &room, in) > 0) {
		struct cases_test *test = c->tests ? &c->test[c->tests - 1] : NULL;

		number++;
		line[strcspn(line, "\n")] = '\0';
		tabs = strspn(line, "\t");
		if (!line[tabs] || line[tabs] == '#')
			continue;
		if (tabs > 1) {
			*last = cases_join(*last, line + tabs);
		} else if (tabs) {
			test->line[test->count] = number;
			last = &test->text[test->count++];
			*last = strdup(line + 1);
		} else if (!strncmp(line, "let ", 4)) {
			last = cases_word(c->let, &c->lets, line + 4);
		} else if (!strncmp(line, "query ", 6)) {
			last = cases_word(c->query, &c->queries, line + 6);
		} else {
			c->test[c->tests++].name = strdup(line);
		}
	}
	free(line);
	fclose(in);
}

static inline const char *cases_find(const struct cases_word *words, size_t count, const char *name,
	size_t length)
{
	for (size_t i = 0; i < count; i++)
		if (strlen(words[i].name) == length && !strncmp(words[i].name, name, length))
			return words[i].text;
	return NULL;
}

/* A statement, whose verb may be a word. */
static inline void cases_do(struct program *p, const char *text)
{
	const char *verb = text + strspn(text, " "), *label = "", *meaning, *failed = "";
	size_t length = strcspn(verb, " "), labelled = 0;

	if (length && verb[length - 1] == ':') {
		label = verb;
		labelled = length;
		verb += length + strspn(verb + length, " ");
		length = strcspn(verb, " ");
	}
	if (*verb == '!') {
		failed = "!";
		verb++;
		length--;
	}
	meaning = cases_find(cases_read.let, cases_read.lets, verb, length);
	if (!meaning) {
		program_do(p, "%s", text);
		return;
	}
	while (strchr(meaning, ';')) {
		char *first = strndup(meaning, strcspn(meaning, ";"));

		cases_do(p, first);
		free(first);
		meaning = strchr(meaning, ';') + 1;
	}
	char *last;

	meaning += strspn(meaning, " ");
	assert_true(asprintf(&last, "%.*s %s%s%s", (int)labelled, label, failed, meaning,
			    verb + length) > 0);
	cases_do(p, last);
	free(last);
}

/* The next " =NAME> " of a text, or its end. */
static inline char *cases_mark(char *text)
{
	for (char *at = strstr(text, " ="); at; at = strstr(at + 1, " =")) {
		size_t length = strspn(at + 2, "abcdefghijklmnopqrstuvwxyz_");

		if (at[2 + length] == '>')
			return at;
	}
	return text + strlen(text);
}

static inline void cases_repeat(struct program *p, char *text);

static inline void cases_statements(struct program *p, char *text)
{
	char *end;

	for (; text; text = end ? end + 1 : NULL) {
		char *times = text + strspn(text, " ");

		end = strchr(text, ';');
		if (isdigit((unsigned char)*times) && strchr(times, '{') &&
			(!end || strchr(times, '{') < end)) {
			char *close = strchr(times, '}');

			assert_non_null(close);
			end = strchr(close, ';');
			*close = '\0';
			cases_repeat(p, times);
			*close = '}';
			continue;
		}
		if (end)
			*end = '\0';
		cases_do(p, text);
		if (end)
			*end = ';';
	}
}

static inline void cases_repeat(struct program *p, char *text)
{
	int times = atoi(text);

	for (int i = 0; i < times; i++) {
		char *turn = NULL;
		size_t size = 0;
		FILE *out = open_memstream(&turn, &size);

		for (const char *at = strchr(text, '{') + 1; *at; at++) {
			if (*at == '%')
				fprintf(out, "%d", i);
			else
				fputc(*at, out);
		}
		fclose(out);
		cases_statements(p, turn);
		free(turn);
	}
}

static inline int cases_check(struct program *p, char *at, int line)
{
	int wrong = 0;

	while (*at) {
		size_t length = strcspn(at + 2, ">");
		const char *sql = cases_find(cases_read.query, cases_read.queries, at + 2, length);
		char *wanted = at + 2 + length + 1, *next = cases_mark(wanted), *text;
		const char *got;

		if (!sql)
			fail_msg("line %d: no query '%.*s'", line, (int)length, at + 2);
		wanted += strspn(wanted, " ");
		text = strndup(wanted, next > wanted ? (size_t)(next - wanted) : 0);
		got = mini_text(&p->m, sql);
		if (strcmp(got, text)) {
			print_message("line %d: \"%s\", not \"%s\"\n", line, got, text);
			wrong++;
		}
		free(text);
		at = next;
	}
	return wrong;
}

static inline void cases_run(void **state)
{
	const struct cases_test *test = *state;
	int wrong = 0;

	for (size_t i = 0; i < test->count; i++) {
		struct program *p = malloc(sizeof(*p));
		char *mark = cases_mark(test->text[i]);

		assert_true(*mark);
		*mark = '\0';
		program_begin(p);
		cases_statements(p, test->text[i]);
		*mark = ' ';
		/* Whoever analyzes again finds the same. */
		assert_int_equal(analyze(&p->m.db), 0);
		assert_int_equal(analyze(&p->m.db), 0);
		wrong += cases_check(p, mark, test->line[i]);
		mini_release(&p->m);
		free(p);
	}
	assert_int_equal(wrong, 0);
	assert_true(test->count > 0);
}

/* The tests of a file in tests/unit, and others. */
static inline int cases_main(const char *name, const struct CMUnitTest *others, size_t count)
{
	struct CMUnitTest tests[CASES_TESTS * 2];

	cases_load(name);
	assert_true(cases_read.tests + count < CASES_TESTS * 2);
	for (size_t i = 0; i < cases_read.tests; i++)
		tests[i] = (struct CMUnitTest){ cases_read.test[i].name, cases_run, NULL, NULL,
			&cases_read.test[i] };
	if (count)
		memcpy(tests + cases_read.tests, others, count * sizeof(*tests));
	return _cmocka_run_group_tests(name, tests, cases_read.tests + count, NULL, NULL);
}

#endif
