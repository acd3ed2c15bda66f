/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls on memory in the page of a pending copy that is not the copy's: guard_neighbours
 * WHERE.  "another": in another pinned allocation; "same": in the same one; "registered": in pages
 * that are registered in part.  What CUDA says of memory: "ranges" and "managed_ranges".  Prints
 * what the program observes, which must be the same without a guard.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "driver_calls.h"

#define ROOM 2048 /* bytes for the calls, not aligned to a page */

static unsigned long long device;
static void *stream;
static char *room;

static int (*host_alloc)(void **, size_t, unsigned);
static int (*host_alloc_plain)(void **, size_t);
static int (*managed_alloc)(unsigned long long *, size_t, unsigned);
static int (*attach)(void *, unsigned long long, size_t, unsigned);
static int (*to_host)(void *, unsigned long long, size_t, void *);
static int (*register_host)(void *, size_t, unsigned);
static int (*unregister_host)(void *);
static int (*free_host)(void *);
static int (*get_flags)(unsigned *, void *);
static int (*get_device_pointer)(unsigned long long *, void *, unsigned);
static int (*get_range)(unsigned long long *, size_t *, unsigned long long);
static int (*get_attribute)(void *, int, unsigned long long);
static int (*get_attributes)(unsigned, int *, void **, unsigned long long);

static void say(const char *what, long value)
{
	printf("%s: %ld%s\n", what, value, value < 0 && errno == EFAULT ? " EFAULT" : "");
	fflush(stdout);
}

static void start(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	int result = (cuda_find(), cuda_begin());

	*(void **)&host_alloc = dlsym(library, "cuMemHostAlloc");
	*(void **)&host_alloc_plain = dlsym(library, "cuMemAllocHost_v2");
	*(void **)&managed_alloc = dlsym(library, "cuMemAllocManaged");
	*(void **)&attach = dlsym(library, "cuStreamAttachMemAsync");
	*(void **)&to_host = dlsym(library, "cuMemcpyDtoHAsync_v2");
	*(void **)&register_host = dlsym(library, "cuMemHostRegister_v2");
	*(void **)&unregister_host = dlsym(library, "cuMemHostUnregister");
	*(void **)&free_host = dlsym(library, "cuMemFreeHost");
	*(void **)&get_flags = dlsym(library, "cuMemHostGetFlags");
	*(void **)&get_device_pointer = dlsym(library, "cuMemHostGetDevicePointer_v2");
	*(void **)&get_range = dlsym(library, "cuMemGetAddressRange_v2");
	*(void **)&get_attribute = dlsym(library, "cuPointerGetAttribute");
	*(void **)&get_attributes = dlsym(library, "cuPointerGetAttributes");
	result |= cuda.allocate(&device, 65536) | cuda.new_stream(&stream, 1) |
		cuda.set(device, 7, 65536, stream) | cuda.wait(stream);
	say("start", result);
}

/* Makes the copies before each call: the guard may have opened the pages. */
static char *copied;
static size_t copied_bytes;
static void copy(void)
{
	cuda.wait(stream);
	if (to_host(copied, device, copied_bytes, stream))
		say("copy failed", 0);
}

static void files(void)
{
	struct iovec vector = { room, 16 };
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	FILE *file = fopen("/proc/self/exe", "r");
	char bytes[64];

	copy();
	say("fstat", fstat(fd, (struct stat *)room));
	copy();
	say("getcwd", getcwd(room, ROOM) ? 0 : -1);
	copy();
	say("readlink", readlink("/proc/self/exe", room, ROOM) > 0 ? 0 : -1);
	copy();
	strcpy(room, "/dev/null");
	copy();
	say("open", open(room, O_RDONLY | O_CLOEXEC) >= 0 ? 0 : -1);
	copy();
	say("access", access(room, R_OK));
	copy();
	say("preadv2", preadv2(fd, &vector, 1, 0, 0));
	copy();
	setvbuf(file, room, _IOFBF, ROOM);
	copy();
	say("fread through setvbuf", (long)fread(bytes, 1, sizeof(bytes), file));
	fclose(file);
	close(fd);
}

static void others(void)
{
	struct pollfd *polled = (struct pollfd *)room;
	int fds[2];

	copy();
	say("getrandom", getrandom(room, 16, 0));
	say("pipe", pipe(fds));
	copy();
	say("pipe in it", pipe((int *)room));
	copy();
	polled[0] = (struct pollfd){ .fd = fds[1], .events = POLLOUT };
	copy();
	say("poll", poll(polled, 1, 0));
	copy();
	copy();
	say("mlock", mlock(room, 64));
}

/* The structures of io_uring lie there; machines without it answer the same in both runs. */
static void ring(void)
{
	copy();
	memset(room, 0, sizeof(struct io_uring_params));
	copy();
	say("io_uring", syscall(SYS_io_uring_setup, 4, room) < 0 ? -errno : 0);
}

