/* SPDX-License-Identifier: Apache-2.0 */
#include "code_part.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cache.h"
#include "memory.h"

/*
 * Limit of a text: parsing needs a multiple of it; the longest in NVIDIA's libraries has 38 MiB.  A
 * longer one is counted as code_refused.
 */
#define TEXT_LIMIT (48u << 20)

void code_part_init(struct code_part *part, const struct image_bytes *bytes, char *key)
{
	char error[IMAGE_ERROR_SIZE];

	memset(part, 0, sizeof(*part));
	part->bytes = *bytes;
	part->key = key;
	part->count = image_list(bytes, &part->entry, error);
}

void code_part_release(struct code_part *part)
{
	ptx_close(part->module);
	for (size_t i = 0; i < part->machine_count; i++) {
		ptx_close(part->machine[i].module);
		image_release(&part->machine[i].cubin);
	}
	free(part->machine);
	image_release(&part->text);
	free(part->entry);
	free(part->key);
	memset(part, 0, sizeof(*part));
}

static const struct image_entry *newest_text(const struct code_part *part, uint32_t arch)
{
	const struct image_entry *best = NULL;

	for (long i = 0; i < part->count; i++) {
		const struct image_entry *entry = &part->entry[i];

		if (entry->kind == IMAGE_PTX && (!arch || entry->arch <= arch) &&
			(!best || entry->arch > best->arch))
			best = entry;
	}
	return best;
}

int code_part_has_ptx(struct code_part *part, const struct code_limits *limits)
{
	const struct image_entry *entry = part->read_text ? NULL : newest_text(part, limits->arch);
	char error[IMAGE_ERROR_SIZE];

	part->read_text = 1;
	if (!entry)
		return part->module != NULL;
	if (entry->unpacked > TEXT_LIMIT) {
		limits->budget->reached = 1;
	} else if (!image_read_entry(&part->bytes, entry, limits->budget, &part->text, error)) {
		part->module = ptx_open(part->text.code->data, part->text.code->size, error);
	}
	if (part->module)
		ptx_set_arch(part->module, limits->arch);
	return part->module != NULL;
}

int code_part_ptx(struct code_part *part, const struct code_limits *limits, const char *mangled,
	struct code_place *place)
{
	long found = code_part_has_ptx(part, limits)
		? ptx_find(part->module, mangled, strlen(mangled))
		: -1;

	if (found < 0)
		return 0;
	/* The layout of parameters depends on the architecture. */
	code_digest(part->digest, part->text.code->data, part->text.code->size, limits->arch);
	*place = (struct code_place){ part->module, (size_t)found, part->digest, NULL };
	return 1;
}

/*
 * The driver chooses a cubin of the device's major architecture, with the highest minor up to the
 * device's.
 */
static uint32_t chosen_arch(const struct code_part *part, uint32_t arch)
{
	uint32_t best = 0;

	for (long i = 0; i < part->count; i++) {
		const struct image_entry *entry = &part->entry[i];

		if (entry->kind == IMAGE_CUBIN && entry->arch > best &&
			(!arch || (entry->arch <= arch && entry->arch / 10 == arch / 10)))
			best = entry->arch;
	}
	return best;
}

static void read_machine(struct code_part *part, const struct code_limits *limits)
{
	uint32_t arch = chosen_arch(part, limits->arch);
	char error[IMAGE_ERROR_SIZE];

	part->read_machine = 1;
	part->machine = calloc(part->count > 0 ? (size_t)part->count : 1, sizeof(*part->machine));
	for (long i = 0; part->machine && i < part->count; i++) {
		const struct image_entry *entry = &part->entry[i];
		struct code_machine *machine = &part->machine[part->machine_count];

		/* A bare cubin has architecture 0. */
		if (entry->kind != IMAGE_CUBIN || entry->arch != arch ||
			image_read_entry(&part->bytes, entry, limits->budget, &machine->cubin,
				error))
			continue;
		machine->module = machine_open(machine->cubin.code->data, machine->cubin.code->size,
			machine->cubin.code->arch, error);
		if (!machine->module) {
			image_release(&machine->cubin);
			continue;
		}
		part->machine_count++;
	}
}

int code_part_machine(struct code_part *part, const struct code_limits *limits, const char *mangled,
	struct code_place *place)
{
	size_t length = strlen(mangled);

