/* SPDX-License-Identifier: Apache-2.0 */
#include "tail.h"

#include <string.h>

void frame_list(struct call_frame *frame, const void *array, uint64_t words)
{
	uint32_t room = CALL_LIST_WORDS;

	for (unsigned i = 0; i < frame->list_count; i++)
		room -= frame->list[i].words;
	if (frame->list_count < CALL_LISTS)
		frame->list[frame->list_count++] = (struct call_list){
			array, words < room ? (uint32_t)words : room };
}

static size_t pointer_bytes(const struct launch_arguments *arguments)
{
	return (arguments->pointer_count * sizeof(arguments->pointer[0]) + 7) & ~(size_t)7;
}

size_t tail_bytes(const struct call_frame *frame)
{
	const struct launch_arguments *arguments = &frame->thread->tables->arguments;
	size_t bytes = frame->attributes.flags ? sizeof(frame->attributes) : 0;

	if (frame->layout)
		bytes += frame->layout->words * sizeof(uint64_t);
	else if (frame->launch)
		bytes += pointer_bytes(arguments) + arguments->word_count * sizeof(uint64_t);
	for (unsigned i = 0; i < frame->list_count; i++)
		bytes += frame->list[i].words * sizeof(uint64_t);
	return bytes;
}

void tail_write(const struct call_frame *frame, struct call_record *record, char *at)
{
	const struct launch_arguments *arguments = &frame->thread->tables->arguments;

	if (frame->layout) {
		tail_write_buffer(frame, record, at);
		at += frame->layout->words * sizeof(uint64_t);
	} else if (frame->launch) {
		record->pointer_count = (uint16_t)arguments->pointer_count;
		memcpy(at, arguments->pointer,
			arguments->pointer_count * sizeof(arguments->pointer[0]));
		at += pointer_bytes(arguments);
		if (arguments->extra)
			record->head.flags |= CALL_EXTRA;
		memcpy(at, arguments->word, arguments->word_count * sizeof(uint64_t));
		at += arguments->word_count * sizeof(uint64_t);
	}
	for (unsigned i = 0; i < frame->list_count; i++) {
		size_t bytes = frame->list[i].words * sizeof(uint64_t);

		if (frame->list[i].array)
			memcpy(at, frame->list[i].array, bytes);
		else
			memset(at, 0, bytes);
		at += bytes;
	}
	if (frame->attributes.flags) {
		record->head.flags |= CALL_ATTRIBUTES;
		memcpy(at, &frame->attributes, sizeof(frame->attributes));
	}
}