static void processes(void)
{
	char **arguments = (char **)room;
	int *status = (int *)(room + 512);
	pid_t child;

	strcpy(room + 1024, "/bin/true");
	arguments[0] = room + 1024;
	arguments[1] = NULL;
	copy();
	child = vfork();
	if (!child) {
		execv(room + 1024, arguments);
		_exit(errno == EFAULT ? 99 : 98);
	}
	copy();
	say("waitpid", waitpid(child, status, 0) == child ? 0 : -1);
	say("exec", WEXITSTATUS(*status));
}

static void all_calls(void)
{
	files();
	others();
	ring();
	processes();
	say("wait", cuda.wait(stream));
	say("copied", copied[copied_bytes - 1]);
}

static void another(void)
{
	void *first, *second;

	say("allocate", host_alloc(&first, 512, 0) | host_alloc_plain(&second, ROOM + 512));
	copied = first;
	copied_bytes = 512;
	room = second;
	all_calls();
	say("free", free_host(second) | free_host(first));
}

static void same(void)
{
	void *memory;

	say("allocate", host_alloc(&memory, 4096 + ROOM, 0));
	copied = memory;
	copied_bytes = 4096 + 100;
	room = copied + 4096 + 128;
	all_calls();
}

static void registered(void)
{
	char *pages =
		mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	room = pages + 64;
	copied = room + ROOM;
	copied_bytes = 2 * 4096;
	memset(pages, 1, 3 * 4096);
	say("register", register_host(copied, copied_bytes, 0));
	all_calls();
	say("unregister", unregister_host(copied));
}

/* Attributes by their numbers in cuda.h. */
enum { DEVICE_POINTER = 3, HOST_POINTER = 4, RANGE_START = 11, RANGE_SIZE = 12 };

static void describe(char *memory, size_t offset)
{
	unsigned long long pointer = 0, base = 0, start = 0, host = 0;
	int attributes[] = { RANGE_START, RANGE_SIZE, HOST_POINTER };
	size_t bytes = 0, size = 0;
	void *data[] = { &base, &bytes, &host };
	unsigned flags = 99;

	say("flags", get_flags(&flags, memory));
	say("", flags);
	say("device pointer", get_device_pointer(&pointer, memory, 0));
	say("", pointer ? (long)(pointer - (uintptr_t)memory) : -1);
	say("range", get_range(&base, &bytes, (uintptr_t)memory + offset));
	say("", (long)(base - (uintptr_t)memory));
	say("", (long)bytes);
	say("attribute", get_attribute(&start, RANGE_START, (uintptr_t)memory + offset));
	say("", (long)(start - (uintptr_t)memory));
	say("attribute", get_attribute(&size, RANGE_SIZE, (uintptr_t)memory + offset));
	say("", (long)size);
	base = bytes = 0;
	say("attributes", get_attributes(3, attributes, data, (uintptr_t)memory + offset));
	say("", (long)(base - (uintptr_t)memory));
	say("", (long)bytes);
	say("", (long)(host - (uintptr_t)memory));
}

/* Whole allocations only can be attached. */
static void managed_ranges(void)
{
	unsigned long long memory[2];

	say("allocate", managed_alloc(&memory[0], 300, 1) | managed_alloc(&memory[1], 9000, 1));
	for (int i = 0; i < 2; i++) {
		say("set", cuda.set(memory[i], 3, i ? 9000 : 300, stream) | cuda.wait(stream));
		describe((char *)memory[i], 50);
		say("attach", attach(stream, memory[i], i ? 9000 : 0, 4));
		say("set", ((volatile char *)memory[i])[299]);
	}
	say("wait", cuda.wait(stream));
	say("as pinned", free_host((void *)memory[0]));
	say("inside", cuda.release(memory[1] + 4096));
	for (int i = 0; i < 2; i++)
		say("free", cuda.release(memory[i]));
	say("free again", cuda.release(memory[1]));
}

static void ranges(void)
{
	void *memory[3];

	say("allocate",
		host_alloc(&memory[0], 100, 2) | host_alloc_plain(&memory[1], 5000) |
			host_alloc(&memory[2], 3 << 20, 1));
	for (int i = 0; i < 3; i++)
		memset(memory[i], i, 100);
	for (int i = 0; i < 3; i++)
		describe(memory[i], i * 50);
	say("unregister", unregister_host(memory[1]));
	say("free inside", free_host((char *)memory[1] + 512));
	for (int i = 0; i < 3; i++)
		say("free", free_host(memory[i]));
	say("free again", free_host(memory[1]));
	say("nothing", host_alloc(&memory[0], 0, 0));
	say("too much", host_alloc(&memory[0], (size_t)-1, 0));
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} modes[] = { { "another", another }, { "same", same }, { "registered", registered },
		{ "ranges", ranges }, { "managed_ranges", managed_ranges } };

	start();
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++)
		if (argc > 1 && !strcmp(argv[1], modes[i].name))
			modes[i].run();
	return 0;
}
