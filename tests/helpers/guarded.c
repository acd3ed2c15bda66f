/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pinned memory of pending copies, accessed in ways that page protection could break: guarded MODE.
 * Prints what the program observes, which must be the same without a guard.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "driver_calls.h"

#define BYTES 65536

static unsigned long long device;
static volatile char *host;
static void *stream;
static sigjmp_buf back;

static int (*host_alloc)(void **, size_t, unsigned);
static int (*to_host)(void *, unsigned long long, size_t, void *);
static int (*to_device)(unsigned long long, const void *, size_t, void *);
static int (*register_host)(void *, size_t, unsigned);
static int (*free_host)(void *);

static void say(const char *what, long value)
{
	printf("%s: %ld\n", what, value);
	fflush(stdout);
}

static void start(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW), *memory = NULL;
	int result = (cuda_find(), cuda_begin());

	*(void **)&host_alloc = dlsym(library, "cuMemHostAlloc");
	*(void **)&to_host = dlsym(library, "cuMemcpyDtoHAsync_v2");
	*(void **)&to_device = dlsym(library, "cuMemcpyHtoDAsync_v2");
	*(void **)&register_host = dlsym(library, "cuMemHostRegister_v2");
	*(void **)&free_host = dlsym(library, "cuMemFreeHost");
	result |= cuda.allocate(&device, BYTES) | host_alloc(&memory, BYTES, 0) |
		cuda.new_stream(&stream, 1);
	host = memory;
	memset(memory, 1, BYTES);
	result |= cuda.set(device, 7, BYTES, stream) | cuda.wait(stream);
	say("start", result);
}

static void download(void)
{
	say("download", to_host((void *)host, device, BYTES, stream));
}

static void upload(void)
{
	say("upload", to_device(device, (const void *)host, BYTES, stream));
}

/* The value read is undefined, but it was read. */
static void touch(void)
{
	char byte = host[100];

	say("read", byte == 1 || byte == 7);
}

static void finish(void)
{
	say("wait", cuda.wait(stream));
	say("first", host[0]);
}

/* --- modes --- */

static void rows(void)
{
	download();
	finish();
	touch();
	upload();
	touch(); /* a read of memory that is only read */
	finish();
}

static void system_calls(void)
{
	char *bytes = (char *)host;
	struct iovec vector[2] = { { bytes, 4096 }, { bytes + 8192, 4096 } };
	struct mmsghdr messages[2] = { { .msg_hdr = { .msg_iov = vector, .msg_iovlen = 1 } },
		{ .msg_hdr = { .msg_iov = vector + 1, .msg_iovlen = 1 } } };
	int fds[2], file = open("/dev/zero", O_RDWR);
	FILE *stream_file = tmpfile();

	say("pair", socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
	download();
	say("write", write(fds[0], bytes, 4096));
	download();
	say("read", read(fds[1], bytes, 4096));
	download();
	say("send", send(fds[0], bytes, 1000, 0));
	upload();
	say("recv", recv(fds[1], bytes, 1000, 0));
	download();
	say("writev", writev(file, vector, 2));
	download();
	say("readv", readv(file, vector, 2));
	download();
	say("sendmmsg", sendmmsg(fds[0], messages, 2, 0));
	upload();
	say("recvmmsg", recvmmsg(fds[1], messages, 1, 0, NULL));
	download();
	say("pread", pread(file, bytes, 100, 0));
	download();
	say("fwrite", (long)fwrite(bytes, 1, 32768, stream_file));
	rewind(stream_file);
	upload();
	say("fread", (long)fread(bytes, 1, 32768, stream_file));
	finish();
}

static void on_fault(int number, siginfo_t *info, void *context)
{
	siglongjmp(back, 1);
}

/* The program's own faults are passed to it. */
static void handler(void)
{
	char *closed = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO }, before;
	static char stack[65536];
	stack_t other = { .ss_sp = stack, .ss_size = sizeof(stack) };

	sigaltstack(&other, NULL);
	action.sa_flags |= SA_ONSTACK;
	download();
	say("before", sigaction(SIGSEGV, &action, &before));
	say("default", before.sa_handler == SIG_DFL);
	if (!sigsetjmp(back, 1))
		*closed = 1;
	else
		say("caught", 1);
	touch();
	if (!sigsetjmp(back, 1))
		*(volatile char *)NULL = 1;
	else
		say("caught again", 1);
	sigaction(SIGSEGV, NULL, &before);
	say("own", before.sa_sigaction == on_fault);
	finish();
}

