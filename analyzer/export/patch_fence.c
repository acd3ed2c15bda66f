/* SPDX-License-Identifier: Apache-2.0 */
#include "patch_fence.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "patch_text.h"
#include "stream_code.h"

static const char elsewhere[] = "the two operations are not in one function and thread";
static const char turn[] = "the earlier operation stands below it, as one of the turn before";
static const char unnamed[] = "the lines do not show both streams by name";
static const char out_of_scope[] = "a name may mean something else at the other line";
static const char within[] = "it does not begin a statement of its own";

/* --- names --- */

/* The next occurrence of a name in a line that is not part of another one. */
static const char *find_name(const char *line, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = strstr(line, name); at; at = strstr(at + 1, name))
		if ((at == line || (!text_is_word(at[-1]) && at[-1] != '.')) &&
			!text_is_word(at[length]))
			return at;
	return NULL;
}

/* Likewise, but not of a member of it. */
static const char *find_whole(const char *line, const char *name)
{
	const char *at = find_name(line, name);

	while (at && (at[strlen(name)] == '.' || !strncmp(at + strlen(name), "->", 2)))
		at = find_name(at + 1, name);
	return at;
}

/* Where a line assigns; NULL: it only compares, or neither. */
static const char *find_assignment(const char *line)
{
	for (const char *at = strchr(line, '='); at; at = strchr(at + 1, '=')) {
		if (at[1] == '=')
			at++;
		else if (at == line || !strchr("!<>=", at[-1]))
			return at;
	}
	return NULL;
}

/* A word before the name declares it, as a type does: "cudaStream_t s", "for s", "as s", "&s". */
static int is_declared(const char *line, const char *at)
{
	while (at > line && at[-1] == ' ')
		at--;
	return at > line && (text_is_word(at[-1]) || at[-1] == '&');
}

/* The line may make the name mean something else. */
static int changes_name(const char *line, const char *name)
{
	const char *at = find_whole(line, name), *assignment = find_assignment(line);
	int is_loop = !strncmp(line + strspn(line, " \t"), "for", 3);

	return at &&
		((assignment && at < assignment) || is_loop || is_declared(line, at) ||
			strstr(line, "swap("));
}

/* The first variable of a.b->c, and all of it. */
static int is_changed(const struct patch_place *place, size_t first, size_t end, const char *name)
{
	char variable[64];

	snprintf(variable, sizeof(variable), "%.*s", (int)strcspn(name, ".-"), name);
	for (size_t i = first; i < end; i++)
		if (strncmp(text_trim(place->lines[i]).at, "//", 2) != 0 &&
			(changes_name(place->lines[i], name) ||
				changes_name(place->lines[i], variable)))
			return 1;
	return 0;
}

/* --- blocks --- */

static size_t indent_of(const char *line)
{
	return strspn(line, " \t");
}

static int is_blank(const char *line)
{
	struct text text = text_trim(line);

	return !text.length || *text.at == '#';
}

/* A block of C++ around a line ends before another line. */
static int leaves_braces(const struct patch_place *place, size_t first, size_t end)
{
	int depth = 0;

	for (size_t i = first; i < end; i++)
		for (const char *c = place->lines[i]; *c; c++) {
			depth += (*c == '{') - (*c == '}');
			if (depth < 0)
				return 1;
		}
	return 0;
}

/*
 * A block of Python around the line that has a name ends before another line: the name may not be
 * bound, or the function ends.
 */
static int leaves_indent(const struct patch_place *place, size_t first)
{
	for (size_t i = first; i <= place->at; i++)
		if (!is_blank(place->lines[i]) &&
			indent_of(place->lines[i]) < indent_of(place->lines[first]))
			return 1;
	return 0;
}

/* The name of a line above means the same at the place. */
static int is_in_scope(const struct patch_place *place, size_t first, const char *name)
{
	return text_is_name(name) && !is_changed(place, first + 1, place->at + 1, name) &&
		!(place->is_script ? leaves_indent(place, first)
				   : leaves_braces(place, first, place->at));
}

/* --- the statement of the line --- */

