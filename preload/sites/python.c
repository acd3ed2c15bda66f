/* SPDX-License-Identifier: Apache-2.0 */
#include "python.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "join.h"
#include "resolve.h"

#define MAX_WALK 64 /* maximum frames visited */
#define OWNER_GENERATOR 1
#define FRAME_WORDS 16 /* the members of a frame are in the first ones, in all versions */

/*
 * Every call looks up the code objects on its stack, with the caches full of other data, so each
 * cache line counts.  The result for an address is therefore stored in one word: a mark that
 * identifies the code object, and the values below.  The words of a cache line are a set; the
 * address selects the set and the first word to check.  Recently used words are near: in one page,
 * which is more likely still in the TLB.
 */
#define SEEN_ID 0x7fffu
#define SEEN_OWN 0x8000u
#define TRACEABLE_SHIFT 16
#define TRACEABLE_MANY 0xffu /* that many, or more */
#define MARK_SHIFT 24
#define SEEN_BITS 13
#define SEEN_WAYS 8
#define NEAR_WORDS 512

enum python_stage { PYTHON_NONE_HERE, PYTHON_UNCHECKED, PYTHON_ON };

static struct {
	_Atomic int stage;
	struct python python;
	void *(*thread)(void);      /* PyGILState_GetThisThreadState: reads thread-local storage */
	int (*is_finalizing)(void); /* reads a word */
	uintptr_t code, code_end;   /* of the interpreter */
	_Atomic uintptr_t first;    /* the process's first thread; 0: unknown */
	_Atomic uint64_t near[NEAR_WORDS] __attribute__((aligned(4096)));
	_Atomic uint64_t seen[1u << SEEN_BITS] __attribute__((aligned(SEEN_WAYS * 8)));
} state;

static uintptr_t word_at(uintptr_t base, unsigned offset)
{
	return *(const uintptr_t *)(base + offset);
}

static uint32_t half_at(uintptr_t base, unsigned offset)
{
	return *(const uint32_t *)(base + offset);
}

static void say(struct thread_state *thread, const char *text)
{
	property_write(thread, "python.frames", text, strlen(text));
}

static void join_version(struct joined *joined, unsigned version)
{
	join_number(joined, version >> 8);
	join(joined, ".");
	join_number(joined, version & 0xff);
}

static void say_none(struct thread_state *thread, unsigned version, const char *why)
{
	char text[128];
	struct joined joined = { text, sizeof(text), 0 };

	join(&joined, "none: Python ");
	join_version(&joined, version);
	join(&joined, ": ");
	join(&joined, why);
	say(thread, text);
}

