/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded into programs that are started concurrently: each creates its CUDA context at once and
 * then waits for the lock on the file TURN_LOCK, which it keeps until its work ends.  A device used
 * by two programs at a time has other timings; starting takes longer than the work.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

static int lock = -1;

static void end_turn(void)
{
	close(lock);
}

__attribute__((constructor)) static void take_turn(void)
{
	const char *path = getenv("TURN_LOCK");
	void *cuda = path ? dlopen("libcuda.so.1", RTLD_NOW) : NULL;
	CUresult (*init)(unsigned);
	CUresult (*get)(CUdevice *, int);
	CUresult (*retain)(CUcontext *, CUdevice);
	CUdevice device;
	CUcontext context;

	if (!cuda)
		return;
	*(void **)&init = dlsym(cuda, "cuInit");
	*(void **)&get = dlsym(cuda, "cuDeviceGet");
	*(void **)&retain = dlsym(cuda, "cuDevicePrimaryCtxRetain");
	lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (lock < 0 || !init || !get || !retain || init(0) || get(&device, 0) ||
		retain(&context, device) || flock(lock, LOCK_EX)) {
		fputs("libturn: no turn\n", stderr);
		exit(1);
	}
	/* Registered after the driver's own handler, so it runs before: teardown needs no lock. */
	atexit(end_turn);
}
