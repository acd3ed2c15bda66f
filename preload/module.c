/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mapped files, for the addresses of sites.  Reads /proc/self/maps because dl_iterate_phdr takes
 * the loader's lock, which the program may hold during a CUDA call.
 */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "image_hash.h"
#include "shim.h"
#include "system.h"

#define MODULES 1024

static struct {
	_Atomic int lock;
	_Atomic unsigned count;
	unsigned misses;             /* rescans without a result: JIT code */
	_Atomic unsigned file_pages; /* calls of module_file_page() */
	struct {
		uintptr_t start, end;
	} range[MODULES];
} modules;

/*
 * Mappings in which images were found recently: a large program has thousands of mappings, and
 * reading their list for each image would take milliseconds.  Stale entries of unloaded libraries
 * are harmless: a reader compares the file with the recorded start of the image.
 */
#define PLACES 16
static struct {
	unsigned next;
	struct module_place place[PLACES];
} places; /* protected by the lock of modules */

void module_reset(void)
{
	modules.count = 0;
	modules.lock = 0;
	modules.misses = 0;
	modules.file_pages = 0;
	memset(&places, 0, sizeof(places));
}

static int is_known(uintptr_t address)
{
	unsigned count = atomic_load_explicit(&modules.count, memory_order_acquire);

	for (unsigned i = 0; i < count; i++)
		if (address >= modules.range[i].start && address < modules.range[i].end)
			return 1;
	return 0;
}

struct mapping {
	uintptr_t start, end;
	uint64_t offset;
	int executable, readable, writable, shared;
	const char *file; /* device and inode, as text */
	const char *path;
};

/* "start-end rwxp offset major:minor inode path" */
static int parse_mapping(char *line, struct mapping *map)
{
	char *at;

	map->start = strtoull(line, &at, 16);
	if (*at++ != '-')
		return -1;
	map->end = strtoull(at, &at, 16);
	if (*at++ != ' ' || strlen(at) < 5)
		return -1;
	map->readable = at[0] == 'r';
	map->writable = at[1] == 'w';
	map->executable = at[2] == 'x';
	map->shared = at[3] == 's';
	map->offset = strtoull(at + 5, &at, 16);
	map->file = at;
	map->path = strchr(at, '/');
	return 0;
}

/*
 * Finds the GNU build id in the notes of the image whose header is mapped at head.  Valgrind's own
 * image is in the list of mappings, and reading it is an error of the program to valgrind.
 */
static void find_build_id(const struct mapping *head, uint8_t id[20])
{
	const Elf64_Ehdr *elf = (const Elf64_Ehdr *)head->start;
	const Elf64_Phdr *phdr;
	size_t size = head->end - head->start;
	uint64_t first_load = UINT64_MAX;

	if (!head->readable || size < sizeof(*elf) || machine_on_valgrind() ||
		memcmp(elf->e_ident, ELFMAG, SELFMAG) || elf->e_phoff > size ||
		elf->e_phnum > (size - elf->e_phoff) / sizeof(*phdr))
		return;
	phdr = (const Elf64_Phdr *)(head->start + elf->e_phoff);
	for (unsigned i = 0; i < elf->e_phnum; i++) {
		uint64_t at, end;

		if (phdr[i].p_type == PT_LOAD && first_load == UINT64_MAX)
			first_load = phdr[i].p_vaddr & ~0xfffull;
		if (phdr[i].p_type != PT_NOTE || phdr[i].p_filesz > size)
			continue;
		at = first_load == UINT64_MAX ? phdr[i].p_vaddr : phdr[i].p_vaddr - first_load;
		if (at > size - phdr[i].p_filesz)
			continue;
		for (end = at + phdr[i].p_filesz; end - at >= sizeof(Elf64_Nhdr);) {
			const Elf64_Nhdr *note = (const Elf64_Nhdr *)(head->start + at);
			uint64_t name = (note->n_namesz + 3ull) & ~3ull;
			uint64_t length = sizeof(*note) + name + ((note->n_descsz + 3ull) & ~3ull);

			if (length > end - at)
				break;
			if (note->n_type == NT_GNU_BUILD_ID && note->n_descsz <= 20 && name == 4 &&
				!memcmp(note + 1, "GNU", 4))
				memcpy(id, (const char *)(note + 1) + name, note->n_descsz);
			at += length;
		}
	}
}

