/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests as text: the .txt file of a test has programs (program_text.h) and what is found in each,
 * once it is analyzed; no build is needed to change it.
 *
 *	traces | unanalyzed | texts	not programs but traces (trace_text.h), which are loaded;
 *				programs that are not analyzed; texts, which the test's own
 *				functions are asked about
 *	let NAME = STATEMENTS	a verb that stands for these; what follows it is put in place of
 *				$1, $2 and so on, the rest behind the last of them
 *	query NAME = SQL	what =NAME> asks; the one without a name is that of =>
 *	a_name			of a test, whose cases follow
 *		PROGRAM => WANTED =NAME> WANTED...
 *			a line deeper than a case goes on with it, after a blank if the one before
 *			does not end in \
 *	# a comment
 *
 * A statement of a case may be 3 { STATEMENTS }, as often as that; in them % is the number of the
 * turn, from 0 on.
 */
#ifndef CUFENCE_TESTS_CASES_H
#define CUFENCE_TESTS_CASES_H

#include "program_text.h"
#include "trace_text.h"

enum { CASES_MOST = 200, CASES_TESTS = 60, CASES_WORDS = 60 };

/* let or query */
struct cases_word {
	char *name, *text;
};

/* What =NAME> asks, answered by a function; valid until the next one. */
struct cases_answer {
	const char *name;
	const char *(*ask)(struct program *p);
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
	int is_trace, is_read, is_text;
	char *name;         /* of a trace's files */
	char *text;         /* of the case, its words replaced */
	const char *wanted; /* of what is asked */
	struct cases_answer answer[CASES_WORDS];
	size_t answers;
};

static struct cases cases_read;