static void *find(const char *name)
{
	/* Finds symbols in executables and libraries; not in one loaded with RTLD_LOCAL. */
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
	*(void **)&state.is_finalizing =
		find(version < 0x030d ? "_Py_IsFinalizing" : "Py_IsFinalizing");
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
	state.first = 0;
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

void python_reset(void)
{
	for (unsigned i = 0; i < 1u << SEEN_BITS; i++)
		state.seen[i] = 0;
	for (unsigned i = 0; i < NEAR_WORDS; i++)
		state.near[i] = 0;
	python_code_reset();
}

int python_holds(const void *address)
{
	return (uintptr_t)address >= state.code && (uintptr_t)address < state.code_end;
}

/*
 * Returns 1 if the innermost frame matches the layout, using reads that cannot fault; -1: no frame
 * yet.
 */
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

/* If several threads run this concurrently, one records the result. */
static int check(struct thread_state *thread, uintptr_t python_thread)
{
	unsigned version = state.python.layout.version;
	int result = check_first(python_thread), unchecked = PYTHON_UNCHECKED;
	char text[16];
	struct joined joined = { text, sizeof(text), 0 };

	if (result < 0 ||
		!atomic_compare_exchange_strong(&state.stage, &unchecked,
			result ? PYTHON_ON : PYTHON_NONE_HERE))
		return result > 0;
	join_version(&joined, version);
	shim.scripts = result;
	if (result)
		say(thread, text);
	else
		say_none(thread, version, "its frames are not as known");
	return result;
}

/* Returns its code object, 0: it represents C code. */
static uintptr_t code_of(const struct python_layout *layout, uintptr_t frame)
{
	if (layout->entry_owner != PYTHON_NONE &&
		*(const uint8_t *)(frame + layout->owner) == layout->entry_owner)
		return 0;
	return word_at(frame, layout->code);
}

static int is_code(uintptr_t object)
{
	return word_at(object, OBJECT_TYPE) == (uintptr_t)state.python.code_type;
}

static struct python_code parts_of(const struct python_layout *layout, uintptr_t address)
{
	return (struct python_code){ address, word_at(address, layout->name),
		word_at(address, layout->file), word_at(address, layout->table),
		half_at(address, layout->first_line) };
}

static unsigned traceable_of(const struct python_layout *layout, uintptr_t code)
{
	return layout->traceable == PYTHON_NONE ? 0 : half_at(code, layout->traceable);
}

/* The first eight bytes, in a cache line that is read anyway. */
__attribute__((no_sanitize("address"))) static uint64_t first_bytes(uintptr_t bytes, size_t size)
{
	/* Readable for any size: an object consists of whole words. */
	uint64_t word = *(const uint64_t *)(bytes + BYTES_DATA);

	return size < sizeof(word) ? word & ((1ull << 8 * size) - 1) : word;
}

/*
 * Computes the mark of a code object without version number.  Its parts may be reallocated at the
 * same addresses, so addresses, sizes, the end of the file name and the start of the line table are
 * combined.  Returns 0 for other objects.
 */
static NOINLINE uint64_t mark_parts(uintptr_t address)
{
	const struct python_layout *layout = &state.python.layout;
	uint64_t last[2] = { 0, 0 }, length, size, hash;
	struct python_code code;

	if (!is_code(address))
		return 0;
	code = parts_of(layout, address);
	length = word_at(code.file, OBJECT_SIZE);
	size = word_at(code.table, OBJECT_SIZE);
	if (length >= sizeof(last))
		memcpy(last, (const char *)code.file + layout->ascii + length - sizeof(last),
			sizeof(last));
	else if (length >= sizeof(last[0]))
		memcpy(last, (const char *)code.file + layout->ascii + length - sizeof(last[0]),
			sizeof(last[0]));
	hash = address * 0x9e3779b97f4a7c15u + code.name * 0xbf58476d1ce4e5b9u +
		code.file * 0x94d049bb133111ebu + code.table * 0xff51afd7ed558ccdu +
		((uint64_t)code.first_line << 32 | (uint32_t)size) * 0xc4ceb9fe1a85ec53u +
		first_bytes(code.table, size) * 0x8ebc6af09c88c6e3u +
		last[0] * 0xd6e8feb86659fd93u + last[1] * 0xa0761d6478bd642fu +
		length * 0xe7037ed1a0b428dbu;
	return (hash ^ hash >> 32) * 0xff51afd7ed558ccdu >> MARK_SHIFT;
}

/* Returns the word with this mark in the set of *place; 0: none, *place is where to store it. */
static uint64_t search(const _Atomic uint64_t *table, unsigned *place, uint64_t mark)
{
	unsigned room = *place;

	for (unsigned i = 0; i < SEEN_WAYS; i++) {
		uint64_t word = atomic_load_explicit(&table[*place ^ i], memory_order_relaxed);

		if (word >> MARK_SHIFT == mark)
			return word;
		if (!word && table[room])
			room = *place ^ i;
	}
	*place = room;
	return 0;
}

static uint64_t read_code(struct thread_state *thread, uintptr_t address, uint64_t mark)
{
	const struct python_code code = parts_of(&state.python.layout, address);
	unsigned traceable = traceable_of(&state.python.layout, address);
	int own;
	uint32_t id = python_code_read(thread, &state.python, &code, &own);

	if (traceable > TRACEABLE_MANY)
		traceable = TRACEABLE_MANY;
	return mark << MARK_SHIFT | traceable << TRACEABLE_SHIFT | (own ? SEEN_OWN : 0) | id;
}

/* For words not in their first place. */
static NOINLINE uint64_t search_all(struct thread_state *thread, uintptr_t address, uint64_t mark,
	unsigned place)
{
	unsigned near = place % NEAR_WORDS;
	uint64_t word = search(state.near, &near, mark);

	if (word || !is_code(address))
		return word;
	word = search(state.seen, &place, mark);
	if (!word) {
		word = read_code(thread, address, mark);
		atomic_store_explicit(&state.seen[place], word, memory_order_relaxed);
	}
	atomic_store_explicit(&state.near[near], word, memory_order_relaxed);
	return word;
}

/* Returns the word of a code object, 0: not a code object. */
static inline uint64_t find_seen(struct thread_state *thread, uintptr_t address)
{
	const struct python_layout *layout = &state.python.layout;
	uint64_t hash = address * 0x9e3779b97f4a7c15u, mark, word;
	unsigned place = hash >> (64 - SEEN_BITS);

	/* None, the only other object in a frame, is in the interpreter's own data. */
	mark = layout->number == PYTHON_NONE ? 0 : half_at(address, layout->number);
	/*
	 * Eight more bits distinguish a version number from a mark of another code object's parts.
	 */
	mark = mark ? mark << 8 | (hash >> 20 & 0xff) : mark_parts(address);
	word = atomic_load_explicit(&state.near[place % NEAR_WORDS], memory_order_relaxed);
	if (UNLIKELY(word >> MARK_SHIFT != mark || !mark))
		word = mark ? search_all(thread, address, mark, place) : 0;
	return word;
}

/* Returns 0 for a frame that is being set up; else sets *offset in the code's bytes. */
static inline int read_frame(uintptr_t frame, uintptr_t code, uint64_t word, uint32_t *offset)
{
	const struct python_layout *layout = &state.python.layout;
	uintptr_t start = code + layout->bytes, at;
	unsigned traceable = word >> TRACEABLE_SHIFT & TRACEABLE_MANY;

	if (layout->owner == PYTHON_NONE) {
		int32_t last = *(const int32_t *)(frame + layout->instruction);
		*offset = last < 0 ? 0 : (uint32_t)last * layout->instruction_size;
		return 1;
	}
	if (UNLIKELY(traceable == TRACEABLE_MANY))
		traceable = traceable_of(layout, code);
	at = word_at(frame, layout->instruction);
	if (at < start + 2u * traceable &&
		*(const uint8_t *)(frame + layout->owner) != OWNER_GENERATOR)
		return 0;
	*offset = at < start ? 0 : (uint32_t)(at - start);
	return 1;
}

static uintptr_t innermost(uintptr_t python_thread)
{
	const struct python_layout *layout = &state.python.layout;
	uintptr_t frame = word_at(python_thread, layout->thread_frame);

	return frame && layout->holder_frame != PYTHON_NONE ? word_at(frame, layout->holder_frame)
							    : frame;
}

HOT unsigned python_frames(struct thread_state *thread, uint64_t frame[SITE_SCRIPT_FRAMES])
{
	const struct python_layout *layout = &state.python.layout;
	int stage = atomic_load_explicit(&state.stage, memory_order_relaxed);
	unsigned count = 0, own = 0, walked = 0;
	uintptr_t python_thread, at;

	if (stage == PYTHON_NONE_HERE)
		return 0;
	/* At exit, an interpreter frees the states of threads that are still running. */
	python_thread = (uintptr_t)state.thread();
	if (!python_thread || state.is_finalizing() ||
		(stage == PYTHON_UNCHECKED && !check(thread, python_thread)))
		return 0;
	for (at = innermost(python_thread);
		at && walked < MAX_WALK && count < SITE_SCRIPT_FRAMES && own < SITE_OWN_FRAMES;
		at = word_at(at, layout->previous), walked++) {
		uintptr_t code = code_of(layout, at);
		uint64_t word = code ? find_seen(thread, code) : 0;
		uint32_t offset;

		if (word & SEEN_ID && (word & SEEN_OWN || count < SCRIPT_FRAMES_ANY) &&
			read_frame(at, code, word, &offset)) {
			frame[count++] = SCRIPT_FRAME(word & SEEN_ID, offset);
			own += (word & SEEN_OWN) != 0;
		}
	}
	return count;
}

/* Are the members of a frame in what python_frames_of_first() copies of it? */
static int fits_copy(void)
{
	const struct python_layout *layout = &state.python.layout;
	const unsigned most = FRAME_WORDS * 8 - 8;

	return layout->previous <= most && layout->code <= most && layout->instruction <= most &&
		(layout->owner == PYTHON_NONE || layout->owner <= most);
}

/* Copies memory that may be unmapped at any time.  Returns 0, or -1. */
static int copy(uintptr_t from, void *to, size_t bytes)
{
	struct iovec local = { to, bytes }, remote = { (void *)from, bytes };

	return syscall(SYS_process_vm_readv, getpid(), &local, 1ul, &remote, 1ul, 0ul) ==
			(ssize_t)bytes
		? 0
		: -1;
}

/* Is it a code object with all its parts?  By copies, and by reads that cannot fault. */
static int is_whole(uintptr_t address)
{
	const struct python_layout *layout = &state.python.layout;
	struct python_code code = { .address = address };

	return !copy(address + layout->name, &code.name, sizeof(code.name)) &&
		!copy(address + layout->file, &code.file, sizeof(code.file)) &&
		!copy(address + layout->table, &code.table, sizeof(code.table)) &&
		python_code_check(&state.python, &code);
}

void python_note_first(struct thread_state *thread)
{
	uintptr_t python_thread;

	if (state.stage != PYTHON_ON || thread->chunk.thread != shim.writer.header->pid ||
		!fits_copy())
		return;
	python_thread = (uintptr_t)state.thread();
	if (python_thread != state.first)
		state.first = python_thread;
}

COLD unsigned python_frames_of_first(struct thread_state *thread,
	uint64_t frame[SITE_SCRIPT_FRAMES])
{
	const struct python_layout *layout = &state.python.layout;
	uintptr_t at = state.first, copied[FRAME_WORDS];
	unsigned count = 0, own = 0, walked = 0;

	if (!at || state.stage != PYTHON_ON || state.is_finalizing() ||
		copy(at + layout->thread_frame, &at, sizeof(at)) ||
		(layout->holder_frame != PYTHON_NONE &&
			copy(at + layout->holder_frame, &at, sizeof(at))))
		return 0;
	/* Not shared with python_frames(): one for both took each of its calls 5 to 14 ns more. */
	for (; at && walked < MAX_WALK && count < SITE_SCRIPT_FRAMES && own < SITE_OWN_FRAMES;
		at = copied[layout->previous / 8], walked++) {
		uintptr_t code, copy_at = (uintptr_t)copied;
		uint32_t offset;
		uint64_t word;

		if (copy(at, copied, sizeof(copied)))
			break;
		code = code_of(layout, copy_at);
		word = code && is_whole(code) ? find_seen(thread, code) : 0;
		if (word & SEEN_ID && (word & SEEN_OWN || count < SCRIPT_FRAMES_ANY) &&
			read_frame(copy_at, code, word, &offset)) {
			frame[count++] = SCRIPT_FRAME(word & SEEN_ID, offset);
			own += (word & SEEN_OWN) != 0;
		}
	}
	return count;
}
