/* SPDX-License-Identifier: Apache-2.0 */
#include "patch_line.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char more[] = "the line holds more than the call";
static const char above[] = "the line above does not end a statement";

struct text {
	const char *at;
	size_t length;
};

static struct text trim(const char *line)
{
	struct text text = { line, 0 };

	while (isspace((unsigned char)*text.at))
		text.at++;
	text.length = strlen(text.at);
	while (text.length && isspace((unsigned char)text.at[text.length - 1]))
		text.length--;
	return text;
}

static int is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static int ends_with(struct text text, const char *end)
{
	size_t length = strlen(end);

	return text.length >= length && !memcmp(text.at + text.length - length, end, length);
}

static int has(struct text text, const char *part)
{
	return memmem(text.at, text.length, part, strlen(part)) != NULL;
}

static int has_only(struct text text, const char *others)
{
	for (size_t i = 0; i < text.length; i++)
		if (!is_word(text.at[i]) && !strchr(others, text.at[i]))
			return 0;
	return 1;
}

/* The nearest line before (step -1) or after that is not blank; "" if there is none. */
static const char *neighbour(const struct patch_place *place, int step)
{
	for (size_t i = place->at + (size_t)step; i < place->count; i += (size_t)step)
		if (trim(place->lines[i]).length)
			return place->lines[i];
	return "";
}

/* Next to the line a time is taken, or events are: the wait may serve it. */
static int is_near_clock(const struct patch_place *place)
{
	static const char *const words[] = { "time(", "clock", "perf_counter", "now(", "elapsed",
		"Elapsed", "imer" };
	enum { NEAR = 3 };
	size_t first = place->at > NEAR ? place->at - NEAR : 0;

	for (size_t i = first; i < place->count && i <= place->at + NEAR; i++)
		for (size_t w = 0; w < sizeof(words) / sizeof(*words); w++)
			if (strstr(place->lines[i], words[w]))
				return 1;
	return 0;
}

/* --- a statement that goes --- */

/* Moves behind a word: its length. */
static size_t take_word(struct text *text)
{
	size_t length = 0;

	while (length < text->length && is_word(text->at[length]))
		length++;
	text->at += length;
	text->length -= length;
	return length;
}

static int take(struct text *text, char c)
{
	if (!text->length || *text->at != c)
		return 0;
	text->at++;
	text->length--;
	return 1;
}

static int is_keyword(struct text word)
{
	static const char *const words[] = { "if", "while", "for", "switch", "return", "co_return",
		"throw" };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (word.length == strlen(words[i]) && !memcmp(word.at, words[i], word.length))
			return 1;
	return 0;
}

/* "NAME(ARGUMENTS);" or "CHECK(NAME(ARGUMENTS));" with arguments that do nothing */
static int is_statement(struct text text, const char *name)
{
	struct text word = text, arguments;
	int checked = 0;

	word.length = take_word(&text);
	if (!word.length || is_keyword(word) || !take(&text, '('))
		return 0;
	if (word.length != strlen(name) || memcmp(word.at, name, word.length)) {
		checked = 1;
		word = text;
		word.length = take_word(&text);
		if (word.length != strlen(name) || memcmp(word.at, name, word.length) ||
			!take(&text, '('))
			return 0;
	}
	arguments = text;
	if (!ends_with(text, checked ? "));" : ");"))
		return 0;
	arguments.length -= checked ? 3 : 2;
	return has_only(arguments, " .,:*&[]<>-") && !has(arguments, "--");
}

/* Without braces the statement would be the body of what stands above. */
static const char *leave_out_statement(const struct patch_place *place)
{
	struct text before = trim(neighbour(place, -1));

	if (!is_statement(trim(place->lines[place->at]), place->call))
		return more;
	if (!before.length || !strchr(";{}", before.at[before.length - 1]) || has(before, "//") ||
		has(before, "*/") || *before.at == '#')
		return above;
	return NULL;
}

