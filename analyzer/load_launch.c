/* SPDX-License-Identifier: Apache-2.0 */
/* What a launch passes besides memory: rows of launch_word. */
#include "loader.h"

#include <string.h>

/* What stands behind the fields of a launch. */
static struct launch_values values_of(const struct loaded_call *call)
{
	const struct call_record *record = (const struct call_record *)call->record;
	const char *end = (const char *)record + record_bytes(&record->head);
	const char *at = (const char *)&record->field[call->type->record->field_count];
	struct launch_values values = {
		.pointer = (const struct launch_pointer *)at,
		.pointer_count = record->pointer_count,
		.extra = record->head.flags & CALL_EXTRA,
	};

	if (record->head.flags & CALL_BUFFER) /* all of it was looked at for operands */
		return (struct launch_values){ .count = 0 };
	at += record->pointer_count * sizeof(struct launch_pointer);
	at += (size_t)(end - at) % TRACE_ALIGN;
	if (record->head.flags & CALL_ATTRIBUTES)
		end -= sizeof(struct call_attributes);
	values.count = end > at ? (size_t)(end - at) / sizeof(values.value[0]) : 0;
	if (values.count > LAUNCH_WORDS_KEPT + 1)
		values.count = LAUNCH_WORDS_KEPT + 1;
	memcpy(values.value, at, values.count * sizeof(values.value[0]));
	return values;
}

int loader_write_launch(struct loader *loader, const struct loaded_call *call)
{
	struct launch_word word[LAUNCH_WORDS_MAX];
	char blob[LAUNCH_WORDS_MAX * LAUNCH_WORD_BYTES];
	struct launch_values values;
	size_t count;

	if (call->kind != KIND_LAUNCH || call->failed)
		return 0;
	values = values_of(call);
	if (!values.count && !loader->p.stray_count)
		return 0;
	launch_words_place(word, &values, (const struct function_record *)(uintptr_t)map_get(
		&loader->p.layouts, call->kernel, 0));
	count = values.count;
	for (size_t i = 0; i < loader->p.stray_count && count < LAUNCH_WORDS_MAX; i++)
		word[count++] = loader->p.stray[i];
	for (size_t i = 0; i < count; i++)
		launch_words_put(blob, i, word[i]);
	return bulk_add(loader->words, "kb", loader->call + call->number, blob,
		count * LAUNCH_WORD_BYTES);
}
