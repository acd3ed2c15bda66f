/* SPDX-License-Identifier: Apache-2.0 */
/* Hostile device code: fat binaries, cubins and PTX, and executables that hold them. */
#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

#include "fuzz.h"
#include "image.h"

#define assert_true(condition) assert(condition)
#define assert_int_equal(a, b) assert((a) == (b))
#include "../unit/code/image_samples.h"

static void use(const void *data, size_t size)
{
	char error[IMAGE_ERROR_SIZE];
	struct image image = { 0 };

	if (!image_read(data, size, &image, error))
		image_find_kernel(&image, SAMPLE_KERNEL);
	image_release(&image);
}

static void use_file(const uint8_t *data, size_t size)
{
	static char name[32];
	static int fd = -1;
	char error[IMAGE_ERROR_SIZE];
	struct image_file file;

	if (fd < 0)
		fd = fuzz_memory_file(name);
	if (ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		exit(2);
	if (image_file_open(&file, name, error))
		return;
	for (size_t i = 0; i < file.count; i++)
		use(file.container[i].data, file.container[i].size);
	image_file_close(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	use(data, size);
	/* A cubin is an ELF file too. */
	if (size > 4 && !memcmp(data, ELFMAG, SELFMAG))
		use_file(data, size);
	return 0;
}

int fuzz_seed(unsigned n, char *const *path, unsigned count, struct fuzz_input *seed)
{
	static const enum sample_packing packing[] = { RAW, LZ4, ZSTD };
	struct bytes bytes;

	if (n > 3)
		return n - 4 >= count ? 0 : fuzz_read(path[n - 4], seed) ? -1 : 1;
	if (n < 3)
		make_container(&bytes, packing[n]);
	else
		make_cubin(&bytes);
	seed->size = bytes.size;
	seed->data = malloc(bytes.size);
	if (!seed->data)
		return -1;
	memcpy(seed->data, bytes.data, bytes.size);
	return 1;
}
