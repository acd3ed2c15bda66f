/* SPDX-License-Identifier: Apache-2.0 */
#include "annotations.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "print.h"
#include "ptx.h"

#define OF_ALL (-1) /* the offset is relative to all parameters */
#define HIGHEST (INT64_C(1) << 48)

enum use { USE_READS = 1, USE_WRITES = 2, USE_ATOMIC = 4 };

struct word {
	unsigned line;
	int parameter;       /* index, or OF_ALL */
	int64_t offset;      /* in bytes, from the start of that parameter */
	unsigned use;        /* enum use; 0: unused */
	int64_t low, high;   /* high DB_NULL: up to the end of the memory */
	int is_exact, spins; /* is_exact: bytes were given */
};

struct kernel {
	unsigned line;
	char *pattern;
	int complete;
	struct word *word;
	size_t count;
};

struct annotations {
	char *path;
	struct kernel *kernel;
	size_t count;
};

void annotations_free(struct annotations *annotations)
{
	if (!annotations)
		return;
	for (size_t i = 0; i < annotations->count; i++) {
		free(annotations->kernel[i].pattern);
		free(annotations->kernel[i].word);
	}
	free(annotations->kernel);
	free(annotations->path);
	free(annotations);
}

/* --- the file --- */

struct reader {
	struct annotations *annotations;
	unsigned line;
	char *at; /* the rest of the file */
};

static int complain(const struct reader *reader, const char *what, const char *word)
{
	print(stderr, "cufence: '%s', line %u: '%s' %s\n", reader->annotations->path, reader->line,
		word, what);
	return -1;
}

/* Returns the next word of the line, "" at its end or at a #. */
static char *next_word(struct reader *reader)
{
	char *word = reader->at + strspn(reader->at, " \t");

	if (*word == '#')
		*word = '\0';
	reader->at = word + strcspn(word, " \t");
	if (*reader->at)
		*reader->at++ = '\0';
	return word;
}

/*
 * Returns a pattern, which may contain blanks, and a # without a blank before it: "{lambda(int,
 * int)#1}".
 */
static char *next_pattern(struct reader *reader)
{
	char *pattern = reader->at + strspn(reader->at, " \t"), *end = pattern;

	while (*end && !(*end == '#' && (end == pattern || strchr(" \t", end[-1]))))
		end++;
	while (end > pattern && strchr(" \t", end[-1]))
		end--;
	*end = '\0';
	return pattern;
}

static int begin_kernel(struct reader *reader)
{
	struct annotations *all = reader->annotations;
	char *pattern = next_pattern(reader);

	if (!*pattern)
		return complain(reader, "needs the name of a kernel after it", "kernel");
	*array_push(all->kernel, all->count) =
		(struct kernel){ .line = reader->line, .pattern = xstrdup(pattern) };
	return 0;
}

/* Parses digits, up to limit; moves text behind them. */
static int parse_number(char **text, int64_t limit, int64_t *number)
{
	char *end;

	if (!isdigit((unsigned char)**text))
		return -1;
	errno = 0;
	*number = strtoll(*text, &end, 10);
	*text = end;
	return errno || *number > limit ? -1 : 0;
}

/* "2", "2+8" or "+24" */
static int parse_place(char *text, struct word *word)
{
	int64_t parameter = OF_ALL;

	if (*text != '+' && parse_number(&text, PTX_PARAMETER_LIMIT, &parameter))
		return -1;
	word->parameter = (int)parameter;
	if (!*text)
		return 0;
	return *text++ != '+' || parse_number(&text, PTX_PARAMETER_LIMIT - 8, &word->offset) ||
			*text
		? -1
		: 0;
}

static int parse_use(const char *text, struct word *word)
{
	static const struct {
		const char *name;
		unsigned use;
	} uses[] = { { "reads", USE_READS }, { "writes", USE_WRITES },
		{ "reads+writes", USE_READS | USE_WRITES }, { "atomic", USE_ATOMIC },
		{ "unused", 0 } };

	for (size_t i = 0; i < sizeof(uses) / sizeof(*uses); i++)
		if (!strcmp(text, uses[i].name)) {
			word->use = uses[i].use;
			return 0;
		}
	return -1;
}

/* "0..4096" or "0.." */
static int parse_bytes(char *text, struct word *word)
{
	if (parse_number(&text, HIGHEST, &word->low) || strncmp(text, "..", 2))
		return -1;
	text += 2;
	word->is_exact = 1;
	if (!*text)
		return 0;
	return parse_number(&text, HIGHEST, &word->high) || *text || word->high <= word->low ? -1
											     : 0;
}

