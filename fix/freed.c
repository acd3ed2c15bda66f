/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the program has freed and the driver has not: a bounded list.  A real free waits until
 * nothing uses the memory, so it is correct at any time; it is early where the device is idle.
 */
#include "fix_internal.h"

enum { KEPT = 64, HOST = 256 };
static const uint64_t most_bytes = UINT64_C(1) << 30;

typedef CUresult (*free_function)(uint64_t handle);

struct freed {
	uint64_t handle, bytes, flags;
	uint64_t number; /* counts up */
	free_function free;
	int is_host, is_idle;
};

static struct {
	_Atomic int lock;
	struct freed kept[KEPT];
	unsigned count;
	uint64_t bytes;
	_Atomic uint64_t number;  /* of the last one */
	_Atomic uint64_t context; /* the first one that the program made current */
	struct freed host[HOST];  /* in use, by address; handle 0: free */
} freed;

/* The entry of host memory in use; 0: a free one.  NULL: none. */
static struct freed *find_host(uint64_t ptr)
{
	for (unsigned i = 0; i < HOST; i++)
		if (freed.host[i].handle == ptr)
			return &freed.host[i];
	return NULL;
}

void freed_note_host(uint64_t ptr, uint64_t bytes, uint64_t flags)
{
	struct freed *host;

	fix_lock(&freed.lock);
	host = find_host(ptr);
	if (!host)
		host = find_host(0);
	if (host)
		*host = (struct freed){ .handle = ptr, .bytes = bytes, .flags = flags };
	fix_unlock(&freed.lock);
}

static int add(struct freed *entry)
{
	struct freed *host = entry->is_host ? find_host(entry->handle) : NULL;

	if (host) {
		entry->bytes = host->bytes;
		entry->flags = host->flags;
	}
	if (freed.count == KEPT || freed.bytes + entry->bytes > most_bytes)
		return 0;
	if (host)
		host->handle = 0;
	freed.bytes += entry->bytes;
	entry->number = ++freed.number;
	freed.kept[freed.count++] = *entry;
	return 1;
}

static uint64_t device_bytes(uint64_t ptr)
{
	CUdeviceptr base;
	size_t bytes = 0;

	fix.recorder->own_begin();
	if (fix.driver.range(&base, &bytes, (CUdeviceptr)ptr))
		bytes = 0;
	fix.recorder->own_end();
	return bytes;
}

int freed_keep(const struct fixed_call *call)
{
	int is_device = call->ptr && kind_family(call->kind) == FAMILY_free;
	struct freed entry = { .handle = fixed_handle(call),
		.bytes = is_device ? device_bytes(call->ptr) : 0,
		.free = (free_function)call->real,
		.is_host = kind_family(call->kind) == FAMILY_host_memory };
	int added;

	fix_lock(&freed.lock);
	added = add(&entry);
	fix_unlock(&freed.lock);
	return added;
}

static void drop(unsigned i)
{
	freed.bytes -= freed.kept[i].bytes;
	freed.kept[i] = freed.kept[--freed.count];
}

uint64_t freed_take_host(uint64_t bytes, uint64_t flags)
{
	uint64_t found = 0;

	fix_lock(&freed.lock);
	for (unsigned i = 0; i < freed.count && !found; i++) {
		const struct freed *entry = &freed.kept[i];

		if (!entry->is_idle || entry->bytes != bytes || entry->flags != flags)
			continue;
		found = entry->handle;
		drop(i);
	}
	fix_unlock(&freed.lock);
	return found;
}

/*
 * Takes one of them out, up to a number, but host memory that is kept for reuse.  0: there is none.
 */
static int take(struct freed *entry, uint64_t number, int keeps_host)
{
	int found = 0;

	fix_lock(&freed.lock);
	for (unsigned i = 0; i < freed.count && !found; i++) {
		if (freed.kept[i].number > number)
			continue;
		if (keeps_host && freed.kept[i].is_host && freed.kept[i].bytes) {
			freed.kept[i].is_idle = 1;
			continue;
		}
		*entry = freed.kept[i];
		drop(i);
		found = 1;
	}
	fix_unlock(&freed.lock);
	return found;
}

unsigned freed_release(void)
{
	struct freed entry;
	unsigned count = 0;

	for (; take(&entry, UINT64_MAX, 0); count++)
		entry.free(entry.handle);
	return count;
}

uint64_t freed_so_far(void)
{
	return freed.number;
}

void freed_now_idle(uint64_t number)
{
	struct freed entry;

	while (take(&entry, number, 1))
		entry.free(entry.handle);
}

int freed_is_other_context(uint64_t context)
{
	uint64_t first = 0;

	return context && !atomic_compare_exchange_strong(&freed.context, &first, context) &&
		first != context;
}

void freed_forget(void)
{
	freed.lock = 0;
	freed.count = 0;
	freed.bytes = 0;
}
