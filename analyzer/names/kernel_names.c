/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "demangle_whole.h"

/* Maximum characters of template arguments in a label, which is for display only. */
#define ARGUMENTS_MAX 48

struct kernel {
	int64_t id;
	char *name, *whole, *arguments; /* arguments NULL: it has none */
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

static int add(struct kernels *kernels, sqlite3_stmt *row, struct whole_name *whole)
{
	const char *mangled = (const char *)sqlite3_column_text(row, 1);
	const char *name = (const char *)sqlite3_column_text(row, 2);
	struct kernel *more;

	/* A name that is not mangled is already complete. */
	if (!mangled || !name || demangle_whole(mangled, whole))
		return 0;
	more = array_room(kernels->list, kernels->count, sizeof(*more));
	if (!more)
		return -1;
	kernels->list = more;
	more += kernels->count++;
	*more = (struct kernel){ .id = sqlite3_column_int64(row, 0),
		.name = strdup(name),
		.whole = strdup(whole->text) };
	if (whole->arguments_length)
		more->arguments = strndup(whole->text + whole->arguments, whole->arguments_length);
	return more->name && more->whole && (more->arguments || !whole->arguments_length)
		? 0
		: no_memory();
}

static int read_kernels(struct kernels *kernels, struct db *db)
{
	sqlite3_stmt *q = db_prepare(db, "SELECT id, mangled, name FROM kernel ORDER BY name, id");
	struct whole_name *whole = malloc(sizeof(*whole));
	int step = -1;

	while (q && whole && (step = db_step(q)) > 0)
		if (add(kernels, q, whole)) {
			step = -1;
			break;
		}
	sqlite3_finalize(q);
	free(whole);
	return step;
}

static const char *arguments_of(const struct kernel *kernel)
{
	return kernel->arguments ? kernel->arguments : "";
}

/* Length of the complete leading arguments that all these kernels share. */
static size_t common_length(const struct kernel *kernel, size_t count)
{
	const char *first = arguments_of(kernel);
	size_t length = strlen(first);

	for (size_t i = 1; i < count; i++) {
		const char *other = arguments_of(&kernel[i]);
		size_t same = 0;

		while (same < length && first[same] == other[same])
			same++;
		length = same;
	}
	while (length && !(first[length - 1] == ' ' && length > 1 && first[length - 2] == ','))
		length--;
	return length;
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

/* Names the kernels that share one base name. */
static int write_group(const struct kernel *kernel, size_t count, sqlite3_stmt *insert)
{
	size_t common = common_length(kernel, count);
	int differ = 0;
	char label[512];

	for (size_t i = 1; i < count; i++)
		differ |= strcmp(arguments_of(kernel), arguments_of(&kernel[i])) != 0;
	for (size_t i = 0; i < count; i++) {
		snprintf(label, sizeof(label), "%s", kernel[i].name);
		if (differ && kernel[i].arguments)
			write_label(&kernel[i], common, label, sizeof(label));
		if (db_run(insert, "iss", kernel[i].id, kernel[i].whole, label))
			return -1;
	}
	return 0;
}

static int write_names(const struct kernels *kernels, struct db *db)
{
	sqlite3_stmt *insert = db_prepare(db, "INSERT INTO kernel_name VALUES (?,?,?)");
	size_t next;
	int rc = insert ? 0 : -1;

	for (size_t i = 0; i < kernels->count && !rc; i = next) {
		for (next = i + 1; next < kernels->count; next++)
			if (strcmp(kernels->list[next].name, kernels->list[i].name))
				break;
		rc = write_group(kernels->list + i, next - i, insert);
	}
	sqlite3_finalize(insert);
	return rc;
}

int kernel_names_resolve(struct db *db)
{
	struct kernels kernels = { 0 };
	int rc = read_kernels(&kernels, db);

	if (!rc)
		rc = db_exec(db, "BEGIN") || write_names(&kernels, db) ? -1 : db_exec(db, "COMMIT");
	if (rc && !sqlite3_get_autocommit(db->handle))
		sqlite3_exec(db->handle, "ROLLBACK", NULL, NULL, NULL);
	for (size_t i = 0; i < kernels.count; i++) {
		free(kernels.list[i].name);
		free(kernels.list[i].whole);
		free(kernels.list[i].arguments);
	}
	free(kernels.list);
	return rc;
}
