/* SPDX-License-Identifier: Apache-2.0 */
/* The names and options of a statement: program_text.h. */
#ifndef CUFENCE_TESTS_PROGRAM_WORDS_H
#define CUFENCE_TESTS_PROGRAM_WORDS_H

#include "miniature.h"

#include <ctype.h>

enum { PROGRAM_NAMES = 1000, PROGRAM_LABELS = 32, PROGRAM_OPTIONS = 6, PROGRAM_OPERANDS = 3 };
enum { MEMORY = 900, ADDRESS = 0x10000, BYTES = 65536 };

struct program {
	struct mini m;
	struct program_name {
		char text[64];
		int64_t id;
	} names[PROGRAM_NAMES];
	int name_count;
	double now, origin; /* of T..U and A=B */
	int64_t context[3], threads[8], execs, allocations;
	struct program_label {
		char text[8];
		int64_t call;
	} label[PROGRAM_LABELS];
	int label_count;
};

struct program_statement {
	char label[8], verb[32], arg[6][64];
	int args, timed, lasts;
	double next; /* what the call delays the next one by */
	const char *memory;
	char kernel[64], maker[80], host_run[32], operand[PROGRAM_OPERANDS][32];
	int operands;
	struct program_object {
		char role[16];
		long long value;
	} object[PROGRAM_OPTIONS];
	int objects;
	struct mini_call call;
};

/* A word that does not fit would be another one. */
static inline void program_copy(char *to, size_t room, const char *from, size_t length)
{
	assert_true(length < room);
	snprintf(to, room, "%.*s", (int)length, from);
}

static inline int64_t program_known(const struct program *p, const char *text)
{
	for (int i = 0; i < p->name_count; i++)
		if (!strcmp(p->names[i].text, text))
			return p->names[i].id;
	return 0;
}

static inline int64_t program_name(struct program *p, const char *text, int64_t id)
{
	int i = 0;

	while (i < p->name_count && strcmp(p->names[i].text, text))
		i++;
	assert_true(i < PROGRAM_NAMES && strlen(text) < sizeof(p->names->text));
	if (i == p->name_count)
		strcpy(p->names[p->name_count++].text, text);
	return p->names[i].id = id;
}

/* The second device's with ', the third's with ''. */
static inline int64_t program_context(struct program *p, const char *text)
{
	const char *primes = strchr(text, '\'');
	size_t number = primes ? strlen(primes) : 0;

	for (int i = 1; number && i < 3; i++)
		if (!p->context[i])
			p->context[i] = mini_context(&p->m, i);
	return number ? p->context[number] : 1;
}

static inline int64_t program_stream(struct program *p, const char *text)
{
	const char *kind = *text == 'L' ? "legacy"
		: *text == 'b'          ? "blocking"
		: *text == 'n'          ? "non-blocking"
		: *text == 'M'          ? "moved"
					: "per-thread";
	int64_t id = program_known(p, text);

	if (!strcmp(text, "L"))
		return MINI_LEGACY;
	if (id)
		return id;
	return program_name(p, text, mini_stream_in(&p->m, program_context(p, text), kind));
}

static inline int64_t program_event(struct program *p, const char *text)
{
	int64_t id = program_known(p, text);

	if (id)
		return id;
	id = program_name(p, text, mini_event(&p->m));
	if (text[0] == 'e')
		MINI_CALL(&p->m, .type = CALL_cuEventCreate, .at = p->now - 5, .event = id);
	return id;
}

static inline int64_t program_thread(struct program *p, int number)
{
	if (!p->threads[number])
		p->threads[number] = number == 1 ? MINI_MAIN : mini_thread(&p->m);
	return p->threads[number];
}

static inline void program_object(struct program *p, const char *role, int64_t id)
{
	mini_exec(&p->m, "INSERT INTO call_object VALUES (%lld, '%s', %lld)", (long long)p->m.calls,
		role, (long long)id);
}

/* Sums of products, K for 1024: 32K+2*16. */
static inline long long program_number(const char *text)
{
	long long sum = 0;

	while (*text && *text != ']') {
		char *end;
		long long sign = *text == '-' ? -1 : 1, term = 1;

		do {
			text += *text == '-' || *text == '+' || *text == '*';
			term *= strtoll(text, &end, 0);
			assert_true(end > text);
			if (*end == 'K') {
				term *= 1024;
				end++;
			}
			text = end;
		} while (*text == '*');
		sum += sign * term;
	}
	return sum;
}

/* What the operands lie in, unless they say otherwise. */
static inline void program_memory(struct program *p, const char *kind)
{
	if (!program_known(p, "memory"))
		mini_exec(&p->m, "INSERT INTO allocation VALUES (%d, 1, %d, %d, '%s', NULL, NULL)",
			MEMORY, ADDRESS, BYTES, kind);
	program_name(p, "memory", MEMORY);
}

