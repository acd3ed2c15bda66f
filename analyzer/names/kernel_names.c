/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "demangle_whole.h"
#include "memory.h"
#include "name_parts.h"
#include "rows.h"
#include "short_name.h"

/* Maximum characters of template arguments in a label, which is for display only. */
#define ARGUMENTS_MAX 48
/* Maximum parts by which a short name differs from others. */
#define PARTS_MAX 3

struct kernel {
	int64_t id;
	char *name, *whole, *arguments; /* arguments NULL: it has none */
	char *label;
	int is_short; /* the label is short_name()'s */
	size_t next;  /* the first part that the label may not have yet */
};

struct kernels {
	struct kernel *list;
	size_t count;
};

static int no_memory(void)
{
	fputs("cufence: out of memory\n", stderr);
	return -1;
}

/* whole->text without the name and what follows is the scope. */
static int name_shortly(struct kernel *kernel, struct whole_name *whole)
{
	char text[SHORT_NAME_MAX], *name = whole->text + whole->arguments;
	struct long_name parts = { "", kernel->name, kernel->arguments ? kernel->arguments : "" };

	if (kernel->arguments)
		name -= 1 + strlen(kernel->name);
	if (kernel->arguments && name >= whole->text &&
		!strncmp(name, kernel->name, strlen(kernel->name))) {
		*name = '\0';
		parts.scope = whole->text;
	}
	kernel->is_short = short_name(&parts, text);
	kernel->label = kernel->is_short ? strdup(text) : NULL;
	return kernel->is_short && !kernel->label ? no_memory() : 0;
}

static int add(struct kernels *kernels, sqlite3_stmt *row, struct whole_name *whole)
{
	const char *mangled = (const char *)sqlite3_column_text(row, 1);
	const char *name = (const char *)sqlite3_column_text(row, 2);
	struct kernel *kernel;
	int is_plain;

	if (!mangled || !name)
		return 0;
	/* A name that is not mangled is already complete. */
	is_plain = demangle_whole(mangled, whole);
	if (is_plain)
		whole->arguments_length = 0;
	kernel = array_push(kernels->list, kernels->count);
	*kernel = (struct kernel){ .id = sqlite3_column_int64(row, 0),
		.name = xstrdup(name),
		.whole = xstrdup(is_plain ? mangled : whole->text) };
	if (whole->arguments_length)
		kernel->arguments = xprintf("%.*s", (int)whole->arguments_length,
			whole->text + whole->arguments);
	return name_shortly(kernel, whole);
}

static const char *arguments_of(const struct kernel *kernel)
{
	return kernel->arguments ? kernel->arguments : "";
}

/* For kernels that share a name; their first common bytes of arguments are equal. */
static void write_label(const struct kernel *kernel, size_t common, char *label, size_t size)
{
	const char *arguments = arguments_of(kernel);

	if (strlen(arguments) <= ARGUMENTS_MAX)
		snprintf(label, size, "%s<%s>", kernel->name, arguments);
	else
		snprintf(label, size, "%s<%s%.*s%s>", kernel->name, common ? "..., " : "",
			ARGUMENTS_MAX, arguments + common,
			strlen(arguments + common) > ARGUMENTS_MAX ? "..." : "");
}

/* Names the kernels that share one base name, and have no short one. */
static int name_group(struct kernel *kernel, size_t count)
{
	/* Length of the complete leading arguments that all these kernels share. */
	const char *first = arguments_of(kernel);
	size_t common = strlen(first);

	for (size_t i = 1; i < count; i++) {
		const char *other = arguments_of(&kernel[i]);
		size_t same = 0;

		while (same < common && first[same] == other[same])
			same++;
		common = same;
	}
	while (common && !(first[common - 1] == ' ' && common > 1 && first[common - 2] == ','))
		common--;
	int differ = 0;
	char label[512];

	for (size_t i = 1; i < count; i++)
		differ |= strcmp(arguments_of(kernel), arguments_of(&kernel[i])) != 0;
	for (size_t i = 0; i < count; i++) {
		snprintf(label, sizeof(label), "%s", kernel[i].name);
		if (differ && kernel[i].arguments)
			write_label(&kernel[i], common, label, sizeof(label));
		kernel[i].label = strdup(label);
		if (!kernel[i].label)
			return no_memory();
	}
	return 0;
}

static int by_name(const void *a, const void *b)
{
	const struct kernel *x = a, *y = b;

	return x->is_short != y->is_short ? x->is_short - y->is_short : strcmp(x->name, y->name);
}

static int by_label(const void *a, const void *b)
{
	const struct kernel *x = a, *y = b;
	int order = strcmp(x->label, y->label);

	return order ? order : strcmp(x->whole, y->whole);
}

/* Length of the group that begins with the first of count kernels. */
static size_t group_length(const struct kernel *kernel, size_t count, int of_labels)
{
	size_t length = 1;

	while (length < count && kernel[length].is_short == kernel->is_short &&
		!(of_labels ? strcmp(kernel[length].label, kernel->label)
			    : strcmp(kernel[length].name, kernel->name)))
		length++;
	return length;
}

