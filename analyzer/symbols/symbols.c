/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "demangle.h"
#include "map.h"
#include "memory.h"
#include "record.h"
#include "rows.h"
#include "script.h"
#include "symbols_script.h"
#include "symbols_space.h"
#include "symbols_user.h"

/* The most inlined functions that are read at one address. */
#define MAX_INLINED 16 /* outer ones are left out: a place with fewer frames */
#define MAX_FRAMES (SITE_FRAMES * MAX_INLINED + SITE_SCRIPT_FRAMES)

struct resolved_frame {
	uint64_t address;
	const struct mapping *mapping; /* NULL: in none that is known */
	struct source_frame source;
	char name[256]; /* "": not known */
	int user;
};

struct symbols {
	struct db *db;
	int64_t process;
	struct symbol_space space;
	struct known_files files; /* of all processes */
	struct script_space scripts;
	struct map kernels; /* hashes of mangled names: host stubs have the same */
	struct resolved_frame frame[MAX_FRAMES];
	int frame_count;
	sqlite3_stmt *read, *drop, *insert, *update;
};

static int read_mappings(struct symbols *s)
{
	sqlite3_stmt *q = db_prepare(s->db,
		"SELECT id, start, end, file_offset, path, build_id "
		"FROM module WHERE process = ?");
	int step = -1;

	if (!q || db_bind(q, "i", s->process))
		goto out;
	while ((step = db_step(q)) > 0) {
		struct mapping mapping = {
			.id = sqlite3_column_int64(q, 0),
			.start = (uint64_t)sqlite3_column_int64(q, 1),
			.end = (uint64_t)sqlite3_column_int64(q, 2),
			.file_offset = (uint64_t)sqlite3_column_int64(q, 3),
			.path = (char *)(uintptr_t)sqlite3_column_text(q, 4),
			.build_id = (char *)(uintptr_t)sqlite3_column_text(q, 5),
		};
		symbol_space_map(&s->space, &mapping);
	}
out:
	sqlite3_finalize(q);
	return step < 0 ? -1 : 0;
}

/* Reads the trace's own symbols of its addresses. */
static int read_recorded(struct symbols *s)
{
	sqlite3_stmt *q = db_prepare(s->db,
		"SELECT address, function, file, line FROM symbol "
		"WHERE process = ? ORDER BY address, depth");
	int step = -1;

	if (!q || db_bind(q, "i", s->process))
		goto out;
	while ((step = db_step(q)) > 0) {
		struct source_frame frame = {
			.symbol = (const char *)sqlite3_column_text(q, 1),
			.file = (const char *)sqlite3_column_text(q, 2),
			.line = sqlite3_column_int(q, 3),
		};
		symbol_space_record(&s->space, (uint64_t)sqlite3_column_int64(q, 0), &frame);
	}
out:
	sqlite3_finalize(q);
	return step < 0 ? -1 : 0;
}

#define KERNEL_NAME_MAX 4096 /* a longer name is cut */

static int read_kernels(struct symbols *s)
{
	sqlite3_stmt *q = db_prepare(s->db, "SELECT mangled FROM kernel WHERE process = ?");
	int step = -1;

	if (!q || db_bind(q, "i", s->process))
		goto out;
	while ((step = db_step(q)) > 0) {
		char name[KERNEL_NAME_MAX];

		demangle_linkage((const char *)sqlite3_column_text(q, 0), name, sizeof(name));
		map_set(&s->kernels, map_hash(name, strlen(name)), 1);
	}
out:
	sqlite3_finalize(q);
	return step < 0 ? -1 : 0;
}

/* The function that the host calls a kernel by, on the stack of programs built with -O0. */
static int is_kernel(const struct symbols *s, const char *symbol)
{
	char name[KERNEL_NAME_MAX];

	if (!symbol)
		return 0;
	demangle_linkage(symbol, name, sizeof(name));
	return map_get(&s->kernels, map_hash(name, strlen(name)), 0) != 0;
}

static void name_frame(const struct symbols *s, struct resolved_frame *frame)
{
	const struct source_frame *source = &frame->source;

	if (source->symbol && demangle_operator(source->symbol, frame->name, sizeof(frame->name)))
		; /* "call" alone says nothing. */
	else if (source->name)
		demangle_base(source->name, frame->name, sizeof(frame->name));
	else if (source->symbol)
		demangle_base(source->symbol, frame->name, sizeof(frame->name));
	frame->user = !frame->mapping || !frame->mapping->system;
	if (frame_is_library(source) || is_kernel(s, source->symbol) ||
		(!source->symbol && is_kernel(s, source->name)))
		frame->user = 0;
}

/*
 * An inlined function without a linkage name around a host stub, and of its kernel's name: what the
 * host calls a static kernel or an instance of a template by.
 */
