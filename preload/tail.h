/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What lies behind the fields of a call: a launch's parameters, the program's lists, attributes.
 */
#ifndef CUFENCE_TAIL_H
#define CUFENCE_TAIL_H

#include "shim.h"

/* What is to be reserved for it, and writing it to there: 0 bytes if there is none. */
size_t tail_bytes(const struct call_frame *frame);
void tail_write(const struct call_frame *frame, struct call_record *record, char *at);

/* The whole buffer of a launch with a layout. */
static inline void tail_write_buffer(const struct call_frame *frame, struct call_record *record,
	void *at)
{
	record->head.flags |= CALL_BUFFER;
	record->pointer_count = frame->layout->words;
	arguments_copy(at, frame->layout, frame->values);
}

#endif
