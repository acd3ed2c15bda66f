/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls every driver call of calls.def with arguments of zero, with and without a current context,
 * each in its own process because some crash.  Prints the results and errno.
 *
 * failures [SHARE OF]      every OF-th call, from the SHARE-th
 */
#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "driver_calls.h"

#define CANARY ENOTTY

static const char *const names[] = {
#define DRIVER(symbol, base, since, params, args, fields, kind, traits) #symbol,
#define DRIVER_PT(symbol, base, since, suffix, pt_since, params, args, fields, kind, traits) \
#symbol, #symbol #suffix,
#include "calls.def"
};

/* More arguments than any call has: extra ones are ignored. */
typedef int (*any_call)(long, long, long, long, long, long, long, long, long, long, long, long,
	long, long, long, long);

static void try_call(const char *name, int with_context)
{
	any_call call;
	int result;

	cuda_find();
	if (with_context)
		cuda_begin();
	else
		cuda.init(0);
	*(void **)&call = dlsym(dlopen("libcuda.so.1", RTLD_NOW), name);
	if (!call) {
		printf("%s: not there\n", name);
		exit(0);
	}
	errno = CANARY;
	result = call(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
	printf("%s %s: %d, errno %s\n", name, with_context ? "in a context" : "without one", result,
		errno == CANARY ? "kept" : strerrorname_np(errno));
	fflush(stdout);
	_exit(0);
}

static void try_apart(const char *name, int with_context)
{
	int status;
	pid_t child = fork();

	if (!child)
		try_call(name, with_context);
	if (waitpid(child, &status, 0) < 0 || status)
		printf("%s %s: ended with %#x\n", name,
			with_context ? "in a context" : "without one", status);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	unsigned share = argc > 2 ? (unsigned)atoi(argv[1]) : 0;
	unsigned of = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
	const struct rlimit none = { 0, 0 };

	setrlimit(RLIMIT_CORE, &none);
	for (unsigned i = share; i < sizeof(names) / sizeof(names[0]); i += of) {
		try_apart(names[i], 0);
		try_apart(names[i], 1);
	}
	return 0;
}
