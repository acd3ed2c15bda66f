/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols_answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cache.h"
#include "memory.h"
#include "symbols_open.h"

/* The most inlined functions that are read at one address. */
#define MAX_FRAMES 16 /* an answer with more fails: the frame has an address only */

struct known_file {
	char *path, *build_id; /* build_id NULL: none was recorded */
	struct symbol_file *file;
	struct debug_link link; /* where the debug information was looked for */
	struct symbol_answer **answer;
	size_t count, cached; /* cached: so many came from the cache */
	struct map by_offset; /* index + 1 */
	char *text;           /* the cache's, which its answers point into */
	int is_asked;         /* the cache was */
	int is_opened;        /* the file was tried: a NULL file is final */
};

/* --- the cache's form: numbers and texts in a row ----------------------------------------- */

struct cursor {
	char *at, *end;
	int failed;
};

static void put_number(FILE *out, uint64_t number)
{
	fwrite(&number, sizeof(number), 1, out);
}

static uint64_t get_number(struct cursor *cursor)
{
	uint64_t number = 0;

	if (cursor->failed || (size_t)(cursor->end - cursor->at) < sizeof(number)) {
		cursor->failed = 1;
		return 0;
	}
	memcpy(&number, cursor->at, sizeof(number));
	cursor->at += sizeof(number);
	return number;
}

/* NULL is a NUL, a text is '=' and the text. */
static void put_text(FILE *out, const char *text)
{
	if (text) {
		fputc('=', out);
		fputs(text, out);
	}
	fputc('\0', out);
}

static const char *get_text(struct cursor *cursor)
{
	char *text = cursor->at, *nul;

	nul = cursor->failed ? NULL : memchr(text, '\0', (size_t)(cursor->end - text));
	if (!nul || (*text && *text != '=')) {
		cursor->failed = 1;
		return NULL;
	}
	cursor->at = nul + 1;
	return *text ? text + 1 : NULL;
}

static void put_frame(FILE *out, const struct source_frame *frame)
{
	put_text(out, frame->symbol);
	put_text(out, frame->name);
	put_text(out, frame->file);
	put_number(out, (uint64_t)(uint32_t)frame->line | (uint64_t)frame->toolkit << 32);
}

static struct source_frame get_frame(struct cursor *cursor)
{
	struct source_frame frame;
	uint64_t number;

	frame.symbol = get_text(cursor);
	frame.name = get_text(cursor);
	frame.file = get_text(cursor);
	number = get_number(cursor);
	frame.line = (int)(number & INT32_MAX);
	frame.toolkit = number >> 32 & 1;
	return frame;
}

static void put_answer(FILE *out, const struct symbol_answer *answer)
{
	put_number(out, answer->offset);
	put_number(out, (uint64_t)answer->calls_stub);
	put_number(out, (uint64_t)answer->frame_count);
	for (int i = 0; i < answer->frame_count; i++)
		put_frame(out, &answer->frame[i]);
	put_number(out, (uint64_t)answer->tail_count);
	for (int i = 0; i < answer->tail_count; i++) {
		put_frame(out, &answer->tail[i].source);
		put_text(out, answer->tail[i].callee);
	}
	put_number(out, (uint64_t)answer->jumper_count);
	for (int i = 0; i < answer->jumper_count; i++)
		put_frame(out, &answer->jumper[i]);
}

static int get_count(struct cursor *cursor)
{
	uint64_t count = get_number(cursor);

	cursor->failed |= count > MAX_FRAMES;
	return cursor->failed ? 0 : (int)count;
}

/* --- answers ------------------------------------------------------------------------------ */

/* An answer as it was asked, on the stack. */
struct found {
	struct source_frame frame[MAX_FRAMES], jumper[MAX_FRAMES];
	struct tail_frame tail[MAX_FRAMES];
	struct symbol_answer answer;
};

static void *copy(const void *list, int count, size_t size)
{
	void *more = xrealloc(NULL, (size_t)count, size);

	if (count)
		memcpy(more, list, (size_t)count * size);
	return more;
}

static void free_answer(struct symbol_answer *answer)
{
	free(answer->frame);
	free(answer->tail);
	free(answer->jumper);
	free(answer);
}

static struct symbol_answer *add_answer(struct known_file *file, const struct found *found)
{
	struct symbol_answer *answer = xrealloc(NULL, 1, sizeof(*answer));

	*answer = found->answer;
	answer->frame = copy(found->frame, answer->frame_count, sizeof(*answer->frame));
	answer->tail = copy(found->tail, answer->tail_count, sizeof(*answer->tail));
	answer->jumper = copy(found->jumper, answer->jumper_count, sizeof(*answer->jumper));
	map_set(&file->by_offset, answer->offset, file->count + 1);
	*array_push(file->answer, file->count) = answer;
	return answer;
}

static struct symbol_answer *ask_file(struct known_file *file, uint64_t offset)
{
	struct found found = { .answer = { .offset = offset } };
	struct symbol_answer *answer = &found.answer;
	const char *outermost;