static int is_inlined_kernel(const struct symbols *s, const struct resolved_frame *frame)
{
	static const char stub[] = "__device_stub_";
	char base[sizeof(frame->name)];

	for (int i = s->frame_count - 2; i >= 0 && !s->frame[i].user; i--) {
		const struct source_frame *inner = &s->frame[i].source;
		const char *name = inner->name ? inner->name : inner->symbol;
		const char *found = name ? strstr(name, stub) : NULL;

		if (!found)
			continue;
		demangle_base(found + strlen(stub), base, sizeof(base));
		return !frame->source.symbol && frame->name[0] && !strcmp(base, frame->name);
	}
	return 0;
}

static void push(struct symbols *s, uint64_t address, const struct source_frame *source)
{
	struct resolved_frame *frame;

	if (s->frame_count == MAX_FRAMES)
		return;
	frame = &s->frame[s->frame_count++];
	*frame = (struct resolved_frame){ .address = address,
		.source = *source,
		.mapping = symbol_space_find(&s->space, address) };
	name_frame(s, frame);
	if (frame->user && is_inlined_kernel(s, frame))
		frame->user = 0;
}

/* The function of the outermost stack frame so far; NULL: one of CUDA's. */
static const char *outermost_function(const struct symbols *s)
{
	const struct source_frame *source;

	if (!s->frame_count)
		return NULL;
	source = &s->frame[s->frame_count - 1].source;
	return source->symbol ? source->symbol : source->name;
}

/* Finds the frames of the function that jumped into the host stub at the outermost frame. */
static int find_jumper(struct symbols *s, uint64_t address, struct source_frame *source)
{
	const struct resolved_frame *inner;
	const char *name;

	if (!s->frame_count)
		return 0;
	inner = &s->frame[s->frame_count - 1];
	name = inner->source.symbol ? inner->source.symbol : inner->source.name;
	return name && strstr(name, "__device_stub_")
		? symbol_space_jump_into(&s->space, inner->address, address, source, MAX_INLINED)
		: 0;
}

/*
 * The frames of one return address: more than one where functions were inlined, or called from
 * there and left by a jump.
 */
static void expand(struct symbols *s, uint64_t address)
{
	struct source_frame source[MAX_INLINED];
	int count = symbol_space_tail_calls(&s->space, address, outermost_function(s), source,
		MAX_INLINED);
	uint64_t left = address;

	if (!count) {
		count = find_jumper(s, address, source);
		/* It is in the stub's file, whoever called it. */
		left = count ? s->frame[s->frame_count - 1].address : address;
	}
	for (int i = 0; i < count; i++)
		push(s, left, &source[i]);
	count = symbol_space_lookup(&s->space, address, source, MAX_INLINED);
	if (!count)
		source[count++] = (struct source_frame){ 0 };
	for (int i = 0; i < count; i++)
		push(s, address, &source[i]);
}

/*
 * The outermost entry point of cudart among the frames, and with it all that it called: a static
 * cudart's inner functions have any name, or none once it is stripped.
 */
static const char *find_api(struct symbols *s)
{
	for (int i = s->frame_count; i-- > 0;) {
		const char *name = frame_runtime_name(&s->frame[i].source);
		if (!name)
			continue;
		for (int j = 0; j <= i; j++)
			s->frame[j].user = 0;
		return s->frame[i].name;
	}
	return NULL;
}

/*
 * A script's frames follow those of the interpreter that runs it.  If there are any, the program's
 * frames are those of its own files, else those of packages, else those of the standard library.
 */
static void push_scripts(struct symbols *s, const uint64_t *address, int count)
{
	int first = s->frame_count, origin[SITE_SCRIPT_FRAMES], best = SCRIPT_STANDARD;

	for (int i = 0; i < count && s->frame_count < MAX_FRAMES; i++) {
		struct resolved_frame *frame = &s->frame[s->frame_count++];

		*frame = (struct resolved_frame){ .address = address[i] };
		origin[i] = script_space_lookup(&s->scripts, address[i], &frame->source);
		if (origin[i] < 0)
			origin[i] = SCRIPT_STANDARD;
		if (origin[i] < best)
			best = origin[i];
		snprintf(frame->name, sizeof(frame->name), "%s",
			frame->source.name ? frame->source.name : "");
	}
	for (int i = 0; count && i < s->frame_count; i++)
		s->frame[i].user = i >= first && origin[i - first] == best;
}