/* One of what a kernel does, of the text in front of a plus. */
static inline const char *program_claim(struct program *p, int64_t id, const char *text)
{
	int length = (int)strcspn(text, "~!*/:+."), exact = 1, spins = 0, placed = 1;
	long long bytes = BYTES / 2, low = 0;
	const char *at = text + length;
	char range[64] = "NULL, NULL";

	for (; *at && *at != '+' && *at != '.'; at += strspn(at, "0123456789K-*")) {
		exact &= *at != '~';
		spins |= *at == '!';
		placed &= *at != '*';
		if (*at == '/' || *at == ':') {
			char number[32] = "";

			program_copy(number, sizeof(number), at + 1,
				strspn(at + 1, "0123456789K-"));
			*(*at == '/' ? &bytes : &low) = program_number(number);
		}
		at++;
	}
	if (placed)
		snprintf(range, sizeof(range), "%lld, %lld", low, low + bytes);
	mini_exec(&p->m,
		"INSERT INTO kernel_access VALUES (%lld, NULL, 0, '%.*s', 1, %s, NULL, NULL, NULL, "
		"NULL, NULL, NULL, NULL, %d, 0, 0, %d, NULL)",
		(long long)id, length, text, range, exact, spins);
	return *at == '+' ? at + 1 : NULL;
}

static inline int64_t program_kernel(struct program *p, const char *text)
{
	char name[32];
	int64_t id = program_known(p, text);

	if (id)
		return id;
	program_copy(name, sizeof(name), text, strcspn(text, "~!*/:+."));
	id = program_name(p, text, mini_kernel(&p->m, name));
	if (!strcmp(name, "pointer") || !strcmp(name, "unknown"))
		return id;
	mini_exec(&p->m, "INSERT INTO kernel_code VALUES (%lld, 'ptx', 1, NULL, 0, NULL)",
		(long long)id);
	while (text)
		text = program_claim(p, id, text);
	return id;
}

static inline int64_t program_site(struct program *p, const char *text)
{
	char function[32] = "";
	int64_t id = program_known(p, text);
	int line = 0;

	if (id)
		return id;
	if (sscanf(text, ":%d", &line) != 1)
		assert_int_equal(sscanf(text, ":%31[a-z_].%d", function, &line), 2);
	else
		snprintf(function, sizeof(function), "in_%d", line);
	return program_name(p, text, mini_site(&p->m, function, line));
}

/* Two functions of that file are the innermost on the stack of the last call. */
static inline void program_made_by(struct program *p, const char *file)
{
	long long site = mini_site(&p->m, "main", (int)p->m.sites + 1);

	mini_exec(&p->m, "INSERT INTO module VALUES (%lld, 1, 0, 10, 0, '%s', NULL)", site, file);
	mini_exec(&p->m,
		"INSERT INTO frame (site, depth, address, module, user) VALUES "
		"(%lld, 0, 1, %lld, 0), (%lld, 1, 2, %lld, 0)",
		site, site, site, site);
	mini_exec(&p->m, "UPDATE call SET site = %lld WHERE id = %lld", site,
		(long long)p->m.calls);
}

static const struct program_verb {
	const char *name;
	int type;
	const char *args, *more;
} program_verbs[] = {
#define VERB(verb, call, names, more) { #verb, CALL_##call, names, more },
#include "program_verbs.def"
#undef VERB
};

static inline const struct program_verb *program_find_verb(const char *name)
{
	for (size_t i = 0; i < sizeof(program_verbs) / sizeof(*program_verbs); i++)
		if (!strcmp(program_verbs[i].name, name))
			return &program_verbs[i];
	for (int i = 0; i < CALL_COUNT; i++) {
		static struct program_verb call;

		call = (struct program_verb){ name, i, "", NULL };
		if (!strcmp(call_types[i].name, name))
			return &call;
	}
	print_message("no verb '%s'\n", name);
	fail();
	return NULL;
}

/* Whether the word is a direction or a kind of memory. */
static inline int program_take_memory(struct program_statement *s, const char *word)
{
	static const char *const directions[] = { "h2h", "h2d", "d2h", "d2d" };
	static const char *const memory[] = { "pageable", "pinned", "device", "managed" };

	for (int i = 0; i < 4; i++) {
		if (!strcmp(word, directions[i])) {
			s->call.direction = i + 1;
			return 1;
		}
		if (!strcmp(word, memory[i])) {
			s->memory = memory[i];
			return 1;
		}
	}
	return 0;
}