	if (!part->read_machine)
		read_machine(part, limits);
	for (size_t i = 0; i < part->machine_count; i++) {
		struct code_machine *machine = &part->machine[i];
		long found = ptx_find(machine->module, mangled, length);

		if (found < 0)
			continue;
		code_digest(machine->digest, machine->cubin.code->data, machine->cubin.code->size,
			0);
		*place = (struct code_place){ machine->module, (size_t)found, machine->digest,
			image_find_kernel(&machine->cubin, mangled) };
		return 1;
	}
	return 0;
}

static void note(struct map *prints, uint64_t name, uint64_t said)
{
	uint64_t before = map_get(prints, name, said);

	map_set(prints, name, before == said ? said : 1 + CODE_UNSURE);
}

/* Reads from cubins of that architecture whether kernels print. */
static void read_prints(struct code_part *part, const struct code_limits *limits, uint32_t arch,
	struct map *prints)
{
	char error[IMAGE_ERROR_SIZE];

	for (long i = 0; i < part->count; i++) {
		const struct image_entry *entry = &part->entry[i];
		struct image image;

		/* A bare cubin has architecture 0. */
		if (entry->kind != IMAGE_CUBIN || entry->arch != arch ||
			image_read_entry(&part->bytes, entry, limits->budget, &image, error))
			continue;
		for (size_t k = 0; k < image.code->kernel_count; k++) {
			const struct image_kernel *kernel = &image.code->kernel[k];

			note(prints, map_hash(kernel->name, strlen(kernel->name)),
				1 +
					(kernel->prints < 0              ? CODE_UNSURE
							: kernel->prints ? CODE_PRINTS
									 : CODE_SILENT));
		}
		image_release(&image);
	}
}

static uint64_t cubin_bytes(const struct code_part *part, uint32_t arch)
{
	uint64_t bytes = 0;

	for (long i = 0; i < part->count; i++)
		if (part->entry[i].kind == IMAGE_CUBIN && part->entry[i].arch == arch)
			bytes += part->entry[i].unpacked;
	return bytes;
}

static void write_cache(const char *key, const struct map *prints)
{
	uint64_t *pair = xcalloc(prints->count, 2 * sizeof(*pair));
	size_t count = 0;

	for (size_t i = 0; i < prints->size; i++)
		if (prints->entry[i].used) {
			pair[count++] = prints->entry[i].key;
			pair[count++] = prints->entry[i].value;
		}
	cache_put("prints", key, pair, count * sizeof(*pair));
	free(pair);
}

/* Cubins of at least this size are cached: reading NCCL's 128 MiB takes 0.2 s. */
#define CACHED_FROM (4u << 20)

void code_part_prints(struct code_part *part, const struct code_limits *limits, struct map *prints)
{
	uint32_t arch = chosen_arch(part, limits->arch);
	struct map own = { 0 };

	if (!part->key || cubin_bytes(part, arch) < CACHED_FROM) {
		read_prints(part, limits, arch, prints);
		return;
	}
	/* Reads from the cache, or from cubins and then fills the cache. */
	int refused = limits->budget->reached;
	char *key = xprintf("%s\n%u", part->key, (unsigned)arch);

	/* Reads the cache entry: pairs of a name's hash and 1 + enum code_said. */
	size_t size;
	uint64_t *pair = cache_get("prints", key, &size);
	int rc = pair ? 0 : -1;

	for (size_t i = 0; pair && !rc && i + 2 <= size / sizeof(*pair); i += 2)
		note(&own, pair[i], pair[i + 1]);
	free(pair);
	if (rc) {
		limits->budget->reached = 0;
		read_prints(part, limits, arch, &own);
		if (!limits->budget->reached)
			write_cache(key, &own);
		limits->budget->reached |= refused;
	}
	free(key);
	for (size_t i = 0; i < own.size; i++)
		if (own.entry[i].used)
			note(prints, own.entry[i].key, own.entry[i].value);
	map_release(&own);
}

int code_prints(const struct map *prints, const char *mangled)
{
	uint64_t said = map_get(prints, map_hash(mangled, strlen(mangled)), 1 + CODE_UNSURE);

	return said == 1 + CODE_PRINTS ? 1 : said == 1 + CODE_SILENT ? 0 : -1;
}