/* A statement of Python begins in the line: no bracket or string is open, and it has no header. */
static int begins_in_script(const struct patch_place *place)
{
	static const char *const words[] = { "for ", "while ", "elif ", "else", "except", "finally",
		"async ", "def ", "class ", "case ", "@", ")", "]", "}", "." };
	struct text line = text_trim(place->lines[place->at]);
	struct text before = text_trim(patch_neighbour(place, -1));
	int depth = 0;

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strncmp(line.at, words[i], strlen(words[i])))
			return 0;
	for (size_t i = place->other; i < place->at; i++) {
		const char *text = place->lines[i];

		if (strstr(text, "\"\"\"") || strstr(text, "'''"))
			return 0;
		for (; *text && *text != '#'; text++)
			depth += (strchr("([{", *text) != NULL) - (strchr(")]}", *text) != NULL);
	}
	return !depth && line.length && before.length &&
		!strchr("\\,([{", before.at[before.length - 1]);
}

static int begins_compiled(const struct patch_place *place)
{
	struct text word = text_trim(place->lines[place->at]);
	struct text rest = word;

	word.length = text_take_word(&rest);
	return word.length && !text_is_keyword(word) && !text_has(rest, "}") &&
		patch_begins_statement(place);
}

/* --- fences --- */

/* "import torch" alone, or before other names. */
static int is_import(const char *line)
{
	struct text text = text_trim(line);
	static const char import[] = "import torch";

	return !strncmp(text.at, import, strlen(import)) &&
		(text.length == strlen(import) || text.at[strlen(import)] == ',');
}

/* A stream of PyTorch has a name at the place that its line, or one above that, shows. */
static const char *check_stream(const struct patch_place *place, const char *name, size_t line)
{
	int is_imported = 0;

	for (size_t i = 0; i < place->at && !is_imported; i++)
		is_imported = is_import(place->lines[i]);
	if (framework_gets_stream(name))
		return is_imported ? NULL : "its file does not import torch by that name";
	if (!text_is_name(name))
		return unnamed;
	while (line > 0 && !find_name(place->lines[line], name))
		line--;
	return is_in_scope(place, line, name) ? NULL : out_of_scope;
}

/* Returns NULL, or why nothing can come between the two operations. */
static const char *check_order(const struct patch_place *place)
{
	if (place->other >= place->count)
		return elsewhere;
	if (place->other >= place->at)
		return turn;
	return NULL;
}

static const char *out_of_memory(char **changed)
{
	*changed = NULL;
	return "out of memory";
}

const char *patch_wait_stream(const struct patch_place *place, char **changed)
{
	const char *line = place->lines[place->at], *reason = check_order(place);

	if (!place->is_script)
		return "no event is recorded after the earlier operation";
	if (reason)
		return reason;
	if (!*place->stream || !*place->other_stream || !strcmp(place->stream, place->other_stream))
		return unnamed;
	reason = check_stream(place, place->other_stream, place->other);
	if (!reason)
		reason = check_stream(place, place->stream, place->at);
	if (reason)
		return reason;
	if (!begins_in_script(place))
		return within;
	if (asprintf(changed, "%.*s%s.wait_stream(%s)", (int)indent_of(line), line, place->stream,
		    place->other_stream) < 0)
		return out_of_memory(changed);
	return NULL;
}

static const char record[] = "cudaEventRecord(";

const char *patch_wait_event(const struct patch_place *place, char **changed)
{
	const char *line = place->lines[place->at], *reason = check_order(place);
	struct patch_call call;

	if (place->is_script)
		return patch_wait_stream(place, changed);
	if (reason)
		return reason;
	if (place->record >= place->count)
		return elsewhere;
	if (place->record <= place->other || place->record >= place->at)
		return "the event is not recorded between the two";
	if (!patch_read_call(place->lines[place->record], record, &call) ||
		!text_is_name(call.first))
		return "the line of its record holds more than the call";
	if (!text_is_name(place->stream))
		return unnamed;
	if (!is_in_scope(place, place->record, call.first))
		return out_of_scope;
	if (!begins_compiled(place))
		return within;
	if (asprintf(changed, "%.*s%.*scudaStreamWaitEvent(%s, %s, 0)%s;", (int)indent_of(line),
		    line, (int)call.check.length, call.check.at, place->stream, call.first,
		    call.check.length ? ")" : "") < 0)
		return out_of_memory(changed);
	return NULL;
}

/* --- memory that a stream still uses --- */

size_t patch_after_other(const struct patch_place *place)
{
	return place->other + 1 < place->count ? place->other + 1 : place->count;
}