static inline int program_is_kernel(const char *word)
{
	return !strncmp(word, "store", 5) || !strncmp(word, "load", 4) ||
		!strncmp(word, "atomic", 6) || !strncmp(word, "pointer", 7) ||
		!strncmp(word, "unknown", 7);
}

/* A sum of products, of a text up to there. */
static inline double program_time(const char *from, const char *to)
{
	char text[32], *at = text;
	double sum = 0;

	program_copy(text, sizeof(text), from, (size_t)(to - from));
	while (*at) {
		char *end;
		double term = strtod(at, &end);

		assert_true(end > at);
		while (*end == '*')
			term *= strtod(end + 1, &end);
		sum += term;
		at = end;
	}
	return sum;
}

/* T..U and A=B, from the origin on. */
static inline int program_take_time(struct program *p, struct program_statement *s,
	const char *word)
{
	const char *dots = strstr(word, ".."), *equal = strchr(word, '='),
		   *end = word + strlen(word);

	if ((!dots && !equal) || !strchr("-0123456789", *word))
		return 0;
	if (equal) {
		s->call.runs[0] = p->origin + program_time(word, equal);
		s->call.runs[1] = p->origin + program_time(equal + 1, end);
	} else {
		s->timed = 1;
		s->call.at = p->origin + program_time(word, dots);
		s->call.until = dots[2] ? p->origin + program_time(dots + 2, end) : 0;
	}
	return 1;
}

static inline int program_take_option(struct program *p, struct program_statement *s,
	const char *word)
{
	const char *equal = strchr(word, '='), *dash;
	size_t length = strlen(word);
	unsigned blocks, threads;

	if (program_take_time(p, s, word))
		return 1;
	if (*word == '@') {
		s->call.thread = atoi(word + 1);
	} else if (*word == '+') {
		s->call.until = atof(word + 1 + (word[1] == '+'));
		s->next = word[1] == '+' ? s->call.until : 0;
	} else if (*word == '=') {
		dash = strchr(word, '-');
		s->lasts = 1;
		s->call.runs[0] = dash ? atof(word + 1) : 0.5;
		s->call.runs[1] = atof(dash ? dash + 1 : word + 1);
	} else if (*word == '#') {
		s->call.bytes = program_number(word + 1);
	} else if (*word == ':') {
		s->call.site = program_site(p, word);
	} else if (!strncmp(word, "by:", 3)) {
		program_copy(s->maker, sizeof(s->maker), word + 3, length - 3);
	} else if (!strncmp(word, "ran:", 4)) {
		program_copy(s->host_run, sizeof(s->host_run), word + 4, length - 4);
	} else if (!strncmp(word, "result:", 7)) {
		s->call.result = atoi(word + 7);
	} else if (!strcmp(word, "beneath")) {
		s->call.parent = p->m.calls;
	} else if (sscanf(word, "%ux%u", &blocks, &threads) == 2) {
		s->call.grid = CALL_GRID(blocks, 1, 1);
		s->call.block = CALL_BLOCK(threads, 1, 1, 0);
	} else if (!strcmp(word, "hangs")) {
		s->call.never_returned = 1;
	} else if (program_is_kernel(word)) {
		program_copy(s->kernel, sizeof(s->kernel), word, length);
	} else if (strchr(word, '[')) {
		assert_true(s->operands < PROGRAM_OPERANDS);
		program_copy(s->operand[s->operands++], sizeof(*s->operand), word, length);
	} else if (*word == 'm' && isdigit((unsigned char)word[1])) {
		s->call.ptr = 0x1000 * atoi(word + 1);
	} else if (equal) {
		assert_true(s->objects < PROGRAM_OPTIONS);
		program_copy(s->object[s->objects].role, sizeof(s->object->role), word,
			(size_t)(equal - word));
		s->object[s->objects++].value = program_number(equal + 1);
	} else {
		return program_take_memory(s, word);
	}
	return 1;
}

static inline void program_take_words(struct program *p, struct program_statement *s, char *text)
{
	char *word, *rest = NULL;

	for (word = strtok_r(text, " \t\n", &rest); word; word = strtok_r(NULL, " \t\n", &rest)) {
		size_t length = strlen(word);

		if (!*s->verb && word[length - 1] == ':') {
			program_copy(s->label, sizeof(s->label), word, length - 1);
		} else if (!*s->verb && *word != '@') {
			s->call.result = *word == '!' ? 1 : 0;
			program_copy(s->verb, sizeof(s->verb), word + (*word == '!'),
				length - (*word == '!'));
		} else if (!program_take_option(p, s, word)) {
			assert_true(s->args < 6);
			program_copy(s->arg[s->args++], sizeof(s->arg[0]), word, length);
		}
	}
}

#endif
