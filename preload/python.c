/* SPDX-License-Identifier: Apache-2.0 */
#include "python.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "resolve.h"

#define MAX_WALK 64 /* frames looked at */
#define OWNER_GENERATOR 1

enum python_stage { PYTHON_NONE_HERE, PYTHON_UNCHECKED, PYTHON_ON };

static struct {
	_Atomic int stage;
	struct python python;
	void *(*thread)(void);     /* PyGILState_GetThisThreadState: reads thread-local storage */
	int (*is_finalizing)(void); /* reads a word */
	uintptr_t code, code_end;  /* the interpreter's */
} state;

static uintptr_t word_at(uintptr_t base, unsigned offset)
{
	return *(const uintptr_t *)(base + offset);
}

static void say(struct thread_state *thread, const char *text)
{
	property_write(thread, "python.frames", text, strlen(text));
}

static void say_none(struct thread_state *thread, unsigned version, const char *why)
{
	char text[128];

	snprintf(text, sizeof(text), "none: Python %u.%u: %s", version >> 8, version & 0xff, why);
	say(thread, text);
}

static void *find(const char *name)
{
	/* Executables that hold Python and libraries alike; not one that was loaded RTLD_LOCAL. */
	return resolve_real_dlsym()(RTLD_DEFAULT, name);
}

/* major << 8 | minor. */
static unsigned find_version(void)
{
	const unsigned long *number = find("Py_Version"); /* from 3.11 */
	const char *(*text)(void);
	char *end = NULL;
	unsigned long major;

	if (number)
		return (unsigned)(*number >> 16) & 0xffff;
	*(void **)&text = find("Py_GetVersion");
	major = text ? strtoul(text(), &end, 10) : 0;
	if (!major || *end != '.')
		return 0;
	return (unsigned)(major << 8 | (strtoul(end + 1, NULL, 10) & 0xff));
}

static const char *find_all(unsigned version)
{
	const struct python_layout *layout = python_layout_find(version);
	struct python *python = &state.python;

	if (!layout)
		return "this version is not known";
	python->layout = *layout;
	python->code_type = find("PyCode_Type");
	python->string_type = find("PyUnicode_Type");
	python->bytes_type = find("PyBytes_Type");
	*(void **)&state.is_finalizing = find(version < 0x030d ? "_Py_IsFinalizing"
							       : "Py_IsFinalizing");
	if (!python->code_type || !python->string_type || !python->bytes_type ||
		!state.is_finalizing)
		return "symbols are missing";
	return version < 0x030d ? NULL : python_layout_read(find("_PyRuntime"), &python->layout);
}

void python_init(struct thread_state *thread)
{
	const char *why;
	unsigned version;

	state.stage = PYTHON_NONE_HERE;
	shim.scripts = 0;
	*(void **)&state.thread = find("PyGILState_GetThisThreadState");
	if (!state.thread)
		return;
	module_bounds((uintptr_t)state.thread, &state.code, &state.code_end);
	version = find_version();
	why = find_all(version);
	if (why) {
		say_none(thread, version, why);
		return;
	}
	state.stage = PYTHON_UNCHECKED;
	shim.scripts = 1;
}

int python_holds(const void *address)
{
	return (uintptr_t)address >= state.code && (uintptr_t)address < state.code_end;
}

/* 1: by reads that cannot fault, the innermost frame is as the layout says; -1: none yet. */
static int check_first(uintptr_t python_thread)
{
	const struct python_layout *layout = &state.python.layout;
	uintptr_t frame, address, part[3], line;
	struct python_code code;

	if (python_peek(python_thread + layout->thread_frame, &frame) ||
		(layout->holder_frame != PYTHON_NONE &&
		python_peek(frame + layout->holder_frame, &frame)))
		return 0;
	if (!frame)
		return -1;
	if (python_peek(frame + layout->previous, &address) ||
		python_peek(frame + (layout->instruction & ~7u), &address) ||
		python_peek(frame + layout->code, &address) ||
		python_peek(address + layout->name, &part[0]) ||
		python_peek(address + layout->file, &part[1]) ||
		python_peek(address + layout->table, &part[2]) ||
		python_peek(address + (layout->first_line & ~7u), &line))
		return 0;
	code = (struct python_code){ address, part[0], part[1], part[2],
		*(const uint32_t *)(address + layout->first_line) };
	return python_code_check(&state.python, &code);
}