static int read_word(struct reader *reader, struct kernel *kernel, char *place)
{
	struct word word = { .line = reader->line, .high = DB_NULL };
	char *text;

	if (parse_place(place, &word))
		return complain(reader,
			"is none of kernel, complete, a parameter (2), a word of one (2+8) or of "
			"all (+24)",
			place);
	text = next_word(reader);
	if (parse_use(text, &word))
		return complain(reader, "is none of reads, writes, reads+writes, atomic and unused",
			text);
	for (text = next_word(reader); *text; text = next_word(reader))
		if (word.use && !strcmp(text, "spins"))
			word.spins = 1;
		else if (!word.use || word.is_exact || parse_bytes(text, &word))
			return complain(reader, "is neither spins nor bytes (0..4096, 0..)", text);
	*array_push(kernel->word, kernel->count) = word;
	return 0;
}

static int read_line(struct reader *reader)
{
	struct annotations *all = reader->annotations;
	struct kernel *kernel = all->count ? &all->kernel[all->count - 1] : NULL;
	char *word = next_word(reader);

	if (!*word)
		return 0;
	if (!strcmp(word, "kernel"))
		return begin_kernel(reader);
	if (!kernel)
		return complain(reader, "comes before the first line of a kernel", word);
	if (strcmp(word, "complete"))
		return read_word(reader, kernel, word);
	kernel->complete = 1;
	word = next_word(reader);
	return *word ? complain(reader, "comes after complete", word) : 0;
}

static int read_lines(struct annotations *annotations, FILE *file)
{
	struct reader reader = { .annotations = annotations };
	size_t size = 0;
	char *line = NULL;
	ssize_t length;
	int rc = 0;

	while (!rc && (length = getline(&line, &size, file)) >= 0) {
		while (length && strchr("\r\n \t", line[length - 1]))
			line[--length] = '\0';
		reader.line++;
		reader.at = line;
		rc = read_line(&reader);
	}
	free(line);
	if (!rc && ferror(file)) {
		print(stderr, "cufence: cannot read '%s': %s\n", annotations->path,
			strerror(errno));
		rc = -1;
	}
	return rc;
}

struct annotations *annotations_read(const char *path)
{
	struct annotations *annotations = xcalloc(1, sizeof(*annotations));
	FILE *file;
	int rc;

	annotations->path = xstrdup(path);
	file = fopen(path, "r");
	if (!file)
		print(stderr, "cufence: cannot open '%s': %s\n", path, strerror(errno));
	rc = file ? read_lines(annotations, file) : -1;
	if (file)
		fclose(file);
	if (!rc)
		return annotations;
	annotations_free(annotations);
	return NULL;
}

/* --- the database --- */

struct writer {
	const struct annotations *annotations;
	struct db *db;
	sqlite3_stmt *place, *clear, *access, *code, *complete, *shapes;
	int64_t kernel;
	const char *name;
};

/*
 * Returns the offset in bytes into all parameters; -1: the kernel has no such word, DB_NULL after a
 * message.
 */
static int64_t find_place(struct writer *writer, const struct word *word)
{
	int64_t offset = -1;
	int step;

	if (db_bind(writer->place, "iii", writer->kernel, (int64_t)word->parameter, word->offset))
		return DB_NULL;
	step = db_step(writer->place);
	if (step > 0)
		offset = sqlite3_column_int64(writer->place, 0);
	sqlite3_reset(writer->place);
	return step < 0 ? DB_NULL : offset;
}

static int write_use(struct writer *writer, const struct word *word, int64_t offset,
	const char *direction)
{
	return db_run(writer->access, "iisiIii", writer->kernel, offset, direction, word->low,
		word->high, (int64_t)word->is_exact, (int64_t)word->spins);
}

static int write_word(struct writer *writer, const struct word *word)
{
	int64_t offset = find_place(writer, word);

	return offset == DB_NULL || db_run(writer->clear, "ii", writer->kernel, offset) ||
			(word->use & USE_READS && write_use(writer, word, offset, "load")) ||
			(word->use & USE_WRITES && write_use(writer, word, offset, "store")) ||
			(word->use & USE_ATOMIC && write_use(writer, word, offset, "atomic")) ||
			db_run(writer->code, "i", writer->kernel)
		? -1
		: 0;
}

/*
 * Returns 1 if the kernel has all words, 0 after a message that names a missing one, -1 after
 * another message.
 */
static int has_words(struct writer *writer, const struct kernel *kernel)
{
	int has = 1;

	for (size_t i = 0; i < kernel->count; i++) {
		int64_t offset = find_place(writer, &kernel->word[i]);

		if (offset == DB_NULL)
			return -1;
		if (offset >= 0)
			continue;
		print(stderr,
			"cufence: '%s', line %u: kernel '%s' has no such parameter that is known\n",
			writer->annotations->path, kernel->word[i].line, writer->name);
		has = 0;
	}
	return has;
}

