/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conforms SCHEMA DOCUMENT...: checks that JSON documents ("-": stdin) conform to a JSON Schema
 * (draft 2020-12).  Exits 0, or 1 after a line per error.  It supports the keywords listed here,
 * and rejects a schema with others.  In addition a schema must describe each member, with the unit
 * of a time, and forbid additional members.
 */
#include "json.h"

#include <regex.h>
#include <stdarg.h>

#define MOST_FAULTS 20 /* maximum number printed */

struct check {
	const struct json *schema; /* the whole schema */
	const char *file;
	char path[1000]; /* in the document or schema */
	int faults;
};

static void fault(struct check *check, const char *format, ...)
{
	va_list values;

	if (check->faults++ >= MOST_FAULTS)
		return;
	va_start(values, format);
	fprintf(stderr, "%s: %s: ", check->file, *check->path ? check->path : "/");
	vfprintf(stderr, format, values);
	fputc('\n', stderr);
	va_end(values);
}

/* Enters a part; returns the argument for step_back(). */
static size_t step_into(struct check *check, const char *name, size_t number)
{
	size_t length = strlen(check->path), room = sizeof(check->path) - length;

	if (name)
		snprintf(check->path + length, room, "/%s", name);
	else
		snprintf(check->path + length, room, "/%zu", number);
	return length;
}

static const struct json *resolve(const struct check *check, const struct json *schema)
{
	const struct json *ref = json_member(schema, "$ref"), *found = NULL;

	if (ref && ref->type == JSON_STRING && !strncmp(ref->text, "#/$defs/", 8))
		found = json_member(check->schema, "$defs");
	return found ? json_member(found, ref->text + 8) : NULL;
}

/* --- the schema --- */

static int is_known_type(const struct json *name)
{
	static const char *const types[] = { "null", "boolean", "integer", "number", "string",
		"array", "object" };

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (name->type == JSON_STRING && !strcmp(name->text, types[i]))
			return 1;
	return 0;
}

/* Checks the value of a keyword. */
static int is_keyword(const struct check *check, const struct json *schema, const char *name,
	const struct json *value)
{
	if (!strcmp(name, "$schema") || !strcmp(name, "$id") || !strcmp(name, "title") ||
		!strcmp(name, "description"))
		return value->type == JSON_STRING;
	if (!strcmp(name, "type") && value->type == JSON_ARRAY) {
		for (size_t i = 0; i < value->count; i++)
			if (!is_known_type(&value->child[i]))
				return 0;
		return 1;
	}
	if (!strcmp(name, "type"))
		return is_known_type(value);
	if (!strcmp(name, "properties") || !strcmp(name, "$defs") || !strcmp(name, "items"))
		return value->type == JSON_OBJECT;
	if (!strcmp(name, "required") || !strcmp(name, "enum"))
		return value->type == JSON_ARRAY;
	if (!strcmp(name, "additionalProperties"))
		return value->type == JSON_BOOLEAN && !value->number;
	if (!strcmp(name, "$ref"))
		return resolve(check, schema) != NULL;
	if (!strcmp(name, "minimum"))
		return value->type == JSON_NUMBER;
	return !strcmp(name, "pattern") && value->type == JSON_STRING;
}

static void check_schema(struct check *check, const struct json *schema);

static void check_member(struct check *check, const char *name, const struct json *schema)
{
	const struct json *description = json_member(schema, "description");
	size_t length = strlen(name);

	if (!description)
		fault(check, "member without description");
	else if (length > 3 && !strcmp(name + length - 3, "_ns") &&
		!strstr(description->text, "ns"))
		fault(check, "a time without its unit");
	check_schema(check, schema);
}

