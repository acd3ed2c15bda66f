/* SPDX-License-Identifier: Apache-2.0 */
#include "writer.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "calls.h"
#include "join.h"
#include "system.h"

static size_t round_up(size_t bytes)
{
	return (bytes + TRACE_ALIGN - 1) & ~(size_t)(TRACE_ALIGN - 1);
}

static uint64_t offset_of(uint32_t chunk)
{
	return TRACE_HEADER_SIZE + (uint64_t)chunk * TRACE_CHUNK_SIZE;
}

/*
 * A program with a timer interrupts this often, and each attempt starts anew: retry a limited
 * number of times.
 */
static int allocate(int fd, uint64_t offset, size_t bytes)
{
	int rc = -1;

	for (unsigned tries = 0; tries < 100 && rc; tries++) {
		rc = system_allocate(fd, offset, bytes);
		if (rc && errno != EINTR)
			break;
	}
	return rc ? -errno : 0;
}

/* Writes zeros if the file system cannot allocate (EOPNOTSUPP). */
static int allocate_or_write(int fd, uint64_t offset, size_t bytes)
{
	static const char zeros[4096];
	int rc = allocate(fd, offset, bytes);

	if (rc != -EOPNOTSUPP && rc != -ENOSYS && rc != -EINTR)
		return rc;
	for (size_t done = 0; done < bytes; done += sizeof(zeros)) {
		ssize_t n = system_write_at(fd, zeros, sizeof(zeros), offset + done);
		if (n != (ssize_t)sizeof(zeros))
			return n < 0 ? -errno : -ENOSPC;
	}
	return 0;
}

static int allocate_space(int fd, uint64_t offset, size_t bytes)
{
	uint64_t mask = system_hold_limit_signal();
	int rc = allocate_or_write(fd, offset, bytes);

	system_drop_limit_signal(mask, -rc);
	return rc;
}

/* Few programs use descriptors this high; each new descriptor is moved here below. */
#define HIGH_DESCRIPTOR 900

static int move_up(int fd)
{
	static const int from[] = { HIGH_DESCRIPTOR, HIGH_DESCRIPTOR / 10 };

	for (int i = 0; i < 2 && fd >= 0; i++) {
		int higher = system_duplicate(fd, from[i]);

		if (higher >= 0) {
			system_close(fd);
			return higher;
		}
	}
	return fd;
}

/* A lost window ends all recording: other parts may be lost too. */
static void note_cut(struct trace_writer *writer)
{
	__atomic_store_n(&writer->cut, 1, __ATOMIC_RELEASE);
	__atomic_store_n(&writer->full, EIO, __ATOMIC_RELAXED);
}

static void note_extent(struct trace_writer *writer, uint64_t end)
{
	uint64_t extent = __atomic_load_n(&writer->extent, __ATOMIC_RELAXED);

	while (extent < end &&
		!__atomic_compare_exchange_n(&writer->extent, &extent, end, 0, __ATOMIC_RELEASE,
			__ATOMIC_RELAXED))
		;
}

static int is_trace(struct trace_writer *writer, int fd)
{
	/* Read before fstat(): other threads make the file longer. */
	uint64_t extent = __atomic_load_n(&writer->extent, __ATOMIC_ACQUIRE);
	struct stat file;

	if (fd < 0 || system_stat(fd, &file) || file.st_ino != writer->inode ||
		file.st_dev != writer->device)
		return 0;
	if ((uint64_t)file.st_size < extent)
		note_cut(writer);
	return 1;
}

/* Returns a descriptor of the file, or -errno. */
static int descriptor(struct trace_writer *writer)
{
	int fd = __atomic_load_n(&writer->fd, __ATOMIC_ACQUIRE), mine;

	if (is_trace(writer, fd))
		return writer->cut ? -EIO : fd;
	mine = move_up(system_open(writer->path, O_RDWR | O_NOFOLLOW, 0));
	if (mine < 0)
		return -errno;
	/* One of several threads does it.  The old descriptor belongs to the program. */
	if (is_trace(writer, mine) &&
		__atomic_compare_exchange_n(&writer->fd, &fd, mine, 0, __ATOMIC_ACQ_REL,
			__ATOMIC_ACQUIRE))
		return mine;
	system_close(mine);
	return is_trace(writer, fd) ? fd : -EBADF;
}

