/* SPDX-License-Identifier: Apache-2.0 */
#include "name_parts.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "functor.h"

/* "at::native::Binary<float>" is "Binary", "vectorized_elementwise_kernel" is "vectorized". */
static void add(struct name_parts *parts, const char *at, size_t length)
{
	static const char *const suffixes[] = { "_elementwise_kernel", "_kernel" };
	static const char unnamed[] = "(anonymous namespace)::";
	const char *from = at, *end = at;

	while (end < at + length) {
		if (!strncmp(end, unnamed, strlen(unnamed))) {
			from = end += strlen(unnamed);
			continue;
		}
		if (strchr("<(", *end))
			break;
		from = *end == ':' ? end + 1 : from;
		end++;
	}
	length = (size_t)(end - from);
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++)
		if (length > strlen(suffixes[i]) &&
			!memcmp(end - strlen(suffixes[i]), suffixes[i], strlen(suffixes[i]))) {
			length -= strlen(suffixes[i]);
			break;
		}
	if (length && parts->count < NAME_PARTS_LIMIT)
		snprintf(parts->part[parts->count++], NAME_PART_BYTES, "%.*s", (int)length, from);
}

static int is_one_word(const char *text)
{
	while (isalnum((unsigned char)*text) || *text == '_')
		text++;
	return !*text;
}

void name_parts_read(const char *name, const char *arguments, struct name_parts *parts)
{
	const char *words = *arguments ? arguments : name, *end;

	parts->count = 0;
	if (is_one_word(words)) {
		for (; *words; words = *end ? end + 1 : end) {
			end = words + strcspn(words, "_");
			add(parts, words, (size_t)(end - words));
		}
		return;
	}
	add(parts, name, strlen(name));
	while (*arguments) {
		end = functor_argument_end(arguments);
		add(parts, arguments, (size_t)(end - arguments));
		arguments = *end ? end + 1 : end;
		arguments += *arguments == ' ';
	}
}

static int has_part(const struct name_parts *parts, const char *part)
{
	for (size_t i = 0; i < parts->count; i++)
		if (!strcmp(parts->part[i], part))
			return 1;
	return 0;
}

const char *name_parts_find(const struct name_parts *group, size_t count, size_t member,
	size_t *next)
{
	const struct name_parts *own = &group[member];

	while (*next < own->count) {
		const char *part = own->part[(*next)++];

		for (size_t i = 0; i < count; i++)
			if (!has_part(&group[i], part))
				return part;
	}
	return NULL;
}