/* Names, with calls of a getter for a stream at most. */
static int is_plain(struct text text)
{
	if (!has_only(text, "._[]=, ()") || has(text, "=="))
		return 0;
	for (size_t i = 0; i < text.length; i++) {
		struct text until = { text.at, i };

		if (text.at[i] == '(' &&
			(!ends_with(until, "_stream") || i + 1 >= text.length ||
				text.at[i + 1] != ')'))
			return 0;
		if (text.at[i] == ')' && !ends_with(until, "("))
			return 0;
	}
	return 1;
}

/* "RECEIVER.synchronize(ARGUMENTS)" */
static int is_script_wait(struct text text)
{
	static const char *const waits[] = { ".synchronize(", ".wait_stream(", ".wait_event(",
		".block_until_ready(" };

	for (size_t i = 0; i < sizeof(waits) / sizeof(*waits); i++) {
		const char *found = memmem(text.at, text.length, waits[i], strlen(waits[i]));
		struct text receiver, arguments;

		if (!found || !ends_with(text, ")"))
			continue;
		receiver = (struct text){ text.at, (size_t)(found - text.at) };
		arguments.at = found + strlen(waits[i]);
		arguments.length = (size_t)(text.at + text.length - 1 - arguments.at);
		return receiver.length && !has(receiver, " ") && !has(receiver, "=") &&
			is_plain(receiver) && is_plain(arguments);
	}
	return 0;
}

static int is_as_far_right(const char *line, const char *other)
{
	return trim(line).at - line == trim(other).at - other;
}

/* A block needs another statement: one next to this line, as far to the right. */
static const char *leave_out_of_script(const struct patch_place *place)
{
	const char *line = place->lines[place->at], *previous = neighbour(place, -1);
	const char *next = neighbour(place, 1);
	struct text before = trim(previous), after = trim(next);
	int follows = before.length && !has(before, "#") && is_as_far_right(previous, line) &&
		!strchr(":\\,([{", before.at[before.length - 1]);
	int precedes = after.length && *after.at != '#' && is_as_far_right(next, line);

	if (!is_script_wait(trim(line)))
		return more;
	return follows || precedes ? NULL : "its block may have no other statement";
}

static const char *leave_out(const struct patch_place *place, char **changed)
{
	*changed = NULL;
	if (is_near_clock(place))
		return "a time is taken near it";
	return place->is_script ? leave_out_of_script(place) : leave_out_statement(place);
}

/* --- a word that is added --- */

/* The only occurrence of a part in a line; NULL: there is none, or several. */
static const char *find_once(const char *line, const char *part)
{
	const char *found = strstr(line, part);

	return found && !strstr(found + 1, part) ? found : NULL;
}

/* The line with a text put in at one or two places, of which the first comes first. */
static const char *put_in(const char *line, const char *at, const char *text, const char *then,
	const char *other, char **changed)
{
	if (asprintf(changed, "%.*s%s%.*s%s%s", (int)(at - line), line, text, (int)(then - at), at,
		    other, then) >= 0)
		return NULL;
	*changed = NULL;
	return "out of memory";
}

static const char policy[] = "thrust::cuda::par";

static const char *no_sync(const struct patch_place *place, char **changed)
{
	const char *line = place->lines[place->at], *at = find_once(line, policy);

	if (is_near_clock(place))
		return "a time is taken near it";
	if (!at || is_word(at[sizeof(policy) - 1]))
		return "the line does not name thrust::cuda::par once";
	at += sizeof(policy) - 1;
	return put_in(line, at, "_nosync", at, "", changed);
}

/* The only .to( or .cuda( of a line; *arguments: what follows. */
static const char *find_transfer(const char *line, const char **arguments)
{
	const char *to = strstr(line, ".to("), *cuda = strstr(line, ".cuda(");
	const char *at = to ? to : cuda;

	if (!at || (to && cuda) || !find_once(line, to ? ".to(" : ".cuda("))
		return NULL;
	*arguments = at + (to ? strlen(".to(") : strlen(".cuda("));
	return at;
}

