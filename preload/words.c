/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words of large parameter buffers that launches refer to by a hash: each hash is recorded once.
 * GEMM kernels have 400 bytes of parameters and more, which determine the memory they access.
 */
#include <string.h>

#include "hash_set.h"
#include "shim.h"

#define MOST_BYTES (4u << 20) /* of all words */

static struct {
	struct hash_set hashes;
	_Atomic uint64_t bytes;
} seen;

void words_reset(void)
{
	hash_set_clear(&seen.hashes);
	seen.bytes = 0;
}

static void write_words(struct thread_state *thread, uint64_t hash,
	const struct launch_arguments *arguments)
{
	uint32_t bytes = arguments->rest_count * (uint32_t)sizeof(arguments->rest[0]);
	struct words_record *record;

	if (atomic_fetch_add(&seen.bytes, bytes) + bytes > MOST_BYTES)
		return;
	record = thread_reserve(thread, sizeof(*record) + bytes, RECORD_WORDS);
	if (!record)
		return;
	record->length = bytes;
	record->hash = hash;
	memcpy(record->data, arguments->rest, bytes);
	trace_commit(&thread->chunk);
}

void words_note(struct thread_state *thread, const struct function_layout *layout,
	void *const *values, void *const *extra)
{
	struct launch_arguments *arguments = &thread->tables->arguments;

	if (arguments->word_count <= MAX_WORDS || !arguments->word[MAX_WORDS] ||
		hash_set_add(&seen.hashes, arguments->word[MAX_WORDS]) <= 0)
		return;
	/* Memory may have been allocated meanwhile: the launch uses this result. */
	arguments->keeps_rest = 1;
	arguments_scan(arguments, layout, values, extra);
	arguments->keeps_rest = 0;
	if (arguments->word_count > MAX_WORDS && arguments->rest_count <= MAX_REST)
		write_words(thread, arguments->word[MAX_WORDS], arguments);
}