static void *blocked(void *unused)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	touch();
	return NULL;
}

static void threads(void)
{
	pthread_t thread[4];

	for (int i = 0; i < 4; i++) {
		download();
		pthread_create(&thread[i], NULL, blocked, NULL);
		pthread_join(thread[i], NULL);
	}
	finish();
}

static volatile int handled;

static void on_user_signal(int number)
{
	handled += host[200] == 1 || host[200] == 7;
}

static void in_handler(void)
{
	struct sigaction action = { .sa_handler = on_user_signal };

	sigfillset(&action.sa_mask);
	sigaction(SIGUSR1, &action, NULL);
	download();
	raise(SIGUSR1);
	say("handled", handled);
	finish();
}

static void forks(void)
{
	int status = 0;
	pid_t child;

	download();
	child = fork();
	if (!child) {
		_exit(host[300] == 1 || host[300] == 7 ? 5 : 6);
	}
	waitpid(child, &status, 0);
	say("child", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	finish();
}

/* Pages that contain other memory, too. */
static void registered(void)
{
	char *pages =
		mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memset(pages, 1, 3 * 4096);
	say("register", register_host(pages + 100, 2 * 4096, 0));
	say("copy", to_host(pages + 100, device, 2 * 4096, stream));
	say("before it", pages[0]);
	say("behind it", pages[2 * 4096 + 200]);
	say("copy", cuda.wait(stream));
	say("in it", pages[5000]);
}

/* The wait is for another stream, which comes after the copy: only the order implies completion. */
static void through(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW), *other = NULL, *event = NULL;
	int (*create)(void **, unsigned), (*record)(void *, void *);
	int (*stream_wait)(void *, void *, unsigned);

	*(void **)&create = dlsym(library, "cuEventCreate");
	*(void **)&record = dlsym(library, "cuEventRecord");
	*(void **)&stream_wait = dlsym(library, "cuStreamWaitEvent");
	say("make", create(&event, 2) | cuda.new_stream(&other, 1));
	download();
	say("order", record(event, stream) | stream_wait(other, event, 0));
	say("wait", cuda.wait(other));
	touch();
	finish();
}

/* Contains no whole page. */
static void small(void)
{
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	say("register", register_host(page + 100, 1000, 0));
	say("copy", to_host(page + 100, device, 1000, stream));
	say("in it", page[200] == 0 || page[200] == 7);
	finish();
}

static void frees(void)
{
	download();
	say("free", free_host((void *)host));
	host = mmap((void *)host, BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	say("another", host[100]);
}

/* Bytes outside of the copy, in its page. */
static void beside(void)
{
	say("copy", to_host((char *)host + 64, device, 64, stream));
	say("before it", host[0]);
	say("behind it", host[128]);
	finish();
}

/* Ends like without a guard. */
static void killed(void)
{
	download();
	*(volatile char *)8 = 1;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} modes[] = { { "rows", rows }, { "system_calls", system_calls }, { "handler", handler },
		{ "threads", threads }, { "in_handler", in_handler }, { "forks", forks },
		{ "registered", registered }, { "small", small }, { "through", through },
		{ "frees", frees }, { "beside", beside }, { "killed", killed } };

	start();
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++)
		if (argc > 1 && !strcmp(argv[1], modes[i].name))
			modes[i].run();
	return 0;
}
