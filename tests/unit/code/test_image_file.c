/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device code in executables: the test apps as nvcc built them, where they are (TEST_BUILD
 * names the folder), and host programs, which have none.
 */
#include "unit.h"

#include <unistd.h>

#include "image.h"

static char error[IMAGE_ERROR_SIZE];

TEST(a_host_program_has_no_device_code)
{
	struct image_file file;

	assert_int_equal(image_file_open(&file, "/proc/self/exe", error), 0);
	assert_int_equal(file.count, 0);
	image_file_close(&file);
}

TEST(what_cannot_be_opened_is_an_error)
{
	struct image_file file;

	assert_int_equal(image_file_open(&file, "/nonexistent", error), -1);
	assert_non_null(strstr(error, "/nonexistent"));
	assert_int_equal(image_file_open(&file, "/", error), -1);
	assert_int_equal(image_file_open(&file, "/dev/null", error), -1);
	assert_int_equal(image_file_open(&file, "/etc/passwd", error), -1);
}

/* Copies path to a temporary file cut to size and opens that. */
static int open_cut(const char *path, double part, struct image_file *file)
{
	char name[] = "/tmp/cufence-cut-XXXXXX";
	int result, out = mkstemp(name);
	FILE *in = fopen(path, "rb");
	char *data;
	long size;

	assert_true(out >= 0 && in != NULL);
	fseek(in, 0, SEEK_END);
	size = ftell(in);
	rewind(in);
	data = malloc((size_t)size);
	assert_int_equal(fread(data, 1, (size_t)size, in), size);
	size = (long)((double)size * part);
	assert_int_equal(write(out, data, (size_t)size), size);
	result = image_file_open(file, name, error);
	unlink(name);
	close(out);
	fclose(in);
	free(data);
	return result;
}

static void app_path(char *path, size_t size)
{
	const char *build = getenv("TEST_BUILD");

	snprintf(path, size, "%s/testapps/free_in_loop", build ? build : "build");
	if (access(path, R_OK) != 0)
		skip();
}

/* Its two kernels and all of kernels/ are linked in; every container must read whole. */
TEST(a_test_app_has_its_kernels)
{
	static const struct image_parameter expected[] = { { 0, 8 }, { 8, 8 }, { 16, 8 },
		{ 24, 8 } };
	const struct image_kernel *found = NULL;
	struct image_file file;
	struct image image;
	char path[4096];

	app_path(path, sizeof(path));
	assert_int_equal(image_file_open(&file, path, error), 0);
	assert_true(file.count >= 2);
	for (size_t i = 0; i < file.count; i++) {
		const struct image_span *container = &file.container[i];
		const struct image_kernel *kernel;

		assert_int_equal(image_read(container->data, container->size, &image, error), 0);
		kernel = image_find_kernel(&image, "_ZN7cufence7stencilEyPKfPfm");
		if (kernel) {
			found = kernel;
			assert_int_equal(kernel->parameter_count, 4);
			assert_memory_equal(kernel->parameter, expected, sizeof(expected));
			assert_int_equal(kernel->parameter_bytes, 32);
		}
		image_release(&image);
	}
	assert_non_null(found);
	image_file_close(&file);
}

TEST(a_test_app_cut_short_is_an_error_or_empty)
{
	struct image_file file;
	char path[4096];

	app_path(path, sizeof(path));
	for (int percent = 5; percent < 100; percent += 5) {
		if (open_cut(path, percent / 100., &file))
			continue;
		assert_int_equal(file.count, 0);
		image_file_close(&file);
	}
}
