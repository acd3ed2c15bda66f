/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "image_beside.h"
#include "memory.h"
#include "print.h"
#include "symbols_space.h"
#include "text.h"

#define MAX_INLINED 16

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

/* Returns how many bytes the lines take as records, since a chunk's size is fixed. */
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

/* Reads mappings into space, and the addresses that the trace already names into done. */
static void read_tables(struct trace_reader *reader, struct symbol_space *space, struct map *done)
{
	const struct record *record;

	trace_rewind(reader);
	while (trace_next(reader, &record)) {
		if (record->type == RECORD_MODULE) {
			const struct module_record *module = (const struct module_record *)record;
			struct mapping mapping = {
				.start = module->start,
				.end = module->end,
				.file_offset = module->file_offset,
				.path = xprintf("%.*s", (int)module->path_length, module->path),
			};
			char build_id[2 * sizeof(module->build_id) + 1];
			int known = 0;

			for (size_t i = 0; i < sizeof(module->build_id); i++) {
				known |= module->build_id[i];
				snprintf(build_id + 2 * i, 3, "%02x", module->build_id[i]);
			}
			mapping.build_id = known ? build_id : NULL;
			symbol_space_map(space, &mapping);
			free(mapping.path);
		} else if (record->type == RECORD_SYMBOL)
			map_set(done, ((const struct symbol_record *)record)->address, 1);
	}
}

/* Prints chunks of symbol lines for the addresses that the trace does not name itself. */
static void dump_symbols(struct trace_reader *reader, FILE *out)
{
	struct source_frame frame[MAX_INLINED];
	struct known_files files = { 0 };
	struct symbol_space space = { .files = &files };
	struct map done = { 0 };
	const struct record *record;
	size_t room = 0, chunk = reader->header->chunk_size / 2;

	read_tables(reader, &space, &done);
	trace_rewind(reader);
	while (trace_next(reader, &record)) {
		const struct site_record *site = (const struct site_record *)record;

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
	known_files_release(&files);
	map_release(&done);
}

/* Each piece of an image has a chunk of its own. */
static void put_image(const struct trace_reader *reader, const struct image_record *image,
	const char *bytes, FILE *out)
{
	size_t piece = reader->header->chunk_size / 2;

	piece = piece < RECORD_MAX_BYTES / 2 ? piece : RECORD_MAX_BYTES / 2;
	for (uint64_t at = 0; at < image->total; at += piece) {
		fprintf(out, "chunk thread=0\nimage hash=0x%llx offset=%llu total=%llu bytes=",
			(unsigned long long)image->hash, (unsigned long long)at,
			(unsigned long long)image->total);
		for (uint64_t i = at; i < at + piece && i < image->total; i++)
			fprintf(out, "%02x", (unsigned char)bytes[i]);
		fputc('\n', out);
	}
}

/* Prints the readable part even of a damaged trace, and returns -1 for that. */
static int dump(struct trace_reader *reader, const char *path, int symbols)
{
	int rc = text_dump(reader, stdout), readable = !rc || !trace_is_whole(reader);

	if (symbols && readable) {
		dump_symbols(reader, stdout);
		/* Prints the images stored next to the trace. */
		const struct record *record;

		trace_rewind(reader);
		while (trace_next(reader, &record)) {
			const struct image_record *image = (const struct image_record *)record;
			char *bytes = NULL;

			if (record->type == RECORD_IMAGE && image_is_beside(image))
				bytes = image_read_beside(path, image);
			if (bytes)
				put_image(reader, image, bytes, stdout);
			free(bytes);
		}
	}
	fflush(stdout);
	return rc;
}

int cmd_dump(const struct arguments *arguments)
{
	const char *path = arguments->operand[0];
	struct trace_reader reader;
	int rc = trace_open(&reader, path);

	if (rc)
		print(stderr, "cufence: cannot read '%s': %s\n", path, reader.error);
	else if ((rc = dump(&reader, path, option(arguments, "--symbols") != NULL)))
		print(stderr,
			"cufence: '%s' is damaged: %s; only its intact records were printed\n",
			path, reader.error);
	trace_close(&reader);
	return rc ? EXIT_TROUBLE : 0;
}
