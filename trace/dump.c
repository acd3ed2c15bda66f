/* SPDX-License-Identifier: Apache-2.0 */
#include "text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "layout.h"

/* Writes printable bytes as they are, others as \xNN, in double quotes. */
static void put_text(FILE *out, const char *text, size_t length)
{
	putc('"', out);
	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)text[i];
		if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\')
			fprintf(out, "\\x%02x", c);
		else
			putc(c, out);
	}
	putc('"', out);
}

static void put_bytes(FILE *out, const void *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		fprintf(out, "%02x", ((const unsigned char *)bytes)[i]);
}

static void put_column(FILE *out, const struct column *column, const void *base)
{
	fprintf(out, " %s=", column->name);
	switch (column->format) {
	case COLUMN_SIGNED:
		fprintf(out, "%" PRId64, (int64_t)column_get(column, base));
		break;
	case COLUMN_HEX:
		fprintf(out, "0x%" PRIx64, column_get(column, base));
		break;
	case COLUMN_BYTES:
		put_bytes(out, (const char *)base + column->offset, column->size);
		break;
	default:
		fprintf(out, "%" PRIu64, column_get(column, base));
	}
}

/* Call types seen so far, by call number. */
struct call_names {
	const struct call_type_record **type; /* by number */
	size_t count;
};

/* Call numbers are few and small, although records have more bits for them. */
static int remember_call(struct call_names *names, const struct call_type_record *type)
{
	if (type->call >= names->count) {
		size_t count = type->call + 64u;
		const struct call_type_record **more = realloc(names->type, count * sizeof(*more));

		if (!more)
			return -1;
		memset(more + names->count, 0, (count - names->count) * sizeof(*more));
		names->type = more;
		names->count = count;
	}
	names->type[type->call] = type;
	return 0;
}

static const char *field_name(unsigned kind)
{
	return kind < FIELD_KIND_COUNT ? field_names[kind] : NULL;
}

static void put_call_type(FILE *out, const struct call_type_record *type)
{
	fputs(" fields=", out);
	for (unsigned i = 0; i < type->field_count; i++) {
		unsigned kind = (uint8_t)type->data[i];
		if (field_name(kind))
			fprintf(out, "%s%s", i ? "," : "", field_name(kind));
		else
			fprintf(out, "%s%u", i ? "," : "", kind);
	}
	fputs(" name=", out);
	put_text(out, type->data + type->field_count, type->name_length);
}

static void put_call_name(FILE *out, const struct call_names *names, unsigned call)
{
	const struct call_type_record *type = names->type[call];

	if (type)
		fprintf(out, " %.*s", type->name_length, type->data + type->field_count);
	else
		fprintf(out, " %u", call);
}

static void put_words(FILE *out, const char *name, const char *at, size_t count)
{
	for (size_t i = 0; i < count; i++, at += sizeof(uint64_t)) {
		uint64_t word;
		memcpy(&word, at, sizeof(word));
		fprintf(out, "%s0x%" PRIx64, i ? "," : name, word);
	}
}

/* Returns the byte after them. */
static const char *put_pointers(FILE *out, const char *at, unsigned count)
{
	for (unsigned i = 0; i < count; i++, at += sizeof(struct launch_pointer)) {
		struct launch_pointer pointer;
		memcpy(&pointer, at, sizeof(pointer));
		fprintf(out, "%s%u:0x%" PRIx64, i ? "," : " pointers=", pointer.offset,
			(uint64_t)pointer.pointer[0] | (uint64_t)pointer.pointer[1] << 32);
	}
	return at;
}

static void put_call_fields(FILE *out, const struct call_names *names,
	const struct call_record *call)
{
	const struct call_type_record *type = names->type[call->call];
	const char *at = (const char *)&call->field[type->field_count];
	const char *end = (const char *)call + record_bytes(&call->head);

	fputs(" |", out);
	for (unsigned i = 0; i < type->field_count; i++) {
		const char *name = field_name((uint8_t)type->data[i]);
		fprintf(out, " %s=0x%" PRIx64, name ? name : "field", call->field[i]);
	}
	if (call->head.flags & CALL_BUFFER) {
		put_words(out, " buffer=", at, call->pointer_count);
		at += call->pointer_count * sizeof(uint64_t);
	} else {
		at = put_pointers(out, at, call->pointer_count);
	}
	at += (size_t)(end - at) % TRACE_ALIGN;
	put_words(out, " words=", at, (size_t)(end - at) / sizeof(uint64_t));
}

