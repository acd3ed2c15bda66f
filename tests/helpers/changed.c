/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that change what they were given before they call CUDA: changed environment|folder|mask|
 * errors.  Prints what the calls returned, and how long a file of its own is. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "driver_calls.h"

/* Writes nothing into it. */
static int open_file(void)
{
	return open("/tmp", O_TMPFILE | O_RDWR, 0600);
}

int main(int argc, char **argv)
{
	const char *change = argc > 1 ? argv[1] : "";
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
	}
	cuda_find();
	result = cuda_begin();
	printf("%d, bad free %d, descriptor %d of %ld bytes\n", result, cuda.release(12345), file,
		(long)lseek(file, 0, SEEK_END));
	return 0;
}
