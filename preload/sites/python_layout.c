/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPython's structures by version.  Offsets are from its headers (cpython/Include/internal).  They
 * are constant within a minor version, and tests/cli/python.sh tests every version it finds.
 */
#include <stddef.h>
#include <string.h>

#include "python.h"

#define NONE PYTHON_NONE

static const struct python_layout layouts[] = {
	/* Frames are objects: PyThreadState.frame, PyFrameObject. */
	{ .version = 0x0309,
		.thread_frame = 24,
		.holder_frame = NONE,
		.previous = 24,
		.code = 32,
		.instruction = 104,
		.owner = NONE,
		.entry_owner = NONE,
		.instruction_size = 1,
		.name = 112,
		.file = 104,
		.table = 120,
		.first_line = 40,
		.number = NONE,
		.traceable = NONE,
		.bytes = NONE,
		.ascii = 48,
		.compact = 72 },
	{ .version = 0x030a,
		.thread_frame = 24,
		.holder_frame = NONE,
		.previous = 24,
		.code = 32,
		.instruction = 96,
		.owner = NONE,
		.entry_owner = NONE,
		.instruction_size = 2,
		.name = 112,
		.file = 104,
		.table = 120,
		.first_line = 40,
		.number = NONE,
		.traceable = NONE,
		.bytes = NONE,
		.ascii = 48,
		.compact = 72 },
	/* struct _PyInterpreterFrame, referenced by _PyCFrame. */
	{ .version = 0x030b,
		.thread_frame = 56,
		.holder_frame = 8,
		.previous = 48,
		.code = 32,
		.instruction = 56,
		.owner = 69,
		.entry_owner = NONE,
		.name = 128,
		.file = 112,
		.table = 136,
		.first_line = 72,
		.number = NONE,
		.traceable = 168,
		.bytes = 184,
		.ascii = 48,
		.compact = 72 },
	{ .version = 0x030c,
		.thread_frame = 56,
		.holder_frame = 0,
		.previous = 8,
		.code = 0,
		.instruction = 56,
		.owner = 70,
		.entry_owner = 3,
		.name = 128,
		.file = 112,
		.table = 136,
		.first_line = 68,
		.number = 92,
		.traceable = 176,
		.bytes = 192,
		.ascii = 40,
		.compact = 56 },
	{ .version = 0x030d,
		.thread_frame = 72,
		.holder_frame = NONE,
		.previous = 8,
		.code = 0,
		.instruction = 56,
		.owner = 70,
		.entry_owner = 3,
		.name = 128,
		.file = 112,
		.table = 136,
		.first_line = 68,
		.number = 92,
		.traceable = 184,
		.bytes = 200,
		.ascii = 40,
		.compact = 56 },
};

const struct python_layout *python_layout_find(unsigned version)
{
	for (unsigned i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		if (layouts[i].version == version)
			return &layouts[i];
	return NULL;
}

/* The start of _PyRuntime in 3.13: _Py_DebugOffsets, meant for external readers. */
struct debug_offsets {
	char cookie[8];
	uint64_t version, free_threaded;
	uint64_t runtime[3], interpreter[13];
	struct {
		uint64_t size, prev, next, interp, current_frame;
	} thread;
	uint64_t thread_rest[4];
	struct {
		uint64_t size, previous, executable, instruction, locals, owner;
	} frame;
	struct {
		uint64_t size, filename, name, qualname, linetable, firstlineno, argcount,
			localsplusnames, localspluskinds, bytes;
	} code;
};

const char *python_layout_read(const void *runtime, struct python_layout *layout)
{
	const struct debug_offsets *offsets = runtime;

	if (!offsets || memcmp(offsets->cookie, "xdebugpy", 8) ||
		offsets->version >> 16 != layout->version)
		return "its description of itself is missing";
	if (offsets->free_threaded)
		return "an interpreter without a GIL";
	/*
	 * Members not described are next to described ones: those must be at their known offsets.
	 */
	if (offsets->code.bytes != layout->bytes || offsets->code.linetable != layout->table)
		return "its code objects are not as known";
	layout->thread_frame = (uint16_t)offsets->thread.current_frame;
	layout->previous = (uint16_t)offsets->frame.previous;
	layout->code = (uint16_t)offsets->frame.executable;
	layout->instruction = (uint16_t)offsets->frame.instruction;
	layout->owner = (uint16_t)offsets->frame.owner;
	layout->name = (uint16_t)offsets->code.qualname;
	layout->file = (uint16_t)offsets->code.filename;
	layout->first_line = (uint16_t)offsets->code.firstlineno;
	return NULL;
}
