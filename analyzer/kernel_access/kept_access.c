/* SPDX-License-Identifier: Apache-2.0 */
#include "kept_access.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cache.h"
#include "code_digest.h"
#include "map.h"
#include "memory.h"

/*
 * Limit of bytes of answers for one piece of code; beyond it, the collection starts anew.  It holds
 * what would be found again.
 */
#define KEPT_MOST (4u << 20)

/* Followed by the question and the parts of the answer, each aligned to 8 bytes. */
struct record {
	uint32_t size, question; /* bytes: of the record, of the question */
	uint32_t claims, variables, scalars, names, why;
	uint32_t failed, limited, complete, reaches;
	uint32_t reserved;
	uint64_t steps, limit;
};

struct bytes {
	char *data;
	size_t size, room;
};

struct kept_access {
	char key[CODE_DIGEST_SIZE];
	struct bytes record;   /* all records, consecutively */
	struct bytes question; /* the current question */
	struct bytes answer;   /* the last record made */
	struct map place;      /* hash of a question -> start of its record */
	int is_new;            /* some are not in the cache yet */
};

static size_t padded(size_t size)
{
	return (size + 7) & ~(size_t)7;
}

/* Appends data, padded to a multiple of 8 bytes. */
static void add(struct bytes *bytes, const void *data, size_t size)
{
	size_t end = bytes->size + padded(size);

	if (end > bytes->room) {
		bytes->data = xrealloc(bytes->data, 2 * end, 1);
		bytes->room = 2 * end;
	}
	if (size)
		memcpy(bytes->data + bytes->size, data, size);
	memset(bytes->data + bytes->size + size, 0, end - bytes->size - size);
	bytes->size = end;
}

static const struct record *record_at(const struct bytes *bytes, size_t at)
{
	return (const struct record *)(const void *)(bytes->data + at);
}

struct kept_access *kept_access_open(const char *digest)
{
	struct kept_access *kept = xcalloc(1, sizeof(*kept));

	snprintf(kept->key, sizeof(kept->key), "%s", digest);
	kept->record.data = cache_get("access", kept->key, &kept->record.size);
	if (!kept->record.data || kept->record.size > KEPT_MOST)
		kept->record.size = 0;
	kept->record.room = kept->record.size;
	for (size_t at = 0; at < kept->record.size; at += record_at(&kept->record, at)->size) {
		const struct record *record = record_at(&kept->record, at);
		uint64_t hash = map_hash((const char *)(record + 1), record->question);

		map_set(&kept->place, hash, at);
	}
	return kept;
}

void kept_access_close(struct kept_access *kept)
{
	if (!kept)
		return;
	if (kept->is_new)
		cache_put("access", kept->key, kept->record.data, kept->record.size);
	free(kept->record.data);
	free(kept->question.data);
	free(kept->answer.data);
	map_release(&kept->place);
	free(kept);
}

static void read_record(const struct record *record, struct kept_answer *answer)
{
	const char *at = (const char *)(record + 1) + padded(record->question);

	*answer = (struct kept_answer){
		.failed = (int)record->failed,
		.complete = (int)record->complete,
		.reaches = record->reaches,
		.steps = record->steps,
		.claim_count = record->claims,
		.variable_count = record->variables,
		.scalar_count = record->scalars,
		.claim = (const struct ptx_claim *)(const void *)at,
	};
	at += padded(record->claims * sizeof(*answer->claim));
	answer->variable = (const struct kept_variable *)(const void *)at;
	at += padded(record->variables * sizeof(*answer->variable));
	answer->scalar = (const uint8_t *)at;
	at += padded(record->scalars);
	answer->names = at;
	at += padded(record->names);
	answer->why = record->why ? at : NULL;
}