/* ANSWER(NAME) { ... }: what =NAME> asks of program p; => asks for "found". */
#define ANSWER(what) \
	static const char *answer_##what(struct program *p); \
	UNIT_AT_START(add_answer_##what) \
	{ \
		assert_true(cases_read.answers < CASES_WORDS); \
		cases_read.answer[cases_read.answers].name = #what; \
		cases_read.answer[cases_read.answers++].ask = answer_##what; \
	} \
	static const char *answer_##what(struct program *p)

static struct {
	FILE *out; /* of a trace or text that is made */
	long now;
} cases_made;

static inline char *cases_join(char *text, const char *more)
{
	size_t length = strlen(text);
	int is_cut = length && text[length - 1] == '\\';
	char *joined;

	assert_true(asprintf(&joined, "%.*s%s%s", (int)length - is_cut, text, is_cut ? "" : " ",
			    more) > 0);
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
			assert_true(test && test->count < CASES_MOST);
			test->line[test->count] = number;
			last = &test->text[test->count++];
			*last = strdup(line + 1);
		} else if (!strcmp(line, "traces")) {
			c->is_trace = 1;
		} else if (!strcmp(line, "unanalyzed")) {
			c->is_read = 1;
		} else if (!strcmp(line, "texts")) {
			c->is_text = 1;
		} else if (!strncmp(line, "let ", 4)) {
			last = cases_word(c->let, &c->lets, line + 4);
		} else if (!strncmp(line, "query ", 6)) {
			last = cases_word(c->query, &c->queries, line + 6);
		} else {
			assert_true(c->tests < CASES_TESTS);
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

static inline void cases_statements(struct program *p, char *text);

/* A statement of a text is followed by a semicolon, but not a label, a block's begin or end. */
static inline void cases_put_text(const char *text)
{
	const char *end = text + strlen(text);
	int depth = 0;

	while (end > text && end[-1] == ' ')
		end--;
	for (const char *at = text; at < end; at++)
		depth += (*at == '{') - (*at == '}');
	if (end > text)
		fprintf(cases_made.out, "%.*s%s\n", (int)(end - text), text,
			end[-1] == ':' || end[-1] == '{' || (end[-1] == '}' && depth < 0) ? ""
											  : ";");
}

/*
 * What a verb that is a word stands for: what is before it (a label) first, the words after it for
 * $1, $2..., the others last.
 */
static inline char *cases_expand(const char *before, int length, const char *meaning, char *words)
{
	char *word[16] = { NULL }, *save = NULL, *text = NULL;
	int count = 0, used = 0;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	for (char *at = strtok_r(words, " ", &save); at; at = strtok_r(NULL, " ", &save)) {
		assert_true(count < 16);
		word[count++] = at;
	}
	fprintf(out, "%.*s", length, before);
	for (const char *at = meaning + strspn(meaning, " "); *at; at++) {
		if (*at == '$' && isdigit((unsigned char)at[1])) {
			int number = *++at - '0';

			assert_true(number <= count);
			fputs(word[number - 1], out);
			used = number > used ? number : used;
		} else {
			fputc(*at, out);
		}
	}
	for (int i = used; i < count; i++)
		fprintf(out, " %s", word[i]);
	fclose(out);
	return text;
}

/* A statement, whose verb may be a word. */
static inline void cases_do(struct program *p, const char *text)
{
	const char *verb = text + strspn(text, " "), *before = verb, *meaning;
	size_t length = strcspn(verb, " ");
	char *words, *expanded;

	if (length && verb[length - 1] == ':')
		verb += length + strspn(verb + length, " ");
	verb += *verb == '!';
	length = strcspn(verb, " ");
	meaning = cases_find(cases_read.let, cases_read.lets, verb, length);
	if (!meaning) {
		words = strdup(text);
		if (cases_read.is_text)
			cases_put_text(words);
		else if (cases_made.out)
			trace_text_statement(cases_made.out, words, &cases_made.now);
		else
			program_do(p, "%s", words);
		free(words);
		return;
	}
	words = strdup(verb + length);
	expanded = cases_expand(before, (int)(verb - before), meaning, words);
	cases_statements(p, expanded);
	free(expanded);
	free(words);
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

static inline void cases_statements(struct program *p, char *text)
{
	char *end;

	for (; text; text = end ? end + 1 : NULL) {
		char *brace = strchr(text, '{');

		end = strchr(text, ';');
		if (brace && (!end || brace < end) &&
			isdigit((unsigned char)text[strspn(text, " ")])) {
			char *close = strchr(brace, '}');

			assert_non_null(close);
			end = strchr(close, ';');
			*close = '\0';
			cases_repeat(p, text);
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

/* What =NAME> asks, the length of NAME given. */
static inline const char *cases_ask(struct program *p, const char *name, size_t length, int line)
{
	const char *sql = cases_find(cases_read.query, cases_read.queries, name, length);

	if (sql)
		return mini_text(&p->m, sql);
	if (!length)
		return cases_ask(p, "found", strlen("found"), line);
	for (size_t i = 0; i < cases_read.answers; i++) {
		const struct cases_answer *a = &cases_read.answer[i];

		if (strlen(a->name) == length && !strncmp(a->name, name, length))
			return a->ask(p);
	}
	fail_msg("line %d: no query '%.*s'", line, (int)length, name);
	return NULL;
}

/* What take prints of each statement of a text, without a first blank; valid until the next one. */
static inline const char *cases_each(void (*take)(char *statement, FILE *out))
{
	static char *found;
	char *text = strdup(cases_read.text), *save = NULL;
	size_t size;
	FILE *out;

	free(found);
	out = open_memstream(&found, &size);
	for (char *at = strtok_r(text, ";\n", &save); at; at = strtok_r(NULL, ";\n", &save))
		take(at + strspn(at, " "), out);
	fclose(out);
	free(text);
	return found + (*found == ' ');
}

static inline int cases_check(struct program *p, char *at, int line)
{
	int wrong = 0;

	while (*at) {
		size_t length = strcspn(at + 2, ">");
		char *wanted = at + 2 + length + 1, *next = cases_mark(wanted), *text;
		const char *got;

		wanted += strspn(wanted, " ");
		text = strndup(wanted, next > wanted ? (size_t)(next - wanted) : 0);
		cases_read.wanted = text;
		got = cases_ask(p, at + 2, length, line);
		if (strcmp(got, text)) {
			print_message("line %d: \"%s\", not \"%s\"\n", line, got, text);
			wrong++;
		}
		free(text);
		at = next;
	}
	return wrong;
}

/* A case's database: of a program, analyzed, or of a trace, loaded. */
static inline void cases_begin(struct program *p, char *text)
{
	char *body = NULL;
	size_t size = 0;

	if (!cases_read.is_trace && !cases_read.is_text) {
		program_begin(p);
		cases_statements(p, text);
		/* Whoever analyzes again finds the same. */
		for (int i = 0; i < (cases_read.is_read ? 0 : 2); i++)
			assert_int_equal(analyze(&p->m.db), 0);
		return;
	}
	cases_made.out = open_memstream(&body, &size);
	cases_made.now = 90;
	cases_statements(p, text);
	fclose(cases_made.out);
	if (cases_read.is_text) {
		cases_read.text = body;
		return;
	}
	p->m.db = trace_text_load(cases_read.name, body);
	free(body);
}

static inline void cases_end(struct program *p)
{
	if (cases_read.is_trace)
		trace_text_finish(&p->m.db, cases_read.name);
	else if (cases_read.is_text)
		free(cases_read.text);
	else
		mini_release(&p->m);
	free(p);
}

static inline void cases_run(void **state)
{
	const struct cases_test *test = *state;
	int wrong = 0;

	for (size_t i = 0; i < test->count; i++) {
		struct program *p = calloc(1, sizeof(*p));
		char *mark = cases_mark(test->text[i]);

		assert_true(*mark);
		*mark = '\0';
		cases_begin(p, test->text[i]);
		*mark = ' ';
		wrong += cases_check(p, mark, test->line[i]);
		cases_end(p);
	}
	assert_int_equal(wrong, 0);
	assert_true(test->count > 0);
}

/* The text lies where the source of the test does: tests/unit/FOLDER/NAME.txt. */
UNIT_AT_START(cases_add)
{
	static char path[] = __BASE_FILE__ ".txt";
	char *file = strstr(path, "unit/") + strlen("unit/");

	strcpy(strstr(file, ".c."), ".txt");
	cases_load(file);
	cases_read.name = strdup(strrchr(file, '/') + 1);
	*strrchr(cases_read.name, '.') = '\0';
	for (size_t i = 0; i < cases_read.tests; i++)
		unit_add(cases_read.test[i].name, cases_run, NULL, NULL, &cases_read.test[i]);
}

#endif
