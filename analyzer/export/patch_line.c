/* SPDX-License-Identifier: Apache-2.0 */
#include "patch_fence.h"
#include "patch_pool.h"
#include "patch_text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char more[] = "the line holds more than the call";
static const char above[] = "the line above does not end a statement";

static int is_near(const struct patch_place *place, const char *word)
{
	enum { NEAR = 3 };
	size_t first = place->at > NEAR ? place->at - NEAR : 0;

	for (size_t i = first; i < place->count && i <= place->at + NEAR; i++)
		if (strstr(place->lines[i], word))
			return 1;
	return 0;
}

/* Next to the line a time is taken, or events are: the wait may serve it. */
static int is_near_clock(const struct patch_place *place)
{
	static const char *const words[] = { "time(", "clock", "perf_counter", "now(", "elapsed",
		"Elapsed", "imer" };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (is_near(place, words[i]))
			return 1;
	return 0;
}

/* --- a statement that goes --- */

/* "NAME(ARGUMENTS);" or "CHECK(NAME(ARGUMENTS));" with arguments that do nothing */
static int is_statement(struct text text, const char *name)
{
	struct text word = text, arguments;
	int checked = 0;

	word.length = text_take_word(&text);
	if (!word.length || text_is_keyword(word) || !text_take(&text, '('))
		return 0;
	if (word.length != strlen(name) || memcmp(word.at, name, word.length)) {
		checked = 1;
		word = text;
		word.length = text_take_word(&text);
		if (word.length != strlen(name) || memcmp(word.at, name, word.length) ||
			!text_take(&text, '('))
			return 0;
	}
	arguments = text;
	if (!text_ends_with(text, checked ? "));" : ");"))
		return 0;
	arguments.length -= checked ? 3 : 2;
	return text_has_only(arguments, " .,:*&[]<>-") && !text_has(arguments, "--");
}

/* Without braces the statement would be the body of what stands above. */
static const char *leave_out_statement(const struct patch_place *place)
{
	if (!is_statement(text_trim(place->lines[place->at]), place->call))
		return more;
	return patch_begins_statement(place) ? NULL : above;
}

/* Names, with calls of a getter for a stream at most. */
static int is_plain(struct text text)
{
	if (!text_has_only(text, "._[]=, ()") || text_has(text, "=="))
		return 0;
	for (size_t i = 0; i < text.length; i++) {
		struct text until = { text.at, i };

		if (text.at[i] == '(' &&
			(!text_ends_with(until, "_stream") || i + 1 >= text.length ||
				text.at[i + 1] != ')'))
			return 0;
		if (text.at[i] == ')' && !text_ends_with(until, "("))
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

		if (!found || !text_ends_with(text, ")"))
			continue;
		receiver = (struct text){ text.at, (size_t)(found - text.at) };
		arguments.at = found + strlen(waits[i]);
		arguments.length = (size_t)(text.at + text.length - 1 - arguments.at);
		return receiver.length && !text_has(receiver, " ") && !text_has(receiver, "=") &&
			is_plain(receiver) && is_plain(arguments);
	}
	return 0;
}

static int is_as_far_right(const char *line, const char *other)
{
	return text_trim(line).at - line == text_trim(other).at - other;
}

/* A block needs another statement: one next to this line, as far to the right. */
static const char *leave_out_of_script(const struct patch_place *place)
{
	const char *line = place->lines[place->at], *previous = patch_neighbour(place, -1);
	const char *next = patch_neighbour(place, 1);
	struct text before = text_trim(previous), after = text_trim(next);
	int follows = before.length && !text_has(before, "#") && is_as_far_right(previous, line) &&
		!strchr(":\\,([{", before.at[before.length - 1]);
	int precedes = after.length && *after.at != '#' && is_as_far_right(next, line);

	if (!is_script_wait(text_trim(line)))
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
	if (!at || text_is_word(at[sizeof(policy) - 1]))
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

	*is_async = text_ends_with(arguments, flag);
	if (*is_async) {
		arguments.length -= strlen(flag);
		while (arguments.length && arguments.at[arguments.length - 1] == ' ')
			arguments.length--;
		if (arguments.length && arguments.at[--arguments.length] != ',')
			return 0;
	}
	if (text_has(arguments, "=") &&
		(arguments.length < 7 || memcmp(arguments.at, "device=", strlen("device="))))
		return 0;
	return text_has_only(arguments, ".:'\"[]=");
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

	if (!close || (at > line && text_is_word(at[-1])))
		return "the line does not hold one cudaStreamCreate()";
	argument.at = at + strlen(create);
	argument.length = (size_t)(close - argument.at);
	if (!argument.length || !text_has_only(argument, "&.:[]<>-*+ "))
		return more;
	if (asprintf(changed, "%.*s%s%.*s, cudaStreamNonBlocking%s", (int)(at - line), line,
		    with_flags, (int)argument.length, argument.at, close) >= 0)
		return NULL;
	*changed = NULL;
	return "out of memory";
}

/* An event of the legacy default stream next to the work may be recorded for it. */
static const char *give_stream(const struct patch_place *place, char **changed)
{
	if (is_near_clock(place) || is_near(place, "EventRecord("))
		return "an event is recorded or a time taken near it";
	return patch_give_stream(place, changed);
}

/* --- forms --- */

static const struct {
	const char *mark, *other; /* one of them stands in the line */
	const char *why;          /* that of the place; NULL: any */
	const char *(*change)(const struct patch_place *, char **);
	int is_above;
	size_t (*find)(const struct patch_place *); /* the line; NULL: that of the place */
} forms[PATCH_FORMS] = {
	[PATCH_LEAVE_OUT] = { "", "", NULL, leave_out, 0, NULL },
	[PATCH_NO_SYNC] = { policy, policy, NULL, no_sync, 0, NULL },
	[PATCH_NON_BLOCKING] = { ".to(", ".cuda(", NULL, non_blocking, 0, NULL },
	[PATCH_PIN] = { ".to(", ".cuda(", NULL, pin, 0, NULL },
	[PATCH_WAIT_STREAM] = { "", "", "", patch_wait_stream, 1, NULL },
	[PATCH_WAIT_EVENT] = { "", "", "unused-event", patch_wait_event, 1, NULL },
	[PATCH_RECORD_STREAM] = { "", "", "reused-block", patch_record_stream, 1,
		patch_after_other },
	[PATCH_GIVE_STREAM] = { "<<<", "cudaMemsetAsync(", NULL, give_stream, 0, NULL },
	[PATCH_KEEP_POOL] = { "", "", NULL, patch_keep_pool, 1, patch_pool_line },
	[PATCH_STREAM] = { create, create, NULL, stream, 0, NULL },
};

int patch_line_fits(enum patch_form form, const struct patch_place *place)
{
	const char *line = place->lines[place->at], *why = forms[form].why;

	return (!why || !strcmp(why, place->why)) &&
		(strstr(line, forms[form].mark) || strstr(line, forms[form].other));
}

size_t patch_line_at(enum patch_form form, const struct patch_place *place)
{
	return forms[form].find ? forms[form].find(place) : place->at;
}

int patch_line_is_above(enum patch_form form)
{
	return forms[form].is_above;
}

const char *patch_line(enum patch_form form, const struct patch_place *place, char **changed)
{
	return forms[form].change(place, changed);
}