static int write_kernel(struct writer *writer, const struct kernel *kernel)
{
	int has = has_words(writer, kernel);

	if (has <= 0)
		return has;
	for (size_t i = 0; i < kernel->count; i++)
		if (write_word(writer, &kernel->word[i]))
			return -1;
	if (!kernel->complete)
		return 0;
	return db_run(writer->code, "i", writer->kernel) ||
			db_run(writer->complete, "i", writer->kernel) ||
			db_run(writer->shapes, "i", writer->kernel)
		? -1
		: 0;
}

/* Returns 1 if a pattern matches the kernel in the row (id and names). */
static int is_matching(const struct kernel *kernel, sqlite3_stmt *row)
{
	for (int column = 1; column <= 3; column++) {
		const char *name = (const char *)sqlite3_column_text(row, column);

		if (name && !fnmatch(kernel->pattern, name, 0))
			return 1;
	}
	return 0;
}

/* A message names patterns that match no kernel: they may be misspelled. */
static int write_kernels(struct writer *writer)
{
	sqlite3_stmt *q = db_prepare(writer->db,
		"SELECT k.id, k.name, k.mangled, n.whole FROM kernel k "
		"LEFT JOIN kernel_name n ON n.kernel = k.id ORDER BY k.id");
	const struct annotations *all = writer->annotations;
	int step = q ? 1 : -1;

	for (size_t i = 0; i < all->count && step >= 0; i++) {
		int matches = 0;

		while (step >= 0 && (step = db_step(q)) > 0) {
			if (!is_matching(&all->kernel[i], q))
				continue;
			matches++;
			writer->kernel = sqlite3_column_int64(q, 0);
			writer->name = (const char *)sqlite3_column_text(q, 1);
			step = write_kernel(writer, &all->kernel[i]) ? -1 : 1;
		}
		sqlite3_reset(q);
		if (step >= 0 && !matches)
			print(stderr,
				"cufence: '%s', line %u: no kernel of this run matches '%s'\n",
				all->path, all->kernel[i].line, all->kernel[i].pattern);
	}
	sqlite3_finalize(q);
	return step < 0 ? -1 : 0;
}

static int prepare(struct writer *writer)
{
	writer->place = db_prepare(writer->db,
		"SELECT ?3 WHERE ?2 < 0 UNION ALL SELECT offset + ?3 FROM parameter "
		"WHERE kernel = ?1 AND ordinal = ?2 AND ?3 + 8 <= max(size, 8)");
	writer->clear =
		db_prepare(writer->db, "DELETE FROM kernel_access WHERE kernel = ? AND offset = ?");
	/* Includes launch shapes with details of their own. */
	writer->access = db_prepare(writer->db,
		"INSERT INTO kernel_access (kernel, shape, offset, direction, sure, low, high, "
		"exact, loaded, early, spins, evidence) "
		"SELECT ?1, s.id, ?2, ?3, 1, ?4, ?5, ?6, 0, 0, ?7, 'annotation' FROM "
		"(SELECT NULL AS id UNION ALL SELECT c.shape FROM shape_code c "
		" JOIN shape ON shape.id = c.shape WHERE shape.kernel = ?1) s");
	writer->code = db_prepare(writer->db,
		"UPDATE kernel_code SET evidence = 'annotation' "
		"WHERE kernel = ? AND evidence = 'none'");
	writer->complete = db_prepare(writer->db,
		"UPDATE kernel_code SET complete = 1, why = NULL, reaches = 0 WHERE kernel = ?");
	writer->shapes = db_prepare(writer->db,
		"UPDATE shape_code SET complete = 1, why = NULL, reaches = 0 "
		"WHERE shape IN (SELECT id FROM shape WHERE kernel = ?)");
	return writer->place && writer->clear && writer->access && writer->code &&
			writer->complete && writer->shapes
		? 0
		: -1;
}

int annotations_apply(struct db *db, const struct annotations *annotations)
{
	struct writer writer = { .annotations = annotations, .db = db };
	int rc;

	if (!annotations)
		return 0;
	if (db_exec(db, "BEGIN"))
		return -1;
	rc = prepare(&writer) ? -1 : write_kernels(&writer);
	sqlite3_finalize(writer.place);
	sqlite3_finalize(writer.clear);
	sqlite3_finalize(writer.access);
	sqlite3_finalize(writer.code);
	sqlite3_finalize(writer.complete);
	sqlite3_finalize(writer.shapes);
	if (!rc)
		rc = db_exec(db, "COMMIT");
	if (rc && !sqlite3_get_autocommit(db->handle))
		sqlite3_exec(db->handle, "ROLLBACK", NULL, NULL, NULL);
	return rc;
}