static void write_module(struct thread_state *thread, const struct mapping *map,
	const struct mapping *head)
{
	size_t length = strlen(map->path);
	struct module_record *record =
		thread_reserve(thread, sizeof(*record) + length, RECORD_MODULE);

	if (!record)
		return;
	record->start = map->start;
	record->end = map->end;
	record->file_offset = map->offset;
	record->path_length = (uint32_t)length;
	memcpy(record->path, map->path, length);
	if (head->start)
		find_build_id(head, record->build_id);
	trace_commit(&thread->chunk);
}

static void add_mapping(struct thread_state *thread, const struct mapping *map,
	const struct mapping *head)
{
	unsigned count = modules.count;

	if (count == MODULES || is_known(map->start))
		return;
	modules.range[count].start = map->start;
	modules.range[count].end = map->end;
	atomic_store_explicit(&modules.count, count + 1, memory_order_release);
	write_module(thread, map, head);
}

struct search {
	struct thread_state *thread;
	struct mapping head; /* first mapping of the current file */
	uintptr_t address;
	uintptr_t start, end;       /* mapping of a file that contains address; 0: none */
	struct module_place *place; /* NULL, or where to store the result */
	uint64_t file_page;
};

/* Returns the first mapping of the same file as map, zeros if there is none. */
static struct mapping find_head(struct search *search, const struct mapping *map)
{
	static char head_path[4096]; /* protected by the lock */

	if (map->offset == 0 && strlen(map->path) < sizeof(head_path)) {
		strcpy(head_path, map->path);
		search->head = *map;
	}
	return strcmp(head_path, map->path) ? (struct mapping){ 0 } : search->head;
}

/* Records new executable mappings. */
static void note_mapping(struct search *search, const struct mapping *map)
{
	struct mapping head = find_head(search, map);

	if (map->executable)
		add_mapping(search->thread, map, &head);
}

static void find_mapping(struct search *search, const struct mapping *map)
{
	if (search->address < map->start || search->address >= map->end)
		return;
	search->start = map->start;
	search->end = map->end;
}

/*
 * Reading a list of 1500 mappings takes 0.45 ms, as long as registering a MiB. Programs that share
 * pages register them early; programs that register in a loop are not slowed down further.
 */
#define FILE_PAGES_MOST 64

/* Pages of private mappings become the process's own when written. */
static void find_file_page(struct search *search, const struct mapping *map)
{
	uint64_t page = (map->offset + search->address - map->start) / 4096;
	size_t length = strspn(map->file, " 0123456789abcdef:");

	if (search->address < map->start || search->address >= map->end || !map->shared)
		return;
	while (length && map->file[length - 1] == ' ')
		length--;
	search->file_page = image_hash(map->file, length) << FILE_PAGE_BITS |
		(page & ((UINT64_C(1) << FILE_PAGE_BITS) - 1));
}

/*
 * Writable mappings may differ from the file: they and memory of no file have no path.  They are
 * kept as well, for cuFFT unpacks its images to the heap and loads them in each plan.  Memory that
 * becomes a file's later is taken for no file's, so that its images are stored.
 */
static void find_place(struct search *search, const struct mapping *map)
{
	struct mapping head = map->path ? find_head(search, map) : (struct mapping){ 0 };
	struct module_place *place = search->place;

	if (search->address < map->start || search->address >= map->end)
		return;
	memset(place, 0, sizeof(*place));
	place->start = map->start;
	place->end = map->end;
	if (!map->path || map->writable || !map->readable ||
		strlen(map->path) >= sizeof(place->path))
		return;
	place->offset = map->offset;
	strcpy(place->path, map->path);
	if (head.start)
		find_build_id(&head, place->build_id);
}