/* At most a device, then perhaps non_blocking=True. */
static int read_arguments(struct text arguments, int *is_async)
{
	static const char flag[] = "non_blocking=True";

	*is_async = ends_with(arguments, flag);
	if (*is_async) {
		arguments.length -= strlen(flag);
		while (arguments.length && arguments.at[arguments.length - 1] == ' ')
			arguments.length--;
		if (arguments.length && arguments.at[--arguments.length] != ',')
			return 0;
	}
	if (has(arguments, "=") &&
		(arguments.length < 7 || memcmp(arguments.at, "device=", strlen("device="))))
		return 0;
	return has_only(arguments, ".:'\"[]=");
}

static const char *transfer(const struct patch_place *place, const char *first, char **changed)
{
	const char *line = place->lines[place->at], *arguments = NULL;
	const char *at = find_transfer(line, &arguments),
		   *close = at ? strchr(arguments, ')') : NULL;
	int is_async = 0;

	if (!at || !place->is_script)
		return "the line does not hold one .to() or .cuda()";
	if (!close ||
		!read_arguments((struct text){ arguments, (size_t)(close - arguments) }, &is_async))
		return "its arguments are not just a device";
	if (is_async && !*first)
		return "it has non_blocking=True already";
	return put_in(line, at, first, close,
		is_async                     ? ""
			: close == arguments ? "non_blocking=True"
					     : ", non_blocking=True",
		changed);
}

static const char *non_blocking(const struct patch_place *place, char **changed)
{
	return is_near_clock(place) ? "a time is taken near it" : transfer(place, "", changed);
}

static const char *pin(const struct patch_place *place, char **changed)
{
	if (strstr(place->lines[place->at], "pin_memory"))
		return "it pins memory already";
	return transfer(place, ".pin_memory()", changed);
}

/* --- a stream --- */

static const char create[] = "cudaStreamCreate(", with_flags[] = "cudaStreamCreateWithFlags(";

/* "cudaStreamCreate(&NAME)": the name may have no call in it. */
static const char *stream(const struct patch_place *place, char **changed)
{
	const char *line = place->lines[place->at], *at = find_once(line, create);
	const char *close = at ? strchr(at, ')') : NULL;
	struct text argument;

	if (!close || (at > line && is_word(at[-1])))
		return "the line does not hold one cudaStreamCreate()";
	argument.at = at + strlen(create);
	argument.length = (size_t)(close - argument.at);
	if (!argument.length || !has_only(argument, "&.:[]<>-*+ "))
		return more;
	if (asprintf(changed, "%.*s%s%.*s, cudaStreamNonBlocking%s", (int)(at - line), line,
		    with_flags, (int)argument.length, argument.at, close) >= 0)
		return NULL;
	*changed = NULL;
	return "out of memory";
}

/* --- forms --- */

static const struct {
	const char *mark, *other; /* one of them stands in the line */
	const char *(*change)(const struct patch_place *, char **);
} forms[PATCH_FORMS] = {
	[PATCH_LEAVE_OUT] = { "", "", leave_out },
	[PATCH_NO_SYNC] = { policy, policy, no_sync },
	[PATCH_NON_BLOCKING] = { ".to(", ".cuda(", non_blocking },
	[PATCH_PIN] = { ".to(", ".cuda(", pin },
	[PATCH_STREAM] = { create, create, stream },
};

int patch_line_fits(enum patch_form form, const struct patch_place *place)
{
	const char *line = place->lines[place->at];

	return strstr(line, forms[form].mark) || strstr(line, forms[form].other);
}

const char *patch_line(enum patch_form form, const struct patch_place *place, char **changed)
{
	return forms[form].change(place, changed);
}