/* A word, copied. */
static int take_name(struct text *text, char name[PATCH_ARGUMENT_SIZE])
{
	const char *at = text->at;
	size_t length = text_take_word(text);

	snprintf(name, PATCH_ARGUMENT_SIZE, "%.*s", (int)length, at);
	return length && length < PATCH_ARGUMENT_SIZE && !isdigit((unsigned char)*at);
}

static int take_text(struct text *text, const char *part)
{
	size_t length = strlen(part);

	if (text->length < length || memcmp(text->at, part, length) != 0)
		return 0;
	text->at += length;
	text->length -= length;
	return 1;
}

/* What a method is given: nothing that may be a tensor. */
static int are_settings(struct text text)
{
	return text_ends_with(text, ")") && !memchr(text.at, '(', text.length) &&
		(text.length == 1 || !strncmp(text.at, "non_blocking=", 13));
}

/* "A.copy_(TENSOR)" or "A = TENSOR.method()": what it reads. */
static int reads_one(struct text text, char tensor[PATCH_ARGUMENT_SIZE])
{
	char to[PATCH_ARGUMENT_SIZE], method[PATCH_ARGUMENT_SIZE];

	if (!take_name(&text, to))
		return 0;
	if (take_text(&text, ".copy_("))
		return take_name(&text, tensor) && (take_text(&text, ", ") || *text.at == ')') &&
			are_settings(text);
	return take_text(&text, " = ") && take_name(&text, tensor) && strcmp(to, tensor) != 0 &&
		take_text(&text, ".") && take_name(&text, method) && take_text(&text, "(") &&
		are_settings(text);
}

const char *patch_record_stream(const struct patch_place *place, char **changed)
{
	const char *line, *stream = place->other_stream;
	char tensor[PATCH_ARGUMENT_SIZE];

	if (place->at >= place->count)
		return elsewhere;
	line = place->lines[place->other];
	if (!place->is_script || !place->is_war || !reads_one(text_trim(line), tensor))
		return "the earlier operation's line does not show the tensor that had the memory";
	if (!framework_gets_stream(stream) && !text_is_name(stream))
		return unnamed;
	if (asprintf(changed, "%.*s%s.record_stream(%s)", (int)indent_of(line), line, tensor,
		    stream) < 0)
		return out_of_memory(changed);
	return NULL;
}

/* --- a stream for work that has none --- */

static const char memset_call[] = "cudaMemsetAsync(";

/* Commas of a list of arguments between its brackets, *end: where it is closed; -1: it is not. */
static int count_commas(const char *arguments, const char **end)
{
	int depth = 0, commas = 0;

	for (*end = arguments; **end; (*end)++) {
		if (strchr("([{", **end))
			depth++;
		else if ((strchr(")]}", **end) || !strncmp(*end, ">>>", 3)) && --depth < 0)
			return commas;
		else if (**end == ',' && !depth)
			commas++;
	}
	return -1;
}

/* Where the stream belongs in the line, and what comes before it; NULL: nowhere. */
static const char *find_gap(const char *line, const char **before)
{
	const char *launch = strstr(line, "<<<"), *at, *end;
	int commas = launch ? count_commas(launch + 3, &end) : -1;

	*before = commas == 1 ? ", 0, " : ", ";
	if (launch)
		return (commas == 1 || commas == 2) && !strstr(launch + 1, "<<<") ? end : NULL;
	at = strstr(line, memset_call);
	return at && !strstr(at + 1, memset_call) &&
			count_commas(at + strlen(memset_call), &end) == 2
		? end
		: NULL;
}

/* The name is used at the other line, above or below. */
static int is_usable(const struct patch_place *place)
{
	if (place->other < place->at)
		return is_in_scope(place, place->other, place->other_stream);
	return text_is_name(place->other_stream) &&
		!is_changed(place, place->at, place->other + 1, place->other_stream) &&
		!leaves_braces(place, place->at, place->other);
}

const char *patch_give_stream(const struct patch_place *place, char **changed)
{
	const char *line = place->lines[place->at], *before, *at = find_gap(line, &before);

	if (!at || place->is_script)
		return "the line does not hold one call that lacks a stream";
	if (place->other >= place->count)
		return "no stream alone uses its memory in the same function";
	if (!text_is_name(place->other_stream))
		return "the line that uses its memory does not show the stream by name";
	if (!is_usable(place))
		return out_of_scope;
	if (asprintf(changed, "%.*s%s%s%s", (int)(at - line), line, before, place->other_stream,
		    at) < 0)
		return out_of_memory(changed);
	return NULL;
}
