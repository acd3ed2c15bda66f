/* SPDX-License-Identifier: Apache-2.0 */
#include "text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calls.h"
#include "layout.h"
#include "print.h"

/* One line, split into words in place. */
struct line {
	char *words;       /* the rest of the line */
	char *key, *value; /* the current word; value NULL: it has no '=' */
	size_t length;     /* of value: quoted text may hold NULs */
};

struct undump {
	const char *in_name;
	unsigned line_number;
	FILE *out;
	char page[TRACE_HEADER_SIZE] __attribute__((aligned(8))); /* struct file_header first */
	uint64_t bytes;                                           /* of the file so far */
	int seeks; /* a regular file: unused chunks become holes; removed on failure */
	size_t chunk_size;
	char *chunk;      /* being filled; starts with struct chunk_header */
	size_t used;      /* bytes of it; 0: no chunk begun */
	char *record;     /* scratch of RECORD_MAX_BYTES */
	char **call_name; /* by number; NULL: not defined */
	size_t call_count;
};

static int complain(const struct undump *undump, const char *what, const char *subject)
{
	print(stderr, "cufence: %s:%u: %s '%s'\n", undump->in_name, undump->line_number, what,
		subject);
	return -1;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

/* Decodes a quoted string in place; returns the byte after the closing quote or NULL. */
static char *unquote(char *from, size_t *length)
{
	char *to = from;
	const char *start = from;

	for (; *from && *from != '"'; from++) {
		if (*from != '\\') {
			*to++ = *from;
			continue;
		}
		if (from[1] != 'x' || hex_digit(from[2]) < 0 || hex_digit(from[3]) < 0)
			return NULL;
		*to++ = (char)(hex_digit(from[2]) << 4 | hex_digit(from[3]));
		from += 3;
	}
	*length = (size_t)(to - start);
	return *from == '"' ? from + 1 : NULL;
}

/* Returns 1 and the next word, 0 at the end of the line, -1 if it is malformed. */
static int next_word(struct line *line)
{
	char *at = line->words + strspn(line->words, " ");

	if (!*at)
		return 0;
	line->key = at;
	line->value = NULL;
	line->length = 0;
	at += strcspn(at, " =");
	if (*at == '=') {
		*at++ = '\0';
		line->value = at;
		if (*at == '"') {
			line->value++;
			at = unquote(line->value, &line->length);
			if (!at)
				return -1;
		} else {
			at += strcspn(at, " ");
			line->length = (size_t)(at - line->value);
		}
	}
	if (*at)
		*at++ = '\0';
	line->words = at;
	return 1;
}

static int parse_number(const char *text, char **end, uint64_t *value)
{
	errno = 0;
	*value = *text == '-' ? (uint64_t)strtoll(text, end, 0) : strtoull(text, end, 0);
	return *end == text || errno ? -1 : 0;
}

static int set_bytes(void *to, size_t size, const struct line *line)
{
	if (line->length != 2 * size)
		return -1;
	for (size_t i = 0; i < size; i++) {
		int high = hex_digit(line->value[2 * i]), low = hex_digit(line->value[2 * i + 1]);
		if (high < 0 || low < 0)
			return -1;
		((unsigned char *)to)[i] = (unsigned char)(high << 4 | low);
	}
	return 0;
}

/* Sets a column: 1, 0 if the word is not a column, -1 if it is malformed. */
static int set_column(const struct column *columns, const struct line *line, void *base)
{
	uint64_t value;
	char *end;

	for (const struct column *column = columns; column->name; column++) {
		if (strcmp(column->name, line->key))
			continue;
		if (!line->value)
			return -1;
		if (column->format == COLUMN_BYTES)
			return set_bytes((char *)base + column->offset, column->size, line) ? -1
											    : 1;
		if (parse_number(line->value, &end, &value) || *end)
			return -1;
		column_set(column, base, value);
		return 1;
	}
	return 0;
}

/* Unused space of a chunk becomes a hole of the file where supported. */
static int write_chunk(struct undump *undump)
{
	size_t unused = undump->chunk_size - undump->used;
	size_t size = undump->seeks ? undump->used : undump->chunk_size;

	if (undump->bytes + undump->chunk_size > TRACE_MOST_BYTES)
		return complain(undump, "too large", "trace");
	if (fwrite(undump->chunk, 1, size, undump->out) != size)
		return -1;
	return undump->seeks ? fseeko(undump->out, (off_t)unused, SEEK_CUR) : 0;
}

static int flush_chunk(struct undump *undump)
{
	if (!undump->used)
		return 0;
	((struct chunk_header *)undump->chunk)->committed =
		undump->used - sizeof(struct chunk_header);
	if (write_chunk(undump))
		return complain(undump, "cannot write", "chunk");
	undump->bytes += undump->chunk_size;
	memset(undump->chunk, 0, undump->used);
	undump->used = 0;
	((struct file_header *)undump->page)->chunk_count++;
	return 0;
}

/* Called once the number of chunks is known. */
static int finish(struct undump *undump)
{
	struct file_header *header = (struct file_header *)undump->page;

	if (flush_chunk(undump))
		return -1;
	if (header->version_minor >= 1)
		header->chunks = header->chunk_count;
	if (undump->seeks &&
		(fflush(undump->out) || ftruncate(fileno(undump->out), (off_t)undump->bytes) ||
			fseeko(undump->out, 0, SEEK_SET) ||
			fwrite(undump->page, sizeof(undump->page), 1, undump->out) != 1))
		return complain(undump, "cannot write", "header");
	return 0;
}

static int begin_chunk(struct undump *undump, struct line *line)
{
	struct chunk_header *header = (struct chunk_header *)undump->chunk;
	uint64_t thread;
	char *end;

	if (!undump->chunk)
		return complain(undump, "no header before", "chunk");
	if (flush_chunk(undump))
		return -1;
	if (next_word(line) != 1 || strcmp(line->key, "thread") || !line->value ||
		parse_number(line->value, &end, &thread))
		return complain(undump, "expected thread=N after", "chunk");
	header->magic = TRACE_CHUNK_MAGIC;
	header->thread = (uint32_t)thread;
	undump->used = sizeof(*header);
	return 0;
}

static int set_header(struct undump *undump, struct file_header *header, const struct line *line)
{
	char *end;
	uint64_t value;
	int rc = set_column(header_columns, line, header);

	if (rc)
		return rc;
	if (!line->value || parse_number(line->value, &end, &value))
		return -1;
	if (!strcmp(line->key, "version")) {
		header->version_major = (uint16_t)value;
		if (*end != '.' || parse_number(end + 1, &end, &value))
			return -1;
		header->version_minor = (uint16_t)value;
		return 1;
	}
	if (!strcmp(line->key, "chunk_size")) {
		if (value < TRACE_CHUNK_LEAST || value > TRACE_CHUNK_MOST || value % TRACE_ALIGN)
			return -1;
		header->chunk_size = (uint32_t)value;
		undump->chunk_size = value;
		return 1;
	}
	if (!strcmp(line->key, "written")) {
		header->written = value;
		return 1;
	}
	for (unsigned i = 0; i < COUNTER_COUNT; i++) {
		if (!strcmp(line->key, counter_names[i])) {
			header->counter[i] = value;
			return 1;
		}
	}
	return 0;
}

static int read_header(struct undump *undump, struct line *line)
{
	struct file_header *header = (struct file_header *)undump->page;
	int rc;

	memcpy(header->magic, TRACE_MAGIC, sizeof(header->magic));
	header->header_size = TRACE_HEADER_SIZE;
	while ((rc = next_word(line)) > 0)
		if (set_header(undump, header, line) != 1)
			return complain(undump, "bad header word", line->key);
	if (rc < 0 || !undump->chunk_size || undump->chunk)
		return complain(undump, "malformed", "cufence-trace");
	undump->chunk = calloc(1, undump->chunk_size);
	if (!undump->chunk)
		return complain(undump, "out of memory for", "chunk");
	undump->bytes = sizeof(undump->page);
	return fwrite(undump->page, sizeof(undump->page), 1, undump->out) == 1
		? 0
		: complain(undump, "cannot write", "header");
}

/* A record under construction in undump->record. */
struct building {
	const struct record_layout *layout;
	size_t size;
};

static int append(struct building *building, struct undump *undump, const void *bytes, size_t size)
{
	if (size > RECORD_MAX_BYTES - building->size)
		return -1;
	memcpy(undump->record + building->size, bytes, size);
	building->size += size;
	return 0;
}

static int align_tail(struct building *building, struct undump *undump)
{
	static const char zeros[TRACE_ALIGN];

	return append(building, undump, zeros, -building->size % TRACE_ALIGN);
}

static int append_words(struct building *building, struct undump *undump, const char *text,
	unsigned *count)
{
	uint64_t value;
	char *end;

	if (align_tail(building, undump))
		return -1;
	for (*count = 0; *text; text = *end == ',' ? end + 1 : end, ++*count)
		if (parse_number(text, &end, &value) || (*end && *end != ',') ||
			append(building, undump, &value, sizeof(value)))
			return -1;
	return 0;
}

/* Parses "number SEPARATOR number, ..." as count pairs, each stored by put. */
static int append_pairs(struct building *building, struct undump *undump, const char *text,
	char separator, unsigned *count)
{
	uint64_t first, second;
	char *end;

	for (*count = 0; *text; text = *end == ',' ? end + 1 : end, ++*count) {
		if (parse_number(text, &end, &first) || *end != separator ||
			parse_number(end + 1, &end, &second) || (*end && *end != ','))
			return -1;
		if (separator == ':') {
			struct launch_pointer pointer = { (uint32_t)first,
				{ (uint32_t)second, (uint32_t)(second >> 32) } };
			if (append(building, undump, &pointer, sizeof(pointer)))
				return -1;
		} else {
			struct function_parameter parameter = { (uint16_t)first, (uint16_t)second };
			if (append(building, undump, &parameter, sizeof(parameter)))
				return -1;
		}
	}
	return 0;
}

static int call_word(struct building *building, struct undump *undump, struct line *line)
{
	struct call_record *call = (struct call_record *)undump->record;
	unsigned count;
	int rc;

	if (!strcmp(line->key, "pointers"))
		rc = append_pairs(building, undump, line->value, ':', &count);
	else
		rc = append_words(building, undump, line->value, &count);
	if (!strcmp(line->key, "pointers") || !strcmp(line->key, "buffer"))
		call->pointer_count = (uint16_t)count;
	return rc;
}

static int append_field_kinds(struct building *building, struct undump *undump, char *text)
{
	struct call_type_record *type = (struct call_type_record *)undump->record;
	char *save = NULL;

	for (char *word = strtok_r(text, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
		uint8_t kind = 0;
		char *end;
		uint64_t number;

		while (kind < FIELD_KIND_COUNT && strcmp(field_names[kind], word))
			kind++;
		if (kind == FIELD_KIND_COUNT) {
			if (parse_number(word, &end, &number) || *end)
				return -1;
			kind = (uint8_t)number;
		}
		if (append(building, undump, &kind, 1) || ++type->field_count == 255)
			return -1;
	}
	return 0;
}

/* Call numbers are few and small, although records have more bits for them. */
static int name_call(struct undump *undump, unsigned number, const char *name, size_t length)
{
	if (number >= undump->call_count) {
		size_t count = number + 64u;
		char **more = realloc(undump->call_name, count * sizeof(*more));

		if (!more)
			return -1;
		memset(more + undump->call_count, 0, (count - undump->call_count) * sizeof(*more));
		undump->call_name = more;
		undump->call_count = count;
	}
	free(undump->call_name[number]);
	undump->call_name[number] = strndup(name, length);
	return undump->call_name[number] ? 0 : -1;
}

static int call_type_name(struct building *building, struct undump *undump, struct line *line)
{
	struct call_type_record *type = (struct call_type_record *)undump->record;

	type->name_length = (uint16_t)line->length;
	if (name_call(undump, type->call, line->value, line->length))
		return -1;
	return append(building, undump, line->value, line->length);
}

static int function_word(struct building *building, struct undump *undump, struct line *line)
{
	struct function_record *function = (struct function_record *)undump->record;

	uint64_t local;
	char *end;

	if (!strcmp(line->key, "local")) {
		if (parse_number(line->value, &end, &local) || *end || local >= UINT32_MAX)
			return -1;
		function->local = 1 + (uint32_t)local;
		return 0;
	}
	if (strcmp(line->key, "name")) {
		if (strcmp(line->value, "?"))
			return append_pairs(building, undump, line->value, '+',
				&function->parameter_count);
		function->parameter_count = FUNCTION_NO_PARAMETERS;
		return 0;
	}
	function->name_length = (uint32_t)line->length;
	return append(building, undump, line->value, line->length);
}

static int texts_word(struct building *building, struct undump *undump, struct line *line)
{
	const struct record_layout *layout = building->layout;
	uint16_t length = (uint16_t)line->length;
	unsigned which = 0;

	while (layout->text[which] && strcmp(line->key, layout->text[which]))
		which++;
	if (!layout->text[which] || line->length > UINT16_MAX)
		return -1;
	memcpy(undump->record + layout->length_offset + which * sizeof(length), &length,
		sizeof(length));
	return append(building, undump, line->value, line->length);
}

static int text_word(struct building *building, struct undump *undump, struct line *line)
{
	uint32_t length = (uint32_t)line->length;

	memcpy(undump->record + building->layout->length_offset, &length, sizeof(length));
	return append(building, undump, line->value, line->length);
}

static int bytes_word(struct building *building, struct undump *undump, struct line *line)
{
	uint32_t length = (uint32_t)(line->length / 2);

	if (length > RECORD_MAX_BYTES - building->size ||
		set_bytes(undump->record + building->size, length, line))
		return -1;
	memcpy(undump->record + building->layout->length_offset, &length, sizeof(length));
	building->size += length;
	return 0;
}

/* A word that is not a column belongs to the record's tail. */
static int tail_word(struct building *building, struct undump *undump, struct line *line)
{
	unsigned count;

	if (!line->value)
		return -1;
	switch (building->layout->tail) {
	case TAIL_FIELDS:
		return call_word(building, undump, line);
	case TAIL_FIELD_KINDS:
		return strcmp(line->key, "name") ? append_field_kinds(building, undump, line->value)
						 : call_type_name(building, undump, line);
	case TAIL_ADDRESSES:
	case TAIL_OPERAND:
		return append_words(building, undump, line->value, &count);
	case TAIL_PARAMETERS:
		return function_word(building, undump, line);
	case TAIL_TEXT:
		return text_word(building, undump, line);
	case TAIL_TEXTS:
		return texts_word(building, undump, line);
	case TAIL_BYTES:
		return bytes_word(building, undump, line);
	default:
		return -1;
	}
}

static int call_number(const struct undump *undump, const char *name, uint16_t *number)
{
	for (size_t i = 0; i < undump->call_count; i++) {
		if (undump->call_name[i] && !strcmp(undump->call_name[i], name)) {
			*number = (uint16_t)i;
			return 0;
		}
	}
	return -1;
}

static int finish_record(struct undump *undump, struct building *building)
{
	struct record *record = (struct record *)undump->record;
	size_t bytes;

	if (align_tail(building, undump))
		return complain(undump, "too long", building->layout->name);
	bytes = building->size;
	if (!undump->used || bytes > undump->chunk_size - undump->used)
		return complain(undump, undump->used ? "chunk overflows at" : "no chunk before",
			building->layout->name);
	record->words = (uint16_t)(bytes / TRACE_ALIGN);
	memcpy(undump->chunk + undump->used, record, bytes);
	undump->used += bytes;
	return 0;
}

/* After "|" every word belongs to the tail: a call's fields may be named like its columns. */
static const struct column no_columns[] = { { 0 } };

static int read_record(struct undump *undump, struct line *line, unsigned type)
{
	struct building building = { &record_layouts[type], record_layouts[type].size };
	struct record *record = (struct record *)undump->record;
	const struct column *columns = building.layout->column;
	int rc;

	memset(undump->record, 0, building.size);
	record->type = (uint8_t)type;
	if (type == RECORD_CALL &&
		(next_word(line) != 1 ||
			call_number(undump, line->key, &((struct call_record *)record)->call)))
		return complain(undump, "unknown call", line->key);
	while ((rc = next_word(line)) > 0) {
		if (!strcmp(line->key, "|")) {
			columns = no_columns;
			continue;
		}
		rc = set_column(head_columns, line, record);
		if (!rc)
			rc = set_column(columns, line, record);
		if (rc < 0 || (!rc && tail_word(&building, undump, line)))
			return complain(undump, "bad word", line->key);
	}
	return rc < 0 ? complain(undump, "malformed", building.layout->name)
		      : finish_record(undump, &building);
}

static int read_line(struct undump *undump, char *text)
{
	struct line line = { .words = text };

	text[strcspn(text, "\n")] = '\0';
	if (*text == '\0' || *text == '#')
		return 0;
	if (next_word(&line) != 1)
		return complain(undump, "malformed line", text);
	if (!strcmp(line.key, "cufence-trace"))
		return read_header(undump, &line);
	if (!strcmp(line.key, "chunk"))
		return begin_chunk(undump, &line);
	for (unsigned type = 1; type < RECORD_TYPE_COUNT; type++)
		if (record_layouts[type].name && !strcmp(record_layouts[type].name, line.key))
			return read_record(undump, &line, type);
	return complain(undump, "unknown record", line.key);
}

int text_undump(FILE *in, const char *in_name, const char *path)
{
	struct undump *undump = calloc(1, sizeof(*undump));
	char *text = NULL;
	size_t capacity = 0;
	int rc = -1;

	if (!undump || !(undump->record = malloc(RECORD_MAX_BYTES + TRACE_ALIGN)))
		goto out;
	undump->in_name = in_name;
	undump->out = fopen(path, "wb");
	if (!undump->out) {
		print(stderr, "cufence: cannot create '%s': %s\n", path, strerror(errno));
		goto out;
	}
	undump->seeks = !ftruncate(fileno(undump->out), 0);
	for (rc = 0; !rc && getline(&text, &capacity, in) >= 0;) {
		undump->line_number++;
		rc = read_line(undump, text);
	}
	if (!rc && ferror(in))
		rc = complain(undump, "cannot read", in_name);
	if (!rc && !undump->chunk)
		rc = complain(undump, "no trace in", in_name);
	if (!rc)
		rc = finish(undump);
	if (fclose(undump->out) && !rc)
		rc = complain(undump, "cannot write", path);
	if (rc && undump->seeks && readlink(path, (char[1]){ 0 }, 1) < 0) /* no link */
		remove(path);
out:
	for (size_t i = 0; undump && i < undump->call_count; i++)
		free(undump->call_name[i]);
	if (undump) {
		free(undump->call_name);
		free(undump->chunk);
		free(undump->record);
	}
	free(undump);
	free(text);
	return rc;
}