static const struct resolved_frame *first_user_frame(const struct symbols *s)
{
	for (int i = 0; i < s->frame_count; i++)
		if (s->frame[i].user)
			return &s->frame[i];
	return NULL;
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int write_frames(struct symbols *s, int64_t site)
{
	if (db_run(s->drop, "i", site))
		return -1;
	for (int i = 0; i < s->frame_count; i++) {
		const struct resolved_frame *frame = &s->frame[i];
		if (db_add(s->db,
			    ROW(frame, site, i, frame->address,
				    frame->mapping ? frame->mapping->id : DB_NULL,
				    cell_text(frame->name[0] ? frame->name : NULL),
				    cell_text(frame->source.file),
				    frame->source.line ? (int64_t)frame->source.line : DB_NULL,
				    frame->user,
				    frame->source.loop ? (int64_t)frame->source.loop : DB_NULL)))
			return -1;
	}
	return 0;
}

static int resolve_site(struct symbols *s, int64_t site)
{
	const struct resolved_frame *frame;
	uint64_t script[SITE_SCRIPT_FRAMES];
	int step, script_count = 0;
	const char *api;
	char text[512];

	s->frame_count = 0;
	if (db_bind(s->read, "i", site))
		return -1;
	while ((step = db_step(s->read)) > 0) {
		uint64_t address = (uint64_t)sqlite3_column_int64(s->read, 0);
		if (!IS_SCRIPT_FRAME(address))
			expand(s, address);
		else if (script_count < SITE_SCRIPT_FRAMES)
			script[script_count++] = address;
	}
	api = find_api(s);
	push_scripts(s, script, script_count);
	if (step < 0 || !s->frame_count)
		return step;
	if (write_frames(s, site))
		return -1;
	frame = first_user_frame(s);
	if (!frame) /* CUDA's own doing: the outermost frame is the best there is */
		frame = &s->frame[s->frame_count - 1];
	if (frame->source.file && frame->source.line)
		snprintf(text, sizeof(text), "%s:%d", base_of(frame->source.file),
			frame->source.line);
	else if (IS_SCRIPT_FRAME(frame->address))
		snprintf(text, sizeof(text), "%s",
			frame->source.file ? base_of(frame->source.file) : "?");
	else if (frame->mapping)
		snprintf(text, sizeof(text), "%s+0x%llx", base_of(frame->mapping->path),
			(unsigned long long)mapping_offset(frame->mapping, frame->address));
	else
		snprintf(text, sizeof(text), "0x%llx", (unsigned long long)frame->address);
	return db_run(s->update, "ssIssi", frame->name[0] ? frame->name : NULL, frame->source.file,
		frame->source.line ? (int64_t)frame->source.line : DB_NULL, api, text, site);
}

static int resolve_process(struct symbols *s, sqlite3_stmt *sites)
{
	int step;

	if (read_mappings(s) || read_recorded(s) || read_kernels(s) ||
		script_space_read(&s->scripts, s->db, s->process) ||
		db_bind(sites, "i", s->process))
		return -1;
	while ((step = db_step(sites)) > 0) {
		s->space.asks_system = sqlite3_column_int(sites, 1);
		if (resolve_site(s, sqlite3_column_int64(sites, 0)))
			return -1;
	}
	return step;
}

static int resolve_all(struct symbols *s)
{
	/* A simulated device has a time of its own. */
	sqlite3_stmt *processes = db_prepare(s->db,
		"SELECT id, CASE WHEN NOT simulated "
		"THEN end + (SELECT start_unix_ns FROM run) END FROM process");
	/* Of who reads a clock the names decide whether it is a lock's code (timers.c). */
	sqlite3_stmt *sites = db_prepare(s->db,
		"SELECT id, id IN (SELECT site FROM clock_read WHERE site NOT NULL) FROM site"
		" WHERE process = ?");
	int step = -1;

	s->read = db_prepare(s->db, "SELECT address FROM frame WHERE site = ? ORDER BY depth");
	s->drop = db_prepare(s->db, "DELETE FROM frame WHERE site = ?");
	s->update = db_prepare(s->db,
		"UPDATE site SET function = ?, file = ?, line = ?, api = ?, "
		"text = ? WHERE id = ?");
	while (processes && sites && s->read && s->drop && s->update &&
		(step = db_step(processes)) > 0) {
		s->process = sqlite3_column_int64(processes, 0);
		s->space.files = &s->files;
		s->space.until = sqlite3_column_int64(processes, 1);
		s->scripts.until = s->space.until;
		step = resolve_process(s, sites);
		symbol_space_release(&s->space);
		script_space_release(&s->scripts);
		map_release(&s->kernels);
		if (step < 0)
			break;
	}
	sqlite3_finalize(processes);
	sqlite3_finalize(sites);
	sqlite3_finalize(s->read);
	sqlite3_finalize(s->drop);
	sqlite3_finalize(s->update);
	return step;
}

int symbols_resolve(struct db *db)
{
	struct symbols *s = xcalloc(1, sizeof(*s));
	int rc;

	s->db = db;
	rc = db_exec(db, "BEGIN") || resolve_all(s) ? -1 : 0;
	known_files_release(&s->files);
	free(s);
	if (rc)
		sqlite3_exec(db->handle, "ROLLBACK", NULL, NULL, NULL);
	return rc ? rc : db_exec(db, "COMMIT");
}
