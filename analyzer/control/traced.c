/* SPDX-License-Identifier: Apache-2.0 */
#include "traced.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "memory.h"
#include "print.h"
#include "reader.h"
#include "system.h"

#define TRACE_SUFFIX ".cft"
#define TRACE_PREFIX "cufence."
#define WAKE_NAPS 8 /* of 1 ms, each time as many times as long */

/* Reads a small file of /proc/PID; "" if there is none.  Returns its length. */
static size_t read_file(long pid, const char *name, char *text, size_t size)
{
	char *path = xprintf("/proc/%ld/%s", pid, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? 0 : read(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	free(path);
	text[length > 0 ? length : 0] = '\0';
	return length > 0 ? (size_t)length : 0;
}

/* Field 22 of /proc/PID/stat. */
static uint64_t born(long pid)
{
	char text[1024];
	const char *at;

	read_file(pid, "stat", text, sizeof(text));
	at = strrchr(text, ')');
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at + 1, NULL, 10) : 0;
}

/* The process's id in its own pid namespace. */
static long inner_pid(long pid)
{
	char text[4096];
	const char *line, *end, *last;

	read_file(pid, "status", text, sizeof(text));
	line = strstr(text, "\nNSpid:");
	end = line ? strchr(line + 1, '\n') : NULL;
	if (!end)
		return pid;
	for (last = end; isdigit((unsigned char)last[-1]); last--)
		;
	return strtol(last, NULL, 10);
}

/* The words of the command line, as far as they are known. */
static char *command_of(long pid)
{
	char text[256];
	size_t length = read_file(pid, "cmdline", text, sizeof(text));

	while (length && !text[length - 1])
		length--;
	for (size_t i = 0; i < length; i++)
		if (!text[i])
			text[i] = ' ';
	return xstrdup(text);
}

/* Adds the process of an open trace; pid 0: by its lock.  Whether it is one that lives. */
static int add(struct traced_list *list, int fd, const char *path, long pid)
{
	struct file_header *header;
	struct stat file;
	int is_it = 0;

	if (fstat(fd, &file) || !S_ISREG(file.st_mode) || file.st_size < TRACE_HEADER_SIZE)
		return 0;
	header = mmap(NULL, TRACE_HEADER_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (header == MAP_FAILED)
		return 0;
	if (!memcmp(header->magic, TRACE_MAGIC, sizeof(header->magic)) &&
		header->version_major == TRACE_VERSION_MAJOR &&
		(header->version_minor >= 6 && header->control.state))
		is_it = pid ? header->control.born == born(pid) &&
				header->pid == (uint32_t)inner_pid(pid)
			    : trace_is_locked(fd);
	if (!is_it) {
		munmap(header, TRACE_HEADER_SIZE);
		return 0;
	}
	*array_push(list->item, list->count) = (struct traced){
		.pid = pid ? pid : (long)header->pid,
		.trace = xstrdup(path),
		.command = pid ? command_of(pid) : xstrdup(""),
		.bytes = (uint64_t)file.st_blocks * 512,
		.header = header,
	};
	return 1;
}

static int is_trace_name(const char *path)
{
	const char *name = strrchr(path, '/');
	size_t length;

	name = name ? name + 1 : path;
	length = strlen(name);
	return !strncmp(name, TRACE_PREFIX, strlen(TRACE_PREFIX)) &&
		length > strlen(TRACE_SUFFIX) &&
		!strcmp(name + length - strlen(TRACE_SUFFIX), TRACE_SUFFIX);
}

/* The trace that a process has mapped: the first of them that is its own. */
static void look_at(struct traced_list *list, long pid)
{
	char *maps = xprintf("/proc/%ld/maps", pid), *line = NULL, *last = xstrdup("");
	FILE *file = fopen(maps, "re");
	size_t room = 0;
	int found = 0;

	while (file && !found && getline(&line, &room, file) > 0) {
		char *path = strchr(line, '/');
		char *reached;
		int fd;

		if (!path)
			continue;
		path[strcspn(path, "\n")] = '\0';
		if (!is_trace_name(path) || !strcmp(path, last))
			continue;
		free(last);
		last = xstrdup(path);
		/* As the process sees it: it may be in a container. */
		reached = xprintf("/proc/%ld/root%s", pid, path);
		fd = open(reached, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
		found = fd >= 0 && add(list, fd, access(path, R_OK) ? reached : path, pid);
		if (fd >= 0)
			close(fd);
		free(reached);
	}
	if (file)
		fclose(file);
	free(last);
	free(line);
	free(maps);
}

static void find_in(struct traced_list *list, const char *folder, DIR *entries)
{
	const struct dirent *entry;

	while ((entry = readdir(entries))) {
		char *path;
		int fd;

		if (!is_trace_name(entry->d_name))
			continue;
		fd = openat(dirfd(entries), entry->d_name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
		path = xprintf("%s/%s", folder, entry->d_name);
		if (fd >= 0) {
			add(list, fd, path, 0);
			close(fd);
		}
		free(path);
	}
}

static int by_pid(const void *a, const void *b)
{
	const struct traced *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

int traced_find(struct traced_list *list, const char *folder)
{
	DIR *entries = opendir(folder ? folder : "/proc");
	const struct dirent *entry;

	*list = (struct traced_list){ 0 };
	if (!entries) {
		print(stderr, "cufence: cannot read '%s': %s\n", folder ? folder : "/proc",
			strerror(errno));
		return -1;
	}
	if (folder)
		find_in(list, folder, entries);
	else
		while ((entry = readdir(entries)))
			if (isdigit((unsigned char)*entry->d_name))
				look_at(list, atol(entry->d_name));
	closedir(entries);
	if (list->count)
		qsort(list->item, list->count, sizeof(*list->item), by_pid);
	return 0;
}

static void release(struct traced *traced)
{
	munmap(traced->header, TRACE_HEADER_SIZE);
	free(traced->trace);
	free(traced->command);
}

void traced_keep(struct traced_list *list,
	int (*keep)(const struct traced *traced, const void *argument), const void *argument)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->count; i++)
		if (keep(&list->item[i], argument))
			list->item[kept++] = list->item[i];
		else
			release(&list->item[i]);
	list->count = kept;
}

void traced_release(struct traced_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		release(&list->item[i]);
	free(list->item);
	*list = (struct traced_list){ 0 };
}

/* Recorders before 1.7 flush at calls only.  One that is paused has more to write than that. */
static int has_flusher(const struct traced *traced)
{
	return traced->header->version_minor >= 7 && traced_state(traced) == CONTROL_RECORDING;
}

/* The recorder's thread looks for requests when it is woken, or once a second. */
static void wake(struct trace_control *control)
{
	system_wake((_Atomic uint32_t *)&control->flushes);
}

struct traced_request traced_ask(const struct traced *traced, enum traced_wish wish)
{
	struct trace_control *control = &traced->header->control;
	struct traced_request request = { 0 };

	if (wish != WISH_FLUSH)
		__atomic_store_n(&control->wish,
			wish == WISH_PAUSE ? CONTROL_PAUSE : CONTROL_RECORD, __ATOMIC_RELAXED);
	request.asked = __atomic_add_fetch(&control->asked, 1, __ATOMIC_RELEASE);
	if (wish == WISH_FLUSH && has_flusher(traced)) {
		request.needs_flush = 1;
		request.flush = __atomic_add_fetch(&control->flushes, 1, __ATOMIC_RELEASE);
	}
	wake(control);
	return request;
}

static int is_answered(const struct traced *traced, struct traced_request request)
{
	const struct trace_control *control = &traced->header->control;
	uint32_t answered = __atomic_load_n(&control->answered, __ATOMIC_ACQUIRE);
	uint32_t flushed = __atomic_load_n(&control->flushed, __ATOMIC_ACQUIRE);

	return (int32_t)(answered - request.asked) >= 0 ||
		(request.needs_flush && (int32_t)(flushed - request.flush) >= 0);
}

struct traced_request traced_ask_sample(const struct traced *traced, uint32_t us)
{
	struct trace_control *control = &traced->header->control;
	struct traced_request request = { 0 };

	__atomic_store_n(&control->wish, us, __ATOMIC_RELAXED);
	request.asked = __atomic_add_fetch(&control->asked, 1, __ATOMIC_RELEASE);
	wake(control);
	return request;
}

int traced_withdraw_sample(const struct traced *traced, uint32_t us)
{
	struct file_header *header = traced->header;

	if (!__atomic_compare_exchange_n(&header->control.wish, &us, CONTROL_PAUSE, 0,
		    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return 0;
	__atomic_fetch_add(&header->counter[COUNT_EMPTY_WINDOWS], 1, __ATOMIC_RELAXED);
	return 1;
}

/* Whether the process has ended, or closed its trace. */
static int has_ended(const struct traced *traced)
{
	int fd, ended;

	if (traced->header->closed)
		return 1;
	fd = open(traced->trace, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	ended = fd < 0 || !trace_is_locked(fd);
	if (fd >= 0)
		close(fd);
	/* The program may have closed the descriptor with the lock. */
	return ended && traced->header->control.born != born(traced->pid);
}

enum traced_answer traced_wait(const struct traced *traced, struct traced_request request,
	unsigned ms)
{
	struct timespec nap = { 0, 1000000 }, begin, now;
	unsigned naps = 0, wakes = WAKE_NAPS;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (;;) {
		if (is_answered(traced, request))
			return ANSWERED;
		if (has_ended(traced))
			return ENDED;
		/* The thread may have been about to wait.  Its own pauses end early, too. */
		if (++naps == wakes) {
			wake(&traced->header->control);
			wakes *= WAKE_NAPS;
		}
		clock_gettime(CLOCK_MONOTONIC, &now);
		if ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 >=
			(long)ms)
			return NOT_YET;
		nanosleep(&nap, NULL);
	}
}

enum control_state traced_state(const struct traced *traced)
{
	return __atomic_load_n(&traced->header->control.state, __ATOMIC_ACQUIRE);
}

const char *traced_state_name(enum control_state state)
{
	static const char *const names[] = {
		[CONTROL_RECORDING] = "recording",
		[CONTROL_PAUSED] = "paused",
		[CONTROL_WAITING] = "waiting",
		[CONTROL_OVER] = "over",
	};

	return state < sizeof(names) / sizeof(*names) && names[state] ? names[state] : "unknown";
}