void trace_lock(struct trace_writer *writer)
{
	int fd = descriptor(writer);

	if (fd >= 0)
		system_lock(fd);
}

/* Maps space of the file that is allocated. */
static int map_space(int fd, uint64_t offset, size_t bytes, void **mapped)
{
	int rc = allocate_space(fd, offset, bytes);
	void *at;

	if (rc)
		return rc;
	at = system_map(bytes, MAP_POPULATE, fd, offset);
	if (at == MAP_FAILED)
		return -errno;
	*mapped = at;
	return 0;
}

/* Allocates the number of an unused chunk: 0, or -errno. */
static int allocate_chunk(struct trace_writer *writer, uint32_t *number)
{
	if (!writer->header || __atomic_load_n(&writer->full, __ATOMIC_RELAXED))
		return -ENOSPC;
	*number = __atomic_fetch_add(&writer->header->chunk_count, 1, __ATOMIC_RELAXED);
	/* The file may have been truncated meanwhile. */
	if (__atomic_load_n(&writer->cut, __ATOMIC_ACQUIRE))
		return -EIO;
	return writer->max_bytes && offset_of(*number + 1) > writer->max_bytes ? -EFBIG : 0;
}

/* Retrying at every record would cost the program a system call each time. */
static int stop_writing(struct trace_writer *writer, int rc)
{
	int none = 0;

	__atomic_compare_exchange_n(&writer->full, &none, -rc, 0, __ATOMIC_RELAXED,
		__ATOMIC_RELAXED);
	return -1;
}

