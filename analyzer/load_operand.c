/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which allocations a submitting call names: the ends of copies and memsets, and the parameter
 * words of launches that point into one.  The recorder keeps words generously; a word counts
 * here only if an allocation that was alive at the call contains it.
 */
#include "loader.h"

#include <string.h>

struct operands {
	struct loader *loader;
	int64_t call;              /* row */
};

/* offset: DB_NULL for a copy's or memset's own end.  1: in an allocation, 0: in none. */
static int add(const struct operands *operands, const char *role, int64_t offset, uint64_t address)
{
	struct loader *loader = operands->loader;
	uint32_t life = ranges_find(&loader->p.live_memory, address);

	if (!life)
		return 0;
	if (bulk_add(loader->operands, "isIii", operands->call, role, offset, (int64_t)address,
		    loader->allocation + loader->p.allocations.life[life - 1].row) ||
		bulk_add_key(loader->operand_call, operands->call, bulk_last(loader->operands)))
		return -1;
	return 1;
}

/* A word of a launch's parameters: in an allocation, or one that is none's. */
static int add_word(const struct operands *operands, uint32_t offset, uint64_t value)
{
	struct loaded_process *p = &operands->loader->p;
	int found = add(operands, "word", offset, value);

	if (found > 0 && p->pointed_count < sizeof(p->pointed) / sizeof(*p->pointed))
		p->pointed[p->pointed_count++] = offset;
	if (!found && p->stray_count < LAUNCH_WORDS_MAX)
		p->stray[p->stray_count++] = (struct launch_word){ offset, value };
	return found < 0 ? -1 : 0;
}

static int add_words(const struct operands *operands, const struct call_record *record,
	unsigned field_count)
{
	const char *at = (const char *)&record->field[field_count];
	int buffer = record->head.flags & CALL_BUFFER;

	for (unsigned i = 0; buffer && i < record->pointer_count; i++) {
		if (add_word(operands, i * 8, record->field[field_count + i]))
			return -1;
	}
	for (unsigned i = 0; !buffer && i < record->pointer_count; i++) {
		struct launch_pointer word;

		memcpy(&word, at + i * sizeof(word), sizeof(word));
		if (add_word(operands, word.offset,
			    word.pointer[0] | (uint64_t)word.pointer[1] << 32))
			return -1;
	}
	return 0;
}

int loader_write_operands(struct loader *loader, const struct loaded_call *call)
{
	struct operands operands = { .loader = loader, .call = loader->call + call->number };
	const struct call_fields *fields = &call->fields;

	loader->p.stray_count = loader->p.pointed_count = 0;
	if (call->failed)
		return 0;
	if (fields->present & 1ull << FIELD_dst &&
		add(&operands, "dst", DB_NULL, fields->value[FIELD_dst]) < 0)
		return -1;
	if (fields->present & 1ull << FIELD_src &&
		add(&operands, "src", DB_NULL, fields->value[FIELD_src]) < 0)
		return -1;
	return add_words(&operands, (const struct call_record *)call->record,
		call->type->record->field_count);
}