static int name_by_name(struct kernels *kernels)
{
	size_t length;

	qsort(kernels->list, kernels->count, sizeof(*kernels->list), by_name);
	for (size_t i = 0; i < kernels->count && !kernels->list[i].is_short; i += length) {
		length = group_length(kernels->list + i, kernels->count - i, 0);
		if (name_group(kernels->list + i, length))
			return -1;
	}
	return 0;
}
/* "mul (elementwise, float)" needs no "elementwise". */
static int says(const char *label, const char *part)
{
	const char *at = strchr(label, '('), *end;

	while (at && (at = strstr(at + 1, part))) {
		end = at + strlen(part);
		if (strchr("( ", at[-1]) && strchr(",)", *end))
			return 1;
	}
	return 0;
}

/* "add (elementwise, float)" with "2" is "add (elementwise, float, 2)". */
static int append(struct kernel *kernel, const char *part)
{
	size_t length = strlen(kernel->label);
	int is_open = kernel->label[length - 1] == ')';
	char *label;

	if (says(kernel->label, part))
		return 0;
	if (asprintf(&label, "%.*s%s%s)", (int)length - is_open, kernel->label,
		    is_open ? ", " : " (", part) < 0)
		return no_memory();
	free(kernel->label);
	kernel->label = label;
	return 0;
}

/* Kernels with one label. */
static int tell_apart(struct kernel *kernel, size_t count)
{
	struct name_parts *parts;
	const char *part;
	int rc = 0;

	if (!strcmp(kernel->whole, kernel[count - 1].whole) || count > NAME_GROUP_LIMIT)
		return 0;
	parts = malloc(count * sizeof(*parts));
	if (!parts)
		return no_memory();
	for (size_t i = 0; i < count; i++)
		name_parts_read(kernel[i].name, arguments_of(&kernel[i]), &parts[i]);
	for (size_t i = 0; !rc && i < count; i++)
		if ((part = name_parts_find(parts, count, i, &kernel[i].next)))
			rc = append(&kernel[i], part);
	free(parts);
	return rc;
}

/* Each kernel's short name gets its own parts, one a round. */
static int lengthen_short(struct kernels *kernels)
{
	size_t length;

	for (int round = 0; round < PARTS_MAX; round++) {
		qsort(kernels->list, kernels->count, sizeof(*kernels->list), by_label);
		for (size_t i = 0; i < kernels->count; i += length) {
			length = group_length(kernels->list + i, kernels->count - i, 1);
			if (kernels->list[i].is_short && tell_apart(kernels->list + i, length))
				return -1;
		}
	}
	return 0;
}

/* Kernels that still share a label get numbers. */
static int number_labels(struct kernels *kernels)
{
	const struct kernel *list = kernels->list;
	char **label = calloc(kernels->count + 1, sizeof(*label));
	int number = 1, rc = label ? 0 : no_memory();

	qsort(kernels->list, kernels->count, sizeof(*kernels->list), by_label);
	for (size_t i = 1; !rc && i < kernels->count; i++) {
		int same = !strcmp(list[i].label, list[i - 1].label);

		number = !same ? 1 : number + !!strcmp(list[i].whole, list[i - 1].whole);
		if (number > 1 && asprintf(&label[i], "%s #%d", list[i].label, number) < 0)
			rc = no_memory();
	}
	for (size_t i = 0; !rc && i < kernels->count; i++)
		if (label[i]) {
			free(kernels->list[i].label);
			kernels->list[i].label = label[i];
		}
	free(label);
	return rc;
}

static int write_names(const struct kernels *kernels, struct db *db)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < kernels->count; i++)
		rc = db_add(db,
			ROW(kernel_name, kernels->list[i].id, cell_text(kernels->list[i].whole),
				cell_text(kernels->list[i].label)));
	return rc;
}

int kernel_names_resolve(struct db *db)
{
	struct kernels kernels = { 0 };
	sqlite3_stmt *q = db_prepare(db, "SELECT id, mangled, name FROM kernel ORDER BY name, id");
	struct whole_name *whole = malloc(sizeof(*whole));
	int rc = -1;

	while (q && whole && (rc = db_step(q)) > 0)
		if (add(&kernels, q, whole)) {
			rc = -1;
			break;
		}
	sqlite3_finalize(q);
	free(whole);
	if (!rc && kernels.count)
		rc = name_by_name(&kernels) || lengthen_short(&kernels) || number_labels(&kernels);
	if (!rc)
		rc = db_exec(db, "BEGIN") || write_names(&kernels, db) ? -1 : db_exec(db, "COMMIT");
	if (rc && !sqlite3_get_autocommit(db->handle))
		sqlite3_exec(db->handle, "ROLLBACK", NULL, NULL, NULL);
	for (size_t i = 0; i < kernels.count; i++) {
		free(kernels.list[i].name);
		free(kernels.list[i].whole);
		free(kernels.list[i].arguments);
		free(kernels.list[i].label);
	}
	free(kernels.list);
	return rc;
}
