/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory accessed through other addresses than its own: rows of table twin.  Several mappings of
 * one handle need no rows.  Stores through the addresses of a multicast object reach all memory
 * bound to it, and loads read it (PTX ISA, "multimem").  Host pages that are mapped and registered
 * twice are identified by their file.  Memory imported by a handle of another process may be the
 * same as any other imported or exported memory of equal size.
 */
#include "loader.h"

#include <stdlib.h>

#include "memory.h"

#define HAS(fields, kind) ((fields)->present & 1ull << FIELD_##kind)

/*
 * Few programs have any of these; each is compared with all previous ones.  Further ones are taken
 * for other memory and counted in table loss.
 */
#define TWINS_LIMIT 1024

#define PAGE UINT64_C(4096)

/* A mapping of a handle, or registered host memory. */
struct mapped {
	uint64_t key;    /* the handle, or a file */
	uint64_t offset; /* in the file */
	uint64_t address, bytes;
	int64_t row; /* as struct life.row */
};

/* Memory bound to a multicast object: by its handle, or by an allocation. */
struct bound {
	uint64_t multicast, memory;
	int64_t row;   /* 0: row of the first mapping of memory */
	int64_t shift; /* from its first byte to the first byte of the object */
};

struct list {
	struct mapped *item;
	size_t count;
};

struct twins {
	struct list outside, pages; /* mappings of imported handles; registered pages of files */
	struct bound *bound;
	size_t bound_count;
	struct map came;   /* handles: CAME_ */
	uint64_t left_out; /* beyond TWINS_LIMIT */
};

enum { CAME_IN = 1, CAME_MULTICAST, CAME_OUT };

static struct twins *twins_of(struct loaded_process *p)
{
	if (!p->twins)
		p->twins = xcalloc(1, sizeof(*p->twins));
	return p->twins;
}

static int is_alive(const struct loaded_process *p, const struct mapped *mapped)
{
	uint32_t life = ranges_find(&p->live_memory, mapped->address);

	return life && p->allocations.life[life - 1].row == mapped->row;
}

static void add_mapped(struct twins *twins, struct list *list, const struct mapped *mapped)
{
	if (list->count == TWINS_LIMIT) {
		twins->left_out++;
		return;
	}
	*array_push(list->item, list->count) = *mapped;
}

static int write_twin(struct loader *loader, int64_t row, int64_t other, int64_t shift)
{
	return db_add(loader->db,
		ROW(twin, loader->allocation + row, loader->allocation + other, shift));
}

/* --- multicast objects --- */

/* Writes twins of a mapping of the object and the memory bound to it, once that is mapped. */
static int write_bound(struct loader *loader, const struct mapped *mapped,
	const struct bound *bound)
{
	struct loaded_process *p = &loader->p;
	uint32_t first = (uint32_t)map_get(&p->mapped, bound->memory, 0);
	uint64_t address = first ? p->allocations.life[first - 1].handle : 0;

	if (mapped->key != bound->multicast)
		return 0;
	if (bound->row)
		return write_twin(loader, mapped->row, bound->row, bound->shift);
	if (!first)
		return 0;
	return write_twin(loader, mapped->row, (int64_t)map_get(&p->known_by, address, 0),
		bound->shift + (int64_t)map_get(&p->known_at, address, 0));
}

/* Writes twins for all existing mappings of the object. */
static int write_bound_all(struct loader *loader, const struct bound *bound)
{
	const struct list *outside = &loader->p.twins->outside;

	for (size_t i = 0; i < outside->count; i++)
		if (is_alive(&loader->p, &outside->item[i]) &&
			write_bound(loader, &outside->item[i], bound))
			return -1;
	return 0;
}

int loader_bind_multicast(struct loader *loader, const struct loaded_call *call)
{
	const struct call_fields *fields = &call->fields;
	struct loaded_process *p = &loader->p;
	struct twins *twins = call->failed ? NULL : twins_of(p);
	struct bound bound = { .multicast = fields->value[FIELD_handle],
		.memory = fields->value[FIELD_memory],
		.shift = (int64_t)(fields->value[FIELD_offset] - fields->value[FIELD_value]) };
	uint32_t life = ranges_find(&p->live_memory, fields->value[FIELD_ptr]);

	if (!twins)
		return call->failed ? 0 : -1;
	if (!bound.memory && !life)
		return 0;
	if (twins->bound_count == TWINS_LIMIT) {
		twins->left_out++;
		return 0;
	}
	if (!bound.memory) {
		uint64_t address = p->allocations.life[life - 1].handle;

		bound.row = (int64_t)map_get(&p->known_by, address,
			(uint64_t)p->allocations.life[life - 1].row);
		bound.shift += (int64_t)(fields->value[FIELD_ptr] - address +
			map_get(&p->known_at, address, 0));
	}
	*array_push(twins->bound, twins->bound_count) = bound;
	return write_bound_all(loader, &bound);
}

/* --- handles that come in or go out --- */

int loader_note_handle(struct loader *loader, const struct loaded_call *call)
{
	const struct call_fields *fields = &call->fields;
	struct twins *twins = call->failed ? NULL : twins_of(&loader->p);
	int came = call->kind != KIND_MEM_IMPORT ? CAME_OUT
		: fields->value[FIELD_bytes]     ? CAME_MULTICAST
						 : CAME_IN;

	if (!twins)
		return call->failed ? 0 : -1;
	map_set(&twins->came, fields->value[FIELD_handle], (uint64_t)came);
	return 0;
}