	answer->frame_count = symbol_file_lookup(file->file, offset, found.frame, MAX_FRAMES);
	answer->tail_count = symbol_file_tail_calls(file->file, offset, found.tail, MAX_FRAMES);
	answer->calls_stub = symbol_file_calls_stub(file->file, offset);
	outermost = answer->frame_count ? found.frame[answer->frame_count - 1].symbol : NULL;
	if (!outermost && answer->frame_count)
		outermost = found.frame[answer->frame_count - 1].name;
	if (outermost && strstr(outermost, "__device_stub_"))
		answer->jumper_count =
			symbol_file_jump_into(file->file, offset, found.jumper, MAX_FRAMES);
	return add_answer(file, &found);
}

/* --- files -------------------------------------------------------------------------------- */

#define KEY_SIZE 8192

/* 0 if the path is too long to be cached. */
static int key_of(const struct known_file *file, char key[KEY_SIZE])
{
	const char *folders = getenv("CUFENCE_DEBUGINFO_PATH");
	int length = snprintf(key, KEY_SIZE, "%s|%s|%s", file->build_id ? file->build_id : "",
		folders ? folders : "", file->path);

	return length < KEY_SIZE;
}

/* Reads the cache's answers, if they were made from the same files. */
static void ask_cache(struct known_file *file)
{
	struct cursor cursor = { .at = NULL };
	const char *id, *name;
	char key[KEY_SIZE];
	size_t size;

	file->is_asked = 1;
	file->text = key_of(file, key) ? cache_get("symbols", key, &size) : NULL;
	if (!file->text)
		return;
	cursor.at = file->text;
	cursor.end = file->text + size;
	id = get_text(&cursor);
	name = get_text(&cursor);
	if (!id || !name)
		return;
	snprintf(file->link.build_id, sizeof(file->link.build_id), "%s", id);
	snprintf(file->link.name, sizeof(file->link.name), "%s", name);
	if (get_number(&cursor) != debug_stamp(file->path, &file->link))
		return;
	while (cursor.at < cursor.end && !cursor.failed) {
		struct found found = { .answer = { .offset = get_number(&cursor) } };
		struct symbol_answer *answer = &found.answer;

		answer->calls_stub = (int)get_number(&cursor);
		answer->frame_count = get_count(&cursor);
		for (int i = 0; i < answer->frame_count; i++)
			found.frame[i] = get_frame(&cursor);
		answer->tail_count = get_count(&cursor);
		for (int i = 0; i < answer->tail_count; i++) {
			found.tail[i].source = get_frame(&cursor);
			found.tail[i].callee = get_text(&cursor);
		}
		answer->jumper_count = get_count(&cursor);
		for (int i = 0; i < answer->jumper_count; i++)
			found.jumper[i] = get_frame(&cursor);
		if (!cursor.failed && !add_answer(file, &found))
			cursor.failed = 1;
	}
	file->cached = file->count;
}

static void fill_cache(const struct known_file *file)
{
	char key[KEY_SIZE], *text = NULL;
	size_t size = 0;
	FILE *out;

	if (!file->file || file->count == file->cached || !key_of(file, key))
		return;
	out = open_memstream(&text, &size);
	if (!out)
		return;
	put_text(out, file->link.build_id);
	put_text(out, file->link.name);
	put_number(out, debug_stamp(file->path, &file->link));
	for (size_t i = 0; i < file->count; i++)
		put_answer(out, file->answer[i]);
	if (!fclose(out))
		cache_put("symbols", key, text, size);
	free(text);
}

struct known_file *known_files_need(struct known_files *files, const char *path,
	const char *build_id)
{
	uint64_t name = map_hash(path, strlen(path)) * 31 +
		(build_id ? map_hash(build_id, strlen(build_id)) : 0);
	uint64_t known = map_get(&files->by_name, name, 0);
	struct known_file *file;

	if (known)
		return files->file[known - 1];
	file = xcalloc(1, sizeof(*file));
	file->path = xstrdup(path);
	file->build_id = build_id ? xstrdup(build_id) : NULL;
	*array_push(files->file, files->count) = file;
	map_set(&files->by_name, name, files->count);
	return file;
}

int known_file_is_newer(struct known_file *file, int64_t time)
{
	struct stat st;

	return !file->build_id && !stat(file->path, &st) &&
		st.st_mtim.tv_sec * 1000000000ll + st.st_mtim.tv_nsec > time;
}

const struct symbol_answer *known_file_find(struct known_file *file, uint64_t offset)
{
	uint64_t known;

	if (!file->is_asked)
		ask_cache(file);
	known = map_get(&file->by_offset, offset, 0);
	if (known)
		return file->answer[known - 1];
	if (!file->is_opened) {
		file->is_opened = 1;
		file->file = symbol_file_open(file->path, file->build_id);
		if (file->file)
			file->link = *symbol_file_debug_link(file->file);
	}
	return file->file ? ask_file(file, offset) : NULL;
}

void known_files_release(struct known_files *files)
{
	for (size_t i = 0; i < files->count; i++) {
		struct known_file *file = files->file[i];

		fill_cache(file);
		for (size_t k = 0; k < file->count; k++)
			free_answer(file->answer[k]);
		free(file->answer);
		map_release(&file->by_offset);
		symbol_file_close(file->file);
		free(file->text);
		free(file->path);
		free(file->build_id);
		free(file);
	}
	free(files->file);
	map_release(&files->by_name);
	*files = (struct known_files){ 0 };
}