/* Calls visit for each mapping of a file; to find a place, for all. */
static void scan(int fd, void (*visit)(struct search *, const struct mapping *),
	struct search *search)
{
	static char buffer[16384]; /* protected by the lock */
	struct mapping map;
	size_t held = 0;
	ssize_t n;

	while ((n = system_read(fd, buffer + held, sizeof(buffer) - 1 - held)) > 0) {
		char *line = buffer, *end;

		held += (size_t)n;
		buffer[held] = '\0';
		while ((end = strchr(line, '\n'))) {
			*end = '\0';
			if (!parse_mapping(line, &map) && (map.path || search->place))
				visit(search, &map);
			line = end + 1;
		}
		held -= (size_t)(line - buffer);
		memmove(buffer, line, held);
		if (held == sizeof(buffer) - 1)
			return;
	}
}

/* 1: another thread holds it. */
static int take_lock(void)
{
	return atomic_exchange_explicit(&modules.lock, 1, memory_order_acquire);
}

static void give_lock(void)
{
	atomic_store_explicit(&modules.lock, 0, memory_order_release);
}

static void scan_maps(void (*visit)(struct search *, const struct mapping *), struct search *search)
{
	int fd = system_open("/proc/self/maps", O_RDONLY, 0);

	if (fd < 0)
		return;
	scan(fd, visit, search);
	system_close(fd);
}

/* -1: another thread is reading the list. */
static int read_maps(void (*visit)(struct search *, const struct mapping *), struct search *search)
{
	if (take_lock())
		return -1;
	scan_maps(visit, search);
	give_lock();
	return 0;
}

void module_note(struct thread_state *thread, uintptr_t address)
{
	struct search search = { .thread = thread };

	if (is_known(address) || modules.misses > 200 || read_maps(note_mapping, &search))
		return;
	if (!is_known(address))
		modules.misses++;
}

void module_note_all(struct thread_state *thread)
{
	struct search search = { .thread = thread };

	/*
	 * Another thread notes all as well, but the process may end before that: for a second at
	 * most, as that thread may have been cancelled.
	 */
	for (int i = 0; i < 10000 && read_maps(note_mapping, &search); i++)
		system_sleep(100000);
}

static const struct module_place *look_up_place(uintptr_t address)
{
	struct search search = { .address = address };

	for (unsigned i = 0; i < PLACES; i++)
		if (address >= places.place[i].start && address < places.place[i].end)
			return &places.place[i];
	search.place = &places.place[places.next];
	search.place->start = search.place->end = 0;
	scan_maps(find_place, &search);
	if (!search.place->end)
		return NULL;
	places.next = (places.next + 1) % PLACES;
	return search.place;
}

const struct module_place *module_take_place(uintptr_t address)
{
	const struct module_place *place = NULL;
	int saved = errno;

	/* Bounded: in a forked child there may be no thread left to unlock it. */
	for (int i = 0; i < 100; i++) {
		if (!take_lock()) {
			place = look_up_place(address);
			if (place && !*place->path)
				place = NULL;
			if (!place)
				give_lock();
			break;
		}
		system_sleep(100000);
	}
	errno = saved;
	return place;
}

void module_give_place(void)
{
	give_lock();
}

void module_bounds(uintptr_t address, uintptr_t *start, uintptr_t *end)
{
	struct search search = { .address = address };
	int saved = errno;

	read_maps(find_mapping, &search);
	*start = search.start;
	*end = search.end;
	errno = saved;
}

uint64_t module_file_page(uintptr_t address)
{
	struct search search = { .address = address };
	int saved = errno;

	if (atomic_fetch_add(&modules.file_pages, 1) >= FILE_PAGES_MOST)
		return 0;
	read_maps(find_file_page, &search);
	errno = saved;
	return search.file_page;
}
