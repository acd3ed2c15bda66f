/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code objects: each is recorded once with its line table, so that the trace is self-contained.
 * Code objects with the same names, file and lines share an id, as when code is compiled
 * repeatedly.
 */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "python.h"
#include "script.h"

#define CODE_BITS 14
#define CODE_TABLE (1u << CODE_BITS)
#define NAME_BYTES 512
#define FILE_BYTES 4096
/* The lines of larger tables are unknown: a record must fit into a chunk. */
#define TABLE_BYTES (40 * 1024)

/* The start of PyASCIIObject is the same in all versions. */
#define STRING_STATE 32
#define STATE_KIND(state) ((state) >> 2 & 7)
#define STATE_COMPACT 0x20
#define STATE_ASCII 0x40

static struct {
	_Atomic uint64_t hash[CODE_TABLE]; /* id is index + 1; 0: free */
	_Atomic uint32_t count;
} codes;

void python_code_reset(void)
{
	for (unsigned i = 0; i < CODE_TABLE; i++)
		codes.hash[i] = 0;
	codes.count = 0;
}

/*
 * The kernel reads the new mask before it checks the operation: EFAULT if unreadable, EINVAL if
 * readable; nothing is changed.
 */
int python_peek(uintptr_t address, uintptr_t *word)
{
	int saved = errno, readable;

	if (!address || address % sizeof(*word))
		return -1;
	readable = syscall(SYS_rt_sigprocmask, ~0, address, NULL, 8) < 0 && errno == EINVAL;
	errno = saved;
	if (!readable)
		return -1;
	*word = *(const uintptr_t *)address;
	return 0;
}

static int is_of(uintptr_t object, const void *type, uintptr_t *size)
{
	uintptr_t found;

	return !python_peek(object + OBJECT_TYPE, &found) && found == (uintptr_t)type &&
		!python_peek(object + OBJECT_SIZE, size);
}

int python_code_check(const struct python *python, const struct python_code *code)
{
	uintptr_t size, last;

	return is_of(code->address, python->code_type, &size) && code->first_line < 1u << 24 &&
		is_of(code->name, python->string_type, &size) && size < 1u << 20 &&
		is_of(code->file, python->string_type, &size) && size < 1u << 20 &&
		is_of(code->table, python->bytes_type, &size) && size < 1u << 28 &&
		!python_peek((code->table + BYTES_DATA + size - 7) & ~(uintptr_t)7, &last);
}

/* Writes a character as UTF-8; returns the number of bytes. */
static size_t put_character(char *out, uint32_t c)
{
	/* Python's encoding of file name bytes that are invalid UTF-8. */
	if (c >= 0xdc80 && c <= 0xdcff)
		c -= 0xdc00;
	else if (c >= 0x80 && c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	} else if (c >= 0x10000) {
		out[0] = (char)(0xf0 | (c >> 18 & 7));
		out[1] = (char)(0x80 | (c >> 12 & 0x3f));
		out[2] = (char)(0x80 | (c >> 6 & 0x3f));
		out[3] = (char)(0x80 | (c & 0x3f));
		return 4;
	} else if (c >= 0x800) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3f));
		out[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (char)c;
	return 1;
}

/* Writes a string object, already validated, as UTF-8.  Returns bytes written, at most size. */
static size_t read_string(const struct python_layout *layout, uintptr_t object, char *out,
	size_t size)
{
	uint32_t state = *(const uint32_t *)(object + STRING_STATE);
	size_t length = *(const size_t *)(object + OBJECT_SIZE), used = 0;
	unsigned kind = STATE_KIND(state);
	const char *data =
		(const char *)object + (state & STATE_ASCII ? layout->ascii : layout->compact);

	/* Code objects contain no other forms of strings. */
	if (!(state & STATE_COMPACT) || (kind != 1 && kind != 2 && kind != 4))
		return 0;
	for (size_t i = 0; i < length && used + 4 <= size; i++) {
		uint32_t c = 0;
		memcpy(&c, data + i * kind, kind);
		used += put_character(out + used, c);
	}
	return used;
}

/* Members of a code object as stored in a record. */
struct text {
	const char *bytes;
	size_t length;
};
struct code_text {
	struct text name, file, table;
};

static void write_code(struct thread_state *thread, unsigned version, uint32_t first_line,
	const struct code_text *text, uint32_t id)
{
	struct code_record *record = thread_reserve(thread,
		sizeof(*record) + text->name.length + text->file.length + text->table.length,
		RECORD_CODE);
	char *at;

	if (!record)
		return;
	record->id = id;
	record->version = (uint16_t)version;
	record->name_length = (uint16_t)text->name.length;
	record->file_length = (uint16_t)text->file.length;
	record->table_length = (uint16_t)text->table.length;
	record->first_line = first_line;
	at = mempcpy(record->data, text->name.bytes, text->name.length);
	at = mempcpy(at, text->file.bytes, text->file.length);
	memcpy(at, text->table.bytes, text->table.length);
	trace_commit(&thread->chunk);
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0xff51afd7ed558ccdu;
	return hash ^ hash >> 32;
}

static uint64_t mix_text(uint64_t hash, const struct text *text)
{
	uint64_t word;

	for (size_t i = 0; i < text->length; i += sizeof(word)) {
		size_t left = text->length - i;
		word = 0;
		memcpy(&word, text->bytes + i, left < sizeof(word) ? left : sizeof(word));
		hash = mix(hash, word);
	}
	return mix(hash, text->length);
}

/* Lock-free: the thread that stores the hash in a free slot writes the record. */
static uint32_t intern(uint64_t hash, int *is_new)
{
	uint32_t place = (uint32_t)hash & (CODE_TABLE - 1);

	for (;; place = (place + 1) & (CODE_TABLE - 1)) {
		uint64_t found = atomic_load_explicit(&codes.hash[place], memory_order_relaxed);

		if (!found) {
			if (codes.count >= CODE_TABLE * 7 / 8) {
				trace_count(&shim.writer, COUNT_DROPPED_ENTRIES, 1);
				return 0;
			}
			if (atomic_compare_exchange_strong(&codes.hash[place], &found, hash)) {
				codes.count++;
				*is_new = 1;
				return place + 1;
			}
		}
		if (found == hash)
			return place + 1;
	}
}

uint32_t python_code_read(struct thread_state *thread, const struct python *python,
	const struct python_code *code, int *own)
{
	char *name = (char *)thread->tables->scratch, *file = name + NAME_BYTES;
	struct code_text text = { { name, 0 }, { file, 0 }, { NULL, 0 } };
	uint64_t hash;
	int is_new = 0;
	uint32_t id;

	_Static_assert(NAME_BYTES + FILE_BYTES <= THREAD_SCRATCH, "they have room");
	*own = 0;
	if (!python_code_check(python, code))
		return 0;
	text.name.length = read_string(&python->layout, code->name, name, NAME_BYTES);
	text.file.length = read_string(&python->layout, code->file, file, FILE_BYTES);
	text.table.bytes = (const char *)code->table + BYTES_DATA;
	text.table.length = *(const size_t *)(code->table + OBJECT_SIZE);
	if (text.table.length > TABLE_BYTES)
		text.table.length = TABLE_BYTES;
	hash = mix_text(mix_text(mix_text(code->first_line, &text.name), &text.file), &text.table);
	id = intern(hash ? hash : 1, &is_new);
	if (is_new)
		write_code(thread, python->layout.version, code->first_line, &text, id);
	*own = script_origin(file, text.file.length) == SCRIPT_OWN;
	return id;
}