/* Identifies mapped memory by its row from now on, independent of its handle. */
static void settle(const struct loaded_process *p, struct bound *bound, uint64_t handle)
{
	uint32_t life = (uint32_t)map_get(&p->mapped, handle, 0);
	uint64_t address = life ? p->allocations.life[life - 1].handle : 0;

	if (!life || bound->memory != handle)
		return;
	bound->row = (int64_t)map_get(&p->known_by, address, 0);
	bound->shift += (int64_t)map_get(&p->known_at, address, 0);
	bound->memory = 0;
}

void loader_settle_handle(struct loader *loader, uint64_t handle)
{
	struct twins *twins = loader->p.twins;

	for (size_t i = 0; twins && i < twins->bound_count; i++)
		settle(&loader->p, &twins->bound[i], handle);
}

void loader_renew_handle(struct loader *loader, uint64_t handle)
{
	struct twins *twins = loader->p.twins;
	int was_multicast;
	size_t count = 0;

	if (!twins)
		return;
	was_multicast = map_get(&twins->came, handle, 0) == CAME_MULTICAST;
	for (size_t i = 0; i < twins->bound_count; i++)
		if (twins->bound[i].multicast != handle && twins->bound[i].memory != handle)
			twins->bound[count++] = twins->bound[i];
	twins->bound_count = count;
	for (size_t i = 0; i < twins->outside.count && was_multicast; i++)
		if (twins->outside.item[i].key == handle)
			twins->outside.item[i].key = 0;
	map_set(&twins->came, handle, 0);
}

static int is_multicast(const struct twins *twins, uint64_t handle)
{
	for (size_t i = 0; i < twins->bound_count; i++)
		if (twins->bound[i].multicast == handle)
			return 1;
	return map_get(&twins->came, handle, 0) == CAME_MULTICAST;
}

/* Two handles may refer to the same memory if both were imported, or one was exported. */
static int may_be_same(const struct twins *twins, const struct mapped *one,
	const struct mapped *other)
{
	uint64_t came = map_get(&twins->came, one->key, 0);
	uint64_t other_came = map_get(&twins->came, other->key, 0);

	return one->key != other->key && one->bytes == other->bytes && came && other_came &&
		(came == CAME_IN || other_came == CAME_IN) && !is_multicast(twins, one->key) &&
		!is_multicast(twins, other->key);
}

static int write_possible(struct loader *loader, const struct mapped *mapped,
	const struct mapped *other)
{
	struct loaded_process *p = &loader->p;

	return is_alive(p, other) && may_be_same(p->twins, mapped, other)
		? write_twin(loader, mapped->row,
			  (int64_t)map_get(&p->known_by, other->address, (uint64_t)other->row),
			  DB_NULL)
		: 0;
}

int loader_join_mapping(struct loader *loader, const struct loaded_call *call,
	const struct life *life)
{
	struct loaded_process *p = &loader->p;
	struct twins *twins = p->twins;
	struct mapped mapped = { .key = call->fields.value[FIELD_handle],
		.address = life->handle,
		.bytes = life->value,
		.row = life->row };

	if (!twins)
		return 0;
	for (size_t i = 0; i < twins->bound_count; i++) {
		const struct bound *bound = &twins->bound[i];

		if (write_bound(loader, &mapped, bound) ||
			(mapped.key && bound->memory == mapped.key &&
				write_bound_all(loader, bound)))
			return -1;
	}
	for (size_t i = 0; i < twins->outside.count; i++)
		if (write_possible(loader, &mapped, &twins->outside.item[i]))
			return -1;
	if (map_get(&twins->came, mapped.key, 0))
		add_mapped(twins, &twins->outside, &mapped);
	return 0;
}

/* --- registered host memory --- */

int loader_join_pages(struct loader *loader, const struct loaded_call *call,
	const struct life *life)
{
	uint64_t pages = call->fields.value[FIELD_handle];
	struct twins *twins = pages && !call->failed ? twins_of(&loader->p) : NULL;
	struct mapped mapped = { .key = pages >> FILE_PAGE_BITS,
		.offset = (pages & ((UINT64_C(1) << FILE_PAGE_BITS) - 1)) * PAGE +
			life->handle % PAGE,
		.address = life->handle,
		.bytes = life->value,
		.row = life->row };

	if (!twins)
		return pages && !call->failed ? -1 : 0;
	for (size_t i = 0; i < twins->pages.count; i++) {
		const struct mapped *other = &twins->pages.item[i];

		if (other->key == mapped.key && mapped.offset < other->offset + other->bytes &&
			other->offset < mapped.offset + mapped.bytes &&
			is_alive(&loader->p, other) &&
			write_twin(loader, mapped.row, other->row,
				(int64_t)(mapped.offset - other->offset)))
			return -1;
	}
	add_mapped(twins, &twins->pages, &mapped);
	return 0;
}

uint64_t loader_twins_left_out(const struct loaded_process *p)
{
	return p->twins ? p->twins->left_out : 0;
}

void loader_release_twins(struct loaded_process *p)
{
	if (!p->twins)
		return;
	free(p->twins->outside.item);
	free(p->twins->pages.item);
	free(p->twins->bound);
	map_release(&p->twins->came);
	free(p->twins);
}
