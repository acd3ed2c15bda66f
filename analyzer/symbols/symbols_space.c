/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols_space.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "symbols_user.h"

static char *copy(const char *text)
{
	return text ? xstrdup(text) : NULL;
}

void symbol_space_map(struct symbol_space *space, const struct mapping *mapping)
{
	struct mapping *kept = array_push(space->mapping, space->mapping_count);

	*kept = *mapping;
	kept->path = xstrdup(mapping->path);
	kept->build_id = copy(mapping->build_id);
	kept->system = module_is_system(kept->path);
}

void symbol_space_record(struct symbol_space *space, uint64_t address,
	const struct source_frame *frame)
{
	*array_push(space->recorded, space->recorded_count) = (struct recorded_frame){
		.address = address,
		.function = copy(frame->symbol),
		.file = copy(frame->file),
		.line = frame->line,
	};
	if (map_get(&space->recorded_first, address, 0))
		return;
	map_set(&space->recorded_first, address, space->recorded_count);
}

static struct mapping *mapping_of(const struct symbol_space *space, uint64_t address)
{
	for (size_t i = space->mapping_count; i-- > 0;)
		if (space->mapping[i].start <= address - 1 && address - 1 < space->mapping[i].end)
			return &space->mapping[i];
	return NULL;
}

const struct mapping *symbol_space_find(const struct symbol_space *space, uint64_t address)
{
	return mapping_of(space, address);
}

uint64_t mapping_offset(const struct mapping *mapping, uint64_t address)
{
	return address - mapping->start + mapping->file_offset;
}

static int lookup_recorded(const struct symbol_space *space, size_t first,
	struct source_frame *frame, int max)
{
	uint64_t address = space->recorded[first].address;
	int count = 0;

	for (size_t i = first; i < space->recorded_count && count < max; i++, count++) {
		const struct recorded_frame *recorded = &space->recorded[i];
		if (recorded->address != address)
			break;
		frame[count] =
			(struct source_frame){ .file = recorded->file, .line = recorded->line };
		/* A linkage name has no arguments of a template: "for_each<Scaled>" was inlined. */
		if (recorded->function && strchr(recorded->function, '<'))
			frame[count].name = recorded->function;
		else
			frame[count].symbol = recorded->function;
	}
	return count;
}

/* The answer of the mapping's file for an address; NULL: none. */
static const struct symbol_answer *ask(const struct symbol_space *space, uint64_t address)
{
	struct mapping *mapping = mapping_of(space, address);

	if (!mapping ||
		(mapping->system && !module_is_library(mapping->path) &&
			(!space->asks_system || module_is_runtime(mapping->path))))
		return NULL;
	if (!mapping->is_judged) {
		mapping->file = known_files_need(space->files, mapping->path, mapping->build_id);
		if (mapping->file && space->until &&
			known_file_is_newer(mapping->file, space->until))
			mapping->file = NULL;
	}
	mapping->is_judged = 1;
	return mapping->file ? known_file_find(mapping->file, mapping_offset(mapping, address) - 1)
			     : NULL;
}

static int take(const struct source_frame *from, int count, struct source_frame *frame, int max)
{
	if (count > max)
		count = max;
	memcpy(frame, from, (size_t)count * sizeof(*frame));
	return count;
}

int symbol_space_lookup(struct symbol_space *space, uint64_t address, struct source_frame *frame,
	int max)
{
	uint64_t recorded = map_get(&space->recorded_first, address, 0);
	const struct symbol_answer *answer;

	if (recorded)
		return lookup_recorded(space, (size_t)recorded - 1, frame, max);
	answer = ask(space, address);
	return answer ? take(answer->frame, answer->frame_count, frame, max) : 0;
}

int symbol_space_tail_calls(struct symbol_space *space, uint64_t address, const char *inner,
	struct source_frame *frame, int max)
{
	const struct symbol_answer *answer;
	int first, count = 0;

	if (map_get(&space->recorded_first, address, 0))
		return 0;
	answer = ask(space, address);
	if (!answer)
		return 0;
	/* Functions that the one on the stack (inner) called did not leave by a jump. */
	for (first = answer->tail_count; first > 0; first--)
		if (inner && !strcmp(answer->tail[first - 1].callee, inner))
			break;
	for (int i = first; i < answer->tail_count && count < max; i++)
		frame[count++] = answer->tail[i].source;
	return count;
}

int symbol_space_jump_into(struct symbol_space *space, uint64_t inner, uint64_t address,
	struct source_frame *frame, int max)
{
	const struct mapping *stub = mapping_of(space, inner);
	const struct mapping *caller = mapping_of(space, address);
	const struct symbol_answer *answer;

	if (map_get(&space->recorded_first, inner, 0) ||
		map_get(&space->recorded_first, address, 0) || !caller || !stub)
		return 0;
	/* A stub is called from its own file only. */
	answer = caller->id == stub->id ? ask(space, address) : NULL;
	if (answer && answer->calls_stub)
		return 0;
	answer = ask(space, inner);
	return answer ? take(answer->jumper, answer->jumper_count, frame, max) : 0;
}

void symbol_space_release(struct symbol_space *space)
{
	for (size_t i = 0; i < space->mapping_count; i++) {
		free(space->mapping[i].path);
		free(space->mapping[i].build_id);
	}
	for (size_t i = 0; i < space->recorded_count; i++) {
		free(space->recorded[i].function);
		free(space->recorded[i].file);
	}
	free(space->mapping);
	free(space->recorded);
	map_release(&space->recorded_first);
	*space = (struct symbol_space){ .files = space->files };
}
