/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that change their environment before they call CUDA: changed environment|folder|mask|
 * errors|memory.  Prints the results of the calls, the size of a file of its own, and whether it
 * uses more than 64 MiB of memory.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "driver_calls.h"

/* The program writes nothing to it. */
static int open_file(void)
{
	return open("/tmp", O_TMPFILE | O_RDWR, 0600);
}

/* Number of resident pages. */
static long resident(void)
{
	long all, used = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	if (!file || fscanf(file, "%ld %ld", &all, &used) != 2)
		used = -1;
	if (file)
		fclose(file);
	return used;
}

int main(int argc, char **argv)
{
	const char *change = argc > 1 ? argv[1] : "";
	unsigned long long memory;
	int file = -1, result;

	if (!strcmp(change, "environment")) {
		clearenv();
	} else if (!strcmp(change, "folder")) {
		result = chdir("/");
	} else if (!strcmp(change, "mask")) {
		umask(0777);
	} else if (!strcmp(change, "errors")) {
		close(STDERR_FILENO);
		file = open_file();
	} else if (!strcmp(change, "memory") && mlockall(MCL_FUTURE)) {
		return 3;
	}
	cuda_find();
	result = cuda_begin() | cuda.allocate(&memory, 4096);
	printf("%d, bad free %d, descriptor %d of %ld bytes, %s of memory\n", result,
		cuda.release(12345), file, (long)lseek(file, 0, SEEK_END),
		resident() > 16384 ? "much" : "little");
	return 0;
}