static void check_schema(struct check *check, const struct json *schema)
{
	const struct json *properties = json_member(schema, "properties");

	if (properties && !json_member(schema, "additionalProperties"))
		fault(check, "an object of which more members are allowed");
	for (size_t i = 0; i < schema->count; i++) {
		const struct json *value = &schema->child[i];
		size_t back = step_into(check, schema->key[i], 0);
		int many =
			!strcmp(schema->key[i], "properties") || !strcmp(schema->key[i], "$defs");

		if (!is_keyword(check, schema, schema->key[i], value))
			fault(check, "a keyword or a value that is not known");
		else if (!strcmp(schema->key[i], "items"))
			check_schema(check, value);
		for (size_t j = 0; many && j < value->count; j++) {
			size_t inner = step_into(check, value->key[j], 0);

			check_member(check, value->key[j], &value->child[j]);
			check->path[inner] = '\0';
		}
		check->path[back] = '\0';
	}
}

/* --- the document --- */

static int has_type(const struct json *value, const struct json *type)
{
	static const char *const names[] = { "null", "boolean", "number", "string", "array",
		"object" };

	for (size_t i = 0; type->type == JSON_ARRAY && i < type->count; i++)
		if (has_type(value, &type->child[i]))
			return 1;
	if (type->type != JSON_STRING)
		return 0;
	if (!strcmp(type->text, "integer"))
		return value->type == JSON_NUMBER && value->integer;
	return !strcmp(type->text, names[value->type]);
}

static int is_equal(const struct json *one, const struct json *other)
{
	return one->type == other->type &&
		(one->type == JSON_STRING ? !strcmp(one->text, other->text)
					  : one->number == other->number);
}

static int is_among(const struct json *value, const struct json *list)
{
	for (size_t i = 0; i < list->count; i++)
		if (is_equal(value, &list->child[i]))
			return 1;
	return 0;
}

static int has_pattern(const char *text, const char *pattern)
{
	regex_t regex;
	int rc = regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB);

	if (!rc) {
		rc = regexec(&regex, text, 0, NULL, 0);
		regfree(&regex);
	}
	return !rc;
}

static void check_value(struct check *check, const struct json *value, const struct json *schema);

static void check_members(struct check *check, const struct json *value, const struct json *schema)
{
	const struct json *properties = json_member(schema, "properties");
	const struct json *required = json_member(schema, "required");

	for (size_t i = 0; required && i < required->count; i++)
		if (!json_member(value, required->child[i].text))
			fault(check, "'%s' is missing", required->child[i].text);
	for (size_t i = 0; i < value->count; i++) {
		const struct json *member =
			properties ? json_member(properties, value->key[i]) : NULL;
		size_t back = step_into(check, value->key[i], 0);

		if (member)
			check_value(check, &value->child[i], member);
		else if (json_member(schema, "additionalProperties"))
			fault(check, "is not in the schema");
		check->path[back] = '\0';
	}
}

static void check_value(struct check *check, const struct json *value, const struct json *schema)
{
	const struct json *type = json_member(schema, "type"), *list = json_member(schema, "enum");
	const struct json *least = json_member(schema, "minimum");
	const struct json *pattern = json_member(schema, "pattern");
	const struct json *items = json_member(schema, "items"), *other = resolve(check, schema);

	if (other)
		check_value(check, value, other);
	if (type && !has_type(value, type))
		fault(check, "has another type");
	if (list && !is_among(value, list))
		fault(check, "is none of the values");
	if (least && value->type == JSON_NUMBER && value->number < least->number)
		fault(check, "is below the minimum");
	if (pattern && value->type == JSON_STRING && !has_pattern(value->text, pattern->text))
		fault(check, "'%s' does not match", value->text);
	if (value->type == JSON_OBJECT)
		check_members(check, value, schema);
	for (size_t i = 0; items && value->type == JSON_ARRAY && i < value->count; i++) {
		size_t back = step_into(check, NULL, i);

		check_value(check, &value->child[i], items);
		check->path[back] = '\0';
	}
}

int main(int argc, char **argv)
{
	struct json schema, document;
	struct check check = { .schema = &schema, .file = argv[1] };

	if (argc < 2 || json_read(argv[1], &schema))
		return 1;
	check_schema(&check, &schema);
	for (int i = 2; i < argc; i++) {
		check.file = argv[i];
		if (json_read(argv[i], &document))
			check.faults++;
		else
			check_value(&check, &document, &schema);
	}
	return check.faults ? 1 : 0;
}