/* Registers a window for trace_lose(), before anything is stored in it. */
static uint32_t note_window(struct trace_writer *writer, uintptr_t window)
{
	for (unsigned i = 0; i < TRACE_WINDOWS; i++) {
		uintptr_t none = 0;

		if (writer->window[i] ||
			!__atomic_compare_exchange_n(&writer->window[i], &none, window, 0,
				__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		while (writer->windows <= i)
			__atomic_fetch_add(&writer->windows, 1, __ATOMIC_RELEASE);
		return i + 1;
	}
	return 0;
}

/* Links the windows in a list, used to count their records when the file is closed. */
static void list_window(struct trace_writer *writer, struct trace_chunk *chunk)
{
	uint32_t *last = &writer->header->last_window;
	uint32_t before = __atomic_load_n(last, __ATOMIC_RELAXED);

	do {
		chunk->header->before = before;
	} while (!__atomic_compare_exchange_n(last, &before, chunk->number + 1, 0, __ATOMIC_RELEASE,
		__ATOMIC_RELAXED));
}

static int open_window(struct trace_writer *writer, struct trace_chunk *chunk)
{
	uint32_t number;
	int rc = allocate_chunk(writer, &number), fd = rc ? rc : descriptor(writer);
	void *at;

	rc = fd < 0 ? fd : map_space(fd, offset_of(number), TRACE_CHUNK_SIZE, &at);
	if (rc)
		return stop_writing(writer, rc);
	note_extent(writer, offset_of(number + 1));
	chunk->place = note_window(writer, (uintptr_t)at);
	chunk->header = at;
	chunk->number = number;
	chunk->used = 0;
	chunk->written = 0;
	chunk->header->thread = chunk->thread;
	__atomic_store_n(&chunk->header->magic, TRACE_CHUNK_MAGIC, __ATOMIC_RELEASE);
	list_window(writer, chunk);
	__atomic_fetch_add(&writer->header->chunks, 1, __ATOMIC_RELEASE);
	return 0;
}

/* Returns 0, or -errno after a partial write. */
static int write_at(int fd, uint64_t offset, const void *bytes, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t n =
			system_write_at(fd, (const char *)bytes + done, size - done, offset + done);
		if (n > 0)
			done += (size_t)n;
		else if (n == 0 || errno != EINTR)
			return n ? -errno : -ENOSPC;
	}
	return 0;
}

/* In a ring: takes a chunk whose contents are no longer used. */
static int take_freed(struct trace_writer *writer, uint32_t *number)
{
	struct trace_ring *ring = &writer->header->ring;

	if (!ring->generation || __atomic_load_n(&writer->full, __ATOMIC_RELAXED))
		return 0;
	for (unsigned i = 0; i < TRACE_RING_FREE; i++) {
		if (ring->free[i] &&
			(*number = __atomic_exchange_n(&ring->free[i], 0, __ATOMIC_ACQUIRE))) {
			--*number;
			return 1;
		}
	}
	return 0;
}

/* Copies the records to a chunk of their own, which becomes valid when its header is written. */
static int empty_window(struct trace_writer *writer, struct trace_chunk *chunk)
{
	struct chunk_header *window = chunk->header, copy = *window;
	uint32_t number;
	uint64_t offset, mask;
	int rc = take_freed(writer, &number) ? 0 : allocate_chunk(writer, &number), fd;

	fd = rc ? rc : descriptor(writer);
	if (fd < 0)
		return stop_writing(writer, fd);
	offset = offset_of(number);
	copy.home = chunk->number + 1;
	copy.before = 0;
	copy.committed = chunk->used;
	mask = system_hold_limit_signal();
	rc = write_at(fd, offset + sizeof(copy), window + 1, chunk->used);
	if (!rc)
		rc = write_at(fd, offset, &copy, sizeof(copy));
	system_drop_limit_signal(mask, -rc);
	if (rc)
		return stop_writing(writer, rc);
	note_extent(writer, offset + sizeof(copy) + chunk->used);
	/* The order matters: after a kill in between, the records exist once, as the copy. */
	__atomic_store_n(&window->committed, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&window->round, copy.round + 1, __ATOMIC_RELEASE);
	__atomic_fetch_add(&writer->header->copied, chunk->used, __ATOMIC_RELEASE);
	__atomic_fetch_add(&writer->header->chunks, 1, __ATOMIC_RELEASE);
	window->thread = chunk->thread;
	trace_forget_announced(chunk);
	memset(window + 1, 0, chunk->used);
	chunk->used = 0;
	return 0;
}

void trace_empty(struct trace_writer *writer, struct trace_chunk *chunk)
{
	if (chunk->header && chunk->used)
		empty_window(writer, chunk);
}

/* In a forked child the entry may belong to another window. */
static void drop_window(struct trace_writer *writer, struct trace_chunk *chunk)
{
	uintptr_t own = (uintptr_t)chunk->header;

	if (chunk->place)
		__atomic_compare_exchange_n(&writer->window[chunk->place - 1], &own, 0, 0,
			__ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
	chunk->place = 0;
}

void trace_chunk_close(struct trace_writer *writer, struct trace_chunk *chunk)
{
	if (!chunk->header)
		return;
	drop_window(writer, chunk);
	system_unmap(chunk->header, TRACE_CHUNK_SIZE);
	chunk->header = NULL;
	chunk->used = 0;
}

void *trace_reserve(struct trace_writer *writer, struct trace_chunk *chunk, size_t bytes,
	enum record_type type)
{
	bytes = round_up(bytes);
	if (bytes > TRACE_CHUNK_SPACE || bytes > RECORD_MAX_BYTES)
		goto drop;
	if (chunk->header ? chunk->used + bytes > TRACE_CHUNK_SPACE && empty_window(writer, chunk)
			  : open_window(writer, chunk))
		goto drop;
	return trace_reserve_here(chunk, bytes, type);
drop:
	trace_count(writer, COUNT_DROPPED_RECORDS, 1);
	return NULL;
}

/* Writes the rows of calls.def, so that a reader needs no copy of them. */
static int write_call_table(struct trace_writer *writer)
{
	struct trace_chunk chunk = { 0 };

	for (unsigned i = 0; i < CALL_COUNT; i++) {
		const struct call_type *type = &call_types[i];
		size_t name_length = strlen(type->name);
		struct call_type_record *record = trace_reserve(writer, &chunk,
			sizeof(*record) + type->field_count + name_length, RECORD_CALL_TYPE);
		if (!record)
			return -writer->full;
		record->call = (uint16_t)i;
		record->kind = type->kind;
		record->traits = type->traits;
		record->runtime = type->runtime;
		record->field_count = type->field_count;
		record->name_length = (uint16_t)name_length;
		memcpy(record->data, type->field, type->field_count);
		memcpy(record->data + type->field_count, type->name, name_length);
	}
	trace_commit(&chunk);
	trace_chunk_close(writer, &chunk);
	return 0;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void fill_header(struct file_header *header, const struct trace_start *start)
{
	header->version_major = TRACE_VERSION_MAJOR;
	header->version_minor = TRACE_VERSION_MINOR;
	header->header_size = TRACE_HEADER_SIZE;
	header->chunk_size = TRACE_CHUNK_SIZE;
	header->clock = start->clock;
	header->features = start->features;
	header->pid = start->pid;
	header->parent_pid = start->parent_pid;
	header->start_ns = start->realtime_ns;
	header->identity = now_ns();
	memcpy(header->magic, TRACE_MAGIC, sizeof(header->magic));
}

static int write_header(struct trace_writer *writer, const struct trace_start *start)
{
	void *at;
	int rc = map_space(writer->fd, 0, TRACE_HEADER_SIZE, &at);

	if (rc)
		return rc;
	writer->start = *start;
	writer->extent = TRACE_HEADER_SIZE;
	writer->cut = writer->header_lost = writer->full = 0;
	writer->header = at;
	fill_header(writer->header, start);
	return 0;
}

/* After truncation only the header is restored, with the mark that the file was cut. */
static void save_header(struct trace_writer *writer)
{
	int fd = __atomic_load_n(&writer->fd, __ATOMIC_ACQUIRE);

	if (is_trace(writer, fd))
		write_at(fd, 0, writer->header, TRACE_HEADER_SIZE);
}

static int lose_header(struct trace_writer *writer)
{
	if (system_map_over(writer->header, TRACE_HEADER_SIZE))
		return 0;
	writer->header_lost = 1;
	fill_header(writer->header, &writer->start);
	writer->header->counter[COUNT_CUT] = 1;
	save_header(writer);
	return 1;
}

int trace_lose(struct trace_writer *writer, uintptr_t address)
{
	uintptr_t header = (uintptr_t)writer->header;
	unsigned count = __atomic_load_n(&writer->windows, __ATOMIC_ACQUIRE);

	if (!header)
		return 0;
	if (address - header < TRACE_HEADER_SIZE) {
		note_cut(writer);
		return lose_header(writer);
	}
	for (unsigned i = 0; i < count && i < TRACE_WINDOWS; i++) {
		uintptr_t window = __atomic_load_n(&writer->window[i], __ATOMIC_ACQUIRE);

		if (!window || address - window >= TRACE_CHUNK_SIZE)
			continue;
		note_cut(writer);
		return !system_map_over((void *)window, TRACE_CHUNK_SIZE);
	}
	return 0;
}

/* Creates the file writer->path: 0 or -errno. */
static int open_new(struct trace_writer *writer)
{
	struct stat file;

	writer->fd =
		move_up(system_open(writer->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
	if (writer->fd < 0 || system_stat(writer->fd, &file))
		return -errno;
	/* Independent of the program's umask: the file is reopened by name, and read later. */
	system_set_mode(writer->fd, 0600);
	writer->device = file.st_dev;
	writer->inode = file.st_ino;
	return 0;
}

/* Stores an absolute path, independent of later changes of the working directory. */
static void note_path(struct trace_writer *writer, const char *path)
{
	struct joined joined = { writer->path, sizeof(writer->path), 0 };

	if (*path != '/' && getcwd(writer->path, sizeof(writer->path))) {
		joined.length = strlen(writer->path);
		join(&joined, "/");
	}
	join(&joined, path);
}

/*
 * The file gets its final name once it is readable, so that a kill never leaves an unreadable one.
 */
int trace_create(struct trace_writer *writer, const char *path, const struct trace_start *start)
{
	char *unfinished = writer->path;
	struct joined joined = { unfinished, sizeof(writer->path), 0 };
	int rc;

	join(&joined, path);
	join(&joined, TRACE_UNFINISHED);
	if (!joined_whole(&joined))
		return -ENAMETOOLONG;
	if (system_exists(path))
		return -EEXIST;
	writer->header = NULL;
	rc = open_new(writer);
	if (rc)
		return rc;
	rc = write_header(writer, start);
	if (!rc)
		rc = write_call_table(writer);
	if (!rc && !system_rename(unfinished, path)) {
		note_path(writer, path);
		return 0;
	}
	rc = rc ? rc : -errno;
	if (writer->header)
		system_unmap(writer->header, TRACE_HEADER_SIZE);
	writer->header = NULL;
	system_close(writer->fd);
	system_remove(unfinished);
	return rc;
}

/*
 * Reads the header of a window in the file: 0, or -1.  The file may be truncated meanwhile; without
 * a mapping that trace_lose() knows it is read with pread64, which a filter may not allow.
 */
static int read_window(struct trace_writer *writer, int fd, uint32_t number,
	struct chunk_header *header)
{
	struct chunk_header *at = system_map(TRACE_CHUNK_SIZE, 0, fd, offset_of(number));
	uint32_t place = at == MAP_FAILED ? 0 : note_window(writer, (uintptr_t)at);

	if (place) {
		*header = *at;
		__atomic_store_n(&writer->window[place - 1], 0, __ATOMIC_RELEASE);
	}
	if (at != MAP_FAILED)
		system_unmap(at, TRACE_CHUNK_SIZE);
	return place ||
			system_read_at(fd, header, sizeof(*header), offset_of(number)) ==
				(ssize_t)sizeof(*header)
		? 0
		: -1;
}

/*
 * Counts the bytes of records in the file.  Threads may still be writing, and unmap their windows
 * when they end: windows are mapped anew.  They are read after the copies, so that nothing is
 * counted twice and the result is a lower bound.
 */
static uint64_t count_written(struct trace_writer *writer)
{
	uint64_t written = __atomic_load_n(&writer->header->copied, __ATOMIC_ACQUIRE);
	uint32_t next = __atomic_load_n(&writer->header->last_window, __ATOMIC_ACQUIRE);
	uint32_t left = __atomic_load_n(&writer->header->chunk_count, __ATOMIC_RELAXED);
	int fd = descriptor(writer);

	for (; fd >= 0 && next && left; left--) {
		struct chunk_header window;

		if (read_window(writer, fd, next - 1, &window))
			break;
		written += window.committed;
		next = window.before;
	}
	return written;
}

void trace_finish(struct trace_writer *writer)
{
	if (!writer->header)
		return;
	/* Checks whether it was truncated. */
	descriptor(writer);
	if (writer->cut)
		__atomic_store_n(&writer->header->counter[COUNT_CUT], 1, __ATOMIC_RELAXED);
	__atomic_store_n(&writer->header->written, count_written(writer), __ATOMIC_RELAXED);
	/* Threads may still be writing: the header stays mapped and the descriptor open. */
	__atomic_store_n(&writer->header->closed, 1, __ATOMIC_RELEASE);
	if (writer->header_lost)
		save_header(writer);
}

void trace_reopen(struct trace_writer *writer)
{
	if (writer->header)
		__atomic_store_n(&writer->header->closed, 0, __ATOMIC_RELEASE);
}

void trace_abandon(struct trace_writer *writer)
{
	if (!writer->header)
		return;
	system_unmap(writer->header, TRACE_HEADER_SIZE);
	if (is_trace(writer, writer->fd))
		system_close(writer->fd);
	writer->header = NULL;
	writer->fd = -1;
	/* Not the whole table: a child would copy pages of it that it does not use. */
	memset(writer->window, 0, writer->windows * sizeof(writer->window[0]));
	writer->windows = 0;
}

void trace_count(struct trace_writer *writer, enum trace_counter counter, uint64_t n)
{
	if (writer->header)
		__atomic_fetch_add(&writer->header->counter[counter], n, __ATOMIC_RELAXED);
}
