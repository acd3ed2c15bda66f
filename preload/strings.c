/* SPDX-License-Identifier: Apache-2.0 */
/* Texts referenced by number, each recorded once: kernel names, NVTX ranges. */
#include <string.h>

#include "byte_hash.h"
#include "shim.h"

#define STRINGS 16384 /* a power of two */
#define LONGEST 32768

/* Hashes; a string's id is its index + 1. */
static _Atomic uint64_t known[STRINGS];

void string_reset(void)
{
	for (unsigned i = 0; i < STRINGS; i++)
		known[i] = 0;
}

static void write_string(struct thread_state *thread, uint32_t id, const char *text, size_t length)
{
	struct string_record *record =
		thread_reserve(thread, sizeof(*record) + length, RECORD_STRING);

	if (!record)
		return;
	record->id = id;
	record->length = (uint32_t)length;
	memcpy(record->text, text, length);
	trace_commit(&thread->chunk);
}

uint64_t string_hash(const char *text, size_t length)
{
	return byte_hash(BYTE_HASH_SEED, text, length);
}

uint32_t string_intern(struct thread_state *thread, const char *text)
{
	size_t length = strnlen(text, LONGEST);
	uint64_t hash = string_hash(text, length) | 1;
	uint32_t place;

	place = (uint32_t)(hash >> 20) & (STRINGS - 1);
	for (unsigned tries = 0; tries < 64; tries++, place = (place + 1) & (STRINGS - 1)) {
		uint64_t found = atomic_load_explicit(&known[place], memory_order_relaxed);

		if (!found && atomic_compare_exchange_strong(&known[place], &found, hash))
			write_string(thread, place + 1, text, length);
		else if (found != hash)
			continue;
		return place + 1;
	}
	trace_count(&shim.writer, COUNT_DROPPED_ENTRIES, 1);
	return 0;
}
