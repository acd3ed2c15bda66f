/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "symbols_space.h"
#include "text.h"

#define MAX_INLINED 16

static int add_module(struct symbol_space *space, const struct module_record *module)
{
	struct mapping mapping = {
		.start = module->start, .end = module->end, .file_offset = module->file_offset,
		.path = strndup(module->path, module->path_length),
	};
	char build_id[2 * sizeof(module->build_id) + 1];
	int known = 0, rc;

	for (size_t i = 0; i < sizeof(module->build_id); i++) {
		known |= module->build_id[i];
		snprintf(build_id + 2 * i, 3, "%02x", module->build_id[i]);
	}
	mapping.build_id = known ? build_id : NULL;
	rc = mapping.path ? symbol_space_map(space, &mapping) : -1;
	free(mapping.path);
	return rc;
}

/* A string as dump and undump write it. */
static void put_text(const char *text, FILE *out)
{
	fputc('"', out);
	for (; text && *text; text++) {
		unsigned char c = (unsigned char)*text;
		if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\')
			fprintf(out, "\\x%02x", c);
		else
			fputc(c, out);
	}
	fputc('"', out);
}

/* Bytes the lines of an address will take as records; chunks have a size. */
static size_t put_symbols(uint64_t address, const struct source_frame *frame, int count, FILE *out)
{
	size_t bytes = 0;

	for (int i = 0; i < count; i++) {
		const char *name = frame[i].symbol ? frame[i].symbol : frame[i].name;
		fprintf(out, "symbol address=0x%llx depth=%d line=%d function=",
			(unsigned long long)address, i, frame[i].line);
		put_text(name, out);
		fputs(" file=", out);
		put_text(frame[i].file, out);
		fputc('\n', out);
		bytes += sizeof(struct symbol_record) + 8 + (name ? strlen(name) : 0) +
			 (frame[i].file ? strlen(frame[i].file) : 0);
	}
	return bytes;
}

/* Mappings, and the addresses the trace already explains, into space and done. */
static int read_tables(struct trace_reader *reader, struct symbol_space *space, struct map *done)
{
	const struct record *record;
	int rc;

	trace_rewind(reader);
	while ((rc = trace_next(reader, &record)) > 0) {
		if (record->type == RECORD_MODULE)
			rc = add_module(space, (const struct module_record *)record);
		else if (record->type == RECORD_SYMBOL)
			rc = map_set(done, ((const struct symbol_record *)record)->address, 1);
		if (rc < 0)
			break;
	}
	return rc;
}

/* A chunk of symbol lines after the trace's own, for addresses it does not explain yet. */
static int dump_symbols(struct trace_reader *reader, FILE *out)
{
	struct source_frame frame[MAX_INLINED];
	struct symbol_space space = { 0 };
	struct map done = { 0 };
	const struct record *record;
	size_t room = 0, chunk = reader->header->chunk_size / 2;
	int rc = read_tables(reader, &space, &done);

	trace_rewind(reader);
	while (!rc && (rc = trace_next(reader, &record)) > 0) {
		const struct site_record *site = (const struct site_record *)record;
		rc = 0;
		for (unsigned i = 0; record->type == RECORD_SITE && i < site_frames(site); i++) {
			int count;
			size_t bytes;
			if (map_get(&done, site->address[i], 0))
				continue;
			map_set(&done, site->address[i], 1);
			count = symbol_space_lookup(&space, site->address[i], frame, MAX_INLINED);
			if (count && !room)
				fputs("chunk thread=0\n", out);
			if (count && !room)
				room = chunk;
			bytes = put_symbols(site->address[i], frame, count, out);
			room = bytes < room ? room - bytes : 0;
		}
	}
	symbol_space_release(&space);
	map_release(&done);
	return rc;
}

int cmd_dump(const struct arguments *arguments)
{
	const char *path = arguments->operand[0];
	struct trace_reader reader;
	int rc = trace_open(&reader, path);

	if (!rc)
		rc = text_dump(&reader, stdout);
	if (!rc && option(arguments, "--symbols"))
		rc = dump_symbols(&reader, stdout);
	if (rc)
		fprintf(stderr, "cufence: '%s': %s\n", path, reader.error);
	trace_close(&reader);
	return rc ? EXIT_TROUBLE : 0;
}
