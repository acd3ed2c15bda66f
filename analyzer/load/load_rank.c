/* SPDX-License-Identifier: Apache-2.0 */
/* Table rank, from a trace's properties: the launcher's variables and the host's name. */
#include "loader.h"

#include <string.h>

#include "memory.h"
#include "rank.h"

static const char env[] = "env.", host[] = "host";

static int is_named(const struct property_record *property, const char *name, size_t length)
{
	return property->name_length == length && !memcmp(property->data, name, length);
}

void loader_note_rank(struct loader *loader, const struct property_record *property)
{
	if (is_named(property, host, strlen(host)) ||
		(property->name_length > strlen(env) && !memcmp(property->data, env, strlen(env))))
		*array_push(loader->p.rank_properties, loader->p.rank_property_count) = property;
}

/* NULL: the trace does not have it. */
static const struct property_record *find(const struct loaded_process *p, const char *prefix,
	const char *name)
{
	for (size_t i = 0; i < p->rank_property_count; i++) {
		const struct property_record *property = p->rank_properties[i];
		size_t length = strlen(prefix);

		if (property->name_length == length + strlen(name) &&
			!memcmp(property->data, prefix, length) &&
			!memcmp(property->data + length, name, strlen(name)))
			return property;
	}
	return NULL;
}

struct search {
	const struct loaded_process *p;
	char value[24]; /* a number; what is longer is none */
};

static const char *find_variable(void *of, const char *name)
{
	struct search *search = of;
	const struct property_record *property = find(search->p, env, name);

	if (!property || property->value_length >= sizeof(search->value))
		return NULL;
	memcpy(search->value, property->data + property->name_length, property->value_length);
	search->value[property->value_length] = '\0';
	return search->value;
}

static int64_t or_null(int64_t number)
{
	return number < 0 ? DB_NULL : number;
}

int loader_insert_rank(struct loader *loader)
{
	struct search search = { .p = &loader->p };
	struct rank rank = rank_find(find_variable, &search);
	const struct property_record *name = find(&loader->p, "", host);
	int64_t device = loader->p.context_count ? loader->p.context[0].record.device : -1;

	if (!name && !rank.launcher)
		return 0;
	return db_add(loader->db,
		ROW(rank, loader->process, cell_text(rank.launcher), or_null(rank.rank),
			or_null(rank.local_rank), or_null(rank.world),
			name ? cell_bytes(name->data + name->name_length, name->value_length)
			     : cell_text(NULL),
			or_null(device)));
}