static void write_record(struct kept_access *kept, struct record *record,
	const struct ptx_module *module, const struct ptx_access *access)
{
	struct bytes variables = { 0 }, names = { 0 }, *answer = &kept->answer;

	/* Lists the variables of the claims, and their names, consecutively. */
	for (size_t i = 0; i < access->count; i++) {
		struct kept_variable variable = { .offset = access->claim[i].offset };
		struct ptx_variable_name name;

		if (ptx_variable(module, variable.offset, &name) ||
			(i && access->claim[i - 1].offset == variable.offset))
			continue;
		variable.bytes = name.bytes;
		variable.name = (uint32_t)names.size;
		variable.length = (uint32_t)name.length;
		add(&variables, &variable, sizeof(variable));
		add(&names, name.name, name.length);
	}
	answer->size = 0;
	record->question = (uint32_t)kept->question.size;
	record->variables = (uint32_t)(variables.size / sizeof(struct kept_variable));
	record->names = (uint32_t)names.size;
	add(answer, record, sizeof(*record));
	add(answer, kept->question.data, kept->question.size);
	add(answer, access->claim, access->count * sizeof(*access->claim));
	add(answer, variables.data, variables.size);
	add(answer, access->scalar, access->scalar_count);
	add(answer, names.data, names.size);
	add(answer, access->why, record->why);
	free(variables.data);
	free(names.data);
	((struct record *)(void *)answer->data)->size = (uint32_t)answer->size;
}

static void add_record(struct kept_access *kept, uint64_t hash)
{
	const struct bytes *answer = &kept->answer;
	size_t at;

	if (kept->record.size + answer->size > KEPT_MOST) {
		kept->record.size = 0;
		map_release(&kept->place);
	}
	at = kept->record.size;
	kept->is_new = 1;
	add(&kept->record, answer->data, answer->size);
	map_set(&kept->place, hash, at);
}

/* Returns whether the answer may be kept. */
static int interpret(struct kept_access *kept, struct ptx_module *module, size_t kernel,
	const struct ptx_launch *launch, unsigned long steps)
{
	struct ptx_access access;
	int failed = ptx_interpret(module, kernel, launch, steps, &access), lasts;
	struct record record = { .failed = failed != 0, .limit = steps };

	record.limited = (uint32_t)access.limited;
	record.complete = (uint32_t)access.complete;
	record.reaches = access.reaches;
	record.steps = access.steps;
	record.claims = (uint32_t)access.count;
	record.scalars = access.scalar_count;
	record.why = access.why ? (uint32_t)strlen(access.why) + 1 : 0;
	write_record(kept, &record, module, &access);
	/* More memory may be available next time. */
	lasts = access.why != ptx_no_memory;
	ptx_access_release(&access);
	return lasts;
}

/*
 * The answer would be the same again: if a limit was reached, or may have been, only for the same
 * limit.
 */
static int is_same(const struct kept_access *kept, const struct record *record, unsigned long steps)
{
	return record->question == kept->question.size &&
		!memcmp(record + 1, kept->question.data, kept->question.size) &&
		(record->failed || record->limited ? record->limit == steps
						   : record->steps <= steps);
}

void kept_access_find(struct kept_access *kept, struct ptx_module *module, size_t kernel,
	const char *name, const struct ptx_launch *launch, unsigned long steps,
	struct kept_answer *answer)
{
	uint64_t hash, at;
	int lasts;

	/* Builds the question: everything that the interpreter knows of the launch. */
	kept->question.size = 0;
	add(&kept->question, name, strlen(name) + 1);
	add(&kept->question, launch->grid, sizeof(launch->grid));
	add(&kept->question, launch->block, sizeof(launch->block));
	add(&kept->question, launch->value, launch->size);
	add(&kept->question, launch->state, launch->size);
	hash = map_hash(kept->question.data, kept->question.size);
	at = map_get(&kept->place, hash, UINT64_MAX);
	if (at != UINT64_MAX && is_same(kept, record_at(&kept->record, at), steps)) {
		read_record(record_at(&kept->record, at), answer);
		return;
	}
	lasts = interpret(kept, module, kernel, launch, steps);
	read_record(record_at(&kept->answer, 0), answer);
	if (lasts)
		add_record(kept, hash);
}