static void put_parameters(FILE *out, const struct function_record *function)
{
	const char *at = function->data;

	if (function->parameter_count == FUNCTION_NO_PARAMETERS) {
		fputs(" parameters=?", out);
	} else {
		fputs(" parameters=", out);
		for (unsigned i = 0; i < function->parameter_count; i++) {
			struct function_parameter parameter;
			memcpy(&parameter, at, sizeof(parameter));
			at += sizeof(parameter);
			fprintf(out, "%s%u+%u", i ? "," : "", parameter.offset, parameter.size);
		}
	}
	if (function->local)
		fprintf(out, " local=%u", function->local - 1);
	fputs(" name=", out);
	put_text(out, at, function->name_length);
}

static void put_texts(FILE *out, const struct record_layout *layout, const struct record *record)
{
	const char *lengths = (const char *)record + layout->length_offset;
	const char *tail = (const char *)record + layout->size;
	uint16_t length;

	for (unsigned i = 0; layout->text[i]; i++, tail += length) {
		memcpy(&length, lengths + i * sizeof(length), sizeof(length));
		fprintf(out, " %s=", layout->text[i]);
		put_text(out, tail, length);
	}
}

static void put_tail(FILE *out, const struct record_layout *layout, const struct call_names *names,
	const struct record *record)
{
	const char *tail = (const char *)record + layout->size;
	uint32_t length = 0;

	if (layout->length_offset)
		memcpy(&length, (const char *)record + layout->length_offset, sizeof(length));
	switch (layout->tail) {
	case TAIL_FIELDS:
		put_call_fields(out, names, (const struct call_record *)record);
		break;
	case TAIL_FIELD_KINDS:
		put_call_type(out, (const struct call_type_record *)record);
		break;
	case TAIL_ADDRESSES:
		for (unsigned i = 0; i < site_frames((const struct site_record *)record); i++)
			fprintf(out, "%s0x%" PRIx64, i ? "," : " frames=",
				((const struct site_record *)record)->address[i]);
		break;
	case TAIL_PARAMETERS:
		put_parameters(out, (const struct function_record *)record);
		break;
	case TAIL_TEXT:
		fputs(" text=", out);
		put_text(out, tail, length);
		break;
	case TAIL_TEXTS:
		put_texts(out, layout, record);
		break;
	case TAIL_OPERAND:
		if (record_bytes(record) >= ENTER_BYTES)
			fprintf(out, " operand=0x%" PRIx64,
				((const struct enter_record *)record)->operand[0]);
		break;
	case TAIL_BYTES:
		fputs(" bytes=", out);
		put_bytes(out, tail, length);
		break;
	}
}

static int put_record(FILE *out, struct call_names *names, const struct record *record)
{
	const struct record_layout *layout = &record_layouts[record->type];
	const struct call_type_record *type = (const struct call_type_record *)record;

	if (record->type == RECORD_CALL_TYPE && remember_call(names, type))
		return -1;
	fputs(layout->name, out);
	if (record->type == RECORD_CALL)
		put_call_name(out, names, ((const struct call_record *)record)->call);
	if (record->flags)
		put_column(out, head_columns, record);
	for (const struct column *column = layout->column; column->name; column++)
		put_column(out, column, record);
	put_tail(out, layout, names, record);
	putc('\n', out);
	return 0;
}

static void put_header(FILE *out, const struct file_header *header)
{
	static const unsigned counters[] = { COUNTERS_OF_1_0, COUNTERS_OF_1_1, COUNTERS_OF_1_2,
		COUNTERS_OF_1_3, COUNTERS_OF_1_4, COUNTERS_OF_1_4, COUNTER_COUNT };
	unsigned minor = header->version_minor < 6 ? header->version_minor : 6;

	fprintf(out, "cufence-trace version=%u.%u chunk_size=%u", header->version_major,
		header->version_minor, header->chunk_size);
	for (const struct column *column = header_columns; column->name; column++)
		put_column(out, column, header);
	for (unsigned i = 0; i < counters[minor]; i++)
		fprintf(out, " %s=%" PRIu64, counter_names[i], header->counter[i]);
	if (header->version_minor >= 1)
		fprintf(out, " written=%" PRIu64, header->written);
	putc('\n', out);
}

int text_dump(struct trace_reader *reader, FILE *out)
{
	struct call_names names = { 0 };
	const struct record *record;
	size_t chunk = 0;
	int rc = 0;

	put_header(out, reader->header);
	trace_rewind(reader);
	while (!rc && trace_next(reader, &record)) {
		if (reader->chunk != chunk) {
			const struct chunk_header *header =
				(const struct chunk_header *)(reader->base + reader->chunk);
			fprintf(out, "chunk thread=%u\n", header->thread);
			chunk = reader->chunk;
		}
		if (put_record(out, &names, record)) {
			snprintf(reader->error, sizeof(reader->error), "out of memory");
			rc = -1;
		}
	}
	free(names.type);
	return rc || !trace_is_whole(reader) ? -1 : 0;
}