/* Of threads that come here at once, one says what was found. */
static int check(struct thread_state *thread, uintptr_t python_thread)
{
	unsigned version = state.python.layout.version;
	int result = check_first(python_thread), unchecked = PYTHON_UNCHECKED;
	char text[16];

	if (result < 0 || !atomic_compare_exchange_strong(&state.stage, &unchecked,
				result ? PYTHON_ON : PYTHON_NONE_HERE))
		return result > 0;
	snprintf(text, sizeof(text), "%u.%u", version >> 8, version & 0xff);
	shim.scripts = result;
	if (result)
		say(thread, text);
	else
		say_none(thread, version, "its frames are not as known");
	return result;
}

/* Frames that stand for C code, or are being set up: 0; else *offset in the code's bytes. */
static int read_frame(const struct python_layout *layout, uintptr_t frame, uintptr_t code,
	uint32_t *offset)
{
	uintptr_t start = code + layout->bytes, at;
	unsigned owner;

	if (layout->owner == PYTHON_NONE) {
		int32_t last = *(const int32_t *)(frame + layout->instruction);
		*offset = last < 0 ? 0 : (uint32_t)last * layout->instruction_size;
		return 1;
	}
	owner = *(const uint8_t *)(frame + layout->owner);
	at = word_at(frame, layout->instruction);
	if (owner == layout->entry_owner)
		return 0;
	if (owner != OWNER_GENERATOR &&
		at < start + 2u * *(const uint32_t *)(code + layout->traceable))
		return 0;
	*offset = at < start ? 0 : (uint32_t)(at - start);
	return 1;
}

static uint32_t find_code(struct thread_state *thread, uintptr_t address, int *own)
{
	const struct python_layout *layout = &state.python.layout;
	const struct python_code code = { address, word_at(address, layout->name),
		word_at(address, layout->file), word_at(address, layout->table),
		*(const uint32_t *)(address + layout->first_line) };

	return python_code_find(thread, &state.python, &code, own);
}

static uintptr_t innermost(uintptr_t python_thread)
{
	const struct python_layout *layout = &state.python.layout;
	uintptr_t frame = word_at(python_thread, layout->thread_frame);

	return frame && layout->holder_frame != PYTHON_NONE ? word_at(frame, layout->holder_frame)
							    : frame;
}

unsigned python_frames(struct thread_state *thread, uint64_t frame[SITE_SCRIPT_FRAMES])
{
	const struct python_layout *layout = &state.python.layout;
	int stage = atomic_load_explicit(&state.stage, memory_order_relaxed);
	unsigned count = 0, walked = 0;
	uintptr_t python_thread, at;

	if (stage == PYTHON_NONE_HERE)
		return 0;
	/* An interpreter that ends frees the states of threads that still run. */
	python_thread = (uintptr_t)state.thread();
	if (!python_thread || state.is_finalizing() ||
		(stage == PYTHON_UNCHECKED && !check(thread, python_thread)))
		return 0;
	for (at = innermost(python_thread); at && walked < MAX_WALK && count < SITE_SCRIPT_FRAMES;
		at = word_at(at, layout->previous), walked++) {
		uintptr_t code = word_at(at, layout->code);
		uint32_t offset, id;
		int own;

		if (!code || word_at(code, 8) != (uintptr_t)state.python.code_type ||
			!read_frame(layout, at, code, &offset))
			continue;
		id = find_code(thread, code, &own);
		if (id && (own || count < SCRIPT_FRAMES_ANY))
			frame[count++] = SCRIPT_FRAME(id, offset);
	}
	return count;
}
